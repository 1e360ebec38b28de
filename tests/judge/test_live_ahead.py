"""Live shows of a share of the whole time what the result cannot withdraw any more."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.app import journal_maker
from tests.app.journal_maker import RunMaker
from tests.judge.test_live_findings import Watch, change_step, watched
from tests.long.lies.early import at_second, found, shown
from tests.long.lies.retracted import retracted
from tui.judge import live
from tui.judge.live import LiveFinding
from tui.metrics.buckets import PLAT_VAL
from tui.metrics.histogram import Histogram
from tui.metrics.so_far import sure_percentile
from tui.model.dense import listed
from tui.model.event import DirectionSample
from tui.model.plan import JobLoad
from tui.model.record import Finding


@pytest.fixture(autouse=True)
def _looks_cost_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "SHARE", float("inf"))


def equal_hosts(tmp_path: Path, runtime_s: float) -> Watch:
    """Return a run of three hosts that do the same in the same seconds."""
    at = watched(tmp_path, runtime_s=runtime_s)
    at.maker.together = True
    return at


def at_pace(at: Watch, rate: float, seconds: int) -> Watch:
    at.maker.pace["weka-02"] = rate
    return at.seconds(seconds)


def first_shown(at: Watch, check: str, seconds: int, rate: float) -> int | None:
    """Return the second at which a check is shown, of a host that does this share of the others."""
    for second in range(seconds):
        at_pace(at, rate, 1)
        if check in at.now:
            return second + 1
    return None


def test_a_host_that_was_slow_at_first_is_not_shown(tmp_path: Path) -> None:
    at = equal_hosts(tmp_path, 100.0)
    at_pace(at, 0.3, 20)
    at_pace(at, 1.0, 80)
    assert "straggler" not in {each.finding.id for each in at.new}
    at.maker.finish()
    assert retracted(at.maker.run_dir) == []


@pytest.mark.parametrize(("rate", "share"), [(0.1, 0.3), (0.5, 0.55)])
def test_a_host_that_stays_slow_is_shown_well_before_the_end(
    tmp_path: Path, rate: float, share: float
) -> None:
    at = equal_hosts(tmp_path, 100.0)
    second = first_shown(at, "straggler", 80, rate)
    assert second is not None and second <= share * 100
    at_pace(at, rate, 100 - second)
    at.maker.finish()
    assert retracted(at.maker.run_dir) == []


def test_a_load_without_a_planned_end_may_run_for_as_long_again(tmp_path: Path) -> None:
    at = equal_hosts(tmp_path, 600.0)
    change_step(at.maker, runtime_s=None)
    at = Watch(at.maker)
    assert first_shown(at, "straggler", 30, 0.7) is None
    assert first_shown(Watch(at.maker), "straggler", 60, 0.1) is not None


def paced_job(maker: RunMaker) -> Watch:
    change_step(maker, jobs=[JobLoad("a", ("read",), rate_iops={"read": 100.0}, paced=True)])
    return Watch(maker)


def test_a_load_at_a_rate_may_make_up_for_what_it_missed(tmp_path: Path) -> None:
    free = equal_hosts(tmp_path / "free", 100.0)
    held = paced_job(equal_hosts(tmp_path / "held", 100.0).maker)
    first = first_shown(free, "straggler", 80, 0.5), first_shown(held, "straggler", 100, 0.5)
    assert None not in first
    assert (first[1] or 0) > (first[0] or 0) and (first[1] or 0) > 50


def slower(part: DirectionSample) -> DirectionSample:
    """Make every I/O take eight times as long."""
    found = Histogram()
    found.add(listed(part.lat))
    counts = Histogram({at + 3 * PLAT_VAL: count for at, count in found.items() if count})
    return msgspec.structs.replace(part, lat=counts.buckets)


def with_slow_ios(at: Watch, monkeypatch: pytest.MonkeyPatch, seconds: int) -> Watch:
    """Let the second host's I/Os take long for so many seconds."""
    paced = journal_maker.paced
    marked = 1.000_001

    def slow(dirs: dict[str, DirectionSample], pace: float) -> dict[str, DirectionSample]:
        made = paced(dirs, 1.0 if pace == marked else pace)
        return {name: slower(part) for name, part in made.items()} if pace == marked else made

    with monkeypatch.context() as patch:
        patch.setattr(journal_maker, "paced", slow)
        at_pace(at, marked, seconds)
    at.maker.pace.clear()
    return at


