"""Facts of hosts: of this machine under every shell and over SSH, and of other machines from their
/proc and /sys.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.patience import PATIENCE_S
from tests.remote import machines
from tests.remote.conftest import NOTHING, PRESENT, SHELLS, facts_of, machine_agent, new_run_id
from tui.model.address import HostAddress
from tui.model.event import HostFactsCollected, decode, encode
from tui.model.host_tables import (
    TABLES,
    BlockLayer,
    CState,
    FcHost,
    Mount,
    Nic,
    NumaNode,
    RdmaLink,
    Route,
    Running,
    rows,
    why_unknown,
)
from tui.model.hostfacts import HOST_FACTS, Fact, fact_of
from tui.remote.agent import Agent
from tui.remote.answers import AgentAnswer
from tui.remote.facts import cpu_list, host_facts, parse_facts
from tui.remote.local import LocalTransport
from tui.remote.scripts import Script
from tui.remote.transport import HostError

MOST_PROCESSES = 60
MOST_BYTES = 8192


# -- this machine


async def test_every_shell_tells_the_same_of_this_machine(tmp_path: Path, shell: str) -> None:
    changing = (
        "load1",
        "mem_available_bytes",
        "swap_free_bytes",
        "running",
        "target_free_bytes",
        "target_full",
    )
    found = []
    for each in (shell, PRESENT[0]):
        agent = Agent(
            LocalTransport(HostAddress(name="l", transport="local"), SHELLS[each]), new_run_id()
        )
        probe = await agent.probe([str(tmp_path)], {"fio": ["--version"]})
        facts = await agent.facts(probe, [str(tmp_path)], ["fio"])
        assert rows(facts, Mount)[0].free_bytes
        facts["mounts"] = [
            msgspec.structs.replace(row, free_bytes=None) for row in rows(facts, Mount)
        ]
        found.append({name: value for name, value in facts.items() if name not in changing})
    assert found[0] == found[1]


async def test_facts_over_ssh_are_typed_and_every_unknown_one_says_why(
    ssh_agent: Agent, tmp_path: Path
) -> None:
    probe = await ssh_agent.probe([str(tmp_path)], {"fio": ["--version"]})
    facts = await ssh_agent.facts(probe, [str(tmp_path)], ["fio"])
    check_shapes(facts)
    assert facts["cpus_usable"] == len(os.sched_getaffinity(0)) or facts["cgroup_cpus"]
    assert (
        facts["sysctls"]["vm.dirty_ratio"] == Path("/proc/sys/vm/dirty_ratio").read_text().strip()  # type: ignore[index, call-overload]
    )
    (mount,) = rows(facts, Mount)
    assert (mount.path, mount.fstype) == (str(tmp_path), facts["target_fstype"])
    missing = [
        name
        for name, known in HOST_FACTS.items()
        if name not in facts and not known.absent and known.section not in ("target", "tools")
    ]
    assert [name for name in missing if not why_unknown(facts, name)] == []


async def test_the_checksum_is_that_of_the_program_that_runs(ssh_agent: Agent) -> None:
    path = subprocess.run(
        ["sh", "-c", "command -v fio"], capture_output=True, text=True, check=True
    ).stdout.strip()
    listed = subprocess.run(["sha256sum", path], capture_output=True, text=True, check=True).stdout
    facts = await ssh_agent.facts(NOTHING, (), ["fio"])
    assert facts["fio_sha256"] == listed.split()[0]


def test_reading_the_facts_costs_few_processes_and_few_bytes(tmp_path: Path, shell: str) -> None:
    """Processes are counted by their numbers in a namespace of their own."""
    if subprocess.run(["unshare", "-pfr", "--mount-proc", "true"], capture_output=True).returncode:
        pytest.skip("no process namespaces here")
    text = tmp_path / "script"
    text.write_bytes(Script.of("tok", ["facts", "1", "fio", str(tmp_path), "/dev"]).alone())
    count = f"{' '.join(SHELLS[shell])} {text} >{tmp_path}/out; cat /proc/sys/kernel/ns_last_pid"
    done = subprocess.run(
        ["unshare", "-pfr", "--mount-proc", "sh", "-c", count],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
    )
    assert int(done.stdout) < MOST_PROCESSES
    assert (tmp_path / "out").stat().st_size < MOST_BYTES


async def test_facts_that_cannot_be_read_are_unknown_and_keep_nobody_from_running(
    agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    probe = await agent.probe()

    async def hangs(*_: object, **__: object) -> AgentAnswer:
        raise HostError("timeout", "local", "no answer in 30 s")

    monkeypatch.setattr(agent, "call", hangs)
    facts = await agent.facts(probe, ["/"])
    assert facts["kernel"] == probe.values["kernel"]
    assert {why_unknown(facts, name) for name in ("governor", "nics", "cgroup_cpus")} == {
        "no answer in 30 s"
    }


async def test_each_target_has_its_mount_with_the_room_there(agent: Agent, tmp_path: Path) -> None:
    targets = [str(tmp_path), "/dev/shm"]
    probe = await agent.probe(targets)
    found = rows(await agent.facts(probe, targets), Mount)
    assert [(each.path, each.total_bytes) for each in found] == [
        (path, probe.dirs[path].total_bytes) for path in targets
    ]


# -- other machines


async def test_a_machine_with_eight_sockets(tmp_path: Path, shell: str) -> None:
    root = machines.plant(tmp_path, machines.BIG_BOX)
    facts = await facts_of(root, shell, "/")
    expected = {
        "machine": "Dell Inc. PowerEdge R940xa",
        "virtualization": "none",
        "sockets": 8,
        "cores": 16,
        "cpus_usable": 20,
        "governor": "performance, powersave",
        "cpufreq_driver": "intel_pstate",
        "turbo": "on",
        "idle_driver": "intel_idle",
        "clocksource": "hpet",
        "mitigated": ["spectre_v1"],
        "vulnerable": ["mds"],
        "boot_options": ["intel_idle.max_cstate=1", "mitigations=off"],
        "swap_bytes": 2 << 20,
        "swap_free_bytes": 1 << 20,
        "hugepages": 4,
        "transparent_hugepages": "always",
        "nofile": 1024,
        "nofile_hard": 524288,
        "sysctls": {
            "vm.dirty_ratio": "20",
            "net.ipv4.tcp_rmem": "4096 131072 6291456",
            "sunrpc.tcp_slot_table_entries": "2",
        },
    }
    assert {name: facts.get(name) for name in expected} == expected
    assert "memlock_bytes" not in facts  # no limit
    assert rows(facts, NumaNode)[7] == NumaNode("7", "28-31", 131079 * 1024)
    assert rows(facts, CState)[1] == CState("C6", 133, True)
    assert rows(facts, Running) == [Running("fio", 17)]
    assert "geheim" not in str(facts)


async def test_disk_below_a_partition(tmp_path: Path, shell: str) -> None:
    facts = await facts_of(machines.plant(tmp_path, machines.BIG_BOX), shell, "/var/not/made/yet")
    partition, disk = rows(facts, BlockLayer)
    assert (partition.name, partition.kind, partition.below, partition.size_bytes) == (
        "sda2",
        "partition",
        ["sda"],
        512 << 20,
    )
    assert (partition.number, disk.number) == ("", "8:0")
    assert (disk.model, disk.transport, disk.scheduler, disk.nr_requests) == (
        "OS DISK",
        "sata",
        "none",
        1023,
    )
    assert (disk.rotational, disk.write_cache) == (False, "write through")
    assert disk.read_ahead_bytes == 128 << 10


async def test_a_loop_device_is_followed_to_what_its_file_is_on(tmp_path: Path, shell: str) -> None:
    root = machines.plant(
        tmp_path, machines.loop_device("/dev/shm/disk.img", machines.IN_MEMORY) | {"/dev/shm": "/"}
    )
    facts = await facts_of(root, shell, "/data/fio")
    assert [(mount.path, mount.fstype) for mount in rows(facts, Mount)] == [
        ("/data/fio", "ext4"),
        ("/dev/shm/disk.img", "tmpfs"),
    ]
    (layer,) = rows(facts, BlockLayer)
    assert (layer.backing, layer.direct) == ("/dev/shm/disk.img", False)


async def test_a_file_mounted_on_its_own_is_found(tmp_path: Path, shell: str) -> None:
    line = "54 22 0:30 /x /data/bound rw - tmpfs tmpfs rw"
    machine = machines.loop_device("/disk.img", machines.IN_MEMORY, line)
    machine |= {"/data/bound": "", "/data/plain": "", "/dev/shm/y": ""}
    machine |= {"/data/linked": "-> /dev/shm/y"}
    root = machines.plant(tmp_path, machine)
    for name, kinds in (("bound", {"ext4", "tmpfs"}), ("linked", {"ext4", "tmpfs"}), ("plain", {"ext4"})):  # fmt: skip
        facts = await facts_of(root, shell, "/data", f"read:/data/{name}")
        assert {mount.fstype for mount in rows(facts, Mount)} == kinds


@pytest.mark.parametrize("backing", ["/data/itself.img", "/gone/disk.img (deleted)"])
async def test_a_chain_that_leads_nowhere_ends(tmp_path: Path, shell: str, backing: str) -> None:
    facts = await facts_of(machines.plant(tmp_path, machines.loop_device(backing)), shell, "/data")
    assert rows(facts, Mount)[0].fstype == "ext4" and len(rows(facts, Mount)) <= 2


async def test_limits_of_control_groups_are_the_smallest_on_the_way_up(
    tmp_path: Path, shell: str
) -> None:
    v2 = await facts_of(
        machines.plant(tmp_path / "v2", machines.CGROUP_V2, machines.BIG_BOX), shell
    )
    assert (v2["cgroup_version"], v2["cgroup_cpus"], v2["cgroup_mem_bytes"]) == ("v2", 2.5, 4 << 30)
    assert v2["cpus_usable"] == 2.5
    assert v2["cgroup_io"] == ["8:0 rbps=1048576 wbps=max riops=max wiops=max"]
    v1 = await facts_of(machines.plant(tmp_path / "v1", machines.CGROUP_V1), shell)
    assert (v1["cgroup_version"], v1["cgroup_cpus"], v1["cgroup_mem_bytes"]) == ("v1", 1.5, 1 << 30)
    assert v1["cgroup_io"] == ["read_bps 8:0 2097152"]


async def test_nfs_with_its_server_version_and_the_link_that_leads_there(
    tmp_path: Path, shell: str
) -> None:
    root = machines.plant(tmp_path / "root", machines.NFS, machines.BOND)
    facts = await facts_of(
        root, shell, "/mnt/my data/a", path=str(machines.fake_ip(tmp_path / "bin"))
    )
    (mount,) = rows(facts, Mount)
    assert (mount.at, mount.source, mount.fstype) == ("/mnt/my data", "nas.lab:/my export", "nfs4")
    assert (mount.server, mount.nfs_version) == ("10.1.0.9", "4.2")
    assert "clientaddr=10.1.0.5" not in mount.options and "hard" in mount.options
    assert rows(facts, Route) == [Route("10.1.0.9", "bond0.7", "10.1.0.5")]
    assert rows(facts, BlockLayer) == []


async def test_a_bond_its_links_and_what_is_on_it(tmp_path: Path, shell: str) -> None:
    links = {
        each.name: each
        for each in rows(await facts_of(machines.plant(tmp_path, machines.BOND), shell), Nic)
    }
    assert set(links) == {"bond0", "bond0.7", "ens1", "ens2"}
    bond, up, down = links["bond0"], links["ens1"], links["ens2"]
    assert (bond.kind, bond.bond_mode, bond.bond_hash, bond.slaves) == (
        "bond",
        "802.3ad",
        "layer3+4",
        ["ens1", "ens2"],
    )
    assert (up.kind, up.speed_mbit, up.mtu, up.driver, up.master) == (
        "physical",
        25000,
        9000,
        "mlx5_core",
        "bond0",
    )
    assert (down.state, down.speed_mbit) == ("down", None)
    facts = await facts_of(tmp_path, shell)
    assert (
        why_unknown(facts, "nics.speed_mbit") == "the driver of bond0.7 does not report its speed"
    )
    assert (links["bond0.7"].kind, links["bond0.7"].over) == ("stacked", ["bond0"])


async def test_rdma_links_and_fibre_channel_ports(tmp_path: Path, shell: str) -> None:
    facts = await facts_of(machines.plant(tmp_path, machines.FABRICS), shell)
    assert rows(facts, RdmaLink) == [
        RdmaLink("mlx5_0", 1, "ACTIVE", 200.0, "200 Gb/sec (4X HDR)", "Ethernet", "ens1")
    ]
    assert rows(facts, FcHost) == [FcHost("host7", "16 Gbit", "Online")]


@pytest.mark.parametrize("target", ["/data", "/dev/mapper/vg-data"])
async def test_a_volume_on_multipath_down_to_its_paths(
    tmp_path: Path, shell: str, target: str
) -> None:
    layers = rows(
        await facts_of(machines.plant(tmp_path, machines.multipath()), shell, target), BlockLayer
    )
    assert [(each.name, each.kind, each.label) for each in layers[:2]] == [
        ("dm-1", "lvm", "vg-data"),
        ("dm-0", "multipath", "mpatha"),
    ]
    assert layers[1].below == ["sdb", "sdc", "sdd", "sde"]
    paths = [(each.model, each.transport, each.size_bytes) for each in layers if not each.below]
    assert paths == [("FlashArray LUN", "fc", 2 << 30)] * 4
    assert [each.wwid for each in layers] == ["", "", *["naa.600"] * 4]


async def test_a_raid_that_is_rebuilt_on_nvme_over_tcp(tmp_path: Path, shell: str) -> None:
    root = machines.plant(tmp_path / "root", machines.nvme_raid())
    facts = await facts_of(root, shell, "/dev/md0", path=str(machines.fake_ip(tmp_path / "bin")))
    raid, *disks = rows(facts, BlockLayer)
    assert (raid.md_level, raid.md_state, raid.md_action, raid.md_degraded) == (
        "raid5",
        "clean",
        "recover",
        1,
    )
    assert raid.md_done == "1024 / 2097152"
    assert [(each.name, each.model, each.transport, each.paths) for each in disks] == [
        (f"nvme{n}n1", "KIOXIA CM7", "tcp", 2) for n in range(3)
    ]
    assert all(each.write_cache == "write back" for each in disks)
    assert rows(facts, Route) == [Route("10.2.0.1", "bond0.7", "10.1.0.5", "10.1.0.254")]
    assert why_unknown(facts, "routes") == "no route to 10.2.0.2"


@pytest.mark.parametrize(
    ("line", "server"),
    [
        ("ceph 10.0.0.1:6789,10.0.0.2:6789:/ rw,name=admin,secret=<hidden>", "10.0.0.1"),
        ("ceph admin@1234.fs=/ rw,mon_addr=10.0.0.7:3300/10.0.0.8:3300", "10.0.0.7"),
        ("lustre 10.0.0.1@o2ib:10.0.0.2@o2ib:/scratch rw,flock", "10.0.0.1"),
        ("wekafs backend1/default rw,relatime", "backend1"),
        ("nfs [fd00::1]:/x rw,vers=3,addr=fd00::1", "fd00::1"),
        ("cifs //files/share rw,addr=10.0.0.3", "10.0.0.3"),
        ("fuse.glusterfs gl1:/vol rw", "gl1"),
    ],
)
async def test_the_server_of_each_network_file_system(
    tmp_path: Path, line: str, server: str
) -> None:
    fstype, source, options = line.split(" ", 2)
    mounts = machines.MOUNTS + f"41 22 0:45 / /t rw - {fstype} {source} {options}\n"
    facts = await facts_of(
        machines.plant(tmp_path, {"/t": "/", "/proc/self/mountinfo": mounts}), PRESENT[0], "/t"
    )
    assert [each.server for each in rows(facts, Mount)] == [server]


async def test_of_mounts_at_one_place_the_last_one_counts(tmp_path: Path, shell: str) -> None:
    mounts = (
        machines.MOUNTS
        + "41 22 0:45 / /t rw - tmpfs a rw\n42 22 0:46 / /t ro - xfs b rw\n43 22 0:47 / /tt rw -"
        " ext4 c rw\n"
    )
    facts = await facts_of(
        machines.plant(tmp_path, {"/t/x": "/", "/proc/self/mountinfo": mounts}), shell, "/t/x"
    )
    assert [(each.fstype, each.at) for each in rows(facts, Mount)] == [("xfs", "/t")]


async def test_a_machine_that_tells_nothing_has_a_reason_for_everything(
    tmp_path: Path, shell: str
) -> None:
    facts = await facts_of(tmp_path, shell, "/data")
    assert set(facts) == {"unknown"}
    assert (
        why_unknown(facts, "clocksource")
        == "/sys/devices/system/clocksource/clocksource0/current_clocksource does not exist"
    )
    assert why_unknown(facts, "governor") == "/sys/devices/system/cpu/cpufreq does not exist"


async def test_hundreds_of_alike_disks_do_not_make_a_long_answer(tmp_path: Path) -> None:
    raid = machines.nvme_raid()
    for number in range(200):
        at = f"/sys/devices/pci0/end_device-1:{number}/block/sd{number}"
        raid |= machines.disk(
            f"sd{number}", at, number=f"65:{number}", model="SEAGATE ST18000NM", **machines.QUEUE
        )
        raid |= {f"{machines.BLOCK}/md0/slaves/sd{number}": f"-> {at}"}
    agent = machine_agent(machines.plant(tmp_path, raid))
    answer = await agent.call("facts", "0", "/dev/md0")
    assert len("\n".join(answer.lines)) < MOST_BYTES
    layers = rows(host_facts(NOTHING, answer, ()), BlockLayer)
    assert {each.model for each in layers if each.transport == "sas"} == {"SEAGATE ST18000NM"}


# -- whatever a host says


def check_shapes(facts: dict[str, Fact]) -> None:
    """Every fact is of the kind that the registry says, and of none that is unknown a value is
    there.
    """
    kinds: dict[str, type | tuple[type, ...]] = {
        "text": str,
        "count": int,
        "bytes": int,
        "number": (int, float),
        "list": list,
        "map": dict,
        "table": list,
    }
    for name, value in facts.items():
        assert value not in (None, "", [], {}), name
        assert isinstance(value, kinds[fact_of(name).kind]), (name, value)
        if name in TABLES:
            msgspec.convert(value, list[TABLES[name]])  # type: ignore[valid-type]
    assert decode(encode(HostFactsCollected(t=0.0, host="h", facts=facts))) == HostFactsCollected(
        t=0.0, host="h", facts=facts
    )


KEYS = st.sampled_from(
    [
        *(
            "nics",
            "rdma",
            "devices",
            "mounts",
            "routes",
            "cstates",
            "running",
            "unknown",
            "node",
            "sysctl",
            "governor",
        ),
        *(
            "cgroup_cpu",
            "cgroup_memory",
            "cgroup_io",
            "cgroup_version",
            "limit_nofile",
            "limit_memlock",
            "cpus_allowed",
        ),
        *(
            "sockets",
            "cores",
            "swap_kib",
            "dmi_vendor",
            "cpu_hypervisor",
            "container",
            "boot_line",
            "vulnerability",
        ),
        *("no_turbo", "boost", "transparent_hugepages", "checksum.0", "hugepages", "clocksource"),
    ]
)
WORDS = st.sampled_from(
    [
        *(
            "name=",
            "sectors=",
            "like=",
            "mtu=",
            "speed_mbit=",
            "options=",
            "line=",
            "rate=",
            "pid=",
            "rotational=",
            "\t",
        ),
        *(
            "1",
            "0-3",
            "node0 Node 0 MemTotal: ",
            "[",
            "]",
            "\\040",
            "\\777",
            "²",
            "9" * 40,
            "\udcff",
            "{}",
            "100000 0",
        ),
    ]
)


@given(
    st.lists(
        st.tuples(KEYS, st.lists(WORDS | st.text(max_size=8), max_size=8).map("".join)), max_size=30
    )
)
def test_whatever_a_host_says_the_facts_are_of_their_kinds(pairs: list[tuple[str, str]]) -> None:
    lines = "\n".join(f"{key}={value}" for key, value in pairs).split("\n")
    check_shapes(parse_facts(AgentAnswer(lines=lines), ["fio"]))


@given(st.sets(st.integers(0, 300), min_size=1))
def test_a_list_of_cpus_names_as_many_as_are_in_it(cpus: set[int]) -> None:
    assert cpu_list(",".join(f"{cpu}" for cpu in sorted(cpus))) == len(cpus)
    assert cpu_list("0-3,8,10-11") == 7


@pytest.mark.parametrize("text", ["", "a", "3-1", "1-", "²", "1,,2"])
def test_a_list_of_cpus_that_is_none_is_unknown(text: str) -> None:
    assert cpu_list(text) is None


# -- programs and their packages

PROGRAM = "#!/bin/sh\necho fio-3.35\n"


@pytest.mark.parametrize("package", ["fio", "tools"])
async def test_a_program_is_compared_with_what_its_dpkg_package_installed(
    tmp_path: Path, shell: str, package: str
) -> None:
    program = _program(tmp_path)
    path = str(program).lstrip("/")
    info = tmp_path / "root/var/lib/dpkg/info"
    info.mkdir(parents=True)
    (info / "bash.md5sums").write_text(f"{'0' * 32}  usr/bin/bash\n{'1' * 32}  {path}-other\n")
    own = f"{hashlib.md5(PROGRAM.encode()).hexdigest()}  {path}\n"
    (info / f"{package}.md5sums").write_text(f"{'2' * 32}  x/{path}\n{own}")
    assert await _packaged(tmp_path, shell) == (package, "as packaged")
    program.write_text(PROGRAM + "# other\n")
    assert await _packaged(tmp_path, shell) == (package, "changed")
    (info / f"{package}.md5sums").unlink()
    assert await _packaged(tmp_path, shell) == (None, None), "no package owns it"


@pytest.mark.parametrize("digest", [hashlib.sha256, hashlib.md5])
async def test_a_program_is_compared_with_what_its_rpm_package_installed(
    tmp_path: Path, shell: str, digest: Callable[[bytes], Any]
) -> None:
    program = _program(tmp_path)  # as rpm 4.18 prints its query format
    rpm = program.with_name("rpm")
    rpm.write_text(
        f"#!/bin/sh\necho 'fio {program}.1 '\necho 'fio"
        f" {program} {digest(PROGRAM.encode()).hexdigest()}'\n"
    )
    rpm.chmod(0o755)
    (tmp_path / "root").mkdir()
    assert await _packaged(tmp_path, shell) == ("fio", "as packaged")
    program.write_text(PROGRAM + "# other\n")
    assert await _packaged(tmp_path, shell) == ("fio", "changed")
    rpm.write_text(f"#!/bin/sh\necho 'file {program} is not owned by any package'\n")
    assert await _packaged(tmp_path, shell) == (None, None)


def _program(folder: Path) -> Path:
    path = folder / "bin" / "fio"
    path.parent.mkdir()
    path.write_text(PROGRAM)
    path.chmod(0o755)
    return path.resolve()


async def _packaged(folder: Path, shell: str) -> tuple[Fact, Fact]:
    facts = await machine_agent(folder / "root", shell, str(folder / "bin")).facts(
        NOTHING, [], ["fio"]
    )
    return facts.get("fio_package"), facts.get("fio_packaged")
