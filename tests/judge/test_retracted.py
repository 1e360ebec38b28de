"""What Live told and the result took back is counted: the measure of false alarms of Live."""

from __future__ import annotations

from pathlib import Path

from tests.judge.test_live_findings import BUSY, Watch, watched
from tests.long.lies.retracted import retracted


def ended(at: Watch) -> list[str]:
    at.maker.finish()
    return retracted(at.maker.run_dir)


def test_a_finding_that_only_a_part_of_the_run_has_is_taken_back(tmp_path: Path) -> None:
    at = watched(tmp_path, runtime_s=100.0)
    at.maker.together = True
    for pace, seconds in ((0.4, 60), (1.9, 40)):  # nobody expects it to become so fast
        at.maker.pace["weka-02"] = pace
        at.maker.measure(seconds)
    assert "straggler" in ended(at)


def test_a_finding_that_the_result_has_too_is_not(tmp_path: Path) -> None:
    at = watched(tmp_path, hosts=1, runtime_s=40.0)
    at.maker.look_at(at.maker.hosts[0], BUSY)
    at.maker.measure(40)
    assert ended(at) == []
