"""A metadata benchmark on the screens: its phases live in place of graphs, its table as the
result.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest

from tests.app.journal_maker import RunMaker
from tests.app.stage import SMALL, WIDE, stage
from tui.analysis.previous_run import Behind
from tui.app.screens import result_tiles
from tui.journal.progress import MetadataView
from tui.journal.telemetry import HostTelemetry
from tui.model.event import (
    ALL_OVER,
    HostResult,
    MetadataIteration,
    MetadataPhase,
    MetadataResult,
    OperationResult,
    TelemetryColumns,
    TelemetrySample,
)
from tui.model.plan import Headline, MpiLaunch, Plan, Step
from tui.model.record import HeadlineRecord
from tui.model.rundir import PLAN_FILE
from tui.model.step_record import MetadataRecord, OperationRecord
from tui.text.plot import TimeAxis
from tui.view.live_lanes import LANES, HostSecond, HostsOverTime, LaneCells
from tui.view.live_series import Beside, _cells, rate_lines, time_lines
from tui.view.operations import operation_tiles

HOSTS = ("c1", "c2")


def metadata_run(home: Path, make: type[RunMaker] = RunMaker) -> RunMaker:
    """A run of a metadata benchmark that begins."""
    made = make(home / "runs" / "20261121T101530Z-weka-mdtest-7f3a", HOSTS, tag="weka/mdtest")
    path = made.run_dir / PLAN_FILE
    plan = msgspec.json.decode(path.read_bytes(), type=Plan)
    launch = MpiLaunch("/mnt/weka/mdtest", 136, 18382, 3, options=("-F", "-u"))
    phases = ["create", "stat", "read", "remove"]
    step = msgspec.structs.replace(
        plan.steps[0],
        name="weka/mdtest",
        tool="mdtest",
        runtime_s=None,
        directions=phases,
        mpi=launch,
    )
    title = "WEKA metadata operations with mdtest"
    profile = msgspec.structs.replace(plan.profile, title=title, changed={})
    whole = msgspec.structs.replace(
        plan, profile=profile, steps=[step], headline=Headline("ops", "create")
    )
    path.write_bytes(msgspec.json.encode(whole))
    return made.begin().go()


@pytest.fixture
def maker(tmp_path: Path) -> RunMaker:
    """The run in a directory of its own."""
    return metadata_run(tmp_path)


def phase(name: str, iteration: int = 1, t: float = 0.0, **more: object) -> MetadataPhase:
    return MetadataPhase(t=t, step=0, phase=name, iteration=iteration, iterations=3, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize("size", [SMALL, WIDE])
async def test_live_shows_iteration_phase_and_estimates_of_those_before(
    maker: RunMaker, size: tuple[int, int]
) -> None:
    maker.add(phase("create"))
    maker.t += 50
    maker.add(phase("stat", t=maker.t, ended="create", ops=5_000_000, seconds=50.0))
    maker.t += 7
    maker.say("seven seconds later")
    async with stage(maker, size) as (app, _):
        shown = app.text_of("#live-operations").splitlines()
        assert "estimated" in shown[0]
        assert "stat/s" in app.text_of("#live-figures") and "upper bound" in app.text_of(
            "#live-figures"
        )
        assert shown[2].split() == ["create", "~100k", "·", "·"]
        assert shown[3].split() == ["›", "stat", "now", "·", "·"]
        assert not app.screen.query_one("#live-graphs").is_on_screen
        assert "silent" not in app.text_of("#live-hosts")


async def test_the_tools_own_figure_takes_the_place_of_an_estimate(maker: RunMaker) -> None:
    maker.add(phase("create"), phase("stat", ended="create", ops=5_000_000, seconds=50.0))
    maker.add(
        MetadataIteration(
            t=0.0, step=0, operation="create", iteration=1, seconds=49.0, rate=102_040.8
        )
    )
    async with stage(maker) as (app, _):
        assert app.text_of("#live-operations").splitlines()[2].split()[:2] == ["create", "102k"]


async def test_the_iteration_before_tells_what_is_left_and_how_long_phases_take(
    maker: RunMaker,
) -> None:
    maker.add(phase("create"))
    for number in (1, 2):
        for name, seconds, after in (
            ("create", 40.0, "stat"),
            ("stat", 10.0, "remove"),
            ("remove", 10.0, "create"),
        ):
            if (number, name) == (2, "stat"):
                break
            maker.t += seconds
            iteration = number + (name == "remove")
            maker.add(phase(after, iteration, maker.t, ended=name, ops=4_000_000, seconds=seconds))
    maker.t += 5
    maker.say("five seconds of the second stat")
    async with stage(maker) as (app, _):
        shown = app.text_of("#live-operations").splitlines()
        assert "of about 0:10" in app.text_of("#live-figures")
        lanes = {line.split()[1]: line for line in shown if line.startswith("  it.")}
        assert (
            lanes["1"].split()[-1] == "1:00"
            and lanes["2"].split()[-1] == "0:45"
            and "3" not in lanes
        )
        assert lanes["1"].count("━") > lanes["2"].count("━") and "─" in lanes["2"]
        header = app.text_of("#live-header")
        assert "about 1:15 left" in header and "58 %" in header
        assert "IOPS" not in app.text_of("#live-hosts") and "creates/s" not in app.text_of(
            "#live-hosts"
        )


def test_the_current_phase_is_an_upper_bound_in_large_digits() -> None:
    launch = MpiLaunch("/mnt", 10, 100, 3)  # 2000 operations a phase on two hosts
    step = Step(0, "mdtest", "mdtest", {}, [], None, directions=["create", "stat"], mpi=launch)
    view = MetadataView(step=0)
    view.enter(phase("create"))
    bounds = [operation_tiles(view, step, 2, now)[0] for now in (0.5, 2.0, 4.0)]
    assert [(tile.number, tile.aside) for tile in bounds] == [
        ("–", "running"),
        ("1.00", "upper bound"),
        ("500", "upper bound"),
    ]
    view.enter(phase("stat", t=4.0, ended="create", ops=2000, seconds=4.0))
    now, time, iteration = operation_tiles(view, step, 2, 9.0)
    assert now.title.startswith("stat") and time.number == "0:05" and iteration.unit == "of 3"
    told = {name: OperationResult(mean=mean) for name, mean in (("create", 444.0), ("stat", 333.0))}
    whole = MetadataResult(
        t=9.0,
        step=0,
        tool="mdtest",
        version="",
        tasks=20,
        nodes=2,
        items=100,
        iterations=3,
        operations=told,
    )
    view.result = whole
    assert [tile.number for tile in operation_tiles(view, step, 2, 9.0)] == ["444", "333"]


async def test_no_phase_is_running_after_the_last_line_of_mdtest(maker: RunMaker) -> None:
    maker.add(phase("remove", iteration=3), phase(ALL_OVER, iteration=3, ended="remove"))
    maker.t += 19
    maker.say("nineteen seconds later")
    async with stage(maker) as (app, _):
        shown = app.text_of("#live-operations")
        assert (
            "iteration 3 of 3  ended, collecting results" in shown
            and "remove for" not in shown
            and "›" not in shown
        )


async def test_before_the_first_phase_ranks_are_starting(maker: RunMaker) -> None:
    async with stage(maker) as (app, _):
        assert "ranks are starting" in app.text_of("#live-operations")


async def test_the_result_is_a_table_of_operations(maker: RunMaker) -> None:
    create = OperationResult(
        max=50_000.0, min=40_000.0, mean=45_000.0, stddev=5_000.0, iterations=[40_000.0, 50_000.0]
    )
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
    maker.add(
        *(HostResult(t=0.0, host=host, step=0, dirs={}, tool_version="4.0.0") for host in HOSTS)
    )
    async with stage(maker, step="result") as (app, _):
        shown = app.text_of("#result-page")
        lines = [" ".join(line.split()) for line in shown.splitlines()]
        assert "operations/s max min mean std dev by iteration it. 1 it. 2" in lines
        assert "create 50,000 40,000 45,000 5,000 create 40,000 50,000" in lines
        assert (
            "mdtest 4.0.0: 272 ranks on 2 nodes, 18,382 files per rank" in shown
            and "Over time" not in shown
        )


def iterations(
    maker: RunMaker, *seconds: float | Sequence[float], ops: int = 1_000_000, over: bool = False
) -> RunMaker:
    """Whole iterations of so many seconds a phase, with what two hosts and a server do meanwhile.

    The next begins, unless all are `over`.
    """
    for host in HOSTS:
        maker.look_at(
            host, {"cpu.busy": 40.0, "core.busy": 99.0, "nic.eth0.rx": 1e9, "nic.eth0.tx": 5e8}
        )
    maker.look_at("mds-1", {"cpu.busy": 88.0, "dev.nvme0n1.busy": 30.0}, server=True)
    phases = ("create", "stat", "read", "remove")
    maker.add(phase("create", t=maker.t))
    for number, given in enumerate(seconds, 1):
        spans = [given] * len(phases) if isinstance(given, float) else given
        for name, after, each in zip(phases, (*phases[1:], "create"), spans, strict=True):
            begin = maker.t
            for second in range(int(each)):
                maker.add(
                    *(maker.telemetry(host, begin + second + 1) for host in (*HOSTS, "mds-1"))
                )
            at = number + (name == "remove")
            if over and (number, name) == (len(seconds), phases[-1]):
                at, after = number, ALL_OVER
            maker.add(phase(after, at, maker.t, ended=name, ops=ops, seconds=each))
    return maker


async def test_where_there_is_room_hosts_are_drawn_over_time(
    maker: RunMaker,
) -> None:
    async with stage(iterations(maker, 10.0, 8.0)) as (app, _):
        shown = app.text_of("#live-operations").splitlines()
        assert not any(line.startswith("Rate by iteration") for line in shown), "said once"
        over = shown.index(next(line for line in shown if line.startswith("Hosts over time")))
        names = [name.rstrip("━") for name in shown[over + 1].split()]
        assert names == ["phase", *[""] * 8], "no name is cut"
        lanes = {line[:15].strip(): line.split()[-2:] for line in shown[over + 2 :]}
        assert lanes["CPU"] == ["40", "%"] and lanes["busiest core"] == ["99", "%"]
        assert app.screen.query_one("#live-hosts").size.height <= len(HOSTS) + 4, (
            "hardly a line stays empty"
        )


async def test_the_previous_run_is_next_to_the_rates(maker: RunMaker) -> None:
    async with stage(iterations(maker, 10.0)) as (app, _):
        app.live.behind.shown = Behind(
            "before", "a run", rates={0: {"create": 50_000.0, "stat": 200_000.0}}
        )
        app.live.paint()
        rows = {
            line.split()[0]: line.split()
            for line in app.text_of("#live-operations").splitlines()
            if line
        }
        assert (
            rows["ops/s"][-1] == "before"
            and rows["stat"][-1] == "200k"
            and rows["read"][-1] != "200k"
        )
        assert any(
            line.startswith("  before") for line in app.text_of("#live-operations").splitlines()
        )


def test_what_hosts_did_is_taken_once_and_other_devices_are_left_out() -> None:
    host = HostTelemetry("c1")
    names = ["cpu.busy", "nic.eth0.rx", "nic.others.rx", "dev.sda.busy", "dev.sdb.busy"]
    host.head(TelemetryColumns(t=0.0, host="c1", step=0, columns=names))
    over = HostsOverTime()
    for second in (1, 2):
        values = [50.0, 100.0, 900.0, 10.0, None if second == 1 else 70.0]
        sample = TelemetrySample(
            t=second, host="c1", step=0, host_time_ms=second, interval_s=1.0, values=values
        )
        host.add(sample, float(second), keep_all=False)
        over.take([host])
        over.take([host])
    assert {name: over.values(lane)[1] for lane in LANES if (name := lane.title) in over.lanes} == {
        "CPU": [50.0, 50.0],
        "network": [100.0, 100.0],
        "disk": [10.0, 70.0],
    }


@pytest.mark.parametrize("room", [11, 16, 36])
def test_no_lane_touches_the_one_above(room: int) -> None:
    over = HostsOverTime()
    over.lanes = {
        lane.title: {second: HostSecond(100.0, 1, 100.0) for second in range(10)}
        for lane in LANES[:5]
    }
    lines = over.lines(TimeAxis(0, 10), LaneCells(15, 20, 9), room, "block")
    assert len(lines) <= room
    tops = [line.runs[1][0][0] for line in lines[:-1]]
    ends = [row for row, line in enumerate(lines[:-1]) if len(line.runs) > 2]
    assert len(ends) == 5 and all(tops[row] in "▇█" for row in ends)
    assert "█" not in [tops[0], *(tops[row + 1] for row in ends[:-1])]


def test_the_name_of_the_last_phase_is_whole_where_there_is_room() -> None:
    cells = _cells([("remove", 80.0, True), ("create", 3.0, True)], 100.0, 50)
    assert [text for text, _ in cells] == ["remove 1:20 " + "━" * 27 + " ", "create"]
    ahead = _cells([("create", 3.0, True), ("", 90.0, False)], 100.0, 50)
    assert [len(text) for text, _ in ahead] == [6, 40]


def test_bandwidths_of_iterations_are_separate() -> None:
    view = MetadataView(0)
    for number in (1, 2, 3):
        view.enter(phase("write", number, t=float(number)))
        moved = {"rate": 2048.0, "bytes_per_op": 1 << 20, "seconds": 1.0}
        view.end_iteration(
            MetadataIteration(t=number + 0.5, step=0, operation="write", iteration=number, **moved)  # type: ignore[arg-type]
        )
    line = rate_lines(view, 5.0, 90, ("write",), Beside(bytes_per_op=1 << 20))[2].plain
    assert line.split() == ["›", "write", *["2.00", "GiB/s"] * 4, "0", "%"]


def test_bandwidths_and_counts_of_one_benchmark_are_separate() -> None:
    view = MetadataView(0, iterations=2)
    for name, moved in (("easy-write", 1 << 20), ("easy-stat", 0)):
        for number in (1, 2):
            view.enter(phase(name, number, t=1.0))
            ended = {
                "operation": name,
                "iteration": number,
                "seconds": 1.0,
                "rate": 1001.0,
                "bytes_per_op": moved,
            }
            view.end_iteration(MetadataIteration(t=1.5, step=0, **ended))  # type: ignore[arg-type]
    _, _, *rows = rate_lines(view, 5.0, 90, ("easy-write", "easy-stat"), Beside())
    assert rows[0].plain.split()[1:] == [*["1001", "MiB/s"] * 2, "·", "1001", "MiB/s", "0", "%"]
    assert rows[1].plain.split()[2:] == ["1.00k", "1.00k", "·", "1.00k", "0", "%"]


def test_scores_come_before_the_operations_that_they_are_made_of() -> None:
    operations = {
        "easy-write": OperationRecord(mean=2.0, bytes_per_op=1 << 30),
        "find": OperationRecord(mean=5000.0),
    }
    scores = {"total": 12.233828, "bandwidth": 1.5}
    metadata = MetadataRecord(tool="io500", iterations=1, operations=operations, scores=scores)
    headline = HeadlineRecord(metric="score", direction="total", unit="score")
    tiles = result_tiles.operation_tiles(metadata, headline)
    assert [(tile.number, tile.drop) for tile in tiles] == [
        ("12.2338", 0),
        ("1.5", 1),
        ("2.00", 1),
        ("5.00", 2),
    ]


def test_a_gap_parts_short_phases() -> None:
    cells = _cells(
        [("create", 4.0, True), ("stat", 4.0, True), ("read", 1.0, True), ("remove", 11.0, True)],
        20.0,
        20,
    )
    assert "".join(text for text, _ in cells) == "━━━ ━━━ ━remove " + "━" * 4


def test_a_short_iteration_is_timed_in_tenths() -> None:
    view = MetadataView(step=0, iterations=3)
    view.enter(phase("create"))
    view.enter(phase("stat", t=0.4, ended="create", ops=1000, seconds=0.4))
    (_, line) = time_lines(view, 0.7, 60, 1)
    assert "".join(text for text, _ in line.runs).endswith("0.7 s")
