"""A host whose clock is off by a day, and is set back while it measures: the figures stay, and the
record says so.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.lab.clock import WrongClock
from tests.lab.faults_check import problem_codes, violations
from tests.lab.faults_run import LiveRun
from tests.lab.sshd import SSHD, SshdLab

pytestmark = pytest.mark.e2e
DAY_S = 86400


def test_clock_that_is_off_by_a_day_and_then_set(home: Path, tmp_path: Path, target: Path) -> None:
    if not Path(SSHD).exists():
        pytest.skip("no sshd on this machine")
    lab = SshdLab(tmp_path / "lab", hosts=1)
    clock = WrongClock(lab, "h1")
    clock.set(DAY_S)
    with lab, LiveRun.begin(home, lab, target, {"runtime": "6s"}, hosts="h1", lease_s=30) as run:
        run.measuring(1, samples=2)
        clock.set(-DAY_S)
        record = run.finished()
    assert record["state"] == "complete", record["reason"]
    assert problem_codes(record, "h1") == set()
    assert violations(run, record) == []
    assert {"clock-offset", "clock-step"} & {finding["id"] for finding in record["findings"]}
