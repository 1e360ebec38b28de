"""`benchtui noise`: measure run-to-run noise, and save it for `compare`."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

import msgspec

from tui.cli.compare import side_of
from tui.cli.shared.common import SIDE_HELP, paths, run_store, say
from tui.model.problem import NotComparableError, UsageError

if TYPE_CHECKING:
    from tui.analysis.measured import Configuration, Floor

FEW = 4


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    add = parser.add_argument
    add(
        "runs",
        metavar="RUN",
        nargs="+",
        help=f"identical runs, or one with repetitions; {SIDE_HELP}",
    )
    add("--json", action="store_true", help="print one JSON object")
    add("--dry-run", action="store_true", help="print the result; save nothing")


def main(args: argparse.Namespace) -> int:
    """Measure the noise floor, save it and print it."""
    from tui.analysis.measured import NoiseFloors, configuration, measure
    from tui.analysis.setup_differences import WHOLE, differences

    records = side_of(run_store(), ",".join(args.runs))
    for record in records[1:]:
        if obstacles := [each.text for each in differences(records[:1], [record]) if each.blocks]:
            raise NotComparableError(f"runs differ: {'; '.join(obstacles)}")
        if configuration(record).key != configuration(records[0]).key:
            why = f"{record.run_id}: target, hosts or parameters differ from {records[0].run_id}"
            raise NotComparableError(why)
    if records[0].verdict == "invalid" or records[0].state not in WHOLE:
        why = "invalid" if records[0].verdict == "invalid" else records[0].state
        raise NotComparableError(f"{records[0].run_id} is {why} and cannot be used")
    found = measure(records)
    if not found.figures:
        raise UsageError(
            "one run without repetitions gives no noise floor: name two or more identical runs"
        )
    if not args.dry_run:
        floors = NoiseFloors.read(paths().noise)
        floors.keep(found)
    if args.json:
        sys.stdout.write(msgspec.json.format(msgspec.json.encode(found), indent=1).decode() + "\n")
    else:
        show(found)
        say("not saved" if args.dry_run else f"saved in {paths().noise} for compare")
    return 0


def show(found: Configuration) -> None:
    """Print the noise floors."""
    from tui.metrics.units import percent
    from tui.text.line import plain_lines
    from tui.text.table import Column, text_table

    columns: list[Column[tuple[str, Floor]]] = [
        Column("figure", lambda row: row[0]),
        Column("n", lambda row: str(row[1].n), right=True),
        Column("deviation", lambda row: percent(row[1].cov), right=True),
        Column("detectable between two runs", lambda row: percent(row[1].of_one_run), right=True),
    ]
    print("\n".join(plain_lines(text_table(columns, list(found.figures.items())))))
    if min(floor.n for floor in found.figures.values()) < FEW:
        say(f"few runs: with {FEW} or more, compare can detect smaller differences")
