"""Telemetry of a host: the program under every awk and shell, against made-up hosts and real
processes.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.lab.proctree import Files, ProcTree, io, process, schedstat
from tests.remote.conftest import SHELLS, UNDER_EACH
from tests.remote.helpers import sh, start, until
from tui.metrics.telemetry import TELEMETRY, metric_of, parse_column
from tui.remote.agent import Agent
from tui.remote.scripts import functions
from tui.remote.telemetry import (
    Columns,
    Device,
    MissingTelemetry,
    TelemetryLine,
    TelemetryLines,
    Values,
    telemetry_command,
    telemetry_files,
)

AWKS = [
    name
    for name in ("mawk", "gawk", "busybox awk", "original-awk")
    if shutil.which(name.split()[0])
]
MEMINFO = "MemTotal: 1000 kB\nMemAvailable: 700 kB\nCached: 300 kB\nDirty: 20 kB\nWriteback: 1 kB\n"
Row = dict[str, float | None]


def rows(lines: Sequence[TelemetryLine]) -> list[Row]:
    """The values of each second by column."""
    found: list[Row] = []
    names: tuple[str, ...] = ()
    for line in lines:
        if isinstance(line, Columns):
            names = line.names
        elif isinstance(line, Values):
            found.append(dict(zip(names, line.values, strict=True)))
    return found


def stat(*cores: tuple[int, int, int], wait: int = 0, steal: int = 0) -> str:
    """/proc/stat of cores with (user, idle, softirq) jiffies.

    `wait` and `steal` are of the host.
    """

    def line(name: str, user: int, idle: int, soft: int, wait: int = 0, steal: int = 0) -> str:
        return f"{name} {user} 0 0 {idle} {wait} 0 {soft} {steal} 0 0\n"

    total = [sum(part) for part in zip(*cores, strict=True)]
    each = "".join(line(f"cpu{number}", *core) for number, core in enumerate(cores))
    return (
        line("cpu ", total[0], total[1], total[2], wait, steal)
        + each
        + "intr 5 "
        + "0 " * 3000
        + "\nctxt 1\n"
    )


def net(**traffic: tuple[int, int, int]) -> str:
    """/proc/net/dev with (received, sent, dropped) by NIC."""
    lines = [
        f"{name:>6}:{rx} 10 0 {bad} 0 0 0 0 {tx} 10 0 0 0 0 0 0"
        for name, (rx, tx, bad) in traffic.items()
    ]
    return "\n".join(["Inter-| Receive | Transmit", " face |bytes |bytes", *lines, ""])


@pytest.fixture(params=AWKS)
def awk(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_the_busiest_core_is_named_with_its_soft_interrupts(awk: str, tmp_path: Path) -> None:
    first = stat((0, 0, 0), (0, 0, 0), (0, 0, 0), (0, 0, 0))
    then = stat((10, 90, 0), (0, 100, 0), (58, 2, 40), (20, 80, 0), wait=20, steal=4)
    row = rows(ProcTree(tmp_path, [{"proc/stat": first}, {"proc/stat": then}]).lines(awk=awk))[0]
    assert (row["core.number"], row["core.busy"], row["core.softirq"], row["core.hot"]) == (
        2,
        98,
        40,
        1,
    )
    assert row["cpu.busy"] == pytest.approx(100 * 132 / 424, abs=0.01)
    assert row["cpu.iowait"] == pytest.approx(100 * 20 / 424, abs=0.01)
    assert row["cpu.steal"] == pytest.approx(100 * 4 / 424, abs=0.01)


def test_counters_become_rates_over_the_seconds_that_passed(awk: str, tmp_path: Path) -> None:
    first: Files = {"proc/net/dev": net(eth0=(0, 0, 0))}
    late: Files = {"proc/uptime": "1004.00 0\n", "proc/net/dev": net(eth0=(4_000_000_000, 8000, 6))}
    lines = ProcTree(tmp_path, [first, late]).lines(awk=awk)
    row = rows(lines)[0]
    assert (row["nic.eth0.rx"], row["nic.eth0.tx"], row["nic.eth0.bad"]) == (1e9, 2000, 6)
    assert [line.interval_s for line in lines if isinstance(line, Values)] == [4.0]


def test_the_four_nics_with_most_traffic_are_named_and_the_others_summed(
    awk: str, tmp_path: Path
) -> None:
    nothing = {f"eth{number}": (0, 0, 0) for number in range(6)}
    some = {f"eth{number}": (1000 * (number + 1), 0, 1) for number in range(6)}
    ticks: list[Files] = [
        {"proc/net/dev": net(**nothing, idle=(5, 5, 0))},
        {"proc/net/dev": net(**some, idle=(5, 5, 0))},
    ]
    row = rows(ProcTree(tmp_path, ticks).lines(awk=awk))[0]
    assert [name for name in row if name.endswith(".rx")] == [
        *(f"nic.eth{n}.rx" for n in (2, 3, 4, 5)),
        "nic.others.rx",
    ]
    assert (row["nic.others.rx"], row["nic.others.bad"]) == (3000, 2)


@pytest.mark.parametrize("shell", UNDER_EACH)
def test_the_time_of_day_belongs_to_the_uptime_though_date_starts_late(
    shell: str, tmp_path: Path
) -> None:
    (tmp_path / "proc").mkdir()
    uptime, began, date = tmp_path / "proc/uptime", tmp_path / "began", tmp_path / "date"
    uptime.write_text("100.00 0\n")
    late = (
        f"[ -e {began} ] || {{ : >{began}; echo '100.70 0' >{uptime}; echo 1700000000.70; exit; }}"
    )
    date.write_text(f"#!/bin/sh\n{late}\necho 1700000000.71\n")
    date.chmod(0o755)
    script = f"{functions('base')}\n{telemetry_files({})['telemetry.sh']}\nbt_stamp"
    argv = [*SHELLS[shell], "-c", f"PATH={tmp_path}:$PATH BT_ROOT={tmp_path}\n{script}"]
    said = subprocess.run(argv, capture_output=True, text=True, check=True).stdout
    assert said == "t 1700000000.71 100.70\n"


def test_a_vlan_keeps_the_dot_of_its_name() -> None:
    assert parse_column("nic.eth0.100.rx").subject == "eth0.100"
    assert metric_of("nic.eth0.100.rx") is TELEMETRY["nic", "rx"]


def test_a_load_is_all_its_processes(awk: str, tmp_path: Path) -> None:
    family = {
        "proc/10/task/10/children": "11 12 ",
        "proc/11/task/11/children": "",
        "proc/12/task/12/children": "",
    }

    def at(*used: int) -> Files:
        each = {
            f"proc/{pid}/stat": process(pid, ticks=ticks)
            for pid, ticks in zip((10, 11, 12), used, strict=True)
        }
        moved = {
            f"proc/{pid}/io": io(rchar=ticks * 100, read_bytes=ticks)
            for pid, ticks in ((11, used[1]), (12, used[2]))
        }
        return {**family, **each, **moved, "proc/10/io": io()}

    tree = ProcTree(
        tmp_path, [at(0, 0, 0), at(1, 50, 90), at(2, 100, 180)], {"0.measure": "10 77\n"}
    )
    row = rows(tree.lines(awk=awk, loads=["0.measure", "0.proxy"]))[-1]
    assert (row["gen.procs"], row["gen.cpu"], row["gen.thread"]) == (3, 141, 90)
    assert (row["gen.rchar"], row["gen.read_bytes"], row["gen.wchar"]) == (14000, 140, 0)


def test_what_a_load_does_is_unknown_until_its_processes_were_read_twice(
    awk: str, tmp_path: Path
) -> None:
    def at(second: int) -> Files:
        return {
            "proc/10/stat": process(10, ticks=90 * second),
            "proc/10/io": io(rchar=500 * second),
        }

    alone: Files = {"proc/10/task/10/children": ""}
    forked: Files = {
        "proc/10/task/10/children": "11",
        "proc/11/task/11/children": "",
        "proc/11/io": io(),
    }
    ticks = [{}, {**at(0), **alone}, at(1), {**at(2), **forked, "proc/11/stat": process(11)}, at(3)]
    found = rows(
        ProcTree(tmp_path, ticks, {"0.measure": "10 77\n"}).lines(awk=awk, loads=["0.measure"])
    )
    assert [(row["gen.procs"], row["gen.cpu"], row["gen.thread"]) for row in found] == [
        (1, None, None),
        (1, 90, 90),
        (2, None, None),
        (2, 90, 90),
    ]
    assert [row["gen.rchar"] for row in found] == [None, 500, None, 500]


def test_of_a_load_of_threads_the_busiest_is_found(awk: str, tmp_path: Path) -> None:
    def at(second: int) -> Files:
        threads = {
            f"proc/10/task/{tid}/stat": process(tid, ticks=share * second)
            for tid, share in ((10, 1), (13, 97))
        }
        whole = {"proc/10/stat": process(10, ticks=98 * second, threads=2), "proc/10/io": io()}
        return {**threads, **whole, "proc/10/task/10/children": ""}

    tree = ProcTree(tmp_path, [at(second) for second in range(5)], {"0.measure": "10 77\n"})
    row = rows(tree.lines(awk=awk, loads=["0.measure"]))[-1]
    assert (row["gen.procs"], row["gen.cpu"], row["gen.thread"]) == (1, 98, 97)


def test_what_all_threads_of_a_load_waited_for_a_cpu_is_summed(awk: str, tmp_path: Path) -> None:
    """schedstat of a process is that of its first thread: of a process with several, each is
    read.
    """

    def at(second: int) -> Files:
        whole = {
            "proc/10/stat": process(10, threads=2),
            "proc/10/schedstat": schedstat(waited_ms=999 * second),
        }
        threads = {f"proc/10/task/{tid}/stat": process(tid) for tid in (10, 13)}
        waits = {
            f"proc/10/task/{tid}/schedstat": schedstat(waited_ms=ms * second)
            for tid, ms in ((10, 40), (13, 500))
        }
        forked = {
            "proc/11/stat": process(11),
            "proc/11/schedstat": schedstat(waited_ms=300 * second),
        }
        return {
            **whole,
            **threads,
            **waits,
            **forked,
            "proc/10/task/10/children": "11",
            "proc/11/task/11/children": "",
        }

    tree = ProcTree(tmp_path, [at(second) for second in range(5)], {"0.measure": "10 77\n"})
    assert rows(tree.lines(awk=awk, loads=["0.measure"]))[-1]["gen.wait"] == 84


def test_a_kernel_that_does_not_count_waits_gives_none(awk: str, tmp_path: Path) -> None:
    ticks: list[Files] = [
        {"proc/10/stat": process(10), "proc/10/task/10/children": ""} for _ in range(4)
    ]
    lines = ProcTree(tmp_path, ticks, {"0.measure": "10 77\n"}).lines(awk=awk, loads=["0.measure"])
    assert rows(lines)[-1]["gen.wait"] is None
    missing = [line.name for line in lines if isinstance(line, MissingTelemetry)]
    assert missing.count("gen.wait") == 1


def test_many_processes_are_read_in_turn_and_their_sum_is_right(awk: str, tmp_path: Path) -> None:
    pids = range(100, 150)

    def at(second: int) -> Files:
        files: dict[str, str | None] = {
            f"proc/{pid}/stat": process(pid, ticks=20 * second) for pid in pids
        }
        files |= {f"proc/{pid}/io": io(wchar=1000 * second) for pid in pids}
        files |= {f"proc/{pid}/task/{pid}/children": "" for pid in pids if pid > 100}
        return {**files, "proc/100/task/100/children": " ".join(map(str, pids[1:]))}

    tree = ProcTree(tmp_path, [at(second) for second in range(12)], {"0.measure": "100 77\n"})
    row = rows(tree.lines(awk=awk, loads=["0.measure"]))[-1]
    assert (row["gen.procs"], row["gen.cpu"], row["gen.wchar"]) == (50, 1000, 50000)


def test_a_process_of_the_same_number_is_not_the_load(awk: str, tmp_path: Path) -> None:
    later = {
        "proc/10/stat": process(10, start=5000),
        "proc/10/task/10/children": "",
        "proc/10/io": io(),
    }
    tree = ProcTree(tmp_path, [later, {}], {"0.measure": "10 77\n"})
    assert rows(tree.lines(awk=awk, loads=["0.measure"]))[0]["gen.procs"] == 0


def family(*alive: tuple[int, int, int], waited_for: int = 0) -> Files:
    """/proc of 10, 11, 12: each the parent of the next; what is alive with (pid, read, written)."""
    there = {pid: (read, written) for pid, read, written in alive}
    found: dict[str, str | None] = {}
    for pid in (10, 11, 12):
        own = f"proc/{pid}/stat", f"proc/{pid}/io", f"proc/{pid}/task/{pid}/children"
        if pid not in there:
            found |= dict.fromkeys(own)
            continue
        read, written = there[pid]
        parent = process(pid, parent=pid - 1, waited_for=waited_for if pid == 10 else 0)
        children = f"{pid + 1} " if pid + 1 in there else ""
        found |= dict(zip(own, (parent, io(rchar=read, wchar=written), children), strict=True))
    return found


@pytest.mark.parametrize("later", [0, 700])
def test_bytes_of_a_process_that_ended_are_counted_once(
    awk: str, tmp_path: Path, later: int
) -> None:
    """The kernel adds them to its parent's, and so to all its ancestors' in the end."""
    ticks = [
        family((10, 5, 5), (11, 0, 0), (12, 0, 0)),
        family((10, 5, 5), (11, 0, 300), (12, 1000, 0)),
        family((10, 5, 5), (11, 0, 300), (12, 3000, 50)),
        family((10, 3005 + later, 355), waited_for=1),
        family((10, 3005 + later, 365), waited_for=1),
        {},
    ]
    tree = ProcTree(tmp_path, ticks, {"0.measure": "10 77\n"})
    found = rows(tree.lines(awk=awk, loads=["0.measure"]))
    assert sum(row["gen.rchar"] or 0 for row in found) == 3000 + later
    assert sum(row["gen.wchar"] or 0 for row in found) == 360


def test_a_load_that_ends_is_no_fault(awk: str, tmp_path: Path) -> None:
    here: Files = {"proc/10/stat": process(10), "proc/10/task/10/children": "", "proc/10/io": io()}
    gone: Files = dict.fromkeys(here)
    tree = ProcTree(tmp_path, [here, {}, {}, gone, {}, {}], {"0.measure": "10 77\n"})
    assert [row["gen.procs"] for row in rows(tree.lines(awk=awk, loads=["0.measure"]))][-1] == 0


def test_io_that_may_not_be_read_is_unknown_and_said_once(awk: str, tmp_path: Path) -> None:
    here: Files = {"proc/10/stat": process(10), "proc/10/task/10/children": ""}
    lines = ProcTree(tmp_path, [here, {}, {}], {"0.measure": "10 77\n"}).lines(
        awk=awk, loads=["0.measure"]
    )
    assert [
        line.name for line in lines if isinstance(line, MissingTelemetry) and line.name == "gen.io"
    ] == ["gen.io"]
    assert rows(lines)[-1]["gen.rchar"] is None


def test_processes_by_a_pattern_are_summed_and_counted(awk: str, tmp_path: Path) -> None:
    def at(second: int) -> Files:
        cpu = {21: 80, 22: 60, 30: 99}
        return {
            f"proc/{pid}/stat": process(pid, ticks=ticks * second, name="x) y")
            for pid, ticks in cpu.items()
        }

    names: Files = {
        "proc/21/comm": "ceph-osd\n",
        "proc/22/comm": "ceph-osd\n",
        "proc/30/comm": "python3\n",
    }
    lines: Files = {
        "proc/21/cmdline": "ceph-osd\0",
        "proc/30/cmdline": "python3\0/usr/bin/watch-ceph-osd\0",
    }
    tree = ProcTree(
        tmp_path, [{**at(0), **names, **lines}, *(at(second) for second in range(1, 5))]
    )
    row = rows(tree.lines(awk=awk, groups={"OSD": "ceph-osd|vitastor-osd", "mon": "ceph-mon"}))[-1]
    assert (row["group.OSD.procs"], row["group.OSD.cpu"]) == (2, 140)
    assert (row["group.mon.procs"], row["group.mon.cpu"]) == (0, 0)


def test_what_a_group_uses_is_unknown_until_its_processes_were_read_twice(
    awk: str, tmp_path: Path
) -> None:
    seen: Files = {"proc/21/comm": "ceph-osd\n", "proc/21/stat": process(21, ticks=500)}
    tree = ProcTree(tmp_path, [seen, {}, {"proc/21/stat": process(21, ticks=590)}])
    found = [row["group.OSD.cpu"] for row in rows(tree.lines(awk=awk, groups={"OSD": "ceph-osd"}))]
    assert (found[0], found[-1]) == (None, 90)


def test_a_group_that_loses_a_process_is_still_known(awk: str, tmp_path: Path) -> None:
    def at(second: int) -> Files:
        return {"proc/21/stat": process(21, ticks=90 * second)}

    two: Files = {"proc/21/comm": "osd\n", "proc/22/comm": "osd\n", "proc/22/stat": process(22)}
    tree = ProcTree(
        tmp_path, [{**two, **at(0)}, at(1), at(2), {**at(3), "proc/22/stat": None}, at(4)]
    )
    assert [row["group.OSD.cpu"] for row in rows(tree.lines(awk=awk, groups={"OSD": "osd"}))][
        1:
    ] == [90, 90, 90]


def test_a_process_that_ends_meanwhile_brings_no_others_in(awk: str, tmp_path: Path) -> None:
    seen: Files = {
        "proc/21/comm": "ceph-osd\n",
        "proc/21/stat": process(21),
        "proc/30/stat": process(30),
    }
    watcher: Files = {
        "proc/30/comm": "python3\n",
        "proc/30/cmdline": "python3\0/usr/bin/watch-ceph-osd\0",
    }
    tree = ProcTree(tmp_path, [{**seen, **watcher}, {}, {}])
    (tree.root / "proc/40").mkdir()
    (tree.root / "proc/40/comm").symlink_to("gone")  # listed, and no longer there when it is read
    assert rows(tree.lines(awk=awk, groups={"OSD": "ceph-osd"}))[-1]["group.OSD.procs"] == 1


def test_a_process_that_only_its_command_line_names_is_found(awk: str, tmp_path: Path) -> None:
    seen: Files = {
        "proc/30/comm": "python3\n",
        "proc/30/cmdline": "python3\0/usr/bin/swift-object-server\0",
    }
    tree = ProcTree(tmp_path, [{**seen, "proc/30/stat": process(30)}, {}, {}])
    assert rows(tree.lines(awk=awk, groups={"swift": "swift-object"}))[-1]["group.swift.procs"] == 1


def test_disks_of_a_host_without_a_target_are_those_with_hardware(awk: str, tmp_path: Path) -> None:
    def at(n: int) -> Files:
        disk = (
            f"259 0 nvme0n1 {10 * n} 0 {2000 * n} {20 * n} {5 * n} 0 {2000 * n} {5 * n} 3"
            f" {700 * n} 0\n"
        )
        return {"proc/diskstats": disk + f"7 0 loop0 {n} 0 {n} 0 0 0 0 0 0 0 0\n"}

    first: Files = {**at(0), "sys/block/nvme0n1/device/model": "x\n", "sys/block/loop0/loop/x": ""}
    row = rows(ProcTree(tmp_path, [first, at(1)]).lines(awk=awk))[0]
    dev = {
        name.removeprefix("dev.nvme0n1."): value
        for name, value in row.items()
        if name.startswith("dev.")
    }
    assert dev == {
        "rd": 1024000,
        "wr": 1024000,
        "reads": 10,
        "writes": 5,
        "rlat": 2,
        "wlat": 1,
        "busy": 70,
        "queue": 3,
    }


MOUNTSTATS = """device proc mounted on /proc with fstype proc
device 10.0.0.1:/other mounted on /mnt/other with fstype nfs4 statvers=1.1
\tbytes:\t9 9 9 9 9 9 9 9
\tper-op statistics
\t        READ: 9 9 9 9 9 9 9 9 0
device 10.0.0.1:/export mounted on {mount} with fstype nfs4 statvers=1.1
\topts:\trw,vers=4.2
\tbytes:\t{a} 0 {b} 0 {b} 0 0 0
\tRPC iostats version: 1.1  p/v: 100003/4 (nfs)
\tper-op statistics
\t        NULL: 1 1 0 44 24 4 0 4 0
\t        READ: {n} {again} 0 1 1 5 {rtt} {all} 0
\t       WRITE: 0 0 0 0 0 0 0 0 0
"""


def test_the_nfs_mount_of_the_target_gives_its_own_counters(awk: str, tmp_path: Path) -> None:
    target = tmp_path / "a b"
    target.mkdir()
    mount = str(target).replace(" ", "\\040")
    info = (
        f"22 1 254:0 / / rw - ext4 /dev/vda rw\n30 22 0:50 / {mount} rw shared:1 - nfs4"
        " 10.0.0.1:/export rw\n"
    )

    def at(n: int) -> Files:
        text = MOUNTSTATS.format(
            mount=mount, a=4096 * n, b=8192 * n, n=100 * n, again=103 * n, rtt=50 * n, all=200 * n
        )
        return {"proc/self/mountstats": text, "proc/self/mountinfo": info}

    row = rows(ProcTree(tmp_path / "t", [at(0), at(1)]).lines(awk=awk, targets=[str(target)]))[0]
    nfs = {
        name.removeprefix("nfs."): value for name, value in row.items() if name.startswith("nfs.")
    }
    assert nfs["rd_normal"] == 4096 and nfs["rd_direct"] == nfs["rd_server"] == 8192
    assert (nfs["read.ops"], nfs["read.rtt"], nfs["read.exec"], nfs["read.retrans"]) == (
        100,
        0.5,
        2,
        3,
    )
    assert (nfs["write.ops"], nfs["write.rtt"]) == (0, None)


def test_rdma_counts_words_of_four_bytes(awk: str, tmp_path: Path) -> None:
    def at(second: int) -> Files:
        port = "sys/class/infiniband/mlx5_0/ports/1"
        counted = {
            f"{port}/counters/port_rcv_data": f"{1000 * second}\n",
            f"{port}/counters/port_xmit_data": "0\n",
        }
        return {
            f"{port}/state": "4: ACTIVE\n",
            "sys/class/infiniband/mlx5_1/ports/1/state": "1: DOWN\n",
            **counted,
        }

    row = rows(ProcTree(tmp_path, [at(0), at(1)]).lines(awk=awk))[0]
    assert {name: value for name, value in row.items() if name.startswith("rdma.")} == {
        "rdma.mlx5_0:1.rx": 4000,
        "rdma.mlx5_0:1.tx": 0,
        "rdma.mlx5_0:1.bad": 0,
    }


def test_memory_pressure_and_retransmits(awk: str, tmp_path: Path) -> None:
    def at(n: int) -> Files:
        tcp = f"Tcp: a b\nTcp: 1 200 120000 -1 1 1 1 1 1 1 {1000 * n} {7 * n} 0 0 0\n"
        waited = (
            f"some avg10=0.00 avg60=0.00 avg300=0.00 total={250000 * n}\nfull avg10=0 avg60=0"
            f" avg300=0 total={n}\n"
        )
        more = (
            f"TcpExt: SyncookiesSent TCPDSACKRecv TCPDSACKOfoRecv\nTcpExt: 9 {4 * n} 8\nIpExt:"
            " a\nIpExt: 5\n"
        )
        net = {"proc/net/snmp": "Ip: x\nIp: 1\n" + tcp, "proc/net/netstat": more}
        return {"proc/meminfo": MEMINFO, **net, "proc/pressure/io": waited}

    lines = ProcTree(tmp_path, [at(0), at(1)]).lines(awk=awk)
    row = rows(lines)[0]
    assert (row["mem.available"], row["mem.dirty"], row["mem.writeback"]) == (716800, 20480, 1024)
    assert (row["tcp.out"], row["tcp.retrans"], row["tcp.dup"], row["psi.io.some"]) == (
        1000,
        7,
        4,
        25,
    )
    assert "psi.cpu.some" not in row
    assert any(isinstance(line, MissingTelemetry) and line.name == "psi" for line in lines)


@pytest.mark.parametrize("shell", UNDER_EACH)
def test_the_devices_below_a_target_are_found_under_every_shell(shell: str, tmp_path: Path) -> None:
    """A directory on dm-0 over a partition of nvme0n1."""
    root = tmp_path / "t" / "root"
    info = (
        f"30 22 253:0 / {tmp_path} rw shared:1 - xfs /dev/mapper/vg-lv rw\n22 1 254:9 / / rw - ext4"
        " /dev/vda rw\n"
    )
    nvme, dm = "sys/devices/pci/nvme0n1", "sys/devices/virtual/dm-0"
    files: Files = {
        "proc/self/mountinfo": info,
        f"{dm}/dev": "253:0\n",
        f"{nvme}/dev": "259:0\n",
        f"{nvme}/nvme0n1p1/dev": "259:1\n",
        f"{nvme}/nvme0n1p1/partition": "1\n",
    }
    tree = ProcTree(tmp_path / "t", [files])
    for link, to in (
        ("sys/dev/block/253:0", dm),
        ("sys/dev/block/259:0", nvme),
        ("sys/dev/block/259:1", f"{nvme}/nvme0n1p1"),
        (f"{dm}/slaves/nvme0n1p1", f"{nvme}/nvme0n1p1"),
    ):
        (root / link).parent.mkdir(parents=True, exist_ok=True)
        (root / link).symlink_to(root / to)
    lines = tree.lines(shell=SHELLS[shell], targets=[str(tmp_path)])
    assert [line for line in lines if isinstance(line, Device)] == [
        Device("dm-0", "top"),
        Device("nvme0n1p1", "below"),
        Device("nvme0n1", "below"),
    ]


def test_a_target_without_a_block_device_is_named(tmp_path: Path) -> None:
    info = f"30 22 0:50 / {tmp_path} rw - fuse.ceph ceph-fuse rw\n"
    lines = ProcTree(tmp_path / "t", [{"proc/self/mountinfo": info}]).lines(targets=[str(tmp_path)])
    said = [line for line in lines if isinstance(line, MissingTelemetry) and line.name == "dev"]
    assert len(said) == 1 and "fuse.ceph" in said[0].reason


async def test_a_real_load_under_the_real_agent(shell_agent: Agent) -> None:
    """Of two processes that spin, CPU and their number; the stream brings it second by second."""
    await start(shell_agent, sh("(while :; do :; done) & while :; do :; done"), task="0.measure")
    await start(
        shell_agent,
        telemetry_command(["0.measure"], [], ["/tmp"]),
        task="0.telemetry",
        files=telemetry_files({}),
    )
    stream = await shell_agent.stream("0.telemetry", 0, 0, poll_s=1)
    reader, names = TelemetryLines(), list[str]()
    seen: list[Row] = []

    async def spins() -> bool:
        _, data = await anext(stream)
        for line in reader.feed(data):
            if isinstance(line, Columns):
                names[:] = line.names
            elif isinstance(line, Values):
                seen.append(dict(zip(names, line.values, strict=True)))
        return bool(seen) and (seen[-1]["gen.cpu"] or 0) > 5

    await until(spins, "the CPU of the load")
    assert seen[-1]["gen.procs"] == 2
    assert (seen[-1]["gen.cpu"] or 0) >= (seen[-1]["gen.thread"] or 0) > 0
    await stream.close()


# ---- the reader ----------------------------------------------------------------------------------------------------
