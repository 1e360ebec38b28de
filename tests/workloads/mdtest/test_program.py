"""mdtest as one program over all hosts: what is launched follows what a trial told."""

from __future__ import annotations

import pytest

from tests.samples.words import texts
from tui import workloads
from tui.model.event import MetadataResult
from tui.model.plan import HostTask, MpiLaunch, Step
from tui.workloads.mdtest.program import MdtestProgram
from tui.workloads.mpi import Tried

LAUNCH = MpiLaunch("/mnt/x", 136, 18382, 3, options=("-F", "-u", "-w 3901"))
TASKS = [HostTask(f"h{number}", 0, "", []) for number in (1, 2, 3)]
PROGRAM = MdtestProgram(Step(0, "x", "mdtest", {}, TASKS, None, mpi=LAUNCH), LAUNCH)


@pytest.mark.parametrize(
    ("tried", "stride", "ranks", "per_node"),
    [
        (Tried("4.0.0", 3), 1, 136, 136),
        (Tried("4.0.0", 1), 408, 0, 408),  # three names of one machine
        (Tried("1.9.3", 3), 136, 136, 136),
    ],
)
def test_the_shift_follows_the_nodes_that_mdtest_counts(
    tried: Tried, stride: int, ranks: int, per_node: int
) -> None:
    shift = PROGRAM.shift(3, tried)
    assert (shift.stride, shift.ranks, shift.placement.per_node) == (stride, ranks, per_node)
    assert PROGRAM.words("/mnt/x/own", 3, tried)[:3] == ["-v", "-N", str(stride)]


@pytest.mark.parametrize(("version", "asked"), [("4.0.0", True), ("3.3.0", False)])
def test_times_of_ranks_are_asked_for_where_this_version_has_them(
    version: str, asked: bool
) -> None:
    words = PROGRAM.words("/mnt/x/own", 3, Tried(version, 3))
    assert ("--saveRankPerformanceDetails=/dev/stdout" in words) == asked


def test_a_trial_is_one_rank_a_host_with_one_file_and_the_options_of_the_profile() -> None:
    words = PROGRAM.trial().words("/mnt/x/own", 3, Tried())
    assert " ".join(words) == "-v -N 1 -i 1 -n 1 -F -u -w 3901 -d /mnt/x/own"


def test_a_shift_that_mdtest_prints_must_be_the_one_that_was_expected() -> None:
    known = {
        "version": "4.0.0",
        "tasks": 408,
        "nodes": 3,
        "items": 1,
        "iterations": 1,
        "operations": {},
    }
    printed = MetadataResult(t=0.0, step=0, tool="mdtest", shift=272, **known)  # type: ignore[arg-type]
    problems = dict(texts("mdtest", PROGRAM.complete(printed, 3, Tried("4.0.0", 3))))
    assert (
        problems["shift-unexpected"] == "mdtest shifts ranks by 272; expected 136 for version 4.0.0"
    )


def test_where_mdtest_comes_from_is_reported_when_it_is_missing() -> None:
    advice = workloads.get("mdtest").advice("mdtest-missing")
    assert "github.com/hpc/ior" in advice and "--set program=PATH" in advice
