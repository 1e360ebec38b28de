"""Two searches beside each other: throughput with as many hosts, and what was fitted to the points of each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct

from tui.metrics import units
from tui.metrics.registry import METRICS
from tui.model.search_record import IntervalRecord, SearchRecord
from tui.results.sizing.found import UNKNOWN, Found, figure_text, found_figures
from tui.results.sizing.words import measured_scales
from tui.sizing.estimate import Estimate, ratio_of
from tui.text.line import LABEL, TEXT, VALUE, Line, Run
from tui.text.table import Column, text_table

FITTED = ("knee", "one_host", "contention", "coherence")  # capacity and full load are what is compared first
RATES = ("knee", "one_host")  # a ratio of the others says nothing: they may be 0


class HostsChange(Struct, frozen=True):
    """B against A with so many hosts; efficiency against linear growth from the fewest of each side."""

    hosts: int
    a: IntervalRecord
    b: IntervalRecord
    ratio: Estimate
    efficiency_a: float | None
    efficiency_b: float | None


class FitChange(Struct, frozen=True):
    """A figure that was fitted to the points of each side; a side that has none is unknown."""

    a: Found
    b: Found

    @property
    def ratio(self) -> Estimate:
        """B over A of a rate; of a term of the law nothing, it may be 0."""
        return ratio_of(estimate(self.a.figure), estimate(self.b.figure)) if self.a.name in RATES else Estimate()

    @property
    def apart(self) -> bool | None:
        """Whether the intervals have nothing in common; None: one has no ends."""
        ends = [end for side in (self.a, self.b) for end in (side.figure.low, side.figure.high)]
        low, high, other_low, other_high = ends
        if low is None or high is None or other_low is None or other_high is None:
            return None
        return other_low > high or other_high < low


def estimate(figure: IntervalRecord) -> Estimate:
    """Return a figure of a record as one to reckon with."""
    return Estimate(figure.value, figure.low, figure.high)


def most_hosts(searches: Sequence[SearchRecord]) -> int | None:
    """Return the most hosts that all of these measured throughput with; None: there is no such number."""
    measured = [set(measured_scales(each.scaling)) if each.scaling is not None else set() for each in searches]
    return max(set.intersection(*measured), default=None) if measured else None


def rate_with(search: SearchRecord, hosts: int | None) -> IntervalRecord:
    """Return throughput with so many hosts; unknown where that was not measured."""
    found = measured_scales(search.scaling) if search.scaling is not None else {}
    return found[hosts].iops if hosts in found else UNKNOWN


def by_hosts(a: SearchRecord, b: SearchRecord) -> list[HostsChange]:
    """Return throughput with each number of hosts that both measured; nothing of searches for something else."""
    if a.scaling is None or b.scaling is None:
        return []
    ours, theirs = measured_scales(a.scaling), measured_scales(b.scaling)
    return [
        HostsChange(
            hosts, ours[hosts].iops, theirs[hosts].iops,
            ratio_of(estimate(ours[hosts].iops), estimate(theirs[hosts].iops)),
            ours[hosts].efficiency, theirs[hosts].efficiency,
        )
        for hosts in sorted(ours.keys() & theirs.keys())
    ]  # fmt: skip


def fits(a: SearchRecord, b: SearchRecord) -> list[FitChange]:
    """Return knee and terms of the law, where either side has them."""
    ours, theirs = ({each.name: each for each in found_figures(side)} for side in (a, b))
    made = []
    for name in FITTED:
        found = ours.get(name) or theirs.get(name)
        if found is not None:
            none = Found(name, found.unit, UNKNOWN)
            made.append(FitChange(ours.get(name, none), theirs.get(name, none)))
    return [each for each in made if (each.a.figure.value, each.b.figure.value) != (None, None)]


# -- words


def hosts_lines(found: Sequence[HostsChange], width: int) -> list[Line]:
    """Return throughput with each number of hosts as a table; nothing without one."""
    return text_table(hosts_columns(), found, width) if found else []


def hosts_columns() -> list[Column[HostsChange]]:
    """Return the columns of throughput with as many hosts."""
    rate = METRICS["iops"].text
    return [
        Column("hosts", lambda row: str(row.hosts), right=True),
        Column("A IOPS", lambda row: rate(row.a.value), right=True),
        Column("B IOPS", lambda row: rate(row.b.value), right=True),
        Column("change", lambda row: signed(row.ratio), right=True, role=VALUE),
        Column("A of linear", lambda row: units.percent(row.efficiency_a), right=True, drop=1),
        Column("B of linear", lambda row: units.percent(row.efficiency_b), right=True, drop=1),
    ]


def fit_facts(found: Sequence[FitChange]) -> Iterator[tuple[str, list[Run]]]:
    """Yield knee and terms of the law of both sides: a name, its runs."""
    for each in found:
        told: list[Run] = [(f"{figure_text(each.a)} → {figure_text(each.b)}", TEXT)]
        if each.ratio.value is not None:
            told.append((f"  {signed(each.ratio)}", VALUE))
        if each.apart is not None:
            told.append((f"  intervals {'do not overlap' if each.apart else 'overlap'}", LABEL))
        yield each.a.title, told


def signed(ratio: Estimate) -> str:
    """Return a ratio as a change: ``+3.1 % (+1.2 … +5.0 %)``."""
    if ratio.value is None:
        return units.UNKNOWN
    ends = ""
    if ratio.low is not None and ratio.high is not None:
        ends = f" ({(ratio.low - 1) * 100:+.1f} … {(ratio.high - 1) * 100:+.1f} %)"
    return f"{(ratio.value - 1) * 100:+.1f} %{ends}"
