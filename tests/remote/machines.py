"""Other machines, as trees of /proc and /sys below a directory: files by path, `-> place` for a
link.
"""

from __future__ import annotations

from pathlib import Path

BLOCK = "/sys/devices/virtual/block"
MOUNTS = (
    "22 1 8:2 / / rw,relatime shared:1 - ext4 /dev/sda2 rw\n23 22 0:21 / /proc rw - proc proc rw\n"
)
IN_MEMORY = "52 22 0:30 / /dev/shm rw - tmpfs tmpfs rw"


def plant(root: Path, *parts: dict[str, str]) -> Path:
    """Write the files of a machine below a directory, and return it."""
    for path, text in (each for part in parts for each in part.items()):
        place = root / path.lstrip("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        if text.startswith("-> "):
            target = text.removeprefix("-> ")
            place.symlink_to(f"{root}{target}" if target.startswith("/") else target)
        elif text == "/":
            place.mkdir(parents=True, exist_ok=True)
        else:
            place.write_text(text if text.endswith("\n") else text + "\n")
    return root


def disk(name: str, at: str, **queue: str) -> dict[str, str]:
    """A disk at a place below /sys/devices, with its queue; `model` stands in its device."""
    number = queue.pop("number")
    model = queue.pop("model", "")
    files = {f"{at}/queue/{key}": value for key, value in queue.items() if key != "size"}
    files |= {f"{at}/size": queue.get("size", "2097152"), f"{at}/dev": number}
    files |= {f"{at}/device/model": model} if model else {}
    return {**files, f"/sys/class/block/{name}": f"-> {at}", f"/sys/dev/block/{number}": f"-> {at}"}


def nic(name: str, at: str = "", **values: str) -> dict[str, str]:
    """A network link; hardware when `driver` is given."""
    place = at or f"/sys/devices/pci0000:00/net/{name}"
    driver, master = values.pop("driver", ""), values.pop("master", "")
    files = {f"{place}/{key.replace('__', '/')}": value for key, value in values.items()}
    if driver:
        files |= {
            f"{place}/device/driver": f"-> /sys/bus/pci/drivers/{driver}",
            f"/sys/bus/pci/drivers/{driver}": "/",
        }
    if master:
        files |= {f"{place}/master": f"-> /sys/class/net/{master}"}
    return {**files, f"/sys/class/net/{name}": f"-> {place}"}


QUEUE = {
    "rotational": "0",
    "scheduler": "[none] mq-deadline",
    "nr_requests": "1023",
    "write_cache": "write through",
    "read_ahead_kb": "128",
    "logical_block_size": "512",
}

BIG_BOX: dict[str, str] = {  # 8 sockets with 2 cores of 2 threads each, bare metal
    **{
        f"/sys/devices/system/cpu/cpu{n}/topology/{name}": text
        for n in range(32)
        for name, text in (
            ("physical_package_id", str(n // 4)),
            ("thread_siblings_list", f"{n // 2 * 2}-{n // 2 * 2 + 1}"),
        )
    },
    **{f"/sys/devices/system/node/node{n}/cpulist": f"{4 * n}-{4 * n + 3}" for n in range(8)},
    **{
        f"/sys/devices/system/node/node{n}/meminfo": (
            f"Node {n} MemTotal:  {131072 + n} kB\nNode {n} MemFree: 5 kB"
        )
        for n in range(8)
    },
    **{
        f"/sys/devices/system/cpu/cpufreq/policy{n}/scaling_governor": (
            "powersave" if n == 7 else "performance"
        )
        for n in range(32)
    },
    "/sys/devices/system/cpu/cpufreq/policy0/scaling_driver": "intel_pstate",
    "/sys/devices/system/cpu/cpufreq/policy0/energy_performance_preference": "performance",
    "/sys/devices/system/cpu/intel_pstate/no_turbo": "0",
    "/sys/devices/system/cpu/cpuidle/current_driver": "intel_idle",
    "/sys/devices/system/cpu/cpu0/cpuidle/state0/name": "POLL",
    "/sys/devices/system/cpu/cpu0/cpuidle/state0/latency": "0",
    "/sys/devices/system/cpu/cpu0/cpuidle/state0/disable": "0",
    "/sys/devices/system/cpu/cpu0/cpuidle/state1/name": "C6",
    "/sys/devices/system/cpu/cpu0/cpuidle/state1/latency": "133",
    "/sys/devices/system/cpu/cpu0/cpuidle/state1/disable": "1",
    "/sys/devices/system/cpu/vulnerabilities/meltdown": "Not affected",
    "/sys/devices/system/cpu/vulnerabilities/mds": "Vulnerable; SMT vulnerable",
    "/sys/devices/system/cpu/vulnerabilities/spectre_v1": "Mitigation: usercopy/swapgs barriers",
    "/sys/devices/system/clocksource/clocksource0/current_clocksource": "hpet",
    "/sys/class/dmi/id/sys_vendor": "Dell Inc.",
    "/sys/class/dmi/id/product_name": "PowerEdge R940xa",
    "/sys/kernel/mm/transparent_hugepage/enabled": "[always] madvise never",
    "/proc/cpuinfo": "processor\t: 0\nmodel name\t: Xeon\nflags\t\t: fpu vme de\n\nprocessor\t: 1",
    "/proc/cmdline": (
        "BOOT_IMAGE=/vmlinuz root=UUID=1 rd.iscsi.password=geheim mitigations=off"
        " intel_idle.max_cstate=1"
    ),
    "/proc/meminfo": (
        "MemTotal: 1048576 kB\nSwapTotal: 2048 kB\nSwapFree: 1024 kB\n"
        "HugePages_Total: 4\nHugepagesize: 2048 kB"
    ),
    "/proc/self/status": "Name:\tsh\nCpus_allowed_list:\t0-15,20-23\n",
    "/proc/self/limits": (
        "Limit  Soft  Hard  Units\nMax locked memory    unlimited       unlimited        bytes\n"
        "Max open files            1024                 524288               files"
    ),
    "/proc/sys/vm/dirty_ratio": "20",
    "/proc/sys/net/ipv4/tcp_rmem": "4096\t131072\t6291456",
    "/proc/sys/sunrpc/tcp_slot_table_entries": "2",
    "/proc/self/mountinfo": MOUNTS,
    "/proc/17/comm": "fio",
    "/proc/18/comm": "fiona",
    "/proc/19/comm": "fio",  # asked for its version by another agent
    "/proc/19/environ": "PATH=/bin\0BENCHTUI_TASK=look-4711\0",
    **disk("sda", "/sys/devices/pci0/ata1/host0/block/sda", number="8:0", model="OS DISK", **QUEUE),
    "/sys/devices/pci0/ata1/host0/block/sda/sda2/partition": "2",
    "/sys/devices/pci0/ata1/host0/block/sda/sda2/size": "1048576",
    "/sys/dev/block/8:2": "-> /sys/devices/pci0/ata1/host0/block/sda/sda2",
}

CGROUP_V2 = {
    "/proc/self/cgroup": "0::/user.slice/user-0.slice",
    "/sys/fs/cgroup/cgroup.controllers": "cpu memory io",
    "/sys/fs/cgroup/user.slice/user-0.slice/cpu.max": "max 100000",
    "/sys/fs/cgroup/user.slice/user-0.slice/memory.max": "8589934592",
    "/sys/fs/cgroup/user.slice/cpu.max": "250000 100000",
    "/sys/fs/cgroup/user.slice/memory.max": "4294967296",
    "/sys/fs/cgroup/user.slice/memory.high": "max",
    "/sys/fs/cgroup/user.slice/io.max": "8:0 rbps=1048576 wbps=max riops=max wiops=max",
}
CGROUP_V1 = {
    "/proc/self/cgroup": "9:cpu,cpuacct:/job\n5:memory:/job/step\n3:blkio:/\n1:name=systemd:/init",
    "/sys/fs/cgroup/cpu/job/cpu.cfs_quota_us": "150000",
    "/sys/fs/cgroup/cpu/job/cpu.cfs_period_us": "100000",
    "/sys/fs/cgroup/cpu/cpu.cfs_quota_us": "-1",
    "/sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000",
    "/sys/fs/cgroup/memory/job/step/memory.limit_in_bytes": "9223372036854771712",
    "/sys/fs/cgroup/memory/job/memory.limit_in_bytes": "1073741824",
    "/sys/fs/cgroup/blkio/blkio.throttle.read_bps_device": "8:0 2097152",
}
NFS = {
    "/mnt/my data/a": "/",
    "/proc/self/mountinfo": MOUNTS
    + "40 22 0:44 / /mnt rw,relatime - autofs systemd-1 rw\n"
    + r"41 40 0:45 / /mnt/my\040data rw,nosuid shared:3 - nfs4 nas.lab:/my\040export "
    + "rw,vers=4.2,rsize=1048576,hard,proto=tcp,clientaddr=10.1.0.5,addr=10.1.0.9\n"
    + "42 22 8:2 /mnt /other rw - ext4 /dev/sda2 rw\n",
}
BOND = {
    **nic(
        "ens1",
        driver="mlx5_core",
        master="bond0",
        carrier="1",
        operstate="up",
        speed="25000",
        mtu="9000",
        duplex="full",
    ),
    **nic(
        "ens2",
        driver="mlx5_core",
        master="bond0",
        carrier="0",
        operstate="down",
        speed="-1",
        mtu="9000",
    ),
    **nic("ens9", driver="igb", carrier="0", operstate="down"),
    **nic("lo", at="/sys/devices/virtual/net/lo", carrier="1", mtu="65536"),
    **nic("veth1", at="/sys/devices/virtual/net/veth1", carrier="1", mtu="1500", speed="10000"),
    **nic(
        "bond0",
        at="/sys/devices/virtual/net/bond0",
        operstate="up",
        speed="25000",
        mtu="9000",
        bonding__mode="802.3ad 4",
        bonding__slaves="ens1 ens2",
        bonding__xmit_hash_policy="layer3+4 1",
    ),
    **nic("bond0.7", at="/sys/devices/virtual/net/bond0.7", operstate="up", mtu="9000"),
    "/sys/devices/virtual/net/bond0.7/lower_bond0": "-> /sys/class/net/bond0",
    "/sys/class/net/bonding_masters": "bond0",
}
FABRICS = {
    "/sys/class/infiniband/mlx5_0/ports/1/state": "4: ACTIVE",
    "/sys/class/infiniband/mlx5_0/ports/1/rate": "200 Gb/sec (4X HDR)",
    "/sys/class/infiniband/mlx5_0/ports/1/link_layer": "Ethernet",
    "/sys/class/infiniband/mlx5_0/ports/1/gid_attrs/ndevs/0": "ens1",
    "/sys/class/fc_host/host7/speed": "16 Gbit",
    "/sys/class/fc_host/host7/port_state": "Online",
}


def multipath() -> dict[str, str]:
    """/dev/mapper/vg-data on an LVM volume on four paths of one LUN; mounted at /data."""
    dm: dict[str, str] = {}
    for number, label, uuid in (("0", "mpatha", "mpath-3600"), ("1", "vg-data", "LVM-abc")):
        at = f"{BLOCK}/dm-{number}"
        dm |= disk(f"dm-{number}", at, number=f"253:{number}", size="4194304", **QUEUE)
        dm |= {f"{at}/dm/name": label, f"{at}/dm/uuid": uuid}
    for index, name in enumerate(("sdb", "sdc", "sdd", "sde")):
        at = f"/sys/devices/pci0/host7/rport-7:0-{index}/target7/block/{name}"
        dm |= disk(
            name,
            at,
            number=f"8:{16 * (index + 1)}",
            model="FlashArray LUN",
            size="4194304",
            **QUEUE,
        )
        dm |= {f"{BLOCK}/dm-0/slaves/{name}": f"-> {at}", f"{at}/device/wwid": "naa.600"}
    dm |= {
        f"{BLOCK}/dm-1/slaves/dm-0": f"-> {BLOCK}/dm-0",
        "/dev/dm-1": "",
        "/dev/mapper/vg-data": "-> /dev/dm-1",
    }
    mount = "50 22 253:1 / /data rw,noatime - xfs /dev/mapper/vg-data rw,inode64\n"
    return {**dm, "/data": "/", "/proc/self/mountinfo": MOUNTS + mount}


def loop_device(backing: str, *mounts: str) -> dict[str, str]:
    """/data on /dev/loop0, which is the file `backing`; `mounts`: lines of mountinfo beside it."""
    loop = disk("loop0", f"{BLOCK}/loop0", number="7:0", **QUEUE) | {
        f"{BLOCK}/loop0/loop/backing_file": backing,
        f"{BLOCK}/loop0/loop/dio": "0",
    }
    lines = ["51 22 7:0 / /data rw,noatime - ext4 /dev/loop0 rw", *mounts]
    return {
        **loop,
        "/data": "/",
        "/dev/loop0": "",
        "/proc/self/mountinfo": MOUNTS + "\n".join(lines) + "\n",
    }


def nvme_raid() -> dict[str, str]:
    """/dev/md0, a RAID-5 that is rebuilt, on three disks of NVMe over TCP, each with two paths."""
    md = disk("md0", f"{BLOCK}/md0", number="9:0", **QUEUE)
    for name, text in {
        "level": "raid5",
        "array_state": "clean",
        "sync_action": "recover",
        "degraded": "1",
        "sync_completed": "1024 / 2097152",
    }.items():
        md |= {f"{BLOCK}/md0/md/{name}": text}
    for number in range(3):
        at = f"/sys/devices/virtual/nvme-subsystem/nvme-subsys{number}/nvme{number}n1"
        md |= disk(
            f"nvme{number}n1", at, number=f"259:{number}", **{**QUEUE, "write_cache": "write back"}
        )
        for path in range(2):
            controller = f"/sys/devices/virtual/nvme-subsystem/nvme-subsys{number}/nvme{path}"
            md |= {
                f"{controller}/transport": "tcp",
                f"{controller}/address": f"traddr=10.2.0.{path + 1},trsvcid=4420",
            }
        md |= {
            f"{at}/device": f"-> /sys/devices/virtual/nvme-subsystem/nvme-subsys{number}",
            f"/sys/devices/virtual/nvme-subsystem/nvme-subsys{number}/model": "KIOXIA CM7",
            f"{BLOCK}/md0/slaves/nvme{number}n1": f"-> {at}",
        }
    return {**md, "/dev/md0": "", "/proc/self/mountinfo": MOUNTS}


def fake_ip(directory: Path) -> Path:
    """A directory with an `ip` that answers about the routes of another machine, as iproute2 prints
    them.
    """
    directory.mkdir(parents=True, exist_ok=True)
    program = directory / "ip"
    program.write_text(
        "#!/bin/sh\ncase \"$*\" in\n'-o route get 10.1.0.9') printf '10.1.0.9 dev bond0.7 src"
        " 10.1.0.5 uid 0 \\\\    cache \\n' ;;\n'-o route get 10.2.0.1') echo '10.2.0.1 via"
        " 10.1.0.254 dev bond0.7 src 10.1.0.5 uid 0' ;;\n*) echo 'RTNETLINK answers: Network is"
        " unreachable' >&2; exit 2 ;;\nesac\n"
    )
    program.chmod(0o755)
    return directory
