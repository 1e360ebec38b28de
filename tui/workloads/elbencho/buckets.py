"""elbencho's latency histograms: ranges as it prints them, as buckets that merge, and how wide they
are.

Before 2026-08-26 (breuner/elbencho#116) buckets were quarter powers of two of a microsecond, 19 %
wide; since then they are about 1 % wide. Which they are is seen from the edges. Percentiles are
upper edges, as elbencho prints them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from itertools import accumulate

from tui.metrics.buckets import value_to_index
from tui.model.event import Buckets

RANGE = re.compile(r"([\d.]+)-([\d.]+) ?(us|ms|s)")
UNIT_NS = {"us": 1_000, "ms": 1_000_000, "s": 1_000_000_000}
QUARTER = 2**0.25
QUARTERS = frozenset(
    f"{edge:.{1 if edge < 10 else 0}f}"
    for edge in (QUARTER**power for power in range(1, 4 * 28 + 1))
)


def histogram(printed: Iterable[Mapping[str, object]]) -> tuple[Buckets, float] | None:
    """Return buckets and their width as a share of the lower edge; None where none are printed.

    Raises ValueError for a range or a count that is none.
    """
    rows = [_row(each) for each in printed]
    low: dict[int, int] = {}
    upper: dict[int, int] = {}
    counts: dict[int, int] = {}
    for low_ns, upper_ns, _, count in rows:
        index = value_to_index(upper_ns)
        low[index] = min(low_ns, low.get(index, low_ns))
        upper[index] = max(upper_ns, upper.get(index, 0))
        counts[index] = counts.get(index, 0) + count
    known = sorted(index for index, count in counts.items() if count)
    if not known:
        return None
    buckets = Buckets(known, [counts[index] for index in known], [upper[index] for index in known])
    if all(text in QUARTERS for _, _, text, _ in rows):
        return buckets, round(QUARTER - 1, 6)
    return buckets, _widest(buckets, [low[index] for index in known])


def _row(printed: Mapping[str, object]) -> tuple[int, int, str, int]:
    """Return lower and upper edge in ns, the upper one as printed, and the count."""
    match = RANGE.fullmatch(str(printed.get("range", "")))
    count = str(printed.get("count", ""))
    if match is None or not count.isdigit():
        raise ValueError(f"'{printed}' in a histogram")
    factor = UNIT_NS[match[3]]
    return round(float(match[1]) * factor), round(float(match[2]) * factor), match[2], int(count)


def _widest(buckets: Buckets, low_ns: list[int]) -> float:
    """Return the width of the widest bucket that holds the median or what is slower: edges are in
    whole µs.
    """
    half = sum(buckets.n) / 2
    slow = [at for at, reached in enumerate(accumulate(buckets.n)) if reached >= half]
    return round(max(buckets.upper_ns[at] / max(low_ns[at], 1) - 1 for at in slow), 4)
