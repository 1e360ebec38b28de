"""`benchtui runs`: list, show, annotate, resume, verify, pack and remove saved runs."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from tui.cli.runs_view import Actions, add_listing, add_showing
from tui.cli.shared.common import RUN_HELP, add_flag, add_json, ask_to_remove, report, run_store
from tui.cli.shared.experiments import add_proof_arguments as prove_arguments
from tui.cli.shared.experiments import span_of
from tui.journal.rundir import is_running
from tui.library.runs import RunStore
from tui.library.summary import parse_tags, rename, retag, star, tags_text
from tui.model.paths import Paths, from_home, is_there
from tui.model.plain import printable
from tui.model.problem import BenchtuiError, UsageError, did_you_mean
from tui.model.rundir import JOURNAL_FILE, RECORD_FILE

if TYPE_CHECKING:
    from tui.library.verify import Verified


def add_changes(actions: Actions) -> None:
    """Add the actions that annotate or delete runs."""
    note = actions.add_parser("note", help="add a note to a run")
    note.add_argument("run", metavar="RUN", help=RUN_HELP)
    note.add_argument("text", metavar="TEXT", help="text of the note")
    note.set_defaults(do=note_run)
    add_json(note)
    starring = actions.add_parser("star", help="star runs; list them with: runs list is:starred")
    starring.add_argument("runs", metavar="RUN", nargs="+", help=RUN_HELP)
    add_flag(starring, "--off", "remove the star")
    starring.set_defaults(do=star_runs)
    add_json(starring)
    tagging = actions.add_parser("tag", help="add or remove tags of a run; without TAG, print them")
    tagging.add_argument("run", metavar="RUN", help=RUN_HELP)
    tagging.add_argument("tags", metavar="TAG", nargs="*", help="NAME or NAME=VALUE")
    tagging.add_argument(
        "--remove", metavar="NAME", action="append", default=[], help="remove this tag"
    )
    tagging.set_defaults(do=tag_run)
    add_json(tagging)
    renaming = actions.add_parser("rename", help="give a run a title; its ID does not change")
    renaming.add_argument("run", metavar="RUN", help=RUN_HELP)
    renaming.add_argument(
        "title", metavar="TITLE", help="one line of text; empty text removes the title"
    )
    renaming.set_defaults(do=rename_run)
    add_json(renaming)
    remove = actions.add_parser(
        "delete", aliases=["rm"], help="remove runs from this machine for good"
    )
    remove.add_argument("runs", metavar="RUN", nargs="+", help=RUN_HELP)
    add_flag(remove, "--yes", "do not ask")
    remove.set_defaults(do=remove_runs)
    add_json(remove)


def own_run(store: RunStore, ref: str) -> Path:
    """Return the directory of a run of this user.

    Raises UsageError for a run of another user.
    """
    run_dir = store.resolve(ref)
    store.check_ours(run_dir)
    return run_dir


def run_on_own_hosts(store: RunStore, ref: str, *, last_of_all: bool = False) -> Path:
    """Return the directory of a run whose plan may be executed again on its hosts.

    Raises UsageError for any other, such as a run of another user.
    """
    run_dir = store.resolve(ref, last_of_all=last_of_all)
    store.check_hosts_ours(run_dir)
    return run_dir


def star_runs(args: argparse.Namespace, store: RunStore) -> int:
    """Star runs, or remove the star."""
    directories = [own_run(store, ref) for ref in args.runs]
    for run_dir in directories:
        star(run_dir, starred=not args.off)
    report(args, [{"run_id": run_dir.name, "starred": not args.off} for run_dir in directories])
    return 0


def tag_run(args: argparse.Namespace, store: RunStore) -> int:
    """Add or remove tags of a run, or print its tags."""
    from tui.library.summary import summarize

    if not (args.tags or args.remove):
        summary = summarize(store.resolve(args.run), keep=False)
        tags = dict(summary.tags) if summary is not None else {}
        report(args, {"run_id": store.resolve(args.run).name, "tags": tags})
        if not args.json:
            print(tags_text(tags))
        return 0
    run_dir = own_run(store, args.run)
    summary = summarize(run_dir)
    tags = dict(summary.tags) if summary is not None else {}
    if unknown := next((name for name in args.remove if name not in tags), None):
        known = f"{did_you_mean(unknown, tags)}; its tags: {tags_text(tags)}" if tags else ""
        raise UsageError(f"{run_dir.name} has no tag '{unknown}'{known}")
    kept = {name: value for name, value in tags.items() if name not in args.remove}
    kept |= parse_tags(args.tags)
    retag(run_dir, kept)
    report(args, {"run_id": run_dir.name, "tags": kept})
    return 0


def rename_run(args: argparse.Namespace, store: RunStore) -> int:
    """Give a run a title."""
    rename(run_dir := own_run(store, args.run), args.title)
    report(args, {"run_id": run_dir.name, "title": args.title})
    return 0


def note_run(args: argparse.Namespace, store: RunStore) -> int:
    """Add a note to a run: through its engine or, after its end, to its record."""
    from tui.engine.control import NotRunning, demand
    from tui.library.additions import keep_note

    run_dir = own_run(store, args.run)
    text = args.text.strip()
    if not text:
        raise UsageError("the note is empty")
    try:
        demand(run_dir, {"verb": "note", "text": text})
    except NotRunning:
        keep_note(run_dir, text)
    report(args, {"run_id": run_dir.name, "note": text})
    return 0


def remove_runs(args: argparse.Namespace, store: RunStore) -> int:
    """Remove runs for good after confirmation; return 1 if it is refused.

    First warns about files that the runs left on hosts.
    """
    from tui.library.unfinished import check_removable, remove_run, still_on_hosts

    directories = list(dict.fromkeys(own_run(store, ref) for ref in args.runs))
    for run_dir in directories:
        check_removable(run_dir)
    for text in filter(None, map(still_on_hosts, directories)):
        print(f"benchtui: {text}", file=sys.stderr)
    names = ", ".join(run_dir.name for run_dir in directories)
    if not args.yes and not ask_to_remove(names):
        print("nothing removed", file=sys.stderr)
        return 1
    for run_dir in directories:
        remove_run(run_dir)
    print(f"removed {names}", file=sys.stderr)
    report(args, {"removed": [run_dir.name for run_dir in directories]})
    return 0


def add_resuming(actions: Actions) -> None:
    """Add the actions recover, resume and prove."""
    text = "collect results still on the hosts, after the engine died or hosts were unreachable"
    recover = actions.add_parser("recover", help=text)
    recover.add_argument(
        "runs", metavar="RUN", nargs="*", help=f"{RUN_HELP}; default: all unfinished runs"
    )
    add_flag(recover, "--yes", "has no effect: recover never asks")
    recover.set_defaults(do=recover_runs)
    add_json(recover)
    resume = actions.add_parser(
        "resume", help="measure the missing steps of a stopped or interrupted run"
    )
    resume.add_argument("run", metavar="RUN", help=RUN_HELP)
    add_flag(resume, "--failed", "also repeat steps that ended with errors")
    resume.add_argument(
        "--points", type=int, metavar="N", help="search: maximum number of points in total"
    )
    resume.add_argument("--within", metavar="DURATION", help="search: maximum time in total")
    resume.set_defaults(do=resume_run)
    add_json(resume)
    prove = actions.add_parser(
        "prove", help="test a run's bottleneck with a short counter-experiment"
    )
    prove.add_argument("run", metavar="RUN", help=RUN_HELP)
    prove_arguments(prove)
    prove.set_defaults(do=prove_run)


class Recovered(NamedTuple):
    """The result of recovering one run.

    `problem`: why the recovery failed.
    """

    run_id: str
    exit_code: int
    state: str | None = None
    problem: str | None = None


def recover_runs(args: argparse.Namespace, store: RunStore) -> int:
    """Finish unfinished runs, one after another; without RUN also write missing records.

    Returns the highest of their exit codes.
    """
    from tui.library.unfinished import is_unfinished, unfinished_runs, write_missing

    written = write_missing(store.runs_dir) if not args.runs else []
    for run_id in written:
        print(f"{run_id} had ended; wrote its missing record", file=sys.stderr)
    chosen = [
        run_on_own_hosts(store, ref, last_of_all=True) for ref in args.runs
    ] or unfinished_runs(store.runs_dir)
    for run_dir in chosen:
        if not is_unfinished(run_dir):
            check_held(run_dir)
    if not chosen and not written:
        print("no unfinished runs", file=sys.stderr)
    found = [Recovered(run_id, 0, state_of(store.runs_dir / run_id)) for run_id in written]
    found += [recover_run(run_dir, quiet=args.json) for run_dir in chosen]
    report(args, [each._asdict() for each in found])
    return max((each.exit_code for each in found), default=0)


def recover_run(run_dir: Path, *, quiet: bool) -> Recovered:
    """Finish one run.

    Prints errors instead of raising them, so that the remaining runs are still recovered.

    `quiet`: print no summary.
    """
    from tui.cli.shared.launching import restart
    from tui.cli.shared.progress import followed, watch

    print(f"recovering {run_dir.name}", file=sys.stderr)
    try:
        restart(run_dir, "recover")
        code = followed(run_dir) if quiet else watch(run_dir, as_json=False)
    except BenchtuiError as error:
        print(
            "".join(f"benchtui: {problem}\n" for problem in error.problems), end="", file=sys.stderr
        )
        return Recovered(run_dir.name, 4, problem="; ".join(map(str, error.problems)))
    return Recovered(run_dir.name, code, state_of(run_dir))


def state_of(run_dir: Path) -> str | None:
    """Return the current state of a run; None if the directory contains no run."""
    from tui.library.summary import summarize

    summary = summarize(run_dir, keep=False)
    return summary.state if summary is not None else None


def check_held(run_dir: Path) -> None:
    """Raise UsageError for a run that is running, or has nothing left to collect.

    Hosts that were unreachable may still have measurements of an ended run.
    """
    from tui.engine.session.history import read_history
    from tui.journal.rundir import load_plan

    if is_running(run_dir):
        raise UsageError(f"run {run_dir.name} is still running")
    if not read_history(run_dir / JOURNAL_FILE).uncollected(load_plan(run_dir)):
        raise UsageError(
            f"run {run_dir.name} has already finished; nothing is left to collect on its hosts"
        )


def resume_run(args: argparse.Namespace, store: RunStore) -> int:
    """Measure the missing steps of a run, in its own directory."""
    from tui.cli.shared.launching import restart
    from tui.cli.shared.progress import watch
    from tui.engine.extend_search import give_more
    from tui.engine.launch import resume_mode

    run_dir = run_on_own_hosts(store, args.run, last_of_all=True)
    running = is_running(run_dir)
    within_s = span_of("within", args.within)
    if not running and (args.points is not None or within_s is not None):
        give_more(run_dir, args.points, within_s)
    mode, count = resume_mode(run_dir, failed=args.failed, running=running)
    print(
        f"resuming {run_dir.name}: {count} {'step' if count == 1 else 'steps'} to go",
        file=sys.stderr,
    )
    restart(run_dir, mode)
    return watch(run_dir, as_json=args.json)


def prove_run(args: argparse.Namespace, store: RunStore) -> int:
    """Test a run's bottleneck by a counter-experiment, a new run on the same hosts and files."""
    from tui.cli.shared.experiments import run_proof

    return run_proof(args, run_on_own_hosts(store, args.run))


