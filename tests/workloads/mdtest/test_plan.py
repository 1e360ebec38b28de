"""From the profile to the launch: as published, every difference said, and the rank shift shown for
each version.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tui.engine.inputs.profiles import Catalogue, LoadedProfile
from tui.engine.plan.plan import Choices, build_plan
from tui.model.address import HostAddress
from tui.model.plan import MpiLaunch, Step
from tui.model.problem import UsageError
from tui.workloads.mdtest.output import bytes_per_file, inodes_needed, item_phases, trial_options

EIGHT = [HostAddress(f"c{number}") for number in range(1, 9)]


def profile(tmp_path: Path, text: str = "") -> LoadedProfile:
    path = tmp_path / "own.yaml"
    path.write_text(f"profile: user/own\nversion: 1\nextends: weka/mdtest\n{text}")
    return Catalogue(tmp_path).load(str(path))


def step(tmp_path: Path, text: str = "", **overrides: str) -> Step:
    return build_plan(profile(tmp_path, text), Choices(EIGHT, overrides)).steps[0]


def test_the_preset_is_the_published_command(tmp_path: Path) -> None:
    argv = step(tmp_path, stride="136").tasks[0].argv
    assert " ".join(argv) == "mdtest -v -N 136 -i 3 -n 18382 -F -u -d /mnt/weka/mdtest/benchtui-RUN"


def test_eight_clients_make_twenty_million_files(tmp_path: Path) -> None:
    launch = step(tmp_path).mpi
    assert launch is not None and launch.ranks(8) * launch.items == 19_999_616
    assert inodes_needed(launch, 8) == 19_999_616 + 1088 + 2


def test_the_plan_says_what_the_published_stride_does_in_each_version(tmp_path: Path) -> None:
    text = step(tmp_path, stride="136").tasks[0].job_file
    assert "mdtest up to 3.2=-N 136: 136 ranks = 1 client in each phase" in text
    assert "mdtest 3.3 and newer=-N 136: 0 ranks: every rank works on its own files" in text


def test_next_client_is_another_number_in_each_version_and_the_same_shift(tmp_path: Path) -> None:
    lines = [
        line for line in step(tmp_path).tasks[0].job_file.splitlines() if line.startswith("mdtest ")
    ]
    assert [line.partition("=")[2] for line in lines] == [
        "-N 136: 136 ranks = 1 client in each phase",
        "-N 1: 136 ranks = 1 client in each phase",
    ]


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (
            {"stride": "next"},
            "mdtest.stride: 'next' is neither 'next-client' nor a whole number (-N)",
        ),
        ({"ranks": "5000"}, "mdtest.ranks_per_host: '5000' is not a whole number from 1 to 4096"),
        (
            {"addresses": "eth0"},
            "mdtest.addresses: 'eth0' is not one of: auto, a network such as 10.0.0.0/24",
        ),
        ({"addresses": "h1=10.0.0"}, "mdtest.addresses: 'h1=10.0.0' is not one of"),
        ({"program": "mdtest; rm"}, "mdtest.program: 'mdtest; rm' is not a program name or path"),
        ({"directory": "/a@b"}, "without @, which separates paths in mdtest"),
    ],
)
def test_a_value_that_cannot_be_is_refused_by_name(
    tmp_path: Path, overrides: dict[str, str], message: str
) -> None:
    with pytest.raises(UsageError) as refused:
        step(tmp_path, **overrides)
    assert message in str(refused.value)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("[-F, -n 5]", "-n is not allowed here; set it with items"),
        (
            "[-F, -V=3]",
            "-V cannot be used: benchtui can only read output at the default verbosity",
        ),
        ("['']", "'' is not an option"),
    ],
)
def test_an_option_that_spoils_the_output_is_refused(
    tmp_path: Path, options: str, message: str
) -> None:
    with pytest.raises(UsageError) as refused:
        profile(tmp_path, f"mdtest: {{options: {options}}}\n")
    assert message in str(refused.value)


def test_bytes_written_to_each_file_count(tmp_path: Path) -> None:
    made = step(tmp_path, "mdtest: {options: [-F, -u, -w 3901]}\n", ranks="2", items="10")
    assert made.tasks[0].writes_bytes == 2 * 10 * 3901
    assert bytes_per_file(("-F", "-w", "7")) == 7
    assert bytes_per_file(("-F", "-w4k")) == 4096


def test_phases_follow_the_options() -> None:
    assert item_phases(("-F", "-u")) == ("create", "stat", "read", "remove")
    assert item_phases(("-F", "-C", "-r")) == ("create", "remove")
    assert item_phases(("-FCr",)) == ("create", "remove")


def test_a_trial_has_the_options_of_the_profile_but_writes_no_figures() -> None:
    launch = MpiLaunch(
        "/d", 1, 1, 1, options=("-F", "-u", "-w 3901", "--saveRankPerformanceDetails=/x.csv")
    )
    assert trial_options(launch) == ("-F", "-u", "-w 3901")


def test_ranks_are_those_of_all_hosts() -> None:
    assert MpiLaunch("/d", 136, 1, 1).ranks(8) == 1088
