"""Telemetry of the CPU limits of control groups: of made-up hosts under every awk, and of a real
control group.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.lab.proctree import ProcTree
from tests.remote.test_telemetry import AWKS, rows
from tui.remote.scripts import functions
from tui.remote.telemetry import TelemetryLine, TelemetryLines, telemetry_command, telemetry_files


def cpu_stat(periods: int, throttled: int) -> str:
    return f"nr_periods {periods}\nnr_throttled {throttled}\nthrottled_time 5\n"


@pytest.mark.parametrize("awk", AWKS)
@pytest.mark.parametrize(
    ("group", "limited", "free"),
    [("0::/job/step", ("sys/fs/cgroup/job", "cpu.max", "150000 100000"),
        ("step/cpu.max", "max 100000")),
     ("4:cpu,cpuacct:/job/step", ("sys/fs/cgroup/cpu/job", "cpu.cfs_quota_us", "150000"),
      ("step/cpu.cfs_quota_us", "-1"))],
)  # fmt: skip
def test_periods_without_cpu_time_are_those_of_the_groups_with_a_limit(
    awk: str, tmp_path: Path, group: str, limited: tuple[str, str, str], free: tuple[str, str]
) -> None:
    place, file, quota = limited
    first = {"proc/self/cgroup": f"{group}\n", f"{place}/{file}": f"{quota}\n",
        f"{place}/{free[0]}": f"{free[1]}\n",
             f"{place}/cpu.stat": cpu_stat(100, 10),
             f"{place}/step/cpu.stat": cpu_stat(100, 100)}  # fmt: skip
    then = {f"{place}/cpu.stat": cpu_stat(110, 14), f"{place}/step/cpu.stat": cpu_stat(110, 110)}
    assert rows(ProcTree(tmp_path, [first, then]).lines(awk=awk))[0]["cpu.throttled"] == 40


CPU_GROUPS = Path("/sys/fs/cgroup/cpu")


@pytest.fixture
def cpu_group() -> Iterator[Path]:
    """A control group that may use a tenth of a CPU: less than its share of a machine that others
    keep busy.
    """
    group = CPU_GROUPS / f"benchtui-test-{os.getpid()}"
    try:
        group.mkdir()
    except OSError as error:
        pytest.skip(f"no control groups of CPU can be made here: {error}")
    try:
        (group / "cpu.cfs_quota_us").write_text("10000")
        yield group
        for pid in (group / "cgroup.procs").read_text().split():
            (CPU_GROUPS / "cgroup.procs").write_text(pid)
    finally:
        group.rmdir()


def test_a_real_control_group_is_seen_to_run_out_of_cpu_time(
    cpu_group: Path, tmp_path: Path
) -> None:
    for name, text in {"agent.sh": functions("base"), **telemetry_files({})}.items():
        (tmp_path / name).write_text(text)
    join = ["sh", "-c", f'echo $$ >{cpu_group}/cgroup.procs && exec "$@"', "sh"]
    busy = subprocess.Popen([*join, "sh", "-c", "while :; do :; done"])
    seen = subprocess.Popen(
        [*join, *telemetry_command([], [], [])], cwd=tmp_path, stdout=subprocess.PIPE
    )
    try:
        reader, lines = TelemetryLines(), list[TelemetryLine]()
        assert seen.stdout is not None
        while not any((row["cpu.throttled"] or 0) > 50 for row in rows(lines)):
            data = seen.stdout.readline()
            assert data, "telemetry ended"
            lines += reader.feed(data)
    finally:
        for each in (busy, seen):
            each.kill()
            each.communicate()
