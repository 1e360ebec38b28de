"""When each host of a step measured, on the run's time line, and how well that is known."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

from msgspec import Struct

from tui.journal.clock import Reading
from tui.journal.measurement import Measurement, Window
from tui.journal.state import RunState
from tui.model.event import HostResult
from tui.model.step_record import HostTimingRecord, TimingRecord, WindowRecord

TOOL_ERROR_S = 0.001  # the tool prints milliseconds
DERIVED_ERROR_S = 0.1  # fio 3.33 with 100 jobs on 2 CPUs: 0.05 s late
AGREES_S = 10.0  # what the tool prints of start and end is never farther from its samples
SHORTEST_S = 1e-3  # a common window shorter than this is none


class HostSpan(Struct, frozen=True):
    """When one host measured, run time. Errors are what the tool leaves open; the clock's stands apart."""

    start_t: float
    end_t: float
    start_error_s: float
    end_error_s: float
    clock_error_s: float | None
    source: Literal["tool", "samples"]


def host_spans(state: RunState, step: int, results: Mapping[str, HostResult]) -> dict[str, HostSpan]:
    """Return the spans of all hosts that measured in a step, in the order they began to report."""
    measurement = state.at_step(step).measurement
    windows = measurement.windows if measurement is not None else {}
    spans = {}
    for host, window in windows.items():
        reading = state.reading_of(host, step)
        if measurement is not None and reading is not None:
            spans[host] = _span(state, measurement, window, reading, results.get(host))
    return spans


def _span(
    state: RunState, measurement: Measurement, window: Window, reading: Reading, result: HostResult | None
) -> HostSpan:
    if result is None or not any(part.ios for part in result.dirs.values()):
        start_t, error_s = _not_before(measurement, window.start_t, window)
        return HostSpan(start_t, max(window.io_t1, start_t), error_s, 0.0, reading.uncertainty_s, "samples")
    if _was_set(state, result.host, window) or not _agrees(window, reading, result):  # only samples tell
        reading, result = Reading(reading.offset_s, None, "samples"), _without_times(result)
    elif result.start_ms is not None and result.end_ms is not None:
        start_t, end_t = (_on_run_time(ms, reading) for ms in (result.start_ms, result.end_ms))
        return HostSpan(start_t, max(start_t, end_t), TOOL_ERROR_S, TOOL_ERROR_S, reading.uncertainty_s, "tool")
    return _derived(measurement, window, reading, result)


def _derived(measurement: Measurement, window: Window, reading: Reading, result: HostResult) -> HostSpan:
    """Return the span of a tool that does not print its start (fio < 3.36).

    Both candidates are late: a live snapshot is stamped after fio has waited for its workers, the last object up to
    half a second after the load ended. The earlier one is nearer.
    """
    runtime_s = max(part.runtime_s for part in result.dirs.values())
    printed_t = window.end_t if result.end_ms is None else _on_run_time(result.end_ms, reading)
    start_t, error_s = _not_before(measurement, min(window.start_t, printed_t - runtime_s), window)
    end_t, end_error_s = min(start_t + runtime_s, printed_t), error_s
    if end_t < window.io_t0:  # jobs did not all run from the first start to the last end
        end_t, end_error_s = printed_t, printed_t - window.io_t0
    return HostSpan(start_t, end_t, error_s, end_error_s, reading.uncertainty_s, "samples")


def _not_before(measurement: Measurement, start_t: float, window: Window) -> tuple[float, float]:
    """Return a derived start, never before GO was said, and how late it may be."""
    error_s = DERIVED_ERROR_S + window.lat_max_s
    start_t = max(start_t, measurement.started_t)
    return start_t, min(error_s, max(start_t - measurement.started_t, TOOL_ERROR_S))


def _was_set(state: RunState, host: str, window: Window) -> bool:
    clock = state.clocks.get(host)
    return clock is not None and clock.step is not None and window.start_t < clock.step.t <= window.end_t


def _agrees(window: Window, reading: Reading, result: HostResult) -> bool:
    """Tell whether the times that a tool prints fit its samples; they do not when its clock was set unnoticed."""
    pairs = ((result.start_ms, window.start_t), (result.end_ms, window.end_t))
    return all(ms is None or abs(_on_run_time(ms, reading) - t) <= AGREES_S for ms, t in pairs)


def _without_times(result: HostResult) -> HostResult:
    return HostResult(t=result.t, host=result.host, step=result.step, dirs=result.dirs)


def _on_run_time(host_ms: int, reading: Reading) -> float:
    return host_ms / 1000 + reading.offset_s


def common_window(spans: Sequence[HostSpan]) -> tuple[float, float] | None:
    """Return begin and end of the time in which all hosts measured; None when there was none, or nobody knows."""
    if not spans:
        return None
    start_t, end_t = max(span.start_t for span in spans), min(span.end_t for span in spans)
    return (start_t, end_t) if end_t - start_t > SHORTEST_S else None


def timing_record(spans: Mapping[str, HostSpan]) -> TimingRecord | None:
    """Return when the hosts of a step measured; None when none did."""
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
    values = [round(t, 3) for t, _ in times]  # what the record shows of them
    return round(max(values) - min(values), 3)


def _pair_error(times: Iterable[tuple[float, float | None]]) -> float | None:
    """Return the most by which a difference of two of these times can be wrong; None when any is unknown."""
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
    return WindowRecord(start_s=start_s, end_s=end_s, length_s=round(end_s - start_s, 3), uncertainty_s=error)
