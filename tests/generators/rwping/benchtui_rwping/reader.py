"""What rwping prints: reads and writes counted apart, their latencies in one histogram, percentiles
of each second.
"""

from __future__ import annotations

import statistics

from tui.metrics.histogram import Histogram
from tui.model.event import (
    DirectionResult,
    DirectionSample,
    HostResult,
    LatencyResult,
    PhaseName,
    Sample,
)
from tui.workloads.base import LogLine
from tui.workloads.reading import LineSplitter

BLOCK = 4096


class RwReader:
    """Reads one host's rwping."""

    def __init__(self, host: str, step: int, phase: PhaseName) -> None:
        self.host, self.step, self.phase = host, step, phase
        self._lines, self._errors = LineSplitter(), LineSplitter()
        self._begin_ms = self._end_ms = 0
        self._reads = self._writes = 0
        self._waits: list[int] = []
        self._ended = False

    def feed(self, data: bytes) -> list[Sample | LogLine]:
        """Return a sample for each interval that these bytes complete."""
        return [
            sample
            for line in self._lines.feed(data)
            if (sample := self._take(line.split())) is not None
        ]

    def feed_stderr(self, data: bytes) -> list[LogLine]:
        """Return what Python complained of."""
        return [("error", line) for line in self._errors.feed(data)]

    def flush(self) -> list[Sample | LogLine]:
        """Return nothing: a line without its end may be half a number."""
        return []

    def result(self, exit_code: int | None) -> HostResult | None:
        """Return reads, writes, and the latencies of both."""
        if not self._waits:
            return None
        seconds = (self._end_ms - self._begin_ms) / 1000
        read, write, both = (
            self._direction(ios, seconds) for ios in (self._reads, self._writes, len(self._waits))
        )
        both.clat = both.lat = latency_of(self._waits)
        return HostResult(
            t=0.0,
            host=self.host,
            step=self.step,
            dirs={"read": read, "write": write, "both": both},
            final=self._ended and exit_code == 0,
            start_ms=self._begin_ms,
            end_ms=self._end_ms,
        )

    def problems(self, exit_code: int | None) -> list[tuple[str, str]]:
        """Return why the result is not to be trusted."""
        return (
            []
            if self._ended and exit_code == 0
            else [("rwping-incomplete", f"it ended with {exit_code}")]
        )

    def _direction(self, ios: int, seconds: float) -> DirectionResult:
        return DirectionResult(ios, ios * BLOCK, seconds, ios / seconds, ios * BLOCK / seconds)

    def _take(self, words: list[str]) -> Sample | None:
        if words[:1] == ["begin"]:
            self._begin_ms = self._end_ms = int(words[1])
        elif words[:1] == ["end"]:
            self._ended = True
        elif words[:1] in (["second"], ["last"]):
            return self._interval(int(words[1]), words[2:4], [int(word) for word in words[4:]])
        return None

    def _interval(self, now_ms: int, printed: list[str], numbers: list[int]) -> Sample | None:
        reads, writes, *waits = numbers
        interval_s = (now_ms - self._end_ms) / 1000
        if interval_s <= 0:
            return None
        self._end_ms = now_ms
        self._reads, self._writes, self._waits = (
            self._reads + reads,
            self._writes + writes,
            self._waits + waits,
        )
        told = dict(word.split("=") for word in printed)
        both = DirectionSample(
            ios=len(waits),
            bytes=len(waits) * BLOCK,
            lat_sum_ns=sum(waits),
            lat_max_ns=max(self._waits, default=0),
            lat=histogram(waits).buckets,
            printed_ns={
                name.removeprefix("p"): int(value) for name, value in told.items() if value != "-"
            },
        )
        own = {
            "read": DirectionSample(reads, reads * BLOCK),
            "write": DirectionSample(writes, writes * BLOCK),
        }
        return Sample(
            t=0.0,
            host=self.host,
            step=self.step,
            phase=self.phase,
            host_time_ms=now_ms,
            interval_s=interval_s,
            dirs={**own, "both": both},
        )


def histogram(waits: list[int]) -> Histogram:
    """Return the histogram of latencies."""
    found = Histogram()
    for wait in waits:
        found.record(wait)
    return found


def latency_of(waits: list[int]) -> LatencyResult:
    """Return the latencies of everything."""
    whole = histogram(waits)
    deviation = statistics.stdev(waits) if len(waits) > 1 else 0.0
    percentiles = whole.percentiles(at_most=max(waits))
    return LatencyResult(
        len(waits),
        min(waits),
        max(waits),
        statistics.fmean(waits),
        deviation,
        percentiles,
        whole.buckets,
    )
