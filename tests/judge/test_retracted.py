"""What Live told and the result took back is counted: the measure of false alarms of Live."""

from __future__ import annotations

from pathlib import Path

from tests.judge.test_live_findings import BUSY, IDLE, Watch, watched
from tests.long.lies.retracted import retracted


def ended(at: Watch) -> list[str]:
    at.maker.finish()
    return retracted(at.maker.run_dir)


def test_a_finding_that_only_a_part_of_the_run_has_is_taken_back(tmp_path: Path) -> None:
    at = watched(tmp_path, hosts=1, runtime_s=150.0)
    at.maker.look_at(at.maker.hosts[0], BUSY)
    at.maker.measure(30)
    at.maker.look_at(at.maker.hosts[0], IDLE)
    at.maker.measure(120)
    assert "client-cpu" in ended(at)


def test_a_finding_that_the_result_has_too_is_not(tmp_path: Path) -> None:
    at = watched(tmp_path, hosts=1, runtime_s=40.0)
    at.maker.look_at(at.maker.hosts[0], BUSY)
    at.maker.measure(40)
    assert ended(at) == []
