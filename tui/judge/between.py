"""Compare a load's byte counts with the kernel's between the same telemetry samples."""

from __future__ import annotations

from itertools import accumulate, pairwise
from typing import TYPE_CHECKING

from msgspec import Struct

from tui.judge.chance import chance_of
from tui.judge.pace import clock_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tui.judge.check import StepEvidence
    from tui.model.step_record import HostTelemetryRecord

LEAST_SAMPLES, TOUCHING_S = 3, 0.05  # inside the load; gap between two that follow each other


class SameSamples(Struct, frozen=True):
    """Share of a load's bytes that the kernel counts between the same samples, and how much of it
    is uncertain.

    `known_bytes`, `known_s`: bytes that the load moved in all its intervals of `step_s`, and their
    total time.
    """

    share: float
    uncertain: float
    known_bytes: float
    known_s: float
    step_s: float


def between_samples(
    at: StepEvidence, host: HostTelemetryRecord, name: str, values: Sequence[float | None]
) -> SameSamples | None:
    """Return the share of a host's bytes that `values` (bytes per second of its telemetry) count
    between the same samples; None if they do not overlap the load.

    The load's bytes are known per second, and its rate is taken as constant within each. The
    uncertainty covers the bytes before and after a sample within a second (bounded by the rates of
    the seconds around it), late samples (by as much as their intervals differ) and I/Os in flight,
    which count on one side only.
    """
    series = at.record.series
    columns = series.columns if series is not None else []
    loads = [each for each in columns if (each.host, each.direction) == (host.host, name)]
    if series is None or len(loads) != 1 or clock_of(at, host.host) not in (None, 1.0):
        return None
    rates = loads[0].bw_bytes_per_s
    known = [rate for rate in rates if rate is not None]
    if len(known) < len(rates):
        return None
    before = [0.0, *accumulate(known)]

    def until(second: float) -> float:
        whole = min(int(second), len(known) - 1)
        return before[whole] + (second - whole) * known[whole]

    start_s, step_s = series.start_s, series.step_s
    spans = [
        ((end_s - length_s - start_s) / step_s, (end_s - start_s) / step_s, value)
        for end_s, length_s, value in zip(host.t_s, host.interval_s, values, strict=False)
        if value is not None
    ]
    spans = [span for span in spans if span[0] >= 0 and span[1] <= len(known)]
    own = sum(until(end) - until(begin) for begin, end, _ in spans)
    if len(spans) < LEAST_SAMPLES or not own:
        return None
    ends = [spans[0][0], spans[-1][1]]
    for (_, end, _), (begin, _, _) in pairwise(spans):
        ends += [end, begin] if begin - end > TOUCHING_S / step_s else []
    unsure = chance_of(at.step.jobs).flying_bytes / step_s
    # a busy host reads counters late: as much as its intervals differ
    lengths = [end - begin for begin, end, _ in spans]
    late = max(lengths) - min(lengths)
    for end in ends:
        near = known[max(0, int(end) - 1) : int(end) + 2]
        # half a second from a whole one at most
        unsure += (max(near) - min(near)) / 2 + late * max(near)
    moved = sum((end - begin) * value for begin, end, value in spans)
    whole = before[-1] * step_s, len(known) * step_s, step_s
    return SameSamples(moved / own, unsure / own, *whole)