def test_slow_ios_of_a_short_time_are_not_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    at = with_slow_ios(equal_hosts(tmp_path, 4000.0), monkeypatch, 20)
    at.seconds(60)
    assert "straggler" not in {each.finding.id for each in at.new}


def test_slow_ios_that_last_are_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    at = with_slow_ios(equal_hosts(tmp_path, 100.0), monkeypatch, 45)
    assert "straggler" in at.now
    with_slow_ios(at, monkeypatch, 55).maker.finish()
    assert retracted(at.maker.run_dir) == []


def test_a_tail_of_the_first_seconds_is_shown_once_its_ios_are_enough_for_the_whole_time() -> None:
    assert sure_percentile(99.0, 1.0) == 99.0
    assert sure_percentile(99.0, 0.5) == 98.0
    assert sure_percentile(99.0, 0.36) == 97.22
    assert sure_percentile(99.0, 0.01) == sure_percentile(99.0, 0.0) == 0.0


@given(
    so_far=st.lists(st.integers(0, 1000), min_size=1),
    rest=st.lists(st.integers(0, 1000), min_size=1),
)
def test_no_rest_brings_a_percentile_below_the_sure_one(so_far: list[int], rest: list[int]) -> None:
    whole = sorted(so_far + rest)
    sure = sure_percentile(90.0, len(so_far) / len(whole))

    def rank(values: list[int], percentile: float) -> int:
        return values[max(-(-len(values) * round(percentile * 100) // 10_000), 1) - 1]

    if sure:
        assert rank(whole, 90.0) >= rank(sorted(so_far), sure)


ROW = [1000.0] * 300
SHAPES: dict[str, tuple[str, Callable[[], list[list[float]]]]] = {
    "a begin below the rest": ("warm-up", lambda: [[300.0] * 2 + ROW[:298]]),
    "a step that the windows take in": ("steady-state", lambda: [[400.0] * 10 + ROW[:290]]),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_what_a_long_load_makes_small_is_not_shown_at_its_begin(shape: str) -> None:
    name, rows = SHAPES[shape]
    assert name in found(at_second(rows(), 30, 300, running=False))
    assert name not in found(at_second(rows(), 300, 300, running=False))
    assert name not in shown(rows(), 300, running=True)


def test_a_load_that_does_not_settle_is_shown_before_its_end() -> None:
    rows = [[1000.0 + 10 * at for at in range(300)]]
    assert "steady-state" in found(at_second(rows, 300, 300, running=False))
    assert shown(rows, 300, running=True)["steady-state"] <= 200


def seen(*severities: str) -> list[str]:
    """Return what is shown after looks with findings of these severities."""
    each, told = None, []
    for at, severity in enumerate(severities):
        finding = Finding(id="x", severity=severity, message="")
        each = each or LiveFinding(finding, 0.0, in_a_row=0)
        each.see(finding, float(at))
        told.append(each.severity)
    return told


def test_of_two_looks_the_milder_is_shown() -> None:
    assert seen("warning", "error", "error") == ["warning", "warning", "error"]
    assert seen("error", "warning", "error") == ["error", "warning", "warning"]


def test_an_error_of_a_load_needs_two_looks_however_long_it_ran(tmp_path: Path) -> None:
    at = watched(tmp_path, hosts=1, runtime_s=60.0)
    columns = {"gen.procs": 1.0, "gen.read_bytes": 0.0, "dev.nvme0n1.rd": 0.0}
    at.maker.look_at("weka-01", columns)
    at.maker.measure(49)
    at.seconds(1)
    assert at.findings.made and "storage-traffic" not in at.now
    at.seconds(6)
    assert {each.severity for each in at.findings.now if each.finding.id == "storage-traffic"} == {
        "error"
    }
