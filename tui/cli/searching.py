"""What a search is asked for on the command line: limits, what to search over, how many points, how long."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from tui.model.problem import UsageError
from tui.model.quantities import parse_duration

if TYPE_CHECKING:
    from tui.engine.planning.search import Wish
    from tui.model.search import SearchKind


def add_bounds(parser: argparse.ArgumentParser) -> None:
    """Add what any search may be bounded by."""
    add = parser.add_argument
    add("--slo", action="append", default=[], metavar="LIMIT", help="what must hold, such as 'p99.9<2ms', 'errors=0'")
    add("--points", type=int, metavar="N", help="measure so many points at most")
    add("--within", metavar="DURATION", help="spend so long on load and pauses at most, such as 30m")


def wish_of(args: argparse.Namespace, kind: SearchKind | None) -> Wish:
    """Return what the arguments ask for. Raises UsageError."""
    from tui.engine.planning.search import Wish
    from tui.model.search_spec import parse_limit

    try:
        for text in args.slo:
            parse_limit(text)
    except ValueError as error:
        raise UsageError(f"--slo {error}") from None
    over = over_of(getattr(args, "over", []))
    return Wish(kind, tuple(args.slo), over, args.points, within_of(args.within))


def within_of(text: str | None) -> float | None:
    """Return the seconds that a search may spend. Raises UsageError."""
    if text is None:
        return None
    try:
        seconds = parse_duration(text)
    except ValueError as error:
        raise UsageError(f"--within: {error}") from None
    if seconds <= 0:
        raise UsageError("--within: it must be more than 0")
    return seconds


def over_of(words: list[str]) -> dict[str, list[int]]:
    """Return what to search over: ``rate,iodepth``, or ``iodepth=1,8,32`` with values. Raises UsageError."""
    found: dict[str, list[int]] = {}
    for word in words:
        name, given, values = word.partition("=")
        if not given:
            found |= {each.strip(): [] for each in word.split(",") if each.strip()}
            continue
        parts = [each.strip() for each in values.split(",") if each.strip()]
        if not parts or not all(each.isdecimal() and int(each) for each in parts):
            raise UsageError(f"--over {word}: allowed are NAME, or NAME=N1,N2 with whole numbers from 1")
        found[name.strip()] = sorted({int(each) for each in parts})
    return found
