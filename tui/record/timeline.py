"""Journal on one time line: when each host measured, how accurately this is known, which hosts ran
together.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import ceil
from pathlib import Path
from typing import Literal

from msgspec import Struct, field

from tui.journal.clock import (
    ASKED_TO_END,
    ClockReading,
    ClockStep,
    HostClocks,
    ended_badly,
)
from tui.journal.fold import fold_all
from tui.journal.latencies import CLUSTER_OPEN_S
from tui.journal.measurement import Measurement, MeasuringWindow
from tui.journal.reader import read_events
from tui.journal.state import RunState
from tui.journal.survey import survey
from tui.model.event import ALLOCATION_ENDED, HostResult
from tui.model.figure_record import WindowRecord
from tui.model.plan import Step
from tui.model.step_record import CoverageRecord, HostTimingRecord, TimingRecord


class JournalData(Struct):
    """Content of a journal. `clock_steps`: clocks that were set during the run, by host."""

    state: RunState
    clock_steps: dict[str, ClockStep] = field(default_factory=dict)
    events: int = 0
    unread_bytes: int = 0


def read_journal(journal: Path, lease_s: float = 0.0) -> JournalData:
    """Read the readable part of a journal; a missing journal is empty.

    `lease_s`: the time that a load runs without contact, and so the longest lag of samples.
    """
    if not journal.exists():
        return JournalData(RunState(for_record=True))
    known = survey(journal)
    open_s = max(CLUSTER_OPEN_S, ceil(1.5 * lease_s))
    state = RunState(
        HostClocks(known.offsets, known.distrusted),
        known.results,
        for_record=True,
        tails_open_s=open_s,
    )
    reader = read_events(journal)
    fold_all(state, reader)
    steps = state.clocks.steps()
    return JournalData(state, known.distrusted | steps, reader.events, reader.unread_bytes)


TOOL_ERROR_S = 0.001  # the tool prints milliseconds
DERIVED_ERROR_S = 0.1  # fio 3.33 with 100 jobs on 2 CPUs: 0.05 s late
AGREES_S = 10.0  # limit of the distance between printed times and samples
SHORTEST_S = 1e-3  # a shorter common window counts as none


class HostSpan(Struct, frozen=True):
    """Time in which one host measured, in run time.

    The errors of the tool's times and of the clock are separate.
    """

    start_t: float
    end_t: float
    start_error_s: float
    end_error_s: float
    clock_error_s: float | None
    source: Literal["tool", "samples"]


def host_spans(
    state: RunState, step: int, results: Mapping[str, HostResult]
) -> dict[str, HostSpan]:
    """Return the spans of all hosts that measured in a step, in order of their first samples."""
    measurement = state.at_step(step).measurement
    windows = measurement.windows if measurement is not None else {}
    spans = {}
    for host, window in windows.items():
        reading = state.reading_of(host, step)
        if measurement is not None and reading is not None:
            spans[host] = _span(state, measurement, window, reading, results.get(host))
    return spans


def _span(
    state: RunState,
    measurement: Measurement,
    window: MeasuringWindow,
    reading: ClockReading,
    result: HostResult | None,
) -> HostSpan:
    if result is None or not any(part.ios for part in result.dirs.values()):
        start_t, error_s = _not_before(measurement, window.start_t, window)
        return HostSpan(
            start_t, max(window.io_t1, start_t), error_s, 0.0, reading.uncertainty_s, "samples"
        )
    # only samples are known
    if _was_set(state, result.host, window) or not _agrees(window, reading, result):
        reading, result = ClockReading(reading.offset_s, None), _without_times(result)
    elif result.start_ms is not None and result.end_ms is not None:
        start_t, end_t = (_on_run_time(ms, reading) for ms in (result.start_ms, result.end_ms))
        return HostSpan(
            start_t, max(start_t, end_t), TOOL_ERROR_S, TOOL_ERROR_S, reading.uncertainty_s, "tool"
        )
    return _derived(measurement, window, reading, result)


def _derived(
    measurement: Measurement, window: MeasuringWindow, reading: ClockReading, result: HostResult
) -> HostSpan:
    """Return the span for a tool that does not print its start (fio < 3.36).

    Both candidates are late: fio stamps a live snapshot after waiting for its workers, the last
    object up to half a second after the load. The earlier one is closer.
    """
    runtime_s = max(part.runtime_s for part in result.dirs.values())
    printed_t = window.end_t if result.end_ms is None else _on_run_time(result.end_ms, reading)
    start_t, error_s = _not_before(measurement, min(window.start_t, printed_t - runtime_s), window)
    end_t, end_error_s = min(start_t + runtime_s, printed_t), error_s
    if end_t < window.io_t0:  # jobs did not all run from the first start to the last end
        end_t, end_error_s = printed_t, printed_t - window.io_t0
    return HostSpan(start_t, end_t, error_s, end_error_s, reading.uncertainty_s, "samples")


def _not_before(
    measurement: Measurement, start_t: float, window: MeasuringWindow
) -> tuple[float, float]:
    """Return a derived start, not before the load was released, and by how much it may be late."""
    error_s = DERIVED_ERROR_S + window.lat_max_s
    start_t = max(start_t, measurement.started_t)
    return start_t, min(error_s, max(start_t - measurement.started_t, TOOL_ERROR_S))


def _was_set(state: RunState, host: str, window: MeasuringWindow) -> bool:
    clock = state.clocks.by_host.get(host)
    return (
        clock is not None
        and clock.step is not None
        and window.start_t < clock.step.t <= window.end_t
    )


def _agrees(window: MeasuringWindow, reading: ClockReading, result: HostResult) -> bool:
    """Return whether a tool's printed times match its samples.

    They do not if the clock was set unnoticed.
    """
    pairs = ((result.start_ms, window.start_t), (result.end_ms, window.end_t))
    return all(ms is None or abs(_on_run_time(ms, reading) - t) <= AGREES_S for ms, t in pairs)


def _without_times(result: HostResult) -> HostResult:
    return HostResult(t=result.t, host=result.host, step=result.step, dirs=result.dirs)


def _on_run_time(host_ms: int, reading: ClockReading) -> float:
    return host_ms / 1000 + reading.offset_s


def common_window(spans: Sequence[HostSpan]) -> tuple[float, float] | None:
    """Return start and end of the time in which all hosts measured; None if there was none or it is
    unknown.
    """
    if not spans:
        return None
    start_t, end_t = max(span.start_t for span in spans), min(span.end_t for span in spans)
    return (start_t, end_t) if end_t - start_t > SHORTEST_S else None


def timing_record(spans: Mapping[str, HostSpan]) -> TimingRecord | None:
    """Return the start and end skew of a step's hosts; None if none measured."""
    if not spans:
        return None
    starts = [(span.start_t, _error(span, span.start_error_s)) for span in spans.values()]
    ends = [(span.end_t, _error(span, span.end_error_s)) for span in spans.values()]
    several = len(spans) > 1
    return TimingRecord(
        hosts={host: _host_timing(span) for host, span in spans.items()},
        start_skew_s=_range(starts) if several else None,
        start_skew_uncertainty_s=_pair_error(starts) if several else None,
        end_skew_s=_range(ends) if several else None,
        end_skew_uncertainty_s=_pair_error(ends) if several else None,
        window=_window(list(spans.values()), [error for _, error in (*starts, *ends)]),
    )


