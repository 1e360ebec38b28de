"""What dd and the script around it print, as samples each second and a result at the end."""

from __future__ import annotations

import re
from math import sqrt

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

COPIED = re.compile(r"(\d+) bytes .*copied, ([0-9.e-]+) s")


class DdReader:
    """Reads one host's script. Latencies are dd's own times, in ns."""

    def __init__(self, host: str, step: int, phase: PhaseName) -> None:
        self.host, self.step, self.phase = host, step, phase
        self._lines, self._errors = LineSplitter(), LineSplitter()
        self._version, self._failed = "", ""
        self._begin_s, self._sampled_s, self._ended = 0, 0, False
        self._all: list[tuple[int, int]] = []  # (bytes, ns) of each write
        self._told = 0  # how many of them stand in samples

    def feed(self, data: bytes) -> list[Sample | LogLine]:
        """Return a sample for each second that these bytes complete."""
        return [item for line in self._lines.feed(data) if (item := self._take(line)) is not None]

    def feed_stderr(self, data: bytes) -> list[LogLine]:
        """Return what the shell complained of."""
        return [("warning", line) for line in self._errors.feed(data)]

    def flush(self) -> list[Sample | LogLine]:
        """Return nothing: a line without its end may be half a number."""
        return []

    def result(self, exit_code: int | None) -> HostResult | None:
        """Return all writes; None when there was none."""
        if not self._all:
            return None
        seconds = float(max(self._sampled_s - self._begin_s, 1))
        done = sum(size for size, _ in self._all)
        ios = len(self._all)
        latency = latency_of([ns for _, ns in self._all])
        written = DirectionResult(
            ios, done, seconds, ios / seconds, done / seconds, clat=latency, lat=latency
        )
        return HostResult(
            t=0.0,
            host=self.host,
            step=self.step,
            dirs={"write": written},
            tool_version=self._version,
            final=self._ended and exit_code == 0,
            start_ms=self._begin_s * 1000,
            end_ms=self._sampled_s * 1000,
        )

    def problems(self, exit_code: int | None) -> list[tuple[str, str]]:
        """Return why the result is not to be trusted, in dd's own words where it gave any."""
        if self._failed:
            return [("ddsync-failed", self._failed)]
        if not self._ended:
            return [
                (
                    "ddsync-incomplete",
                    f"the writes did not come to their end (exit code {exit_code})",
                )
            ]
        return []

    def _take(self, line: str) -> Sample | LogLine | None:
        word, _, rest = line.partition(" ")
        if match := COPIED.search(line):
            self._all.append((int(match[1]), round(float(match[2]) * 1e9)))
        elif word == "at":
            return self._second(int(rest))
        elif word == "version":
            self._version = rest
        elif line == "end":
            self._ended = True
        elif word == "dd:":
            self._failed = line
            return ("error", line)
        return None

    def _second(self, now_s: int) -> Sample | None:
        """Return what was written since the last sample when a second has passed."""
        if not self._begin_s:
            self._begin_s = self._sampled_s = now_s
        if now_s == self._sampled_s:
            return None
        new, self._told = self._all[self._told :], len(self._all)
        interval, self._sampled_s = float(now_s - self._sampled_s), now_s
        waits = histogram([ns for _, ns in new])
        written = DirectionSample(
            ios=len(new),
            bytes=sum(size for size, _ in new),
            lat_sum_ns=sum(ns for _, ns in new),
            lat_max_ns=max((ns for _, ns in self._all), default=0),
            lat=waits.buckets,
        )
        return Sample(
            t=0.0,
            host=self.host,
            step=self.step,
            phase=self.phase,
            host_time_ms=now_s * 1000,
            interval_s=interval,
            dirs={"write": written},
        )


def histogram(waits_ns: list[int]) -> Histogram:
    """Return the histogram of latencies."""
    found = Histogram()
    for wait in waits_ns:
        found.record(wait)
    return found


def latency_of(waits_ns: list[int]) -> LatencyResult:
    """Return exact count, extremes, mean and deviation, and percentiles by the histogram."""
    count, mean = len(waits_ns), sum(waits_ns) / len(waits_ns)
    spread = sqrt(sum((wait - mean) ** 2 for wait in waits_ns) / (count - 1)) if count > 1 else 0.0
    waits = histogram(waits_ns)
    percentiles = waits.percentiles(at_most=max(waits_ns))
    return LatencyResult(
        count, min(waits_ns), max(waits_ns), mean, spread, percentiles, waits.buckets
    )