SHOWN = 20
SIGNER_HELP = "accept only signatures by this public key, or by the keys in an allowed-signers file"


def add_proofs(actions: Actions) -> None:
    """Add the actions verify, pack and unpack."""
    verify = actions.add_parser(
        "verify",
        help="recompute the load's figures from the raw output, rebuild run.json from the journal,"
        " and verify the checksums",
    )
    verify.add_argument("runs", metavar="RUN", nargs="+", help=f"{RUN_HELP}; or a packed run")
    verify.add_argument(
        "--signer", type=Path, metavar="KEY.pub", help=f"packed runs: {SIGNER_HELP}"
    )
    add_flag(verify, "--json", "print one JSON array")
    verify.set_defaults(do=verify_runs)
    packing = actions.add_parser(
        "pack", help="pack a run into one file that can be verified elsewhere"
    )
    packing.add_argument("runs", metavar="RUN", nargs="+", help=RUN_HELP)
    packing.add_argument(
        "-o",
        "--output",
        type=Path,
        required=True,
        metavar="FILE",
        help="output file; for several runs, an existing directory",
    )
    packing.add_argument(
        "--sign",
        type=Path,
        metavar="KEY",
        help="sign with this SSH key; a .pub file selects a key in the agent",
    )
    add_flag(packing, "--no-report", "do not include the report (report.html)")
    packing.set_defaults(do=pack_runs)
    add_json(packing)
    unpacking = actions.add_parser("unpack", help="unpack packed runs into the run store")
    unpacking.add_argument("files", metavar="FILE", nargs="+", type=Path, help="packed runs")
    unpacking.add_argument("--signer", type=Path, metavar="KEY.pub", help=SIGNER_HELP)
    unpacking.set_defaults(do=unpack_runs)
    add_json(unpacking)