def _host_timing(span: HostSpan) -> HostTimingRecord:
    return HostTimingRecord(
        start_s=round(span.start_t, 3),
        end_s=round(span.end_t, 3),
        start_uncertainty_s=round(span.start_error_s, 3),
        end_uncertainty_s=round(span.end_error_s, 3),
        clock_uncertainty_s=None if span.clock_error_s is None else round(span.clock_error_s, 6),
        source=span.source,
    )


def _error(span: HostSpan, own_s: float) -> float | None:
    return None if span.clock_error_s is None else own_s + span.clock_error_s


def _range(times: Iterable[tuple[float, float | None]]) -> float:
    values = [round(t, 3) for t, _ in times]  # fields shown in the record
    return round(max(values) - min(values), 3)


def _pair_error(times: Iterable[tuple[float, float | None]]) -> float | None:
    """Return the largest possible error of the difference between two of these times; None if one
    is unknown.
    """
    errors = [error for _, error in times]
    known = sorted((error for error in errors if error is not None), reverse=True)
    return round(sum(known[:2]), 3) if len(known) == len(errors) else None


def _window(spans: Sequence[HostSpan], errors: Sequence[float | None]) -> WindowRecord | None:
    found = common_window(spans)
    if found is None:
        return None
    start_s, end_s = round(found[0], 3), round(found[1], 3)
    known = [error for error in errors if error is not None]
    error = round(max(known), 3) if len(known) == len(errors) else None
    return WindowRecord(
        start_s=start_s, end_s=end_s, length_s=round(end_s - start_s, 3), uncertainty_s=error
    )


