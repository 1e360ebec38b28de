"""A metadata benchmark on the screens: its phases live in place of graphs, its table as the result."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from tests.app.journal_maker import RunMaker
from tests.app.stage import SMALL, WIDE, stage
from tui.model.event import ALL_OVER, HostResult, MetadataIteration, MetadataPhase, MetadataResult, OperationResult
from tui.model.plan import Headline, MpiLaunch, Plan
from tui.model.rundir import PLAN_FILE

HOSTS = ("c1", "c2")


@pytest.fixture
def maker(tmp_path: Path) -> RunMaker:
    made = RunMaker(tmp_path / "runs" / "20261121T101530Z-weka-mdtest-7f3a", HOSTS, tag="weka/mdtest")
    path = made.run_dir / PLAN_FILE
    plan = msgspec.json.decode(path.read_bytes(), type=Plan)
    launch = MpiLaunch("/mnt/weka/mdtest", 136, 18382, 3, options=("-F", "-u"))
    phases = ["create", "stat", "read", "remove"]
    step = msgspec.structs.replace(
        plan.steps[0], name="weka/mdtest", tool="mdtest", runtime_s=None, directions=phases, mpi=launch
    )
    headline = Headline("ops", "create")
    path.write_bytes(msgspec.json.encode(msgspec.structs.replace(plan, steps=[step], headline=headline)))
    return made.begin().go()


def phase(name: str, iteration: int = 1, t: float = 0.0, **more: object) -> MetadataPhase:
    return MetadataPhase(t=t, step=0, phase=name, iteration=iteration, iterations=3, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize("size", [SMALL, WIDE])
async def test_live_shows_iteration_phase_and_estimates_of_those_before(maker: RunMaker, size: tuple[int, int]) -> None:
    maker.add(phase("create"))
    maker.t += 50
    maker.add(phase("stat", t=maker.t, ended="create", ops=5_000_000, seconds=50.0))
    maker.t += 7
    maker.say("seven seconds later")
    async with stage(maker, size) as (app, _):
        shown = app.text_of("#live-operations").splitlines()
        assert shown[0].startswith("Operations  iteration 1 of 3  stat for 0:07")
        assert shown[2].split() == ["create", "~100k", "·", "·"]
        assert shown[3].split() == ["›", "stat", "now", "·", "·"]
        assert not app.screen.query_one("#live-graphs").is_on_screen
        assert "stale" not in app.text_of("#live-hosts")


async def test_the_tools_own_figure_takes_the_place_of_an_estimate(maker: RunMaker) -> None:
    maker.add(phase("create"), phase("stat", ended="create", ops=5_000_000, seconds=50.0))
    maker.add(MetadataIteration(t=0.0, step=0, operation="create", iteration=1, seconds=49.0, rate=102_040.8))
    async with stage(maker) as (app, _):
        assert app.text_of("#live-operations").splitlines()[2].split()[:2] == ["create", "102k"]


async def test_the_iteration_before_tells_what_is_left_and_how_long_phases_take(maker: RunMaker) -> None:
    maker.add(phase("create"))
    for number in (1, 2):
        for name, seconds, after in (("create", 40.0, "stat"), ("stat", 10.0, "remove"), ("remove", 10.0, "create")):
            if (number, name) == (2, "stat"):
                break
            maker.t += seconds
            iteration = number + (name == "remove")
            maker.add(phase(after, iteration, maker.t, ended=name, ops=4_000_000, seconds=seconds))
    maker.t += 5
    maker.say("five seconds of the second stat")
    async with stage(maker) as (app, _):
        shown = app.text_of("#live-operations").splitlines()
        assert shown[0].startswith("Operations  iteration 2 of 3  stat for 0:05 of ~0:10")
        lanes = {line.split()[1]: line for line in shown if line.startswith("  it.")}
        assert lanes["1"].split()[-1] == "1:00" and lanes["2"].split()[-1] == "0:45" and "3" not in lanes
        assert lanes["1"].count("━") > lanes["2"].count("━") and "─" in lanes["2"]
        header = app.text_of("#live-header")
        assert "left ~1:15" in header and "58%" in header
        assert "IOPS" not in app.text_of("#live-hosts") and "creates/s" not in app.text_of("#live-hosts")


async def test_after_mdtests_last_word_no_phase_goes_on(maker: RunMaker) -> None:
    maker.add(phase("remove", iteration=3), phase(ALL_OVER, iteration=3, ended="remove"))
    maker.t += 19
    maker.say("nineteen seconds later")
    async with stage(maker) as (app, _):
        shown = app.text_of("#live-operations")
        assert "iteration 3 of 3  over, results are taken" in shown and "remove for" not in shown and "›" not in shown


async def test_before_the_first_phase_ranks_are_starting(maker: RunMaker) -> None:
    async with stage(maker) as (app, _):
        assert "ranks are starting" in app.text_of("#live-operations")


async def test_the_result_is_a_table_of_operations(maker: RunMaker) -> None:
    create = OperationResult(max=50_000.0, min=40_000.0, mean=45_000.0, stddev=5_000.0, iterations=[40_000.0, 50_000.0])
    result = MetadataResult(
        t=0.0,
        step=0,
        tool="mdtest",
        version="4.0.0",
        tasks=272,
        nodes=2,
        items=18382,
        iterations=3,
        operations={"create": create},
        shift=136,
        ranks_per_node=136,
    )
    maker.add(phase("create"), result)
    maker.add(*(HostResult(t=0.0, host=host, step=0, dirs={}, tool_version="4.0.0") for host in HOSTS))
    async with stage(maker, step="result") as (app, _):
        shown = app.text_of("#result-page")
        assert "operations/s        max      min     mean  std dev     it. 1    it. 2" in shown
        assert "create            50000    40000    45000     5000     40000    50000" in shown
        assert "mdtest 4.0.0: 272 ranks on 2 nodes" in shown and "Over time" not in shown
