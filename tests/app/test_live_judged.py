"""Live says what limits a run, what was found so far, and what servers do.

Result shows the same of its end.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from math import inf
from pathlib import Path
from typing import get_args

import pytest
from msgspec.structs import replace
from textual.pilot import Pilot

from tests.app import scenes
from tests.app.journal_maker import READS, RUN_ID, RunMaker, host_names
from tests.app.matrix_maker import line_sweep
from tests.app.stage import SMALL, WIDE, app_on, settle, stage
from tui.app.dialogs.findings import FindingsDialog, HostDialog
from tui.app.widgets.lines import TextPane
from tui.app.widgets.run_panels import Banner
from tui.judge import live
from tui.judge.bottleneck import Kind
from tui.judge.catalogue import BY_ID, CHECKS
from tui.judge.check import CheckResult
from tui.library.build import write_record
from tui.model.event import HostFactsCollected, HostState, PhaseEnded, PhaseStarted, StepStarted
from tui.model.operands import Operands, clause
from tui.text.line import WARN
from tui.view import live_health

Compare = Callable[..., bool]
IDLE = {
    "cpu.busy": 41.0,
    "core.number": 12.0,
    "core.busy": 71.0,
    "core.softirq": 9.0,
    "gen.procs": 33.0,
    "gen.cpu": 640.0,
    "gen.thread": 58.0,
    "nic.ens1f0.rx": 1.31e9,
    "nic.ens1f0.tx": 2.2e7,
    "nic.eno1.rx": 3.0e4,
    "nic.eno1.tx": 1.1e5,
}
BUSY = IDLE | {"cpu.busy": 97.0, "core.busy": 100.0, "gen.thread": 88.0, "nic.ens1f0.rx": 1.12e9}
SERVER = {
    "cpu.busy": 63.0,
    "core.number": 3.0,
    "core.busy": 88.0,
    "nic.bond0.rx": 4.4e7,
    "nic.bond0.tx": 2.61e9,
    "dev.nvme0n1.busy": 91.0,
    "dev.nvme1n1.busy": 86.0,
    "group.OSD.procs": 8.0,
    "group.OSD.cpu": 791.0,
    "group.monitor.procs": 1.0,
    "group.monitor.cpu": 12.0,
}


@pytest.fixture(autouse=True)
def _looks_cost_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "SHARE", inf)


def run_of(home: Path, hosts: int = 6) -> RunMaker:
    return RunMaker(home / "runs" / RUN_ID, host_names(hosts), READS, runtime_s=50.0).begin()


def watched(home: Path, *, seconds: int = 31, busy: int = 4, servers: int = 2) -> RunMaker:
    """A run with telemetry: some of its six hosts have no CPU left, one is of another kernel."""
    maker = run_of(home)
    for host in maker.hosts:
        odd = host == "weka-05"
        kernel = {"kernel": "Linux 5.14.0-427.el9"} if odd else {}
        maker.add(
            HostFactsCollected(
                t=1.2, host=host, facts={"nics": nics(1500 if odd else 9000), **kernel}
            )
        )
    maker.go()
    for place, host in enumerate(maker.hosts):
        maker.look_at(host, BUSY if place < busy else IDLE)
    for number in range(1, servers + 1):
        maker.look_at(f"osd-{number}", SERVER, server=True)
    return maker.measure(seconds)


def nics(mtu: int) -> list[dict[str, str | int | float | bool | None]]:
    return [{"name": "ens1f0", "kind": "physical", "mtu": mtu, "speed_mbit": 25000}]


def finished(home: Path) -> RunMaker:
    """The same run at its end. How many checks there are is no matter of pictures."""
    maker = watched(home, seconds=30).finish()
    record = write_record(maker.run_dir)
    record.checks, record.checks_not_made = (
        ["client-cpu", "host-differences"],
        {"straggler": "why not"},
    )
    (maker.run_dir / "run.json").write_text(record.to_json())
    return maker


async def test_a_line_says_what_limits_the_run_and_another_the_worst_finding(
    tmp_path: Path,
) -> None:
    async with stage(watched(tmp_path)) as (app, _):
        limited = app.text_of("#live-health").splitlines()[0]
        assert limited.count("client CPU") == 1, "the finding is the bottleneck"
        assert limited.startswith("! limited by client CPU: weka-01, weka-02, weka-03, weka-04: 97")
        assert " warnings" in limited and limited.endswith("f all")
        roles = {text: role for line in app.live.query_one("#live-health", Banner).text
                 for text, role in line.runs}  # fmt: skip
        assert roles["client CPU"] == WARN, "the figures do not describe the storage"


async def test_a_finding_that_has_no_room_loses_its_last_clauses(tmp_path: Path) -> None:
    async with stage(scenes.scene("stall", tmp_path, 8, 60), SMALL) as (app, _):
        said = app.text_of("#live-health")
        assert re.search(r"! I/O [^…;]* for \d+ of 60 s at \d+:\d\d on all 8 hosts +", said), said
        assert "…" not in said and said.endswith("f all")


async def test_the_line_of_folded_hosts_has_the_median_of_the_column_above_it(
    tmp_path: Path,
) -> None:
    maker = scenes.begun(tmp_path, 8).measure(20)
    scenes.stall(maker, 3).measure(2)  # hosts are compared over the seconds of the stall too
    async with stage(maker, SMALL) as (app, pilot):
        folded = app.text_of("#live-hosts").splitlines()[-1]
        await pilot.press("b")
        await app.settle(pilot)
        rates = [float(rate) for rate in re.findall(r" ([\d.]+)k ", app.text_of("#live-hosts"))]
        middle = re.search(r"median ([\d.]+)k", folded)
        assert middle is not None and min(rates) <= float(middle[1]) <= max(rates)


async def test_a_narrow_screen_shows_finding_and_bottleneck_in_one_line(
    tmp_path: Path,
) -> None:
    async with stage(watched(tmp_path), SMALL) as (app, pilot):
        (line,) = app.text_of("#live-health").splitlines()
        assert line.startswith("! limited by client CPU") and "+ hosts differ" in line
        assert line.endswith("f all")
        await pilot.resize_terminal(60, 16)
        await app.settle(pilot)
        (line,) = app.text_of("#live-health").splitlines()
        assert line.startswith("! limited by client CPU") and line.endswith("f all")


def test_every_bottleneck_has_a_word() -> None:
    assert set(get_args(Kind)) == set(live_health.BOTTLENECKS)


async def test_the_hosts_that_are_named_are_marked(tmp_path: Path) -> None:
    async with stage(watched(tmp_path)) as (app, _):
        rows = {
            line.split()[1]: line
            for line in app.text_of("#live-hosts").splitlines()
            if " weka-" in line
        }
        assert rows["weka-01"].startswith("! weka-01") and "client CPU" in rows["weka-01"]
        assert rows["weka-06"].startswith("● weka-06")
        assert list(rows)[:4] == ["weka-01", "weka-02", "weka-03", "weka-04"]  # the worst first


async def test_without_telemetry_the_bottleneck_is_unknown(tmp_path: Path) -> None:
    async with stage(run_of(tmp_path).go().measure(31)) as (app, _):
        assert "bottleneck unknown: no telemetry" in app.text_of("#live-health")
        assert "CPU" not in app.text_of("#live-hosts")


async def test_a_run_in_which_nothing_is_found_says_how_much_was_checked(tmp_path: Path) -> None:
    maker = RunMaker(tmp_path / "runs" / RUN_ID, host_names(1), READS, runtime_s=300.0).begin().go()
    maker.look_at("weka-01", IDLE)
    async with stage(maker.measure(31)) as (app, _):
        line = app.text_of("#live-health")
        assert (
            "limited by storage or queue depth (no client limit found)" in line
            and "steady: " in line
        )
        assert line.startswith("✓ no findings, ") and " checks" in line


async def test_while_a_step_is_prepared_neither_findings_nor_the_cursor_are_of_the_one_before(
    tmp_path: Path,
) -> None:
    maker = line_sweep(tmp_path).start_step(0)
    for host in maker.hosts:
        maker.look_at(host, BUSY)
    async with stage(maker.measure(31)) as (app, pilot):
        assert app.text_of("#live-health").startswith(
            "! limited by client CPU"
        ) and "client CPU" in app.text_of("#live-hosts")
        await pilot.press("left", "left")
        assert app.live.look.cursor_s is not None
        maker.looked_at = {}
        maker.end_step(0, 1000.0).add(
            *(HostState(t=maker.t, host=host, state="done") for host in maker.hosts)
        )
        maker.add(
            StepStarted(t=maker.t + 1, step=1), PhaseStarted(t=maker.t + 1, phase="barrier", step=1)
        )
        await app.tick(pilot, maker)
        said = app.text_of("#live-health")
        assert (
            said.startswith("was: client CPU")
            and "limited by" not in said
            and "client CPU" not in app.text_of("#live-hosts")
        )
        maker.start_step(1)
        await app.tick(pilot, maker.measure(5))
        assert app.live.look.cursor_s is None and "at 0:00" not in app.text_of("#live-heat")
        said = app.text_of("#live-health")
        assert "bottleneck unknown" in said and "limited by client CPU" not in said, (
            "the load is not looked at yet"
        )


async def test_what_is_over_stays_in_the_line_as_one_that_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    busy: Operands = {"hosts": [("weka-01", clause("busy", percent=99.0))]}
    found = [CheckResult("warning", "bound", 1, 0, {"hosts": "weka-01"}, busy)]
    told = replace(BY_ID["client-cpu"], of_step=lambda _: found)
    monkeypatch.setattr(
        live, "CHECKS", [told if check.id == "client-cpu" else check for check in CHECKS]
    )
    maker = run_of(tmp_path, 1).go()
    async with stage(maker.measure(31)) as (app, pilot):
        assert "client CPU" in app.text_of("#live-health")
        found.clear()
        for _ in range(4):
            maker.measure(5)
            await app.tick(pilot, maker)
        assert "was: client CPU" in app.text_of("#live-health")
        await pilot.press("f")
        await app.settle(pilot)
        assert isinstance(app.screen, FindingsDialog)


async def test_f_shows_each_finding_with_what_to_do_and_no_start_that_is_not_known(
    tmp_path: Path,
) -> None:
    async with stage(watched(tmp_path)) as (app, pilot):
        await pilot.press("f")
        await app.settle(pilot)
        text = "".join(
            part.text for line in app.screen._compositor.render_strips() for part in line
        )
        assert "client CPU" in text and "use more clients" in text
        assert "since" not in text, "the first look found it"
        await pilot.press("escape")
        await app.settle(pilot)
        assert app.live.is_current


async def test_times_of_hosts_and_findings_count_from_the_load_while_results_are_collected(
    tmp_path: Path,
) -> None:
    maker = run_of(tmp_path).go().measure(31)
    maker.add(
        PhaseEnded(t=maker.t, phase="measure", step=0),
        PhaseStarted(t=maker.t, phase="collect", step=0),
    )
    async with stage(maker) as (app, pilot):
        assert app.live.feed.state.phase == "collect"
        await pilot.press("i")
        await app.settle(pilot)
        assert isinstance(app.screen, HostDialog) and app.screen.about == "weka-01 at 0:31"


async def test_before_anything_was_checked_f_says_so(tmp_path: Path) -> None:
    async with stage(run_of(tmp_path).go().measure(2)) as (app, pilot):
        await pilot.press("f")
        await app.settle(pilot)
        assert app.live.is_current


async def test_servers_have_rows_with_their_processes(tmp_path: Path) -> None:
    async with stage(watched(tmp_path)) as (app, _):
        rows = app.text_of("#live-servers").splitlines()
        assert rows[0].split()[:3] == ["server", "CPU", "core"]
        assert rows[1].split()[:6] == ["●", "osd-1", "63", "%", "88", "%"]
        assert "bond0 2.47 GiB/s" in rows[1] and "nvme0n1 91 %" in rows[1]
        assert "8 OSD 791 %" in rows[1] and "monitor 12 %" in rows[1]


async def test_what_a_host_does_has_columns_where_there_is_room(tmp_path: Path) -> None:
    maker = watched(tmp_path)
    async with stage(maker) as (app, _):
        row = next(line for line in app.text_of("#live-hosts").splitlines() if "weka-06" in line)
        assert "41 %" in row and "71 %" in row and "1.24 GiB/s" in row
    async with stage(maker, SMALL) as (app, _):
        assert "core" not in app.text_of("#live-hosts").splitlines()[0]


async def test_the_detail_of_a_host_says_what_it_does(tmp_path: Path) -> None:
    async with stage(watched(tmp_path)) as (app, pilot):
        await pilot.press("enter")
        await app.settle(pilot)
        detail = app.text_of("#live-facts")
        assert "CPU 97 %" not in detail and "load CPU 640 % of a core" in detail
        assert "1.06 GiB/s" in detail
        lines = detail.splitlines()
        assert (
            lines[2].split()[0] == "CPU"
            and lines[2].split()[2:4] == ["97", "%"]
            and "network" in lines[2]
        )
        assert lines[3].startswith("command fio ")


async def test_i_shows_all_of_a_host_or_server_at_any_size(tmp_path: Path) -> None:
    maker = watched(tmp_path).say("late I/O", "warning", "weka-04").measure(1)
    async with stage(maker, SMALL) as (app, pilot):
        await pilot.press("i")
        await app.settle(pilot)
        assert isinstance(app.screen, HostDialog) and app.screen.about.startswith("weka-04 at 0:")
        shown = [line.plain for line in app.screen.query_one(TextPane).builder(70)]
        over = shown[shown.index("over time") : shown.index("facts")]
        assert [line.split()[0] for line in over if line.strip().endswith("%")][:2] == [
            "CPU",
            "core",
        ]
        assert "97 %" in over[2] and over[2].count("█") + over[2].count("▇") > 1
        assert any(line.startswith("fio --output-format=json+") for line in shown)
        assert any("late I/O" in line for line in shown)
        await pilot.press("i", "tab", "i")
        await app.settle(pilot)
        assert isinstance(app.screen, HostDialog) and app.screen.about.startswith("osd-1")
        shown = [line.plain for line in app.screen.query_one(TextPane).builder(70)]
        assert any("processes" in line and "803 %" in line for line in shown)


async def test_a_replay_that_goes_back_forgets_what_was_found(tmp_path: Path) -> None:
    maker = watched(tmp_path, seconds=40).finish()
    async with stage(maker, replay=1.0) as (app, pilot):
        app.wall += 36
        await app.tick(pilot)
        assert "client CPU" in app.text_of("#live-health")
        for _ in range(3):
            await pilot.press("left")
            await app.settle(pilot)
        assert "client CPU" not in app.text_of("#live-health")


async def test_at_the_end_live_says_what_the_record_says(tmp_path: Path) -> None:
    maker = watched(tmp_path, seconds=40).finish()
    record = write_record(maker.run_dir)
    record.findings = [each for each in record.findings if each.id != "client-cpu"]
    (maker.run_dir / "run.json").write_text(record.to_json())
    async with stage(maker, replay=1.0) as (app, pilot):
        app.wall += 36
        await app.tick(pilot)
        assert (
            "client CPU" in app.text_of("#live-health")
            and app.live.found is not None
            and not app.live.found.settled
        )
        app.wall += 60
        await app.tick(pilot)
        shown = {each.finding.id for each in app.live.found.now}
        assert shown == {each.id for each in record.findings} and "client-cpu" not in shown
        assert "client CPU" not in app.text_of("#live-health")


async def settle_on_findings(pilot: Pilot[None]) -> None:
    await settle(pilot)
    await pilot.press("f")
    await settle(pilot)


def test_live_wide(snap_compare: Compare, tmp_path: Path) -> None:
    assert snap_compare(app_on(watched(tmp_path)), terminal_size=WIDE, run_before=settle)


def test_live_small(snap_compare: Compare, tmp_path: Path) -> None:
    assert snap_compare(
        app_on(watched(tmp_path, servers=1)), terminal_size=SMALL, run_before=settle
    )


def test_findings_wide(snap_compare: Compare, tmp_path: Path) -> None:
    assert snap_compare(
        app_on(watched(tmp_path)), terminal_size=WIDE, run_before=settle_on_findings
    )


def test_result_wide(snap_compare: Compare, tmp_path: Path) -> None:
    assert snap_compare(app_on(finished(tmp_path), "result"), terminal_size=WIDE, run_before=settle)


def test_result_small(snap_compare: Compare, tmp_path: Path) -> None:
    assert snap_compare(
        app_on(finished(tmp_path), "result"), terminal_size=SMALL, run_before=settle
    )


async def test_lines_that_would_stay_empty_have_the_farthest_of_the_folded_hosts(
    tmp_path: Path,
) -> None:
    maker = RunMaker(tmp_path / "runs" / RUN_ID, host_names(64), READS).begin().go()
    maker.pace = {"weka-40": 0.98}
    async with stage(maker.measure(6), WIDE) as (app, _):
        head, _, first, *others = app.text_of("#live-hosts").splitlines()
        assert head.startswith("Hosts") and first.startswith("● weka-40")
        assert "61 more within" in others[-1] and len(others) == 3 and not app.live.table.scrolls


async def test_columns_of_telemetry_that_no_host_has_are_left_out(tmp_path: Path) -> None:
    maker = RunMaker(tmp_path / "runs" / RUN_ID, host_names(4), READS).begin().go()
    for host in maker.hosts:
        maker.look_at(host, {"cpu.busy": 60.0, "core.busy": 70.0})
    async with stage(maker.measure(6), WIDE) as (app, _):
        titles = app.text_of("#live-hosts").splitlines()[1].split()
        assert {"CPU", "core"} <= {*titles} and not {"disk", "NIC", "flight"} & {*titles}
