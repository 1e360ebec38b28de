"""From the profile to the launch: the published command, what it moves, and what cannot be."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tui.engine.inputs.profiles import Catalogue
from tui.engine.plan.plan import Choices, build_plan
from tui.model.address import HostAddress
from tui.model.plan import Step
from tui.model.problem import UsageError

FOUR = [HostAddress(f"c{number}") for number in range(1, 5)]


def step(tmp_path: Path, keys: str = "", **overrides: str) -> Step:
    path = tmp_path / "own.yaml"
    own = f"ior: {{{keys}}}\n" if keys else ""
    path.write_text(f"profile: user/own\nversion: 1\nextends: ior/file-per-process\n{own}")
    return build_plan(Catalogue(tmp_path).load(str(path)), Choices(FOUR, overrides)).steps[0]


def test_the_preset_is_the_published_command(tmp_path: Path) -> None:
    argv = " ".join(step(tmp_path, iterations="1").tasks[0].argv)
    assert argv == (
        "ior -v -a POSIX -t 1048576 -b 16777216 -s 16 -w -r -F -e -C -i 1 "
        "-O saveRankPerformanceDetailsCSV=/dev/stdout -o /mnt/test/ior/benchtui-RUN/data"
    )


def test_sixteen_gib_are_written_by_four_hosts(tmp_path: Path) -> None:
    planned = step(tmp_path)
    assert planned.mpi is not None
    assert planned.mpi.ranks(4) * planned.mpi.items * planned.mpi.bytes_per_op == 16 << 30
    assert [task.writes_bytes for task in planned.tasks] == [4 << 30] * 4
    assert "bytes=64 ranks x 16 x 16 MiB = 16 GiB in each phase" in planned.tasks[0].job_file


def test_a_phase_that_ends_by_time_has_a_bound_and_no_number_of_ios(tmp_path: Path) -> None:
    planned = step(tmp_path, stonewall="60", block="1t", segments="1")
    assert planned.mpi is not None and planned.mpi.items == 0
    assert "-D 60 -O stoneWallingWearOut=1" in " ".join(planned.tasks[0].argv)
    assert "bytes=as many as 60 s allow, up to 64 ranks x 1 x 1 TiB" in planned.tasks[0].job_file


def test_one_client_is_warned_of_its_own_cache(tmp_path: Path) -> None:
    assert "cache may serve" in step(tmp_path, "reorder: false").tasks[0].job_file
    assert "cache may serve" not in step(tmp_path).tasks[0].job_file
    assert (
        "cache may serve" not in step(tmp_path, "phases: write, reorder: false").tasks[0].job_file
    )


@pytest.mark.parametrize(
    ("keys", "overrides", "message"),
    [
        (
            "",
            {"block": "3m", "transfer": "2m"},
            "ior.block: 3 MiB is not a multiple of the transfer size, 2 MiB",
        ),
        ("", {"transfer": "7"}, "ior.transfer: found '7'; expected a multiple of 8 bytes"),
        ("phases: read", {}, "ior.phases: 'read' is neither 'write' nor 'write,read'"),
        ("api: HDF5", {}, "ior.api: 'HDF5' is not one of: POSIX, MPIIO, MMAP"),
        ("collective: true", {}, "ior.collective: requires api MPIIO"),
        ("api: MPIIO", {"direct": "true"}, "ior.direct: requires api POSIX"),
        ("random: true, file_per_process: false", {}, "ior.random: cannot be used with reorder"),
        ("random: true", {"block": "1m"}, "I/Os are shuffled within a block"),
        ("random: often", {}, "ior.random: 'often' is neither true nor false"),
        ("options: [-Z]", {}, "ior.options: -Z cannot be used with reorder (-C)"),
        ("options: [-k]", {}, "-k cannot be used: the next iteration"),
        ("options: ['-t 4k']", {}, "-t is not allowed here; set it with transfer"),
        ("options: [-D 30]", {}, "-D is not allowed here; set it with stonewall"),
        (
            "",
            {"stonewall": "86401"},
            "ior.stonewall: '86401' is not a whole number of seconds from 0 to 86400",
        ),
        ("options: [--posix.odirect]", {}, "set it with direct"),
        ("", {"ranks": "5000"}, "ior.ranks_per_host: '5000' is not a whole number from 1 to 4096"),
        ("", {"directory": "/a@b"}, "without @, which separates paths in ior"),
    ],
)
def test_what_cannot_be_is_refused_by_name(
    tmp_path: Path, keys: str, overrides: dict[str, str], message: str
) -> None:
    with pytest.raises(UsageError, match=re.escape(message)):
        step(tmp_path, keys, **overrides)


def test_other_options_are_passed_on(tmp_path: Path) -> None:
    argv = (
        step(tmp_path, "options: [-g, -l random], phases: write, api: mpiio, collective: true")
        .tasks[0]
        .argv
    )
    assert {"-g", "-l", "random", "-c", "MPIIO"} <= set(argv) and not {"-r", "-C"} & set(argv)