def verify_runs(args: argparse.Namespace, store: RunStore) -> int:
    """Verify each run.

    Return 1 if a run is not authentic, 3 if a run cannot be recomputed.
    """
    found = [_verified(ref, args.signer, store) for ref in args.runs]
    if args.json:
        rows = [{**_as_json(verified), "signed_by": signed} for verified, signed in found]
        print(msgspec.json.format(msgspec.json.encode(rows), indent=1).decode())
    else:
        print("\n".join(line for verified, signed in found for line in lines_of(verified, signed)))
    codes = {verified.exit_code for verified, _ in found}
    return 1 if 1 in codes else max(codes)


def _verified(ref: str, signer: Path | None, store: RunStore) -> tuple[Verified, str]:
    from tui.library.unfinished import check_removable
    from tui.library.verify import Verified, verify_pack, verify_run

    path, name = from_home(ref), Path(ref).name
    own_key = Paths.from_environ(os.environ).seal_key
    try:
        if is_there(path) and path.is_file() and path.name != RECORD_FILE:
            return verify_pack(path, signer, own_key)
        if signer is not None:
            raise UsageError(f"{ref}: --signer only applies to packed runs")
        run_dir = store.resolve(ref)
        name = run_dir.name
        check_removable(run_dir)
        return verify_run(run_dir, own_key), ""
    except UsageError:
        raise
    except BenchtuiError as error:
        return Verified(printable(name), differs=[str(problem) for problem in error.problems]), ""


