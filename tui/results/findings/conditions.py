"""The state that was measured: whether it was preconditioned as the profile asks, and what only a person knows."""

from __future__ import annotations

from collections.abc import Iterator

from tui.metrics.steady import window_text
from tui.results.findings.check import Evidence, Found, Moot, StepEvidence, UnknownError, run_check, step_check
from tui.results.record.rounds import rounds_of_step

DURABLE = ("cache-off", "cache-protected")  # conditions that say what becomes of writes in a power cut


@step_check(
    "precondition",
    "Preconditioned",
    rule="where the profile asks for it, files were filled and rounds went on until they were steady",
    advice="Give it more rounds, or longer ones; look at the figures of the rounds: a fall is flash that fills up.",
    source="SNIA SSS PTS 2.0",
)
def preconditioned(at: StepEvidence) -> Iterator[Found]:
    """What is measured before the storage has settled is the speed of its cache, or of its first hours."""
    plan, state = at.run.plan, at.run.seen.state
    if plan.no_precondition:
        yield Found("warning", "measured without the preconditioning that the profile asks for: left out at launch")
        return
    found = rounds_of_step(plan, state, at.step)
    if found is None:
        raise UnknownError(Moot.ROUNDS)
    window, rule = found.window, found.rule
    if found.attained:
        return
    if window is None:
        message = f"not known to be steady when it was measured: {found.text}"
        yield Found("warning", message, len(found.steps), rule.window)
        return
    slow = window.range <= rule.range
    measured, threshold = (window.slope, rule.slope) if slow else (window.range, rule.range)
    message = f"not steady when it was measured, after {len(found.steps)} rounds: {window_text(rule, window)}"
    yield Found("warning", message, round(measured, 4), threshold)


@run_check(
    "attest",
    "Conditions that a person attests",
    rule="every condition that the profile asks about was answered with yes",
    advice="Find out and say so at the launch: a field of the review, or run --attest ID=yes.",
    source="attest: in the profile",
)
def attested(evidence: Evidence) -> Iterator[Found]:
    """No host can tell whether an array's cache is off: unless somebody says so, nobody knows what was measured."""
    asked = evidence.plan.attested
    if not asked:
        raise UnknownError(Moot.ASKED)
    no = [each for each in asked if each.answer == "no"]
    unknown = [each for each in asked if each.answer == "unknown"]
    if no:
        said = "; ".join(f"{each.question} ({each.id})" for each in no)
        yield Found("info", f"answered with no: {said}", len(no), 0)
    if unknown:
        yield Found("info", f"not attested: {', '.join(each.id for each in unknown)}", len(unknown), 0)


def durable_by_word(evidence: Evidence) -> str:
    """Return the condition by which writes outlive a power cut, as a person attested; empty: none did."""
    return next((each.id for each in evidence.plan.attested if each.id in DURABLE and each.answer == "yes"), "")


CHECKS = (preconditioned, attested)
