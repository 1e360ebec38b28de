"""What a search is asked for on the command line: limits, what to search over, how many points, how long."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from tui.model.problem import UsageError
from tui.model.quantities import parse_duration

if TYPE_CHECKING:
    from tui.engine.planning.search import Kind, Wish

OVER_HELP = "search over rate, hosts, counts among the parameters: rate,iodepth or iodepth=1,8,32 (default: rate)"


def add_bounds(parser: argparse.ArgumentParser) -> None:
    """Add what any search may be bounded by."""
    add = parser.add_argument
    add("--slo", action="append", default=[], metavar="LIMIT", help="what must hold, such as 'p99.9<2ms', 'errors=0'")
    add("--over", action="append", default=[], metavar="NAMES", help=OVER_HELP)
    add("--points", type=int, metavar="N", help="measure so many points at most")
    add("--within", metavar="DURATION", help="spend so long on load and pauses at most, such as 30m")
    add("--point", metavar="DURATION", help="measure each point so long at least (default: as the profile says, 10s)")
    add("--most", metavar="DURATION", help="and at most, where a percentile needs more I/Os (2m)")


def wish_of(args: argparse.Namespace, kind: Kind | None) -> Wish:
    """Return what the arguments ask for. Raises UsageError."""
    from tui.engine.planning.search import Wish
    from tui.model.search_spec import over_of, parse_limit

    try:
        for text in args.slo:
            parse_limit(text)
    except ValueError as error:
        raise UsageError(f"--slo {error}") from None
    try:
        over = over_of(args.over)
    except ValueError as error:
        raise UsageError(f"--over {error}") from None
    spans = (span_of(name, getattr(args, name)) for name in ("within", "point", "most"))
    return Wish(kind, tuple(args.slo), over, args.points, *spans)


def span_of(name: str, text: str | None) -> float | None:
    """Return the seconds of an option, None when it was not given. Raises UsageError."""
    if text is None:
        return None
    try:
        seconds = parse_duration(text)
    except ValueError as error:
        raise UsageError(f"--{name}: {error}") from None
    if seconds <= 0:
        raise UsageError(f"--{name}: it must be more than 0")
    return seconds
