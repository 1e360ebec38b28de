"""What a run is watched against, put behind its graphs: the course of another run, or a published level. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from tui.app.widgets.graph import Graph, Layer
from tui.app.widgets.graph_panels import BANDWIDTH, IOPS, LATENCY, Subject
from tui.metrics.registry import Metric
from tui.text.timeaxis import TimeAxis, merged

if TYPE_CHECKING:
    from tui.results.compare.behind import Behind


def with_behind(
    graphs: Sequence[Graph], subject: Subject, behind: Behind | None, step: int | None, host: str = ""
) -> tuple[Graph, ...]:
    """Return the graphs of IOPS, bandwidth and latency with lines behind their curves.

    They are of one host, or ("") of all together; the load behind begins where this one begins.
    """
    if behind is None:
        return tuple(graphs)
    shown = ((IOPS, subject.directions), (BANDWIDTH, subject.directions), (LATENCY, subject.waits))
    begin = subject.total.span[0] if subject.total.span is not None else 0
    found: list[Graph] = []
    for graph, (metric, names) in zip(graphs, shown, strict=True):
        pairs = zip(names, graph.layers, strict=False)
        layers = tuple(_layer(layer, name, metric, behind, step, host, graph.axis, begin) for name, layer in pairs)
        against = _against(layers, metric, graph.axis)
        found.append(replace(graph, layers=layers, against=f"{against} {behind.word}" if against else ""))
    return tuple(found)


def _layer(
    layer: Layer, name: str, metric: Metric, behind: Behind, step: int | None, host: str, axis: TimeAxis, begin: int
) -> Layer:
    """Return a curve with what is behind it: p99 where the curve is that, a single value as a level."""
    values = behind.values(step, host, name, "p99" if layer.peaks else metric.name)
    if len(values) == 1:
        return replace(layer, behind=tuple(values) * axis.span_s, behind_s=axis.start_s)
    weights = behind.values(step, host, name, "iops") if metric is LATENCY else ()
    return replace(layer, behind=values, behind_s=begin, behind_weights=weights)


def _against(layers: Sequence[Layer], metric: Metric, axis: TimeAxis) -> str:
    """Return the figures behind the curves: of the second that is looked at, else of their whole course."""
    told = [metric.text(_figure(layer, axis)) for layer in layers if layer.behind]
    tail = "p99 " if any(layer.peaks for layer in layers) else ""
    return tail + " / ".join(told) if told else ""


def _figure(layer: Layer, axis: TimeAxis) -> float | None:
    """Return the mean of what is behind a curve, or its value under the cursor; of tails the middle one.

    Percentiles of seconds have no mean: the middle second stands for the others.
    """
    if axis.cursor_s is not None:
        at = axis.cursor_s - layer.behind_s
        return layer.behind[at] if 0 <= at < len(layer.behind) else None
    if layer.peaks:
        known = sorted(value for value in layer.behind if value is not None)
        return known[len(known) // 2] if known else None
    return merged(layer.behind, layer.behind_weights, peaks=False)
