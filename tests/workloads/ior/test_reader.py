"""The reader of mpiexec's output with IOR: success is more than exit code 0, and every failure is
named.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.samples.words import texts
from tui.engine.inputs.profiles import Catalogue
from tui.engine.plan.plan import Choices, build_plan
from tui.model.address import HostAddress
from tui.model.event import ALL_OVER, MetadataPhase
from tui.model.operands import clause
from tui.workloads.ior.program import IorProgram, own_data_findings
from tui.workloads.mpi import RanksReader, Tried

DATA = Path(__file__).parents[2] / "data" / "ior"


def program(hosts: int = 1, **params: str) -> IorProgram:
    given = {"ranks": "4", "transfer": "256k", "block": "2m", "segments": "2"} | params
    profile = Catalogue(Path("/nowhere")).load("ior/file-per-process")
    step = build_plan(
        profile, Choices([HostAddress(f"h{n}") for n in range(1, hosts + 1)], given)
    ).steps[0]
    assert step.mpi is not None
    return IorProgram(step, step.mpi)


def reader(name: str, **params: str) -> RanksReader:
    found = program(1, **params).reader(1)
    text = (DATA / f"{name}.out").read_bytes()
    for start in range(0, len(text), 1000):
        found.feed(text[start : start + 1000])
    found.feed_stderr(err.read_bytes() if (err := DATA / f"{name}.err").exists() else b"")
    found.flush()
    return found


@pytest.mark.parametrize("version", ["3.3.0", "4.0.0", "main"])
def test_a_whole_run_of_every_version_is_a_success(version: str) -> None:
    found = reader(f"{version}-fpp")
    assert found.problems(0) == []
    result = found.figures(0)
    assert result is not None and result.final and (result.tasks, result.nodes) == (4, 1)


@pytest.mark.parametrize(
    ("name", "exit_code", "code"),
    [
        ("main-enospc", 15, "no-space"),
        ("main-missing", 255, "ior-error"),
        ("main-noread", 255, "ior-error"),
        ("main-badopt", 9, "ior-bad-option"),
        ("main-badsize", 255, "ior-error"),
        ("main-fpp", 137, "ior-exit-code"),
    ],
)
def test_what_went_wrong_comes_first(name: str, exit_code: int, code: str) -> None:
    found = reader(name)
    assert found.problems(exit_code)[0][0] == code
    assert not found.succeeded(exit_code)


def test_a_version_that_tells_no_nodes_is_on_as_many_as_the_hosts_are() -> None:
    found = program(1, iterations="2").reader(1, (1,))
    found.feed((DATA / "3.2.1-fpp.out").read_bytes())
    assert found.problems(0) == []


def test_an_iteration_that_is_missing_is_a_failure() -> None:
    assert texts("ior", reader("main-fpp", iterations="4").problems(0)) == [
        ("ior-incomplete", "write completed 3 of 4 iterations"),
        ("ior-incomplete", "read completed 3 of 4 iterations"),
    ]


def test_other_bytes_than_planned_are_a_failure() -> None:
    (code, text), *_ = texts("ior", reader("main-fpp", segments="4").problems(0))
    assert (code, text) == ("ior-incomplete", "write moved 16777216 bytes; expected 33554432")


def test_a_phase_that_ends_by_time_may_move_any_bytes_and_its_warnings_are_none() -> None:
    found = reader("main-stonewall", transfer="64", block="256m", stonewall="1", iterations="2")
    assert found.problems(0) == []
    result = found.figures(0)
    assert result is not None and result.items == 0
    assert [len(each.iterations) for each in result.operations.values()] == [2, 2]
    without = reader("main-stonewall", transfer="64", block="256m", iterations="2")
    assert {"ior-incomplete"} <= {code for code, _ in without.problems(0)}


def test_an_output_that_breaks_off_leaves_no_phase_open_and_keeps_what_ended() -> None:
    found = program().reader(1)
    text = (DATA / "main-fpp.out").read_bytes()
    found.feed(text[: text.index(b"read  ")])
    over = found.flush()[-1]
    assert isinstance(over, MetadataPhase) and over.phase == ALL_OVER
    result = found.figures(None)
    assert result is not None and list(result.operations) == ["write"] and not result.final
    assert (
        len(result.operations["write"].iterations) == 1 and result.operations["write"].mean is None
    )


def test_fewer_ranks_than_launched_are_known_at_once() -> None:
    assert reader("main-fpp", ranks="8").wrong_launch == clause(
        "ranks-launched", launched=4, ranks=8
    )


def test_figures_of_ranks_are_asked_for_where_ior_has_them() -> None:
    asked = "saveRankPerformanceDetailsCSV=/dev/stdout"
    words = {
        version: program().words("/d", 1, Tried(version))
        for version in ("3.3.0", "4.0.0", "4.1.0+dev", "")
    }
    assert [version for version, each in words.items() if asked in each] == ["4.0.0", "4.1.0+dev"]


def test_a_trial_moves_two_ios_with_the_same_options() -> None:
    trial = program().trial()
    assert (trial.launch.ranks_per_host, trial.launch.items, trial.launch.iterations) == (1, 2, 1)
    assert {"-b 524288", "-s 1", "-F", "-C", "-e"} <= set(trial.launch.options)


@pytest.mark.parametrize(
    ("hosts", "params", "shift", "doubted"),
    [(2, {}, 4, False), (1, {}, 0, True), (2, {"direct": "true"}, -1, False)],
)
def test_reads_of_what_a_client_wrote_itself_are_doubted(
    hosts: int, params: dict[str, str], shift: int, doubted: bool
) -> None:

    wanted = program(hosts, **params)
    found = reader("main-fpp").figures(0)
    assert found is not None
    found.tasks = 4 * hosts
    assert wanted.complete(found, hosts, Tried("4.1.0", hosts)) == [] and found.shift == shift
    assert bool(own_data_findings(found)) is doubted
