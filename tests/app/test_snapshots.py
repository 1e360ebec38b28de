"""Pictures of the shell's screens with frozen content.

``pytest --snapshot-update`` takes new ones.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from textual.pilot import Pilot

from tests.app.driver import User, options, write_inventory
from tui.app.app import BenchtuiApp
from tui.app.screens.hosts import HostsScreen
from tui.engine.preflight.host_check import HostCheck
from tui.model.hostfacts import Fact

PROFILE = """\
profile: lab/read-iops
title: Random read of 4 KiB blocks
description: A fixed profile for pictures.
source: {document: Lab notes, section: Reading, date: "2026-11"}
tool: fio
params:
  directory: {default: /mnt/lab, kind: directory, help: Where the test files are}
  runtime: {default: 300s, kind: duration, help: Measured time}
  size: {default: 4G, kind: size, help: Size of each job's file}
  numjobs: {default: 192, kind: count, help: Jobs on each client}
fio:
  global: {ioengine: psync, direct: 1, time_based: 1, runtime: "{runtime}", directory: "{directory}"}
  jobs: {read: {rw: randread, bs: 4k, numjobs: "{numjobs}", filesize: "{size}"}}
prepare: {layout: true}
headline: {metric: iops, direction: read}
"""
FACTS: dict[str, Fact] = {
    "fio_version": "fio-3.33",
    "fio_path": "/usr/bin/fio",
    "cpus": 48,
    "kernel": "Linux 5.14.0-427.el9",
    "mem_bytes": 512 * 2**30,
    "target_free_bytes": 7 * 2**40,
    "target_total_bytes": 8 * 2**40,
    "target": "/mnt/lab",
    "target_fstype": "ext4",
    "target_source": "/dev/vda",
}
Shot = Callable[..., bool]


@pytest.fixture
def app(home: Path) -> BenchtuiApp:
    """Four hosts, three of them ticked and checked, one with an unknown key.

    One profile of the user's own.
    """
    write_inventory(home)
    (home / "ssh_config").write_text("Host *\n  User ann\n")
    path = home / "profiles" / "lab" / "read-iops.yaml"
    path.parent.mkdir(parents=True)
    path.write_text(PROFILE)
    app = BenchtuiApp(
        options(home, hosts=("weka-01", "weka-02", "weka-04"), profile="lab/read-iops")
    )
    checks = [HostCheck(f"weka-0{n}", True, facts=FACTS) for n in (1, 2)]
    message = "unknown host key ssh-ed25519 SHA256:0123456789abcdef"
    checks.append(HostCheck("weka-03", False, "host-key-unknown", message))
    app.selection.checks = {check.name: check for check in checks}
    return app


async def settled(app: BenchtuiApp, pilot: Pilot[None]) -> User:
    user = User(app, pilot)
    await user.sees(
        lambda: user.scope == "hosts" and not any(worker.is_running for worker in app.workers)
    )
    await pilot.pause()
    return user


def test_hosts(app: BenchtuiApp, snap_compare: Shot) -> None:
    async def look(pilot: Pilot[None]) -> None:
        user = await settled(app, pilot)
        assert isinstance(user.app.screen, HostsScreen)
        user.app.screen.host_list.known_hosts = Path("/home/ann/.config/benchtui/known_hosts")
        await user.press("j", "j")
        await user.sees("press t to trust the key")
        await user.sees("ann@weka-03")

    assert snap_compare(app, terminal_size=(120, 36), run_before=look)


def test_review(app: BenchtuiApp, snap_compare: Shot) -> None:
    async def look(pilot: Pilot[None]) -> None:
        user = await settled(app, pilot)
        await user.press("3")
        await user.sees("runs on 3 hosts")

    assert snap_compare(app, terminal_size=(80, 24), run_before=look)
