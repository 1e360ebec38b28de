"""`benchtui compare`: runs against a run, for people, for other tools, and as the exit code of a build."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from tui.cli.common import paths, text_width
from tui.model.problem import UsageError
from tui.results.store.runs import RunStore

if TYPE_CHECKING:
    from tui.model.record import RunRecord
    from tui.results.compare.compare import Comparison

SIDE_HELP = "a run: id, unique beginning of one, path, last, last~1; RUN,RUN,...: repetitions of one side"
WORSE, NOT_COMPARABLE = 1, 3


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    add = parser.add_argument
    add("a", metavar="A", help=f"what is compared with; {SIDE_HELP}")
    add("others", metavar="B", nargs="+", help="what is compared, likewise; several are each held against A")
    add("--across", action="append", default=[], metavar="NAME", help="a parameter that is meant to differ")
    add("--all", action="store_true", help="all figures of every point of a sweep or a suite")
    add("--json", action="store_true", help="print one JSON object")
    parser.epilog = "exit codes: 0 no worse, 1 worse, 2 wrong usage, 3 not comparable"


def main(args: argparse.Namespace) -> int:
    """Compare and return the exit code."""
    from tui.results.compare.compare import compare
    from tui.results.compare.noise import NoiseFloors

    store, floors = RunStore(paths().runs), NoiseFloors.read(paths().noise)
    a = side_of(store, args.a)
    found = [compare(a, side_of(store, other), floors, args.across) for other in args.others]
    if args.json:
        from tui.results.compare.document import as_json

        sys.stdout.write(as_json(found))
    else:
        show(found, every=args.all)
    return max(exit_code(each) for each in found)


def side_of(store: RunStore, text: str) -> list[RunRecord]:
    """Return the records of one side. Raises UsageError for names of no run."""
    from tui.results.record.build import load_record

    directories = [store.resolve(ref) for ref in text.split(",") if ref]
    if not directories:
        raise UsageError(f"'{text}' names no run")
    if len(set(directories)) < len(directories):
        raise UsageError(f"'{text}' names a run twice: a repetition is a run of its own")
    return [load_record(directory) for directory in directories]


def show(found: list[Comparison], *, every: bool) -> None:
    """Print comparisons for people."""
    from tui.results.compare.text import comparison_lines
    from tui.text.line import plain_lines

    for at, each in enumerate(found):
        print(("\n" if at else "") + "\n".join(plain_lines(comparison_lines(each, text_width(), every=every))))


def exit_code(found: Comparison) -> int:
    """Return 3 when the runs are not comparable, 1 when a figure is worse, else 0."""
    if found.obstacles:
        return NOT_COMPARABLE
    return WORSE if any(change.word == "worse" for change in found.changes) else 0