def _as_json(verified: Verified) -> dict[str, object]:
    words = ("verified", "differs", "", "not recomputed")
    return {
        "run_id": verified.run_id,
        "outcome": words[verified.exit_code],
        "differs": verified.differs,
        "notes": [*verified.notes, *filter(None, [verified.underived])],
        "sealed_by": verified.sealed_by or None,
        "files": verified.files,
        "results": verified.results,
        "values": verified.values,
    }


def lines_of(verified: Verified, signed: str) -> list[str]:
    """Return the result of verifying one run, as lines."""
    counted = (
        f"{verified.files} checksums, {verified.results} results and samples from the raw"
        f" output, {verified.values} values of {RECORD_FILE}"
    )
    heads = {0: f"verified: {counted}", 1: "DIFFERS", 3: f"not recomputed: {verified.underived}"}
    rest = len(verified.differs) - SHOWN
    return [
        f"{verified.run_id}: {heads[verified.exit_code]}",
        *(f"  {text}" for text in verified.differs[:SHOWN]),
        *([f"  and {rest} more"] if rest > 0 else []),
        *(f"  {text}" for text in verified.notes),
        *([f"  sealed by {verified.sealed_by}"] if verified.sealed_by else []),
        *([f"  signed by {signed}"] if signed else []),
    ]


def pack_runs(args: argparse.Namespace, store: RunStore) -> int:
    """Pack one run into a file, or several into a directory."""
    from tui.library.pack import check_free, pack
    from tui.library.unfinished import check_removable
    from tui.metrics import units

    directories = list(dict.fromkeys(store.resolve(ref) for ref in args.runs))
    if len(directories) > 1 and not args.output.is_dir():
        raise UsageError(f"--output {args.output}: several runs need an existing directory")
    rows = []
    for run_dir in directories:
        check_removable(run_dir)
        output = args.output / f"{run_dir.name}.tar.gz" if args.output.is_dir() else args.output
        check_free(output)
        manifest = pack(run_dir, output, args.sign, None if args.no_report else report_of(run_dir))
        size = units.size(output.stat().st_size)
        rows.append({"run_id": run_dir.name, "path": str(output), "files": len(manifest.files),
                     "bytes": output.stat().st_size, "signed": args.sign is not None})  # fmt: skip
        print(
            f"{output}: {len(manifest.files)} files, {size}{', signed' if args.sign else ''}",
            file=sys.stderr,
        )
    report(args, rows)
    return 0


def report_of(run_dir: Path) -> bytes:
    """Return the report to pack with a run, without the user's own published results.

    Raises BenchtuiError.
    """
    from tui.view.report.write import source_at, written

    source, _ = source_at(run_dir, None)
    return written([source], "html").encode()


def unpack_runs(args: argparse.Namespace, store: RunStore) -> int:
    """Unpack runs into the store; print their IDs."""
    from tui.library.verify import unpack

    rows = []
    for file in args.files:
        run_dir, signed = unpack(file, store.runs_dir, args.signer)
        rows.append({"run_id": run_dir.name, "path": str(run_dir), "signed_by": signed or None})
        print(f"signed by {signed}" if signed else "not signed", file=sys.stderr)
    report(args, rows, "\n".join(str(row["run_id"]) for row in rows))
    return 0


PARTS = (add_listing, add_showing, add_changes, add_proofs, add_resuming)


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    parser.add_argument(
        "--shared",
        type=Path,
        action="append",
        default=[],
        metavar="DIR",
        help="also read other users' runs in DIR",
    )
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    for add_actions in PARTS:
        add_actions(actions)


def main(args: argparse.Namespace) -> int:
    """Run the chosen verb and return the exit code."""
    code: int = args.do(args, run_store(args.shared))
    return code
