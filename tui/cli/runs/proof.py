"""`benchtui runs verify`, `pack`, `unpack`: runs that prove themselves, here and elsewhere."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from tui.cli.runs.arguments import RUN_HELP, Actions
from tui.cli.shared.common import add_json, report
from tui.model.paths import from_home, is_there
from tui.model.plain import printable
from tui.model.problem import BenchtuiError, UsageError
from tui.model.rundir import RECORD_FILE
from tui.results.store.runs import RunStore

if TYPE_CHECKING:
    from tui.results.verify.run import Verified

SHOWN = 20
SIGNER_HELP = "accept the signature of this public key alone, or of those in a file of allowed signers"


def configure(actions: Actions) -> None:
    """Add the actions."""
    verify = actions.add_parser("verify", help="derive every figure again from the raw output, and check the sums")
    verify.add_argument("runs", metavar="RUN", nargs="+", help=f"{RUN_HELP}; or a packed run")
    verify.add_argument("--signer", type=Path, metavar="KEY.pub", help=f"of packed runs: {SIGNER_HELP}")
    verify.add_argument("--json", action="store_true", help="print one JSON array")
    verify.set_defaults(do=verify_runs)
    packing = actions.add_parser("pack", help="put a run into one file that proves itself elsewhere")
    packing.add_argument("runs", metavar="RUN", nargs="+", help=RUN_HELP)
    packing.add_argument("-o", "--output", type=Path, required=True, metavar="FILE", help="a directory for several")
    packing.add_argument("--sign", type=Path, metavar="KEY", help="sign it with this SSH key; .pub: one in the agent")
    packing.add_argument("--no-report", action="store_true", help="without the report (report.html) that goes with it")
    packing.set_defaults(do=pack_runs)
    add_json(packing)
    unpacking = actions.add_parser("unpack", help="put packed runs among the saved ones")
    unpacking.add_argument("files", metavar="FILE", nargs="+", type=Path, help="packed runs")
    unpacking.add_argument("--signer", type=Path, metavar="KEY.pub", help=SIGNER_HELP)
    unpacking.set_defaults(do=unpack_runs)
    add_json(unpacking)


def verify_runs(args: argparse.Namespace, store: RunStore) -> int:
    """Verify each; 1 when one of them is not what it says, 3 when one could not be derived again."""
    found = [_verified(ref, args.signer, store) for ref in args.runs]
    if args.json:
        told = [{**_as_json(verified), "signed_by": signed} for verified, signed in found]
        print(msgspec.json.format(msgspec.json.encode(told), indent=1).decode())
    else:
        print("\n".join(line for verified, signed in found for line in lines_of(verified, signed)))
    codes = {verified.exit_code for verified, _ in found}
    return 1 if 1 in codes else max(codes)


def _verified(ref: str, signer: Path | None, store: RunStore) -> tuple[Verified, str]:
    from tui.results.pack.unpack import verify_pack
    from tui.results.store.remove import check_removable
    from tui.results.verify.run import Verified, verify_run

    path, name = from_home(ref), Path(ref).name
    try:
        if is_there(path) and path.is_file() and path.name != RECORD_FILE:
            return verify_pack(path, signer)
        if signer is not None:
            raise UsageError(f"{ref}: --signer is of packed runs; what is signed is the file")
        run_dir = store.resolve(ref)
        name = run_dir.name
        check_removable(run_dir)
        return verify_run(run_dir), ""
    except UsageError:
        raise
    except BenchtuiError as error:
        return Verified(printable(name), differs=[str(problem) for problem in error.problems]), ""


def _as_json(verified: Verified) -> dict[str, object]:
    words = ("verified", "differs", "", "not derived again")
    return {
        "run_id": verified.run_id,
        "outcome": words[verified.exit_code],
        "differs": verified.differs,
        "remarks": [*verified.remarks, *filter(None, [verified.underived])],
        "files": verified.files,
        "results": verified.results,
        "values": verified.values,
    }


def lines_of(verified: Verified, signed: str) -> list[str]:
    """Return what is said of one run."""
    counted = (
        f"{verified.files} files by their sums, {verified.results} results and samples from the raw output, "
        f"{verified.values} values of {RECORD_FILE}"
    )
    heads = {0: f"verified: {counted}", 1: "DIFFERS", 3: f"not derived again: {verified.underived}"}
    rest = len(verified.differs) - SHOWN
    return [
        f"{verified.run_id}: {heads[verified.exit_code]}",
        *(f"  {text}" for text in verified.differs[:SHOWN]),
        *([f"  and {rest} more"] if rest > 0 else []),
        *(f"  {text}" for text in verified.remarks),
        *([f"  signed by {signed}"] if signed else []),
    ]


def pack_runs(args: argparse.Namespace, store: RunStore) -> int:
    """Pack runs: one into the file, several into a directory."""
    from tui.metrics import units
    from tui.results.pack.write import check_free, pack
    from tui.results.store.remove import check_removable

    directories = list(dict.fromkeys(store.resolve(ref) for ref in args.runs))
    if len(directories) > 1 and not args.output.is_dir():
        raise UsageError(f"--output {args.output}: several runs need a directory that is there")
    rows = []
    for run_dir in directories:
        check_removable(run_dir)
        output = args.output / f"{run_dir.name}.tar.gz" if args.output.is_dir() else args.output
        check_free(output)
        manifest = pack(run_dir, output, args.sign, None if args.no_report else report_of(run_dir))
        size = units.size(output.stat().st_size)
        rows.append({"run_id": run_dir.name, "path": str(output), "files": len(manifest.files),
                     "bytes": output.stat().st_size, "signed": args.sign is not None})  # fmt: skip
        print(f"{output}: {len(manifest.files)} files, {size}{', signed' if args.sign else ''}", file=sys.stderr)
    report(args, rows)
    return 0


def report_of(run_dir: Path) -> bytes:
    """Return the report that goes with a run, without published figures of the user's own. Raises BenchtuiError."""
    from tui.results.report.write import source_at, written

    source, _ = source_at(run_dir, None)
    return written([source], "html").encode()


def unpack_runs(args: argparse.Namespace, store: RunStore) -> int:
    """Unpack runs among the saved ones; print their ids."""
    from tui.results.pack.unpack import unpack

    rows = []
    for file in args.files:
        run_dir, signed = unpack(file, store.runs_dir, args.signer)
        rows.append({"run_id": run_dir.name, "path": str(run_dir), "signed_by": signed or None})
        print(f"signed by {signed}" if signed else "it is not signed", file=sys.stderr)
    report(args, rows, "\n".join(str(row["run_id"]) for row in rows))
    return 0
