"""Steps that run at the same time: each has its own figures, problems and losses, and one of them
is shown.
"""

from __future__ import annotations

import pytest

from tui.journal.fold import fold, fold_all
from tui.journal.state import RunState
from tui.model.event import (
    AnyEvent,
    Buckets,
    DirectionSample,
    HostProblem,
    HostState,
    PhaseEnded,
    PhaseStarted,
    RunStarted,
    Sample,
    StepEnded,
    StepStarted,
    TaskEnded,
)

WRITERS, READERS = ["h1"], ["h2", "h3"]


def begun() -> RunState:
    """Two steps that measure: writers on one host, readers on two others."""
    start = RunStarted(t=0.0, run_id="r", utc="2026-11-20T10:15:30.000000Z", benchtui_version="1",
        profile="a/b",
                       hosts=[*WRITERS, *READERS])  # fmt: skip
    state = fold_all(RunState(tails_open_s=10), [start, StepStarted(t=1.0, step=0, hosts=WRITERS),
                                                 StepStarted(t=1.0, step=1,
                                                     hosts=READERS)])  # fmt: skip
    for step, hosts in ((0, WRITERS), (1, READERS)):
        fold(state, PhaseStarted(t=2.0, phase="measure", step=step, expected_s=10.0 * (step + 1)))
        fold_all(state, (HostState(t=2.0, host=host, state="running") for host in hosts))
    return state


def second(host: str, step: int, ios: int, t: float = 3.0) -> Sample:
    direction = "write" if step == 0 else "read"
    part = DirectionSample(ios=ios, bytes=4096 * ios, lat=Buckets(idx=[400 + step], n=[ios]))
    return Sample(t=t, host=host, step=step, phase="measure", host_time_ms=int(1000 * t),
        interval_s=1.0,
                  dirs={direction: part})  # fmt: skip


def ended(host: str, step: int, t: float, exit_code: int = 0) -> TaskEnded:
    return TaskEnded(t=t, host=host, step=step, phase="measure", exit_code=exit_code, reason="exit",
        stdout_bytes=1,
                     stderr_bytes=0)  # fmt: skip


def test_each_step_counts_what_its_own_hosts_did() -> None:
    state = fold_all(begun(), [second("h1", 0, 100), second("h2", 1, 700), second("h3", 1, 800)])
    found = {
        step: {name: group.ios for name, group in each.cluster.items()}
        for step, each in state.measuring.items()
    }
    assert found == {0: {"write": 100}, 1: {"read": 1500}}


def test_the_first_that_measures_is_shown_with_its_hosts_alone() -> None:
    state = begun()
    assert (state.step, state.phase, list(state.hosts_shown)) == (0, "measure", WRITERS)
    state.show(1)
    assert (state.step, state.progress(7.0).remaining_s, list(state.hosts_shown)) == (
        1,
        15.0,
        READERS,
    )


def test_when_the_one_shown_is_over_another_that_continues_is_shown() -> None:
    state = fold_all(begun(), [ended("h1", 0, 12.0), PhaseEnded(t=12.0, phase="measure", step=0),
                               PhaseStarted(t=12.0, phase="collect", step=0),
                               StepEnded(t=12.1, step=0)])  # fmt: skip
    assert (state.step, state.phase, state.current.step) == (1, "measure", 1)


@pytest.mark.parametrize(("host", "step"), [("h1", 0), ("h2", 1)])
def test_a_problem_is_of_the_step_of_its_host(host: str, step: int) -> None:
    state = begun()
    fold(state, HostProblem(t=4.0, host=host, phase="measure", code="x", message="y", fatal=False))
    assert [len(state.at_step(each).problems) for each in (0, 1)] == [
        int(each == step) for each in (0, 1)
    ]


def test_the_loss_of_a_host_is_reported_for_its_own_step() -> None:
    state = fold_all(begun(), [second("h2", 1, 700), second("h3", 1, 800)])
    fold(state, HostState(t=5.0, host="h3", state="lost"))
    assert {step: list(each.dropped) for step, each in state.measuring.items()} == {
        0: [],
        1: ["h3"],
    }
    assert "1 of 2 hosts" in state.messages.newest[-1].text


def test_a_load_that_ends_after_the_time_of_its_own_step_ended_well() -> None:
    state = fold_all(begun(), [ended("h1", 0, 12.5), ended("h2", 1, 22.5)])
    assert [state.hosts[host].load_ended for host in ("h1", "h2")] == [True, True]


def test_the_next_step_alone_has_all_hosts_again() -> None:
    events: list[AnyEvent] = [
        StepEnded(t=23.0, step=0),
        StepEnded(t=23.0, step=1),
        StepStarted(t=24.0, step=2),
    ]
    state = fold_all(begun(), events)
    assert (state.step, list(state.hosts_shown), state.measuring) == (2, [*WRITERS, *READERS], {})


def test_steps_that_are_made_again_together_begin_again() -> None:
    state = fold_all(
        begun(), [HostState(t=3.0, host=host, state="armed") for host in (*WRITERS, *READERS)]
    )
    again = [
        StepStarted(t=30.0, step=step, attempt=2, hosts=hosts)
        for step, hosts in ((0, WRITERS), (1, READERS))
    ]
    fold_all(state, again)
    assert (state.armed, state.beside.steps, state.measuring) == (set(), [0, 1], {})
