"""What each host of a run does, as every screen and headless progress tell it."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tests.samples.events import sample, started
from tui.cli.shared.progress import status_text
from tui.journal.fold import fold, fold_all
from tui.journal.state import RunState, silent_hosts_text, waiting_text
from tui.metrics import units
from tui.model.event import (
    AnyEvent,
    HostFactsCollected,
    HostState,
    HostStateName,
    PhaseStarted,
    RunEnded,
    RunResumed,
    StepEnded,
    TaskEnded,
)
from tui.model.plain_data import format_utc
from tui.record.progress import allocation_left_s
from tui.view.live_marks import Marks

HOSTS = ("h1", "h2", "h3")


def ended(
    host: str, t: float, exit_code: int | None = 0, reason: str = "exit", **changed: object
) -> TaskEnded:
    return TaskEnded(t=t, host=host, step=0, phase="measure", exit_code=exit_code, reason=reason,
        stdout_bytes=1,
                     stderr_bytes=0, **changed)  # type: ignore[arg-type]  # fmt: skip


def loaded(*events: AnyEvent) -> RunState:
    """Three hosts under load, planned for 10 s, with samples up to 10 s of all but h3, which froze
    at 3 s.
    """
    begin = [PhaseStarted(t=0.0, phase="measure", step=0, expected_s=10.0)]
    begin += [HostState(t=0.0, host=host, state="running") for host in HOSTS]  # type: ignore[misc]
    seen = [
        sample(float(t), host, [1000] * 20)
        for t in range(1, 11)
        for host in HOSTS
        if host != "h3" or t <= 3
    ]
    return fold_all(RunState(), [*started(*HOSTS), *begin, *seen, *events])


def test_hosts_whose_load_has_ended_are_finished_and_the_frozen_one_is_silent() -> None:
    state = loaded(ended("h1", 10.2), ended("h2", 10.3))
    assert [state.hosts[host].activity(28.0) for host in HOSTS] == [
        "finished",
        "finished",
        "silent",
    ]
    assert state.hosts["h1"].stale_s(28.0) is None
    assert state.hosts["h3"].stale_s(28.0) == pytest.approx(25.0)


def test_a_load_that_is_nearly_over_names_the_host_that_it_waits_for_and_for_how_long_that_was_silent() -> (
    None
):
    state = loaded(ended("h1", 10.2), ended("h2", 10.3))
    assert (
        waiting_text(state.hosts.values(), 28.0)
        == "2 of 3 finished, waiting for h3 (silent for 25 s)"
    )


def test_headless_progress_names_it_too() -> None:
    state = loaded(ended("h1", 10.2), ended("h2", 10.3))
    state.tick(28.0)
    assert "2 of 3 finished, waiting for h3 (silent for 25 s)" in status_text(state, 28.0)


def test_while_no_host_has_finished_only_the_silent_ones_are_named() -> None:
    state = loaded()
    assert waiting_text(state.hosts.values(), 10.0) == ""
    assert silent_hosts_text(state.hosts.values(), 10.0) == "h3 silent for 7 s"
    assert "h3 silent for 7 s" in status_text(state, 10.0)


def test_a_host_that_broke_off_is_not_counted_as_finished() -> None:
    state = loaded(ended("h1", 5.0, exit_code=1), ended("h2", 10.3))
    assert state.hosts["h1"].activity(28.0) == "ended early"
    expected = "1 of 3 finished, 1 ended early, waiting for h3 (silent for 25 s)"
    assert waiting_text(state.hosts.values(), 28.0) == expected


def test_a_host_whose_load_was_stopped_alone_ended_early() -> None:
    assert (
        loaded(ended("h1", 5.0, exit_code=None, reason="stop")).hosts["h1"].activity(6.0)
        == "ended early"
    )


def test_a_host_that_is_lost_is_lost_however_its_load_ended() -> None:
    state = loaded(
        HostState(t=5.0, host="h1", state="lost"), ended("h1", 5.0, None, "lost", collected=False)
    )
    assert state.hosts["h1"].activity(28.0) == "lost"


def test_the_end_of_telemetry_is_not_the_end_of_the_load() -> None:
    assert loaded(ended("h1", 5.0, role="telemetry")).hosts["h1"].activity(10.0) == "running"


def test_nothing_is_waited_for_once_all_have_finished() -> None:
    state = loaded(*(ended(host, 11.0) for host in HOSTS))
    assert (
        waiting_text(state.hosts.values(), 28.0)
        == silent_hosts_text(state.hosts.values(), 28.0)
        == ""
    )


def test_of_many_hosts_that_are_waited_for_some_are_named() -> None:
    names = [f"h{number}" for number in range(1, 10)]
    begin = [PhaseStarted(t=0.0, phase="measure", step=0, expected_s=10.0)]
    state = fold_all(RunState(), [*started(*names), *begin, ended("h1", 10.0)])
    assert (
        waiting_text(state.hosts.values(), 11.0)
        == "1 of 9 finished, waiting for h2, h3, h4 and 5 more"
    )


def test_the_next_load_of_a_finished_host_runs() -> None:
    again: list[AnyEvent] = [
        HostState(t=11.5, host="h1", state="armed"),
        PhaseStarted(t=12.0, phase="measure", step=1, expected_s=10.0),
        HostState(t=12.0, host="h1", state="running"),
    ]
    state = loaded(*(ended(host, 11.0) for host in HOSTS), *again)
    assert state.hosts["h1"].activity(12.5) == "running"


def test_a_run_that_is_taken_over_still_knows_which_loads_have_ended() -> None:
    taken = [RunResumed(t=12.0, utc="", gap_s=1.0), PhaseStarted(t=12.0, phase="measure", step=0)]
    state = loaded(ended("h1", 10.2), *taken)  # type: ignore[arg-type]
    assert state.hosts["h1"].activity(13.0) == "finished"


def test_the_first_allocation_that_ends_is_counted_down_and_named_in_headless_progress() -> None:
    state = loaded()
    assert allocation_left_s(state, 10.0) is None
    assert state.created is not None
    for host, ends_s in (("h1", 900), ("h2", 300)):
        ends = format_utc(state.created + timedelta(seconds=ends_s))
        fold(state, HostFactsCollected(t=1.0, host=host, facts={"allocation_ends": ends}))
    assert allocation_left_s(state, 10.0) == 290.0
    assert units.duration(290.0) in status_text(state, 10.0)
    assert allocation_left_s(state, 400.0) == 0.0


@pytest.mark.parametrize(("exit_code", "reason", "word"), [
    (1, "exit", "failed"), (None, "lost", "lost"), (None, "unconfirmed", "lost"),
])  # fmt: skip
def test_only_a_host_out_of_reach_is_called_lost(
    exit_code: int | None, reason: str, word: str
) -> None:
    end = ended("h1", 5.0, exit_code, reason, collected=reason == "exit")
    (mark,) = (each for each in Marks().of(loaded(end), None, "h1") if each.sign == "✗")
    assert mark.word == f"host {word}"


@pytest.mark.parametrize("before", ["armed", "layout"])
@pytest.mark.parametrize("end", [
    StepEnded(t=2.0, step=0, ok=False, cut=True), RunEnded(t=2.0, state="partial", exit_code=4),
])  # fmt: skip
def test_after_a_stop_no_host_waits_for_a_load(before: HostStateName, end: AnyEvent) -> None:
    hosts = [HostState(t=1.0, host="h1", state=before), HostState(t=1.0, host="h2", state="failed")]
    seen = fold_all(RunState(), [*started(*HOSTS), *hosts, end]).hosts
    assert (seen["h1"].state, seen["h2"].state) == ("ready", "failed")
