"""A few trials of the soak test (tests/long/soak), the same ones every time."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tests.long.soak.__main__ import soak, summary
from tests.long.soak.judge import differences
from tests.long.soak.kinds import BY_NAME, KINDS, PHASES, Fault
from tests.long.soak.proof import Strike, proved
from tests.long.soak.trial import Trial, drawn
from tui.model.event import AnyEvent, PhaseEnded, PhaseStarted, StopRequested

SEED = 12
TRIALS = [1, 2, 3, 4, 5, 6, 7]  # one for each phase


@pytest.mark.e2e
@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_short_soak_has_no_violation(tmp_path: Path) -> None:
    played = soak(SEED, TRIALS, 2, tmp_path)
    assert {trial.number for trial in played if trial.counts} == set(TRIALS), summary(played)
    assert [trial.line() for trial in played if trial.broken] == [], summary(played)


def test_trial_is_the_same_every_time() -> None:
    assert drawn(3, 5, ["h1", "h2"]) == drawn(3, 5, ["h1", "h2"])
    assert drawn(3, 5, ["h1", "h2"]) != drawn(3, 6, ["h1", "h2"])


def test_every_kind_of_fault_is_drawn() -> None:
    seen = {fault.kind.name for number in range(800) for fault in drawn(1, number, ["h1"]).faults}
    assert seen == {kind.name for kind in KINDS}


def test_trials_take_the_phases_in_turn() -> None:
    hit = Counter(drawn(1, number, ["h1"]).faults[0].phase for number in range(80))
    assert hit == {**dict.fromkeys(PHASES, 10), "measure": 20}


def test_fault_that_came_before_or_after_its_phase_does_not_count() -> None:
    fault = Fault(BY_NAME["reset"], "h1", 0.0, 0.0, "layout")
    events: list[AnyEvent] = [
        PhaseStarted(t=2.0, phase="layout"),
        PhaseEnded(t=5.0, phase="layout"),
    ]
    assert [proved(events, fault, Strike(t, t)) for t in (1.9, 2.0, 5.0, 5.1)] == [
        False,
        True,
        True,
        False,
    ]
    assert not proved([], fault, Strike(3.0, 3.0))


def test_request_counts_when_the_engine_has_heard_it_in_its_phase() -> None:
    fault = Fault(BY_NAME["stop"], "h1", 0.0, 0.0, "collect")
    phase: list[AnyEvent] = [
        PhaseStarted(t=2.0, phase="collect"),
        PhaseEnded(t=5.0, phase="collect"),
    ]
    asked = [[*phase, StopRequested(t=t, mode="stop")] for t in (4.0, 6.0)]
    assert [proved(events, fault, Strike(3.0, 7.0)) for events in asked] == [True, False]


@pytest.mark.parametrize(
    ("done", "codes", "wrong"),
    [
        (False, {"h1": {"lease-expired"}, "h2": {"lease-expired", "fio-no-output"}}, False),
        (False, {"h1": {"lease-expired"}, "h2": {"fio-no-output"}}, True),
        (True, {"h1": {"lease-expired"}, "h2": {"lease-expired"}}, True),
    ],
)
def test_run_whose_leases_a_loaded_machine_let_expire_before_the_fault_has_missed(
    done: bool, codes: dict[str, set[str]], wrong: bool
) -> None:
    trial = Trial(
        1, 1, 6, 12, [Fault(BY_NAME["reset"], "h1", 0.0, 0.0)], "never", done=[done], state="failed"
    )
    trial.hit, trial.codes = [done], codes
    record = {"reason": "nothing was measured", "steps": [{"results": {"per_host": {}}}]}
    assert bool([*differences(trial, record)]) is wrong
