"""The record of the step that goes on, as far as checks look at it. It is made again and again: nothing is read twice.

Counts, rates and mean latencies are those so far, values over time and telemetry those of the last minutes.
"""

from __future__ import annotations

from collections.abc import Mapping

from tui.journal.measurement import Measurement
from tui.journal.state import RunState
from tui.journal.step import StepState
from tui.journal.views import Leaf
from tui.metrics.figures import kind_of
from tui.metrics.registry import BOTH, MIXED, in_order
from tui.model.plan import Plan, Step
from tui.model.step_record import (
    AggregateRecord,
    CacheDropRecord,
    DirectionRecord,
    HostTelemetryRecord,
    LatencyRecord,
    ResultsRecord,
    StepRecord,
)
from tui.results.record.coverage import coverage, coverage_text
from tui.results.record.running_series import RunningSeries, results_of
from tui.results.record.running_telemetry import RunningTelemetry, Sums
from tui.results.record.step import step_state, task_record
from tui.results.record.telemetry import windows_of
from tui.results.record.timing import HostSpan, host_spans, timing_record
from tui.results.slices import Sliced

LATELY_S = 10
P99_EVERY_S = 30.0


class RunningStep:
    """Follows one attempt of one step."""

    def __init__(self, plan: Plan, step: Step) -> None:
        self.plan = plan
        self.step = step
        self.kind = plan.latency_kind_of(step)
        self.series, self.results = RunningSeries(), RunningResults(self.kind)
        self._sums: dict[str, tuple[float, Sums]] = {}  # by host: since when, and its columns

    def record(self, state: RunState) -> Sliced[StepRecord]:
        """Work out what is known so far. `runtime_s` is what should have been measured until now, not in the end."""
        seen = state.at_step(self.step.index)
        measurement = seen.measurement
        spans = host_spans(state, self.step.index, seen.results)
        covered = coverage(self.step, state, spans, seen.results)
        results, series = ResultsRecord(), None
        if measurement is not None:
            results = yield from self.results.record(measurement)
            series = yield from self.series.record(measurement)
        measured_s = max((each.runtime_s or 0.0 for each in results.aggregate.values()), default=None)
        return StepRecord(
            index=self.step.index,
            name=self.step.name,
            tool=self.step.tool,
            state="running" if seen.state == "missing" else step_state(state, seen),  # a journal without step events
            attempt=seen.attempt,
            warmup=self.step.warmup,
            in_flight=self.step.in_flight,
            cache_drops=[
                CacheDropRecord(host=each.host, ok=each.ok, method=each.method, detail=each.detail)
                for each in seen.cache_drops
            ],
            latency_kind=self.step.latency_kind,
            runtime_s=None if self.step.runtime_s is None else measured_s,
            measured_s=measured_s,
            results=results,
            tasks={
                task.host: task_record(seen, task, spans.get(task.host), seen.results.get(task.host))
                for task in self.step.tasks
            },
            timing=timing_record(spans),
            coverage=covered,
            coverage_text=coverage_text(covered),
            series=series,
            telemetry=self._telemetry(seen, spans),
        )

    def lately(self, state: RunState, record: StepRecord) -> StepRecord:
        """Return the same with the figures and the telemetry of the last seconds alone."""
        start_s, results = state.clock.now - LATELY_S, ResultsRecord()
        if record.series is not None:
            results = results_of(record.series, LATELY_S, self.kind)
        looked = [each for each in record.telemetry if each.start_s is not None]
        seen = state.at_step(self.step.index).telemetry
        telemetry = [RunningTelemetry.of(seen[each.host], max(each.start_s or 0.0, start_s), {}) for each in looked]
        return record.model_copy(update={"results": results, "telemetry": telemetry})

    def _telemetry(self, seen: StepState, spans: dict[str, HostSpan]) -> list[HostTelemetryRecord]:
        found: list[HostTelemetryRecord] = []
        for host, window in windows_of(seen, spans, self.step.hosts):
            start_s = window[0] if window is not None else None
            since_s, sums = self._sums.get(host.host, (None, {}))
            if start_s is not None and since_s != start_s:
                sums = {}
                self._sums[host.host] = (start_s, sums)
            found.append(RunningTelemetry.of(host, start_s, sums))
        return found


