"""Contradictions within an output are errors; direct I/Os that reached no device, a warning."""

from __future__ import annotations

import pytest

from tests.samples.evidence import evidence
from tui.judge.catalogue import BY_ID
from tui.judge.check import RunEvidence, UnknownError
from tui.judge.whole_results import DOUBTFUL, NOTED
from tui.judge.wording import message_of
from tui.model.event import Contradiction, HostResult
from tui.model.record import Finding
from tui.model.step_record import StepError
from tui.workloads.fio.texts import TEXTS


def imported(*found: Contradiction, final: bool = True) -> RunEvidence:
    at = evidence()
    result = HostResult(t=0.0, host="h1", step=0, dirs={}, contradictions=[*found], final=final)
    at.seen.state.at_step(0).results = {"h1": result}
    return at


def look(at: RunEvidence) -> list[Finding]:
    return BY_ID["own-figures"].examine(at)


@pytest.mark.parametrize("kind", TEXTS)
def test_a_contradiction_is_an_error_unless_something_else_may_explain_it(
    kind: str,
) -> None:
    (found,) = look(imported(Contradiction(kind, 3.0, 4.0, "j", "read")))
    expected = "info" if kind in NOTED else "warning" if kind in DOUBTFUL else "error"
    assert found.severity == expected
    assert (found.measured, found.threshold) == (3.0, 4.0)
    assert found.scope == {"step": 0, "hosts": "h1", "direction": "read", "job": "j"}


def test_an_output_without_any_has_no_finding_and_other_outputs_are_not_judged() -> None:
    assert look(imported()) == []
    at = imported()
    at.seen.state.at_step(0).results["h1"].contradictions = None
    with pytest.raises(UnknownError):
        look(at)


def test_a_contradiction_that_an_earlier_version_kept_as_text_is_an_error() -> None:
    at = imported()
    at.steps[0].errors = [
        StepError(host="h1", phase="measure", code="mdtest-contradiction", message="2 and 3 tasks")
    ]
    assert [each.severity for each in look(at)] == ["error"]


def test_a_contradiction_of_an_unknown_kind_is_an_error_without_a_text_of_its_own() -> None:
    (found,) = look(imported(Contradiction("of-a-later-version", 3.0, 4.0)))
    assert found.severity == "error" and "of-a-later-version" in message_of(found)


def test_counters_of_a_fio_that_was_killed_may_be_torn() -> None:
    with pytest.raises(UnknownError):
        look(imported(Contradiction("samples", 3.0, 4.0), final=False))
