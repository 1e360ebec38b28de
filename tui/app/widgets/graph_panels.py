"""What the three graphs show in each phase: figures and areas from the state of a run. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import ceil
from typing import TYPE_CHECKING

from tui.app.widgets.graph import NO_AXIS, Graph, Layer
from tui.app.widgets.graph_area import Value, merge_values
from tui.metrics.registry import BOTH, METRICS, MIXED, Metric, direction, in_order
from tui.metrics.units import Parts, latency, share, size
from tui.text.line import ACCENT, LABEL, VALUE, Run
from tui.text.timeaxis import TimeAxis

if TYPE_CHECKING:
    from tui.journal.state import RunState
    from tui.journal.views import DirectionView
    from tui.model.event import DirectionResult

KEYS = {"read": "read", "write": "write", "trim": "other", "mixed": "other", "sync": "other", "both": "other"}
Tails = Mapping[str, Mapping[int, int]]  # direction -> second of the run -> 99th percentile, ns


@dataclass(frozen=True, slots=True)
class Subject:
    """Whose figures are shown: all hosts, or one."""

    dirs: Mapping[str, DirectionView]
    total: DirectionView
    name: str = ""
    tails: Tails | None = None
    results: Mapping[str, DirectionResult] = field(default_factory=dict)  # by direction, once the load is over
    about: str = ""  # the direction of the headline, which is always among those that are shown

    @property
    def directions(self) -> list[str]:
        """Directions with I/O, reads first; at most two have room."""
        return self._two([name for name in in_order(self.dirs) if direction(name).in_total])

    @property
    def waits(self) -> list[str]:
        """Directions whose latencies are shown, syncs first; at most two have room."""
        split = () if BOTH not in self.dirs else ("read", "write")  # they have none of their own
        return self._two([name for name in in_order(self.dirs) if name not in split])

    @property
    def host_waits(self) -> str:
        """The direction whose latencies hosts are compared by, where there are several; empty: all I/O together.

        That of the headline; of a job that does none of it the first.
        """
        if len(self.dirs) < 2 or self.about in ("", MIXED):
            return ""
        return self.about if self.about in self.dirs else self.waits[0]

    def _two(self, names: list[str]) -> list[str]:
        return in_order([names[0], self.about]) if self.about in names[2:] else names[:2]

    def title(self, text: str) -> str:
        """Return a panel's title."""
        return f"{text} · {self.name}" if self.name else text


IOPS, BANDWIDTH, LATENCY = METRICS["iops"], METRICS["bandwidth"], METRICS["latency"]


def panels(
    state: RunState,
    subject: Subject,
    waits: Subject,
    axis: TimeAxis = NO_AXIS,
    *,
    ascii_only: bool = False,
    counted: str = "",
) -> tuple[Graph, Graph, Graph]:
    """Return the graphs of IOPS, bandwidth and latency; while files are laid out the first one tells how far.

    `waits`: whose latencies are shown. `counted`: what a load on files counts in place of I/Os, such as ``stats``.
    """
    first = layout_graph(state) if state.phase == "layout" and not subject.name else None
    found = (
        first or rate_graph(subject, IOPS, axis, ascii_only),
        rate_graph(subject, BANDWIDTH, axis, ascii_only),
        latency_graph(waits, axis, ascii_only),
    )
    one, two, three = (replace(graph, axis=axis) for graph in found)
    if counted and not first:
        one = replace(one, title=subject.title(f"{counted.capitalize()}/s"))
    return one, two, three


def layout_graph(state: RunState) -> Graph:
    """Return how much of the test files is written."""
    progress = state.progress(state.clock.now)
    total = state.phase_total_bytes
    written = size(state.phase_bytes)
    number, _, unit = written.partition(" ")
    aside = ((f"of {size(total)}", LABEL),) if total else ()
    left = "" if progress.remaining_s is None else f"about {ceil(progress.remaining_s)} s left"
    fraction = progress.fraction
    percent = "" if fraction is None else f"{share(fraction)} written"
    notes: tuple[tuple[Run, ...], ...] = (((percent, LABEL),), ((left, LABEL),))
    return Graph("Layout", ((number, VALUE), (f" {unit}", LABEL)), aside=aside, meter=fraction, notes=notes)


def rate_graph(subject: Subject, metric: Metric, axis: TimeAxis, ascii_only: bool) -> Graph:
    """Return the graph of IOPS or bandwidth."""
    series = {name: subject.dirs[name].series(metric.name) for name in subject.directions}
    layers = tuple(Layer(KEYS[name], values, first_s=first_of(subject, name)) for name, values in series.items())
    figures = figures_of(subject, metric, series, axis, ascii_only)
    aside = cursor_time(axis)
    if not aside and len(series) == 1 and subject.total.intervals():
        (values,) = series.values()
        aside = ((f"avg {metric.text(average)}", LABEL),) if (average := merge_values(values)) is not None else ()
    title = subject.title(_heading(metric))
    return Graph(title, figures, layers, metric.rounded, aside, empty="no load yet", base=metric.base)


