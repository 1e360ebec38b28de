"""The runs behind a live run: the newest earlier one of the same load, and published figures."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from statistics import fmean

import msgspec
import pytest

from tests.app.journal_maker import READS, RunMaker, host_names
from tests.samples.events import BASELINE
from tui.analysis.previous_run import published, run_before
from tui.journal.rundir import load_plan
from tui.library.build import write_record
from tui.library.runs import RunStore
from tui.model.plan import Plan

TAG = "mine/reads"
LEVEL = BASELINE.replace("weka/read-iops", TAG).replace("4G", "SIZE")


def ran(
    runs: Path, day: int, hosts: int = 2, seconds: int = 4, runtime_s: float = 60.0
) -> RunMaker:
    """A whole run of a day."""
    run_id = f"202611{day:02}T101530Z-mine-reads-00{day:02}"
    maker = (
        RunMaker(runs / run_id, host_names(hosts), READS, runtime_s, TAG)
        .begin()
        .go()
        .measure(seconds)
        .finish()
    )
    write_record(maker.run_dir)
    return maker


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Runs of three days, the last one on more hosts, and one that came later."""
    folder = tmp_path_factory.mktemp("runs")
    ran(folder, 1)
    ran(folder, 2, runtime_s=30.0)
    ran(folder, 3, hosts=3)
    ran(folder, 9)
    yield folder


def plan_on(runs: Path, day: int = 1) -> Plan:
    return load_plan(next(runs.glob(f"202611{day:02}*")))


def test_the_newest_earlier_run_of_the_same_load_is_found_however_long_it_was(runs: Path) -> None:
    found = run_before(plan_on(runs), "20261105T101530Z-mine-reads-0005", RunStore(runs))
    assert found is not None and found.word == "before"
    assert found.source.startswith("previous run, 20261102T101530Z-mine-reads-0002 (read ")
    values = found.values(0, "", "read", "iops")
    assert len(values) >= 3 and fmean(value for value in values if value is not None) > 1000
    assert found.values(0, "weka-01", "read", "iops") and found.values(0, "", "read", "p99")
    assert not found.values(0, "", "write", "iops") and not found.values(1, "", "read", "iops")


def test_other_parameters_or_hosts_are_another_load(runs: Path) -> None:
    plan, store, now = plan_on(runs), RunStore(runs), "20261105T101530Z-mine-reads-0005"
    step = plan.steps[0]
    smaller = msgspec.structs.replace(step, params={**step.params, "size": 1 << 20})
    assert run_before(msgspec.structs.replace(plan, steps=[smaller]), now, store) is None
    assert run_before(plan, "20261101T000000Z-mine-reads-0000", store) is None, "none came before"
    on_three = run_before(plan_on(runs, 3), now, store)
    assert on_three is not None and "20261103" in on_three.source


def test_a_run_whose_record_is_damaged_is_passed_over(runs: Path, tmp_path: Path) -> None:
    for each in runs.iterdir():
        if each.is_dir():
            (tmp_path / each.name).mkdir()
            for file in ("plan.json", "run.json"):
                (tmp_path / each.name / file).write_bytes((each / file).read_bytes())
    damaged = next(tmp_path.glob("20261102*")) / "run.json"
    damaged.write_bytes(damaged.read_bytes()[:-20])
    found = run_before(plan_on(runs), "20261105T101530Z-mine-reads-0005", RunStore(tmp_path))
    assert found is not None and "20261101" in found.source


@pytest.mark.parametrize(("size", "there"), [("4G", True), ("8G", False)])
def test_published_figures_are_a_level_and_of_this_load_only(
    runs: Path, tmp_path: Path, size: str, there: bool
) -> None:
    (tmp_path / "mine.yaml").write_text(LEVEL.replace("SIZE", size))
    found = published(plan_on(runs), tmp_path)
    assert (found is not None) == there
    if found is not None:
        assert found.source == "published results, Our old array, 2 clients"
        assert found.values(0, "", "read", "iops") == (120_000.0,)
        assert found.values(0, "", "read", "p99") == (1_500_000.0,)
