"""Hosts that differ are shown as a difference: on the facts of a result, on Hosts after a check, on
Review.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from textual.pilot import Pilot

from tests.app.driver import User, options, write_inventory
from tests.app.journal_maker import READS, RUN_ID, RunMaker, host_names
from tests.app.stage import SMALL, WIDE, Stage, app_on, settle, stage, tab
from tests.app.test_snapshots import PROFILE, settled
from tui.app.app import BenchtuiApp
from tui.engine.preflight.host_check import HostCheck
from tui.library.build import write_record
from tui.model.event import HostFactsCollected
from tui.model.hostfacts import Fact

Compare = Callable[..., bool]
NIC = {
    "name": "ens1f0",
    "kind": "physical",
    "state": "up",
    "speed_mbit": 100_000,
    "mtu": 9000,
    "driver": "mlx5_core",
}
MOUNT = {
    "path": "/mnt/lab",
    "at": "/mnt/lab",
    "fstype": "nfs4",
    "source": "array:/lab",
    "nfs_version": "4.2",
}
ALIKE: dict[str, Fact] = {
    "os": "Rocky Linux 9.4",
    "kernel": "Linux 5.14.0-427.el9",
    "arch": "x86_64",
    "cpu_model": "AMD EPYC 9354",
    "cpus": 64,
    "governor": "performance",
    "clocksource": "tsc",
    "mem_bytes": 512 << 30,
    "fio_version": "fio-3.33",
    "fio_path": "/usr/bin/fio",
    "target": "/mnt/lab",
    "target_fstype": "nfs4",
    "target_source": "array:/lab",
    "target_total_bytes": 8 << 40,
    "target_free_bytes": 7 << 40,
    "nics": [NIC],
    "mounts": [{**MOUNT, "options": ["rw", "noatime", "nconnect=16", "rsize=1048576"]}],
}
ODD: dict[str, dict[str, Any]] = {
    "weka-05": {
        "kernel": "Linux 5.14.0-362.el9",
        "governor": "powersave",
        "nics": [{**NIC, "speed_mbit": 25_000, "mtu": 1500}],
    },
    "weka-07": {"mounts": [{**MOUNT, "options": ["rw", "relatime", "rsize=262144"]}]},
}


def facts_of(host: str) -> dict[str, Fact]:
    return {**ALIKE, **ODD.get(host, {})}


def finished(home: Path) -> RunMaker:
    """A run of eight hosts: one of another kernel with a slower link, one whose target is mounted
    otherwise.
    """
    maker = RunMaker(home / "runs" / RUN_ID, host_names(8), READS).begin()
    maker.add(*(HostFactsCollected(t=1.2, host=host, facts=facts_of(host)) for host in maker.hosts))
    maker.go().measure(20).finish()
    write_record(maker.run_dir)
    return maker


@pytest.fixture
def maker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RunMaker:
    """The run by a path that is the same in every picture."""
    monkeypatch.chdir(tmp_path)
    return finished(Path())


async def settle_on_facts(pilot: Pilot[None]) -> None:
    assert isinstance(pilot.app, Stage)
    await settle(pilot)
    text = " ".join((await tab(pilot.app, pilot, "facts")).split())
    for value in ("weka-05", "5.14.0-362.el9", "powersave", "1500", "25 Gbit/s"):
        assert value in text
    assert all(value in text for value in ("weka-07", "relatime,", "rsize=262144"))
    await settle(pilot)


@pytest.mark.parametrize("size", [SMALL, WIDE], ids=["80x24", "120x36"])
def test_facts_of_a_result(snap_compare: Compare, maker: RunMaker, size: tuple[int, int]) -> None:
    assert snap_compare(app_on(maker, "result"), terminal_size=size, run_before=settle_on_facts)


@pytest.fixture
def app(home: Path) -> BenchtuiApp:
    """Four hosts that were checked, one of them unlike the others."""
    write_inventory(home, "hosts:\n  weka-[04-07]: {groups: [weka]}\n")
    (home / "ssh_config").write_text("Host *\n  User ann\n")
    (home / "profiles").mkdir()
    (home / "profiles" / "read.yaml").write_text(PROFILE)
    names = ("weka-04", "weka-05", "weka-06", "weka-07")
    app = BenchtuiApp(options(home, hosts=names, profile="lab/read-iops"))
    app.selection.checks = {name: HostCheck(name, True, facts=facts_of(name)) for name in names}
    return app


@pytest.mark.parametrize("size", [SMALL, WIDE], ids=["80x24", "120x36"])
def test_checked_hosts(app: BenchtuiApp, snap_compare: Compare, size: tuple[int, int]) -> None:
    async def look(pilot: Pilot[None]) -> None:
        user = await settled(app, pilot)
        await on_host(user, "weka-05")
        await user.sees("(performance on 3 hosts)")
        await user.sees("ann@weka-05")

    assert snap_compare(app, terminal_size=size, run_before=look)


async def on_host(user: User, name: str) -> None:
    await user.sees(name)
    for _ in range(8):
        if user.cursor == name:
            return
        await user.press("j")


def test_review_of_hosts_that_differ(app: BenchtuiApp, snap_compare: Compare) -> None:
    async def look(pilot: Pilot[None]) -> None:
        user = await settled(app, pilot)
        await user.press("3")
        await user.sees("5.14.0-362.el9  5.14.0-427.el9")
        await user.sees("runs on 4 hosts")  # once the plan has been on the screen for a moment

    assert snap_compare(app, terminal_size=WIDE, run_before=look)


async def test_names_of_one_machine_are_reported_on_hosts_and_on_review(app: BenchtuiApp) -> None:
    for name, check in app.selection.checks.items():
        boot = "b2" if name == "weka-05" else "b1"
        app.selection.checks[name] = replace(
            check, facts={**check.facts, "boot_id": boot, "hostname": "box"}
        )
    async with app.run_test(size=WIDE) as pilot:
        user = await settled(app, pilot)
        await on_host(user, "weka-06")
        await user.sees("the same machine as weka-04, weka-07")
        await user.press("3")
        await user.sees("weka-04, weka-06, weka-07 are one machine")


async def test_a_result_tells_where_hosts_beside_each_other_are_one_machine(tmp_path: Path) -> None:
    maker = RunMaker(tmp_path / "runs" / RUN_ID, host_names(3), READS).begin()
    boot: dict[str, Fact] = {**ALIKE, "boot_id": "b1", "hostname": "box"}
    maker.add(
        *(HostFactsCollected(t=1.2, host=host, facts=boot) for host in maker.hosts)
    ).go().measure(5).finish()
    write_record(maker.run_dir)
    async with stage(maker, WIDE, step="result") as (app, pilot):
        assert "of the median host; 3 names, 1 machine" in app.text_of("#result-page")
        names = ", ".join(maker.hosts)
        assert f"machine  {names} are one machine" in await tab(app, pilot, "facts")
