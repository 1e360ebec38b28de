from __future__ import annotations

from pathlib import Path

import pytest

from tests.record.test_record import valid
from tests.record.test_timing import host_run
from tests.samples.events import closed, compared, ended, load, result, run_of, started, weakening
from tui.journal.clock import ended_badly
from tui.journal.fold import fold
from tui.journal.state import RunState
from tui.library.build import build_record
from tui.model.event import AnyEvent, HostProblem, HostState, StopRequested
from tui.model.record import RunRecord
from tui.record.headline import coverage_text
from tui.text.names import loss_text, told_in_range, told_of
from tui.text.run_texts import run_text
from tui.view.run_summary import summary_text

HOSTS = tuple(f"h{number}" for number in range(1, 9))


def lost(host: str, t: float) -> list[AnyEvent]:
    """Return what the engine writes when it gives a host up."""
    problem = HostProblem(
        t=t + 0.1,
        host=host,
        phase="measure",
        code="host-lost",
        message="no connection",
        fatal=False,
    )
    return [
        HostState(t=t, host=host, state="lost", detail="given up after 60s"),
        ended(host, t, "lost", None, collected=False),
        problem,
    ]


def eight_hosts(*gone: tuple[str, float], begin: float = 10.0) -> list[AnyEvent]:
    """Return the events of 300 s on eight hosts, of which some stop to answer after a while."""
    until = dict(gone)
    events: list[AnyEvent] = []
    for host in HOSTS:
        events.append(compared(host, 0.0))
        if host in until:
            events += [
                *load(host, begin, begin + until[host], 10.0),
                *lost(host, begin + until[host] + 60.0),
            ]
        else:
            events += [
                *host_run(host, begin, begin + 300.0, iops=10.0),
                ended(host, begin + 300.05),
            ]
    return events


def record_of(tmp_path: Path, events: list[AnyEvent], runtime_s: float | None = None) -> RunRecord:
    record = build_record(run_of(tmp_path, HOSTS, events, runtime_s))
    valid(record)
    return record


def slices(record: RunRecord) -> list[tuple[float, float, int]]:
    return [(part.start_s, part.end_s, part.hosts) for part in record.steps[0].coverage]


def test_a_run_without_loss_is_covered_by_all_hosts(tmp_path: Path) -> None:
    record = record_of(tmp_path, [*eight_hosts(), closed(311.0)])
    assert slices(record) == [(10.0, 310.0, 8)]
    assert coverage_text(record.steps[0].coverage) == ""
    assert record.state == "complete"


def test_a_host_that_is_lost_is_missing_from_its_last_sample_on(tmp_path: Path) -> None:
    record = record_of(tmp_path, [*eight_hosts(("h8", 132.0)), closed(311.0, "partial")])
    step = record.steps[0]
    assert slices(record) == [(10.0, 142.0, 8), (142.0, 310.0, 7)]
    assert [(part.of, part.missing) for part in step.coverage] == [(8, []), (8, ["h8"])]
    assert coverage_text(step.coverage) == "7 of 8 hosts after 132 s (without h8)"
    assert record.state == "partial"
    assert coverage_text(step.coverage) in run_text(record.reason)
    aggregate = step.results.aggregate["read"]
    assert aggregate.hosts == list(HOSTS)
    assert aggregate.interval is not None
    assert (aggregate.interval.start_s, aggregate.interval.end_s) == (10.0, 142.0)
    assert aggregate.iops_window == pytest.approx(80.0)


def test_a_loss_makes_a_run_invalid_and_the_summary_says_so(tmp_path: Path) -> None:
    record = record_of(tmp_path, [*eight_hosts(("h8", 132.0)), closed(311.0, "partial")])
    assert [
        (finding.id, finding.severity, finding.measured, finding.threshold)
        for finding in weakening(record)
    ] == [("host-loss", "error", 7, 8)]
    text = summary_text(record)
    assert "coverage: 7 of 8 hosts after 132 s (without h8)" in text
    assert "INVALID: 1 error, 1 note; " in text
    assert "\nfindings:\n  error host-loss: not all hosts measured to the end" in text
    assert max(map(len, text.splitlines())) <= 80


