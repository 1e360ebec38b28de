"""What must be known to read the figures of a step right, as sentences. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tui.metrics import units
from tui.metrics.figures import Latency, latency_of
from tui.model.step_record import StepRecord
from tui.results.record.length import length_text
from tui.results.text.judged import submission_text

WORTH_TELLING = 0.01  # a difference of rates


def remark_texts(step: StepRecord, kind: str) -> Iterator[str]:
    """Yield how long was measured, what latencies leave out, who dropped out, and how well hosts measured together."""
    yield from filter(None, (submission_text(step, kind),))
    if any(result.from_samples for dirs in step.results.per_host.values() for result in dirs.values()):
        yield "~ rebuilt from samples: the tool gave no result"
    shown = {name: latency_of(result, name, kind) for name, result in step.results.aggregate.items()}
    yield from bucket_texts(shown)
    if step.coverage_text:
        yield f"coverage: {step.coverage_text}"
    for direction, result in step.results.aggregate.items():
        if result.interval is not None and abs(result.window_difference or 0.0) > WORTH_TELLING:
            span = result.interval.end_s - result.interval.start_s
            window = f"{units.iops(result.iops_window)} IOPS ({(result.window_difference or 0.0) * 100:+.1f} %)"
            yield f"{direction}: {window} in the {span:.0f} s in which all hosts measured"
    yield from timing_texts(step)


def bucket_texts(found: Mapping[str, Latency | None]) -> list[str]:
    """Return how far percentiles of tools with buckets of their own may lie above the true value, by direction."""
    widths: dict[float, list[str]] = {}
    for name, latency in found.items():
        if latency is not None and latency.bucket_width is not None:
            widths.setdefault(latency.bucket_width, []).append(name)
    return [
        f"percentiles of {', '.join(names)}: upper edges of the load generator's buckets, up to "
        f"{width * 100:.{0 if width >= 0.1 else 1}f} % above the true value"
        for width, names in widths.items()
    ]


def length_texts(step: StepRecord) -> Iterator[str]:
    """Yield how long the step measured, when that is known."""
    yield from filter(None, (length_text(step.measured_s, step.runtime_s),))


def timing_texts(step: StepRecord) -> Iterator[str]:
    """Yield how well the hosts measured at the same time; nothing for one host."""
    timing = step.timing
    if timing is None or timing.start_skew_s is None:
        return
    start = f"start skew {_skew(timing.start_skew_s, timing.start_skew_uncertainty_s)}"
    end = f"end skew {_skew(timing.end_skew_s, timing.end_skew_uncertainty_s)}"
    window = f"all together {timing.window.length_s:.1f} s" if timing.window is not None else "never all together"
    yield f"{start}, {end}; {window}"


def _skew(value_s: float | None, uncertainty_s: float | None) -> str:
    if value_s is None:
        return units.UNKNOWN
    return f"{value_s:.3f} s" + (f" ± {uncertainty_s:.3f} s" if uncertainty_s is not None else "")