class RunningResults:
    """The figures so far. p99 of a host is looked at now and then: it takes a walk through a whole histogram."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self._p99: dict[tuple[str, str], int | None] = {}
        self._p99_t = float("-inf")

    def record(self, measurement: Measurement) -> Sliced[ResultsRecord]:
        """Work out the figures by host, and over all hosts; p99 of the hosts alone."""
        per_host: dict[str, dict[str, DirectionRecord]] = {}
        anew = measurement.clock.now - self._p99_t >= P99_EVERY_S
        if anew:
            self._p99_t = measurement.clock.now
        for host in list(measurement.hosts):
            if dirs := self._host(measurement, host):
                per_host[host] = dirs
                self._add_p99(measurement, host, dirs, anew=anew)
            yield
        names = in_order(dict.fromkeys(name for dirs in per_host.values() for name in dirs))
        parts = {name: [dirs[name] for dirs in per_host.values() if name in dirs] for name in names}
        aggregate = {name: _together(each, name, self.kind) for name, each in parts.items()}
        return ResultsRecord(aggregate=aggregate, per_host=per_host)

    def _add_p99(self, measurement: Measurement, host: str, dirs: Mapping[str, DirectionRecord], *, anew: bool) -> None:
        for name, record in dirs.items():
            if anew:
                self._p99[host, name] = _p99(measurement, host, name)
            latency, value = record.lat or record.clat, self._p99.get((host, name))
            if latency is not None and value is not None:
                latency.percentiles_ns["99"] = value

    def _host(self, measurement: Measurement, host: str) -> dict[str, DirectionRecord]:
        leaves = measurement.hosts[host]
        dirs = {name: _direction(leaf, kind_of(name, self.kind)) for name, leaf in leaves.items() if leaf.ios}
        if {"read", "write"} <= dirs.keys() and BOTH not in dirs:
            dirs[MIXED] = _together([dirs["read"], dirs["write"]], MIXED, self.kind)
        return dirs


def _p99(measurement: Measurement, host: str, name: str) -> int | None:
    leaves = measurement.hosts[host]
    view = measurement.total_of(host) if name == MIXED and MIXED not in leaves else leaves[name]
    if name not in (BOTH, MIXED) and {"read", "write"} <= leaves.keys():
        return None  # where both are done, hosts are compared by both together
    return view.so_far.percentile(99)


def _direction(leaf: Leaf, kind: str) -> DirectionRecord:
    record = DirectionRecord(ios=leaf.ios, bytes=leaf.bytes, runtime_s=leaf.runtime_s, from_samples=True)
    if leaf.runtime_s:
        record.iops, record.bw_bytes_per_s = leaf.ios / leaf.runtime_s, leaf.bytes / leaf.runtime_s
    if count := leaf.so_far.total:
        latency = LatencyRecord(n=count, max_ns=leaf.so_far_max, mean_ns=leaf.lat_sum_ns / count)
        record.lat, record.clat = (latency, None) if kind == "lat" else (None, latency)
    return record


def _together(parts: list[DirectionRecord], name: str, kind: str) -> AggregateRecord:
    record = AggregateRecord(
        ios=sum(part.ios for part in parts),
        bytes=sum(part.bytes for part in parts),
        runtime_s=max(part.runtime_s or 0.0 for part in parts),
        iops=sum(part.iops or 0.0 for part in parts),
        bw_bytes_per_s=sum(part.bw_bytes_per_s or 0.0 for part in parts),
        hosts=[],
        from_samples=True,
    )
    timed = [each for part in parts if (each := part.lat or part.clat) is not None]
    if count := sum(each.n for each in timed):
        mean_ns = sum(each.n * (each.mean_ns or 0.0) for each in timed) / count
        latency = LatencyRecord(n=count, mean_ns=mean_ns)
        record.lat, record.clat = (latency, None) if kind_of(name, kind) == "lat" else (None, latency)
    return record