def test_losses_one_after_the_other_are_reported_one_by_one_and_those_at_once_together(
    tmp_path: Path,
) -> None:
    gone = (("h2", 50.0), ("h3", 51.0), ("h4", 200.0))
    record = record_of(tmp_path, [*eight_hosts(*gone), closed(311.0, "partial")])
    assert slices(record) == [(10.0, 60.0, 8), (60.0, 210.0, 6), (210.0, 310.0, 5)]
    assert (
        coverage_text(record.steps[0].coverage)
        == "6 of 8 hosts after 50 s (without h2, h3); 5 of 8 hosts after 200 s (without h2,"
        " h3, h4)"
    )


def test_all_hosts_lost_leave_the_rest_of_the_plan_uncovered(tmp_path: Path) -> None:
    events = eight_hosts(*((host, 100.0) for host in HOSTS))
    record = record_of(tmp_path, [*events, closed(180.0, "partial")], 300.0)
    assert slices(record) == [(10.0, 110.0, 8), (110.0, 180.0, 0)]


def test_a_host_that_never_started_is_missing_from_the_start(tmp_path: Path) -> None:
    events = [event for event in eight_hosts() if getattr(event, "host", "") != "h5"]
    events += [
        HostState(t=9.0, host="h5", state="failed", detail="GO not delivered"),
        closed(311.0, "partial"),
    ]
    record = record_of(tmp_path, events)
    assert slices(record) == [(10.0, 310.0, 7)]
    assert coverage_text(record.steps[0].coverage) == "7 of 8 hosts from the start (without h5)"


def test_a_tool_that_failed_early_is_a_loss(tmp_path: Path) -> None:
    events = [event for event in eight_hosts() if getattr(event, "host", "") != "h5"]
    failed = result("h5", 10.0, 50.0, errors=[5])
    events += [compared("h5", 0.0), *load("h5", 10.0, 50.0), failed, ended("h5", 50.1, exit_code=1)]
    record = record_of(tmp_path, [*events, closed(311.0, "partial")])
    assert slices(record) == [(10.0, 50.0, 8), (50.0, 310.0, 7)]


def test_a_host_whose_lease_ended_its_load_is_a_loss(tmp_path: Path) -> None:
    events = [event for event in eight_hosts() if getattr(event, "host", "") != "h5"]
    cut = [
        *load("h5", 10.0, 70.0),
        result("h5", 10.0, 70.0, final=False),
        ended("h5", 70.1, "lease", 0),
    ]
    record = record_of(tmp_path, [*events, compared("h5", 0.0), *cut, closed(311.0, "partial")])
    assert coverage_text(record.steps[0].coverage) == "7 of 8 hosts after 60 s (without h5)"


def test_a_stop_that_was_asked_for_is_no_loss(tmp_path: Path) -> None:
    events: list[AnyEvent] = [StopRequested(t=50.0, mode="stop"), closed(60.0, "partial")]
    for number, host in enumerate(HOSTS):
        end_t = 51.0 + number / 2
        events += [
            compared(host, 0.0),
            *load(host, 10.0, end_t, 10.0),
            ended(host, end_t + 0.1, "stop"),
        ]
        events.append(result(host, 10.0, end_t, 10.0, final=False))
    record = record_of(tmp_path, events)
    assert slices(record) == [(10.0, 54.5, 8)]
    assert weakening(record) == []


def test_hosts_that_finished_a_fixed_amount_early_are_no_loss(tmp_path: Path) -> None:
    events: list[AnyEvent] = [closed(120.0)]
    for number, host in enumerate(HOSTS):
        end_t = 40.0 + 10 * number
        events += [
            compared(host, 0.0),
            *host_run(host, 10.0, end_t, iops=10.0),
            ended(host, end_t + 0.1),
        ]
    assert slices(record_of(tmp_path, events)) == [(10.0, 110.0, 8)]


def test_a_host_that_was_lost_and_gave_its_whole_result_later_is_no_loss(tmp_path: Path) -> None:
    events = eight_hosts()
    back = [
        HostState(t=100.0, host="h3", state="lost"),
        HostState(t=150.0, host="h3", state="running"),
    ]
    assert slices(record_of(tmp_path, [*events, *back, closed(311.0)])) == [(10.0, 310.0, 8)]


