"""The state that was measured, for people: preconditioning, and what a person attested. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from tui.metrics import units
from tui.metrics.registry import METRICS, meaning
from tui.model.plan import Headline

if TYPE_CHECKING:
    from tui.model.condition_record import AttestationRecord, FillRecord, RoundsRecord
    from tui.model.record import HeadlineRecord, RunRecord
    from tui.model.step_record import StepRecord

LEFT_OUT = "left out at launch, though the profile asks for it"
POINTS_SHOWN = 6
FIGURES_SHOWN = 10
OFTEN = {1: "once", 2: "twice"}


def precondition_texts(record: RunRecord) -> list[str]:
    """Return what was filled and what the rounds of each point came to, those that were not steady first."""
    found = record.precondition
    if found is None:
        return []
    several = len(found.rounds) > 1
    ordered = sorted(found.rounds, key=lambda each: each.attained is True)
    rounds = [_rounds_text(record, each, several=several) for each in ordered[:POINTS_SHOWN]]
    more = [f"and {len(ordered) - POINTS_SHOWN} points more"] if len(ordered) > POINTS_SHOWN else []
    return [*([LEFT_OUT] if found.left_out else []), *map(_fill_text, found.fills), *rounds, *more]


def _fill_text(fill: FillRecord) -> str:
    size = f", {units.size(fill.bytes)} in all" if fill.bytes is not None else ""
    took = f", in {units.duration(fill.duration_s)}" if fill.duration_s is not None else ""
    often = OFTEN.get(fill.times, f"{fill.times} times")
    return f"filled {often}{size}{took}" if fill.whole else f"to be filled {often}{size}: not to its end"


def _rounds_text(record: RunRecord, rounds: RoundsRecord, *, several: bool) -> str:
    name = f"{rounds.cell.removeprefix(record.profile.tag).strip() or rounds.cell}: " if several else ""
    figures = _figures(_headline_of(record, rounds), rounds.values)
    return f"{name}{rounds.text}{f'; {figures}' if figures else ''}"


def _figures(headline: HeadlineRecord | None, values: Sequence[float | None]) -> str:
    """Return the last figures, the newest last: ``write IOPS 402, 400, 401``."""
    if headline is None or not values:
        return ""
    shown = [METRICS[headline.metric].text(value) for value in values[-FIGURES_SHOWN:]]
    cut = ["..."] if len(values) > FIGURES_SHOWN else []
    return f"{meaning(Headline(headline.metric, headline.direction, headline.percentile))} {', '.join([*cut, *shown])}"


def _headline_of(record: RunRecord, rounds: RoundsRecord) -> HeadlineRecord | None:
    cells = record.matrix.cells if record.matrix is not None else []
    return next((cell.headline for cell in cells if cell.key == rounds.cell), None) or record.headline


def step_label(record: RunRecord, step: StepRecord) -> str:
    """Return what a step is beside others of its point: ``fill``, ``round 4``, ``warm-up``, ``#2``; empty: nothing."""
    found = record.precondition
    if found is not None and any(step.index == fill.step for fill in found.fills):
        return "fill"
    rounds = found.rounds if found is not None else []
    if number := next((each.steps.index(step.index) + 1 for each in rounds if step.index in each.steps), 0):
        return f"round {number}"
    return "warm-up" if step.warmup else f"#{step.repetition}" if step.repetition > 1 else ""


def attest_texts(record: RunRecord) -> list[str]:
    """Return each condition with its answer, and whose it is: those that were not answered with yes first."""
    order = ("no", "unknown", "yes")
    return [_attest_text(each) for each in sorted(record.attested, key=lambda each: order.index(each.answer))]


def _attest_text(each: AttestationRecord) -> str:
    said = ", ".join(_signature(each))
    return f"{each.answer}: {each.question} ({said})"


def _signature(each: AttestationRecord) -> Iterator[str]:
    yield each.id
    yield from (each.by,) if each.by else ()
    yield from (each.utc,) if each.utc else ()
