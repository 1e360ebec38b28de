"""How a run ended, judged by what every host brought home."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

import pytest

from tui.engine.inputs.profiles import Catalogue
from tui.engine.plan.plan import Choices, build_plan
from tui.engine.run.run import how_it_ended
from tui.engine.session.context import RunContext
from tui.journal.writer import Journal
from tui.model.address import HostAddress
from tui.model.event import DirectionResult, HostProblem, HostResult, StepStarted
from tui.model.operands import clause
from tui.text.run_texts import run_text

HOSTS = ("h1", "h2")
READ = DirectionResult(ios=8, bytes=32768, runtime_s=1.0, iops=8.0, bw_bytes_per_s=32768.0)
FAILED = DirectionResult(ios=8, bytes=0, runtime_s=0.0, iops=0.0, bw_bytes_per_s=0.0)


@contextmanager
def run(tmp_path: Path, *finals: bool, repeat: int = 1) -> Iterator[RunContext]:
    """A run of two hosts whose results, in the order of steps and hosts, are final or not."""
    loaded = Catalogue(tmp_path / "none").load("demo/quick")
    plan = build_plan(loaded, Choices([HostAddress(name=name) for name in HOSTS], repeat=repeat))
    journal = Journal(tmp_path)
    ctx = RunContext(tmp_path, plan, journal, [])
    keys = [(step.index, host) for step in plan.steps for host in HOSTS]
    for (step, host), final in zip(keys, finals, strict=False):
        result = HostResult(t=0.0, host=host, step=step, dirs={"read": READ}, final=final)
        ctx.results[step, host] = journal.append(result)
    try:
        yield ctx
    finally:
        journal.close()


def test_every_host_with_a_final_result_is_complete(tmp_path: Path) -> None:
    with run(tmp_path, True, True) as ctx:
        assert (how_it_ended(ctx).state, how_it_ended(ctx).exit_code) == ("complete", 0)


def test_a_host_without_a_result_makes_it_partial(tmp_path: Path) -> None:
    with run(tmp_path, True) as ctx:
        assert (how_it_ended(ctx).state, how_it_ended(ctx).exit_code) == ("partial", 4)


def test_nothing_measured_is_failed(tmp_path: Path) -> None:
    with run(tmp_path) as ctx:
        assert how_it_ended(ctx).state == "failed"


@pytest.mark.parametrize("mode", [None, "stop"])
def test_results_of_which_no_io_completed_are_nothing_measured(
    tmp_path: Path, mode: Literal["stop"] | None
) -> None:
    with run(tmp_path) as ctx:
        for host in HOSTS:
            failed = HostResult(t=0.0, host=host, step=0, dirs={"read": FAILED})
            ctx.results[0, host] = ctx.journal.append(failed)
        if mode is not None:
            ctx.request_stop(mode)
        assert ctx.state_unless_complete == "failed"
        assert (how_it_ended(ctx).state, how_it_ended(ctx).exit_code) == ("failed", 4)


def test_a_step_that_begins_again_measured_nothing_so_far(tmp_path: Path) -> None:
    with run(tmp_path, True, True) as ctx:
        assert how_it_ended(ctx).state == "complete"
        ctx.journal.append(StepStarted(t=0.0, step=0, attempt=2))
        assert how_it_ended(ctx).state == "failed"


def test_a_problem_on_a_host_makes_it_partial(tmp_path: Path) -> None:
    with run(tmp_path, True, True) as ctx:
        ctx.journal.append(
            HostProblem(t=0.0, host="h1", phase="measure", code="x", message="y", fatal=False)
        )
        assert (how_it_ended(ctx).state, how_it_ended(ctx).reason) == (
            "partial",
            clause("problems-on-hosts", problems=1),
        )


@pytest.mark.parametrize(("mode", "state"), [("stop", "partial"), ("abort", "aborted")])
def test_a_run_that_was_ended_early_says_on_whose_request(
    tmp_path: Path, mode: Literal["stop", "abort"], state: str
) -> None:
    with run(tmp_path, False, True) as ctx:
        ctx.request_stop(mode)
        assert how_it_ended(ctx).state == state
        assert "on request" in run_text(how_it_ended(ctx).reason)


def test_a_stop_that_comes_when_all_is_measured_has_no_effect(tmp_path: Path) -> None:
    with run(tmp_path, True, True) as ctx:
        ctx.request_stop("stop")
        assert how_it_ended(ctx).state == "complete"


def test_a_stop_before_the_last_repetition_is_no_complete_run(tmp_path: Path) -> None:
    with run(tmp_path, True, True, repeat=2) as ctx:
        ctx.request_stop("stop")
        assert how_it_ended(ctx).state == "partial"


def test_a_repetition_that_was_not_needed_is_not_missed(tmp_path: Path) -> None:
    with run(tmp_path, True, True, repeat=2) as ctx:
        ctx.skipped.add(1)
        assert how_it_ended(ctx).state == "complete"
