"""Preconditioning and what was attested, for the record."""

from __future__ import annotations

from tui.journal.state import RunState
from tui.model.condition_record import AttestationRecord, FillRecord, PreconditionRecord, RoundsRecord
from tui.model.plan import Plan, Step
from tui.results.record.rounds import Rounds, fills_of, rounds_of
from tui.results.record.step import rounded


def precondition_record(plan: Plan, state: RunState) -> PreconditionRecord | None:
    """Return what was done for the state of the storage; None when the profile asks for nothing."""
    fills, rounds = fills_of(plan, state), rounds_of(plan, state)
    if not (fills or rounds or plan.no_precondition):
        return None
    return PreconditionRecord(
        left_out=plan.no_precondition,
        fills=[_fill(state, step, whole=whole) for step, whole in fills],
        rounds=[_rounds(each) for each in rounds],
    )


def _fill(state: RunState, step: Step, *, whole: bool) -> FillRecord:
    sizes = [task.writes_bytes for task in step.tasks]
    known = [size for size in sizes if size is not None]
    span = next((span for span in state.at_step(step.index).phases if span.name == "measure"), None)
    over = span is not None and span.end_t is not None and whole
    return FillRecord(
        step=step.index,
        times=step.precondition.times if step.precondition is not None else 1,
        bytes=sum(known) if len(known) == len(sizes) else None,
        duration_s=rounded(span.end_t - span.start_t) if over and span is not None and span.end_t is not None else None,
        whole=whole,
    )


def _rounds(each: Rounds) -> RoundsRecord:
    window, rule = each.window, each.rule
    return RoundsRecord(
        cell=each.cell,
        steps=[step.index for step in each.steps],
        values=[one.value for one in each.rounds],
        most=rule.rounds,
        window=rule.window,
        range=round(window.range, 6) if window is not None else None,
        slope=round(window.slope, 6) if window is not None else None,
        range_limit=rule.range,
        slope_limit=rule.slope,
        attained=each.attained,
        text=each.text,
    )


def attestation_records(plan: Plan) -> list[AttestationRecord]:
    """Return what was asked and answered."""
    return [
        AttestationRecord(
            id=each.id, question=each.question, answer=each.answer, by=each.by or None, utc=each.utc or None
        )
        for each in plan.attested
    ]