def _heading(metric: Metric) -> str:
    return metric.title[0].upper() + metric.title[1:]


def first_of(subject: Subject, name: str) -> int:
    """Return the second of the run that the series of a direction begins with."""
    span = subject.dirs[name].span
    return span[0] if span is not None else 0


def cursor_time(axis: TimeAxis) -> tuple[Run, ...]:
    """Return the time that the cursor is at; nothing without one."""
    return ((axis.cursor_text, ACCENT),) if axis.cursor_text else ()


def latency_graph(subject: Subject, axis: TimeAxis, ascii_only: bool) -> Graph:
    """Return the graph of latency: the mean in front of the 99th percentile."""
    series = {name: subject.dirs[name].series("latency") for name in subject.waits}
    layers = tuple(_latency_layer(subject, name, values) for name, values in series.items())
    figures = figures_of(subject, LATENCY, series, axis, ascii_only)
    aside = cursor_time(axis)
    if not aside and len(series) == 1:
        live = bool(subject.total.intervals())
        known = subject.total.interval_percentiles if live else subject.total.so_far_percentiles
        aside = ((f"p99 {latency(known['99'])}", LABEL),)
    return Graph(subject.title(_heading(LATENCY)), figures, layers, LATENCY.rounded, aside, empty="no load yet")


def _latency_layer(subject: Subject, name: str, means: Sequence[Value]) -> Layer:
    key = "latency" if len(subject.waits) == 1 else KEYS[name]
    span = subject.dirs[name].span
    ios = subject.dirs[name].series("iops")
    tail = (subject.tails or {}).get(name)
    if not tail or span is None:
        return Layer(key, means, first_s=first_of(subject, name), weights=ios)
    tails = [tail.get(second) for second in range(*span)]
    return Layer(key, tails, front=means, peaks=True, first_s=span[0], weights=ios)


def figures_of(
    subject: Subject, metric: Metric, series: Mapping[str, Sequence[Value]], axis: TimeAxis, ascii_only: bool
) -> tuple[Run, ...]:
    """Return the current figures, those under the cursor, or the averages when there is no load any more."""
    names = list(series)
    live, at = bool(subject.total.intervals()), axis.cursor_s
    if at is not None:
        values = {name: (subject.dirs[name].values(metric.name, at, at + 1) or [None])[0] for name in names}
    elif live:
        values = {name: subject.dirs[name].now(metric.name) for name in names}
    else:
        values = {name: average_of(subject, metric, name, values) for name, values in series.items()}
    if not names:
        number, unit = metric.parts(None)
        return ((number, LABEL), (f" {unit}" if unit else "", LABEL))
    tail = "" if live or at is not None else " avg"
    if len(names) == 1:
        number, unit = metric.parts(values[names[0]])
        if metric.counted:
            return ((number + unit, VALUE), (tail, LABEL))
        return ((number, VALUE), (f" {unit}{tail}", LABEL))
    return _two_figures([(name, metric.parts(values[name])) for name in names], bool(metric.counted), ascii_only)


def average_of(subject: Subject, metric: Metric, name: str, values: Sequence[Value]) -> float | None:
    """Return the figure of a load that is over, as the record will have it: the tool's rate, the mean of all I/Os."""
    if metric is LATENCY:
        return subject.dirs[name].so_far_mean_ns
    result = subject.results.get(name)
    if result is None:
        return merge_values(values)
    return result.iops if metric is IOPS else result.bw_bytes_per_s


def _two_figures(found: Sequence[tuple[str, Parts]], attached: bool, ascii_only: bool) -> tuple[Run, ...]:
    """Return two directions with the arrows of their areas: up and down; a common unit is said once."""
    (up, (first, unit)), (down, (second, other_unit)) = found
    arrows = (up[0], down[0]) if ascii_only else ("▲", "▼")
    if attached:
        left, right = (first + unit, VALUE), (second + other_unit, VALUE)
        return ((arrows[0], KEYS[up]), left, ("  " + arrows[1], KEYS[down]), right)
    shown = "" if unit == other_unit else f" {unit}"
    return (
        (arrows[0], KEYS[up]),
        (first, VALUE),
        (shown, LABEL),
        ("  " + arrows[1], KEYS[down]),
        (second, VALUE),
        (f" {other_unit}", LABEL),
    )