EARLY_S = 1.0  # samples come once a second: a shorter gap before the end is no loss
TOGETHER_S = 2.0  # losses this close together are one
LOST_PHASES = ("barrier", "measure")
LOSSES = ("host-lost", ALLOCATION_ENDED)


def coverage(
    step: Step, state: RunState, spans: Mapping[str, HostSpan], results: Mapping[str, HostResult]
) -> list[CoverageRecord]:
    """Return how many of a step's hosts measured at any time, without gaps; empty if none did.

    A host that finished its load is never missing, however early it finished.
    """
    if not spans:
        return []
    suspects = [
        task.host for task in step.tasks if _dropped(step, state, task.host, results.get(task.host))
    ]
    start_t, end_t = (
        min(span.start_t for span in spans.values()),
        max(span.end_t for span in spans.values()),
    )
    if suspects and state.stop_mode is None:
        end_t = max(end_t, min(start_t + (step.runtime_s or 0.0), state.t))
    until = {host: spans[host].end_t if host in spans else start_t for host in suspects}
    lost = {host: t for host, t in until.items() if t < end_t - EARLY_S}
    return _slices(start_t, end_t, lost, len(step.tasks))


def _dropped(step: Step, state: RunState, host: str, result: HostResult | None) -> bool:
    """Return whether there is evidence that a host stopped measuring before the end."""
    if result is not None and result.final and not result.errors:
        return False
    ended = state.at_step(step.index).ended.get(("measure", host))
    if ended is not None and ended_badly(ended):
        return True
    if result is not None:
        return bool(result.errors) or ended is None or ended.reason not in ASKED_TO_END
    view = state.hosts.get(host)
    if view is not None and view.state in ("lost", "failed"):
        return True
    problems = (each for each in state.at_step(step.index).problems if each.host == host)
    return any(
        each.phase in LOST_PHASES and (each.fatal or each.code in LOSSES) for each in problems
    )


def _slices(
    start_t: float, end_t: float, lost: Mapping[str, float], total: int
) -> list[CoverageRecord]:
    """Return the time spans between losses.

    Hosts lost at about the same time are all missing from the first loss on.
    """
    found: list[CoverageRecord] = []
    missing: list[str] = []
    begin_t, first_t = start_t, None
    for host, t in sorted(lost.items(), key=lambda each: each[1]):
        if first_t is None or t - first_t > TOGETHER_S:
            if t > begin_t:
                found.append(_slice(begin_t, t, missing, total))
            begin_t = first_t = t
        missing.append(host)
    return [*found, _slice(begin_t, end_t, missing, total)]


def _slice(start_t: float, end_t: float, missing: list[str], total: int) -> CoverageRecord:
    return CoverageRecord(
        start_s=round(start_t, 3),
        end_s=round(end_t, 3),
        hosts=total - len(missing),
        of=total,
        missing=list(missing),
    )
