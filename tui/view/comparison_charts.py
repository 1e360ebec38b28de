"""Latencies of two sides: figures and charts; load curves of searches."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from msgspec import Struct

from tui.analysis.compare import Comparison, Word
from tui.analysis.measured import points_of
from tui.metrics import figures, units
from tui.metrics.histogram import Histogram, label
from tui.metrics.registry import MIXED, in_order
from tui.text.line import BRIGHT, LABEL, TEXT, Line, Run, beside, indented
from tui.text.plot import LOWEST, SIDES
from tui.text.table import Column, text_table
from tui.view.charts import (
    NamedHistogram,
    change_by_percentile,
    histograms,
    percentile_curves,
)
from tui.view.comparison import ROLES, SURE, signed
from tui.view.comparison_sentence import NOISE, next_step
from tui.view.search_chart import overlay_chart, scaling_overlay

HEIGHT, LEAST_HEIGHT = 18, 9
NOTABLE = 0.02  # a smaller change of a latency is not mentioned
NAMES = ("A", "B")
TABLE = (50.0, 90.0, 99.0, 99.9, 99.99)  # percentiles in the table
DROPPED = {90.0: 2, 99.99: 1}  # where the names of the sides need the room
LEAST_PAIR_WIDTH, GUTTER = 100, 3  # two charts next to each other


FigureRow = tuple[list[Run], dict[str, str], str]
"""Name of a row, its cells by percentile, and their role."""


class Latencies(Struct, frozen=True):
    """The latencies of both sides in one direction at one point."""

    what: str
    sides: Sequence[NamedHistogram]

    @property
    def counts(self) -> tuple[Histogram, Histogram]:
        """The histograms of A and B."""
        first, second = self.sides
        return first.counts, second.counts

    @property
    def known(self) -> list[float]:
        """The percentiles of the table with enough slower I/Os on both sides."""
        least = min(each.total for each in self.counts)
        return [value for value in TABLE if figures.enough_behind(least, value)]

    @property
    def changes(self) -> dict[str, float]:
        """How much slower B is than A, as a share, by percentile."""
        ours, theirs = (side.percentiles(self.known) for side in self.counts)
        return {key: theirs[key] / value - 1 for key, value in ours.items() if value}


def latencies_of(found: Comparison) -> Iterator[Latencies]:
    """Yield the latencies of each direction at one point.

    The point is the only one, or the first whose headline is better or worse.
    """
    ours, theirs = points_of(found.a), points_of(found.b)
    keys = [key for key in ours if key in theirs]
    changed = {
        point.name
        for point in found.points
        if point.headline and point.headline.word in ("worse", "better")
    }
    key = next((key for key in keys if ours[key].name in changed), keys[0] if keys else None)
    if key is None:
        return
    names = {name for attempt in ours[key].attempts for name in attempt.step.results.aggregate} - {
        MIXED
    }
    for name in in_order(names):
        sides = [side[key].merged(name) for side in (ours, theirs)]
        if all(sides):
            yield Latencies(
                f"{ours[key].name} {name}".strip(),
                [NamedHistogram(*each) for each in zip(NAMES, SIDES, sides, strict=True)],
            )


def charts(
    found: Comparison, width: int, height: int = HEIGHT, *, coloured: bool = False
) -> Iterator[list[Line]]:
    """Yield the charts of a comparison.

    For each direction: percentile curves, their difference, and the histogram. For searches, one
    chart of latency vs. load, or throughput by number of hosts, from each side's first search.
    """
    one, other = found.a[0].search, found.b[0].search
    if found.search is not None and one is not None and other is not None:
        drawn = overlay_chart if one.scaling is None else scaling_overlay
        if chart := drawn(one, other, width, height, coloured=coloured):
            yield chart
        return
    for each in latencies_of(found):
        yield percentile_curves(each.what, each.sides, width, height, coloured=coloured)
        yield from brief_charts(each, width, height, coloured=coloured)


def brief_charts(
    each: Latencies, width: int, height: int, *, coloured: bool = False
) -> Iterator[list[Line]]:
    """Yield the difference by percentile, and the histogram."""
    first, second = each.sides
    if chart := change_by_percentile(each.what, first, second, (width, height), coloured=coloured):
        yield chart
    yield histograms(each.what, each.sides, width, height, coloured=coloured)


def fitting_charts(
    found: Comparison, width: int, height: int, *, coloured: bool = False
) -> list[Line]:
    """Return charts of the first direction in at most `height` lines: side by side, or one."""
    each = next(latencies_of(found), None)
    if each is None or height < LOWEST:
        return []
    if width >= LEAST_PAIR_WIDTH and height >= LEAST_HEIGHT:
        made = [*brief_charts(each, half_of(width), height, coloured=coloured)]
        return side_by_side(made, width)
    return next(brief_charts(each, width, min(height, HEIGHT), coloured=coloured))


def latency_page(
    found: Comparison, names: Sequence[str], width: int, height: int, *, coloured: bool = False
) -> list[Line]:
    """Return figures and charts of the latencies of both sides, one direction after the other.

    `names`: names of the sides. `height`: lines of the screen, which each direction
    fills, or exceeds if they are too few. Empty if the sides have no latencies in common.
    """
    lines: list[Line] = []
    for each in latencies_of(found):
        role = ROLES.get(found.word, BRIGHT)
        sentence = latency_sentence(each, found.word, unknown=is_noise_unknown(found))
        told = "; ".join([sentence, *next_step(found.changes, "")])
        said = indented([(told, role)], width, 0)
        table = figure_table(each, names, width, sure=found.word in SURE)
        if width < LEAST_PAIR_WIDTH and height < len([*said, *table]) + 2 * LOWEST:
            table.pop()  # the changes, which sentence and chart have too
        lines += [*([Line()] if lines else []), *said, *table]
        room = height - len([*said, *table])
        gaps = [Line()] if width >= LEAST_PAIR_WIDTH else []
        rows = max(room // 2 - len(gaps), LOWEST)
        a, b = each.sides
        chart = change_by_percentile(each.what, a, b, (width, rows), coloured=coloured)
        left = max(room - len([*chart, *gaps, *gaps]), LOWEST)
        shares = histograms(each.what, each.sides, width, left, coloured=coloured)
        lines += [*gaps, *chart, *gaps, *shares]
    return lines


def is_noise_unknown(found: Comparison) -> bool:
    """Return whether a comparison is inconclusive because it has single runs."""
    within = any(each.headline and each.within_runs for each in found.changes)
    return within and found.word == "inconclusive"


def latency_sentence(each: Latencies, word: Word, *, unknown: bool = False) -> str:
    """Return at which percentiles B is faster or slower than A, and by how much.

    `word`: the result of the comparison, which comes first unless it is better or worse.
    `unknown`: the result is inconclusive because run-to-run noise is unknown.
    """
    changes = each.changes
    sides = {
        "lower": {key: -share for key, share in changes.items() if share <= -NOTABLE},
        "higher": {key: share for key, share in changes.items() if share >= NOTABLE},
    }
    told = [
        f"{_by(list(found.values()))} {way} at {_at(list(found), len(changes))}"
        for way, found in sides.items()
        if found
    ]
    is_told = f"is {', '.join(told)}" if told else f"is within {units.share(NOTABLE)} of A's"
    text = f"B's {each.what} latency {is_told}"
    why = f", but {NOISE}" if unknown else ""
    return text if word in SURE else f"{word.capitalize()}: {text}{why}"


def _by(shares: Sequence[float]) -> str:
    """Return a range of shares: ``4 to 8 %``."""
    low, high = (units.share(share) for share in (min(shares), max(shares)))
    return high if low == high else f"{low.removesuffix(' %')} to {high}"


def _at(names: Sequence[str], of: int) -> str:
    if len(names) == of > 2:
        return f"p{names[0]} to p{names[-1]}"
    return " and ".join(
        filter(None, [", ".join(f"p{name}" for name in names[:-1]), f"p{names[-1]}"])
    )


def figure_table(
    each: Latencies, names: Sequence[str], width: int, *, sure: bool = True
) -> list[Line]:
    """Return the percentiles of both sides and their changes, a row for each side.

    `sure`: the changes are not dimmed, because they are more than noise.
    """
    known, changes = each.known, each.changes
    values = [side.percentiles(known) for side in each.counts]
    rows: list[FigureRow] = [
        (
            [(f"{name}  ", role), (called, TEXT)],
            {key: units.latency(value) for key, value in side.items()},
            TEXT,
        )
        for name, role, called, side in zip(NAMES, SIDES, names, values, strict=False)
    ]
    rows.append(
        (
            [("B against A", LABEL)],
            {key: signed(share) for key, share in changes.items()},
            BRIGHT if sure else TEXT,
        )
    )
    columns = [
        Column[FigureRow](f"{each.what} latency", lambda row: row[0], least=16),
        *(
            Column[FigureRow](
                f"p{label(value)}",
                _cell_of(label(value)),
                8,
                right=True,
                gap=1,
                drop=DROPPED.get(value, 0),
            )
            for value in known
        ),
    ]
    return text_table(columns, rows, width)


def _cell_of(key: str) -> Callable[[FigureRow], Run]:
    return lambda row: (row[1].get(key, units.UNKNOWN), row[2])


def half_of(width: int) -> int:
    """Return the width of each of two charts next to each other."""
    return (width - GUTTER) // 2


def side_by_side(charts: Sequence[list[Line]], width: int) -> list[Line]:
    """Return one or two charts next to each other."""
    first, *others = charts or [[]]
    return beside(first, others[0], half_of(width) + GUTTER) if others else first