def test_a_journal_that_ends_in_the_middle_blames_nobody(tmp_path: Path) -> None:
    events = [event for host in HOSTS for event in load(host, 10.0, 60.0, 10.0)]
    assert slices(record_of(tmp_path, events)) == [(10.01, 60.01, 8)]


def test_the_live_state_says_at_once_over_how_many_hosts_the_totals_hold() -> None:
    state = RunState()
    for event in [*started(*HOSTS), *sorted(eight_hosts(("h8", 132.0)), key=lambda event: event.t)]:
        fold(state, event)
    said = [
        (line.t, line.severity, line.text)
        for line in state.messages.newest
        if " of 8 hosts " in line.text
    ]
    assert said == [(202.0, "warning", "7 of 8 hosts after 132 s (without h8)")]


def test_the_live_state_counts_every_loss_and_names_who_went() -> None:
    state = RunState()
    for event in started(*HOSTS):
        fold(state, event)
    for host, t in (("h1", 5.0), ("h2", 9.0)):
        for event in [*load(host, 0.0, t), ended(host, t + 0.5, exit_code=1)]:
            fold(state, event)
    assert [line.text for line in state.messages.newest] == [
        "7 of 8 hosts after 5 s (without h1)",
        "6 of 8 hosts after 9 s (without h2)",
    ]


@pytest.mark.parametrize(
    ("reason", "code", "collected", "bad"),
    [
        ("exit", 0, True, False),
        ("exit", 1, True, True),
        ("exit", None, True, True),
        ("stop", 128, True, False),
        ("abort", None, True, False),
        ("stop", 128, False, True),
        ("lease", 0, True, True),
        ("host-rebooted", None, True, True),
        ("lost", None, False, True),
    ],
)
def test_a_command_ended_badly_unless_it_exited_with_0_or_was_asked_to_end(
    reason: str, code: int | None, collected: bool, bad: bool
) -> None:
    assert ended_badly(ended("h1", 1.0, reason, code, collected=collected)) == bad


def test_many_missing_hosts_are_counted_and_some_named() -> None:
    text = loss_text(3, 8, 12.4, ["a", "b", "c", "d", "e"])
    assert text == "3 of 8 hosts after 12 s (without a, b, c and 2 more)"


def test_shares_of_many_hosts_are_reported_as_a_range() -> None:
    busy = {f"h{number}": f"{90 + number % 6} % busy" for number in range(1, 9)}
    assert told_in_range(busy) == "h1, h2, h3 and 5 more: 90 to 95 % busy"
    assert told_in_range(busy | {"h9": "core 3 is 97 % busy"}).endswith(
        "90 to 95 % busy; h9: core 3 is 97 % busy"
    )
    queues = {f"h{n}": f"nvme{n % 2}n1 9{n % 3} % busy, 4{n} requests in flight" for n in range(8)}
    assert told_in_range(queues) == (
        "h0, h2, h4, h6: nvme0n1 90 to 92 % busy, 40 to 46 requests in flight; "
        "h1, h3, h5, h7: nvme1n1 90 to 92 % busy, 41 to 47 requests in flight"
    )
    few = {"h1": "97 % busy", "h2": "91 % busy"}
    assert told_in_range(few) == "h1: 97 % busy, h2: 91 % busy", "of a few hosts each is told"
    assert (
        told_in_range({f"h{number}": "97 % busy" for number in range(9)})
        == "h0, h1, h2 and 6 more: 97 % busy"
    )


def test_what_is_the_same_of_several_hosts_is_told_of_them_together() -> None:
    busy = dict.fromkeys([f"h{number}" for number in range(1, 9)], "97 % busy")
    assert told_of(busy) == "h1, h2, h3 and 5 more: 97 % busy"
    assert told_of(busy | {"h9": "91 % busy"}) == "h1, h2, h3 and 5 more: 97 % busy; h9: 91 % busy"
    assert told_of({"h1": "97 %", "h2": "96 %"}) == "h1: 97 %, h2: 96 %"
    four = {f"h{number}": f"{number} s" for number in range(4)}
    assert (
        told_of(four | {"h9": "0 s"}, " for ")
        == "h0, h9 for 0 s; h1 for 1 s; h2 for 2 s and 1 more"
    )
