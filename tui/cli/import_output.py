"""`benchtui import`: the output of a load generator that ran elsewhere becomes a record with its findings."""

from __future__ import annotations

import argparse
import hashlib
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tui.cli.common import paths, say
from tui.model.problem import BenchtuiError, Problem, UsageError

if TYPE_CHECKING:
    from tui.model.record import ArtefactRecord, RunRecord
    from tui.workloads.base import ImportedOutput

MOST_BYTES = 256 << 20


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    parser.description = (
        "Reads what a load generator printed elsewhere: JSON, or its normal output as people paste it into tickets, "
        "with text around it. The run is put to every check that its figures allow, and kept among the saved runs with "
        "the state 'imported'. Several files are several hosts of one run; several outputs in one file are "
        "measurements one after the other."
    )
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE", help="kept output, one file a host")
    parser.add_argument("--tool", help="the load generator it is of, when several could read it")
    parser.add_argument("--note", metavar="TEXT", help="remark to keep with it")
    parser.add_argument("--dry-run", action="store_true", help="only show it; keep nothing")
    parser.add_argument("--json", action="store_true", help="print the run record")


def main(args: argparse.Namespace) -> int:
    """Read the files, judge what they hold, keep the record and print it."""
    from tui.results.record.imported import imported_record, measurements
    from tui.results.text.summary import summary_text

    twice = next((file for file in args.files if args.files.count(file) > 1), None)
    if twice is not None:
        raise UsageError(Problem("is named twice: each file is another host", file=str(twice)))
    texts = {file: read_text(file) for file in args.files}
    tool, outputs = read_outputs(texts, args.tool)
    found = measurements(dict(zip(host_names(args.files), outputs.values(), strict=True)))
    kept = kept_names(args.files)
    record = imported_record(tool, found, [artefact(file, name) for file, name in kept.items()], args.note)
    path = None if args.dry_run else keep(record, kept)
    print(record.to_json() if args.json else summary_text(record, path), end="")
    return 0


def read_text(file: Path) -> str:
    """Return the text of a file. Raises UsageError."""
    from tui.results.baselines.files import read_text

    try:
        if file.stat().st_size > MOST_BYTES:
            raise UsageError(Problem(f"is larger than {MOST_BYTES >> 20} MiB: that is no output", file=str(file)))
    except OSError as error:
        raise UsageError(Problem(f"cannot be read: {error.strerror}", file=str(file))) from None
    return read_text(file)


def read_outputs(texts: dict[Path, str], tool: str | None) -> tuple[str, dict[Path, Sequence[ImportedOutput]]]:
    """Return the load generator that all files are of, and the outputs in each. Raises UsageError."""
    from tui import workloads

    for name in [tool] if tool else workloads.names():
        found = {file: workloads.get(name).import_output(text, str(file)) for file, text in texts.items()}
        if all(found.values()):
            return name, found
        if any(found.values()):
            empty = next(file for file, outputs in found.items() if not outputs)
            raise UsageError(Problem(f"holds no output of {name}, as the others do", file=str(empty)))
    known = tool or " or ".join(workloads.names())
    raise UsageError([Problem(f"holds no output of {known} that can be read", file=str(file)) for file in texts])


def host_names(files: Sequence[Path]) -> list[str]:
    """Return what hosts are called whose output does not name them: as their files, made different where they agree."""
    names: list[str] = []
    for file in files:
        name = "-".join(file.stem.split()) or "host"
        count = sum(other == name or other.startswith(f"{name}#") for other in names)
        names.append(f"{name}#{count + 1}" if count else name)
    return names


def kept_names(files: Sequence[Path]) -> dict[Path, str]:
    """Return what files are called beside the record: files of one name in several directories stay apart."""
    return {file: f"{name}{file.suffix}" for file, name in zip(files, host_names(files), strict=True)}


def artefact(file: Path, name: str) -> ArtefactRecord:
    """Return how a file is kept beside the record."""
    from tui.model.record import ArtefactRecord
    from tui.model.rundir import RAW_DIR

    data = file.read_bytes()
    return ArtefactRecord(path=f"{RAW_DIR}/{name}", sha256=hashlib.sha256(data).hexdigest(), bytes=len(data))


def keep(record: RunRecord, files: Mapping[Path, str]) -> Path:
    """Put the record and the files that it is made of among the saved runs; return where run.json is."""
    from tui.model.rundir import RAW_DIR, RECORD_FILE
    from tui.results.record.imported import save

    run_dir = paths().runs / record.run_id
    try:
        (run_dir / RAW_DIR).mkdir(parents=True, mode=0o700)
        for file, name in files.items():
            shutil.copyfile(file, run_dir / RAW_DIR / name)
        save(run_dir, record)
    except OSError as error:
        raise BenchtuiError(Problem(f"cannot be written: {error.strerror}", file=str(run_dir))) from error
    say(f"imported as {record.run_id}")
    return run_dir / RECORD_FILE
