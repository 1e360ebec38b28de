"""`benchtui noise`: measure run-to-run noise, and save it for `compare`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec

from tui.cli.compare import side_of
from tui.cli.shared.common import SIDE_HELP, paths, run_store, say
from tui.metrics.repeat import HEADLINE_ALPHA
from tui.model.problem import NotComparableError, UsageError

if TYPE_CHECKING:
    from tui.analysis.measured import Configuration, Floor
    from tui.model.record import RunRecord

FEW = 4


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    add = parser.add_argument
    add(
        "runs",
        metavar="RUN",
        nargs="+",
        help=f"two or more identical runs or searches; {SIDE_HELP}",
    )
    add("--json", action="store_true", help="print one JSON object")
    add("--dry-run", action="store_true", help="print the result; save nothing")


def main(args: argparse.Namespace) -> int:
    """Measure the noise floor, save it and print it."""
    from tui.analysis.measured import NoiseFloors, levels, measure
    from tui.analysis.searches import measure_searches

    records = side_of(run_store(), ",".join(args.runs))
    searches = all(record.search is not None for record in records)
    check_equal(records, searches=searches)
    found = measure_searches(records) if searches else measure(records)
    if not found.figures:
        raise UsageError(
            "a noise floor needs two or more searches that found a capacity"
            if searches
            else "a noise floor needs two or more identical runs, not repetitions in one run"
        )
    if not args.dry_run:
        floors = NoiseFloors.read(paths().noise)
        floors.keep(found)
    if args.json:
        sys.stdout.write(msgspec.json.format(msgspec.json.encode(found), indent=1).decode() + "\n")
    else:
        tested = dict.fromkeys(found.figures, HEADLINE_ALPHA)
        show(found, tested if searches else levels(records, found.figures))
        for line in notes(records, searches=searches):
            say(line)
        say("not saved" if args.dry_run else f"saved in {paths().noise} for compare")
    return 0


def check_equal(records: Sequence[RunRecord], *, searches: bool) -> None:
    """Raise NotComparableError unless the runs are complete, measured alike, and not copies."""
    from tui.analysis.measured import configuration
    from tui.analysis.same_measurement import copies_among
    from tui.analysis.setup import PROFILE_TEXT
    from tui.analysis.setup_differences import NAMED, WHOLE, differences, keys_of
    from tui.model.load_keys import differing

    for record in records[1:]:
        found_apart = differences(records[:1], [record], searches=searches)
        if obstacles := [each.text for each in found_apart if each.blocks]:
            raise NotComparableError(f"runs differ: {'; '.join(obstacles)}")
        keys = [keys_of(each.profile) for each in (records[0], record)]
        if all(keys) and (paths_apart := differing(*keys)):
            why = f"{record.run_id}: the profile differs from {records[0].run_id}"
            named = ", ".join(each or PROFILE_TEXT for each in paths_apart[:NAMED])
            raise NotComparableError(f"{why}: {named}")
        if configuration(record).key != configuration(records[0]).key:
            why = f"{record.run_id}: target, hosts or parameters differ from {records[0].run_id}"
            raise NotComparableError(why)
    if found_copies := copies_among(records):
        one, other = (records[place].run_id for place in found_copies[0])
        raise NotComparableError(f"{one} and {other} hold the same measurement")
    if records[0].verdict == "invalid" or records[0].state not in WHOLE:
        why = "invalid" if records[0].verdict == "invalid" else records[0].state
        raise NotComparableError(f"{records[0].run_id} is {why} and cannot be used")


def notes(records: Sequence[RunRecord], *, searches: bool) -> Iterator[str]:
    """Yield a warning if the runs differ in ways that may be part of the noise."""
    from tui.analysis.setup_differences import differences

    parts = differences(records[:1], records[1:], searches=searches) if records[1:] else []
    if told := [f"{each.title} ({each.a} / {each.b})" for each in parts if each.matters]:
        yield f"warning: differences that may be part of the noise: {'; '.join(told)}"


def show(found: Configuration, levels: Mapping[str, float]) -> None:
    """Print the noise floors, and the change that `compare` detects at each figure's level."""
    from tui.metrics.units import percent
    from tui.text.line import plain_lines
    from tui.text.table import Column, text_table

    columns: list[Column[tuple[str, Floor]]] = [
        Column("figure", lambda row: row[0]),
        Column("n", lambda row: str(row[1].n), right=True),
        Column("deviation", lambda row: percent(row[1].cov), right=True),
        Column(
            "detectable between two runs",
            lambda row: percent(row[1].detectable(levels[row[0]])),
            right=True,
        ),
    ]
    print("\n".join(plain_lines(text_table(columns, list(found.figures.items())))))
    if min(floor.n for floor in found.figures.values()) < FEW:
        say(f"few runs: with {FEW} or more, compare can detect smaller differences")
