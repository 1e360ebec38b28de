"""A few trials of the soak test (tests/soak), the same ones every time."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.soak.__main__ import soak, summary
from tests.soak.kinds import KINDS
from tests.soak.trial import drawn

SEED = 12
TRIALS = [1, 3, 4, 6, 13, 22]


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
    seen = {fault.kind.name for number in range(400) for fault in drawn(1, number, ["h1"]).faults}
    assert seen == {kind.name for kind in KINDS}
