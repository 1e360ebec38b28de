"""Whether a figure would come out again: repetitions, and differences between points that are none."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from statistics import fmean, stdev

from tui.metrics.registry import headline_text
from tui.model.plan import Headline
from tui.model.thresholds import default
from tui.results.findings.check import Evidence, Found, UnknownError, run_check

ENOUGH = int(default("V28.repetitions"))
SPREAD = default("V28.spread")


@run_check(
    "V28",
    "Repetitions",
    rule=f"{ENOUGH} repetitions or more (a remark), {SPREAD:.0%} apart at most (a warning)",
    advice="Repeat the measurement (--repeat 5): one figure says nothing of how well it is repeatable.",
    source="coefficient of variation of the repetitions",
    live=False,
)
def repetitions(evidence: Evidence) -> Iterator[Found]:
    """One run says what happened once. Repetitions that are far apart say that the figure is not known."""
    cells = _values(evidence)
    if not cells:
        raise UnknownError("no headline was measured")
    enough = int(evidence.limit("V28.repetitions"))
    few = {key: len(values) for key, values in cells.items() if len(values) < enough}
    most = evidence.limit("V28.spread")
    for key, values in cells.items():
        apart = stdev(values) / fmean(values) if len(values) > 1 and fmean(values) else 0.0
        if apart > most:
            said = ", ".join(headline_text(_headline(evidence, key), value) for value in values[:5])
            yield Found("warning", f"{key}: repetitions are {apart:.0%} apart ({said})", round(apart, 4), most)
    if few:
        least = min(few.values())
        one = "measured once: nothing is known of how well it is repeatable"
        yield Found("info", one if least == 1 else f"{least} repetitions only", least, enough)


def _values(evidence: Evidence) -> dict[str, list[float]]:
    """Return the headline of each repetition, by point."""
    found: dict[str, list[float]] = defaultdict(list)
    for record in evidence.steps:
        if record.headline is not None and not record.warmup and record.state == "done":
            found[record.cell_key].append(record.headline)
    return found


def _headline(evidence: Evidence, key: str) -> Headline:
    step = next(step for step in evidence.plan.steps if step.cell_key == key)
    return evidence.plan.headline_of(step) or Headline("iops", "read")


CHECKS = (repetitions,)
