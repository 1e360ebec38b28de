"""How long each host and each job ran: a total of loads that ran one part of the time each is no
rate.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.record.test_timing import host_run
from tests.samples.events import closed, compared, ended, run_of
from tests.samples.evidence import beside, direction, evidence, found
from tui.journal.fold import fold
from tui.judge.check import RunEvidence, UnknownError
from tui.library.build import build_record
from tui.model.event import AnyEvent, DirectionResult, HostResult
from tui.model.plan import JobLoad
from tui.model.record import Finding
from tui.model.step_record import HostTimingRecord, TimingRecord


def findings(
    folder: Path, spans: dict[str, tuple[float, float]], runtime_s: float | None
) -> list[Finding]:
    """Return what `end-skew` finds of hosts that ran from and to these seconds.

    Their clocks were compared.
    """
    events: list[AnyEvent] = [closed(max(end for _, end in spans.values()) + 1.0)]
    for host, (start_t, end_t) in spans.items():
        events += [
            compared(host, 0.0),
            *host_run(host, start_t, end_t, iops=10.0),
            ended(host, end_t + 0.1),
        ]
    record = build_record(run_of(folder, list(spans), events, runtime_s))
    return [each for each in record.findings if each.id == "end-skew"]


def test_a_host_that_ran_for_half_of_the_time_is_an_error_with_its_name(tmp_path: Path) -> None:
    (one,) = findings(tmp_path, {"h1": (5.0, 16.0), "h2": (5.0, 10.5)}, 11.0)
    assert (one.severity, one.scope["hosts"]) == ("error", "h2")
    assert one.measured == pytest.approx(5.5, abs=0.1)


@given(late_s=st.floats(0.0, 20.0), count=st.integers(2, 5))
def test_hosts_that_run_equally_long_have_none_however_late_they_start(
    tmp_path_factory: pytest.TempPathFactory, late_s: float, count: int
) -> None:
    spans = {
        f"h{at}": (5.0 + at * late_s / count, 65.0 + at * late_s / count) for at in range(count)
    }
    assert findings(tmp_path_factory.mktemp("run"), spans, 60.0) == []


@given(share=st.floats(0.05, 0.9), runtime_s=st.floats(20.0, 90.0))
def test_every_host_that_ran_a_tenth_shorter_or_more_is_named(
    tmp_path_factory: pytest.TempPathFactory, share: float, runtime_s: float
) -> None:
    spans = {
        "h1": (5.0, 5.0 + runtime_s),
        "h2": (5.0, 5.0 + share * runtime_s),
        "h3": (5.0, 5.0 + runtime_s),
    }
    (one,) = findings(tmp_path_factory.mktemp("run"), spans, runtime_s)
    assert (one.severity, one.scope["hosts"]) == ("error", "h2")


def test_a_load_that_ends_with_its_data_may_end_apart_but_not_far(tmp_path: Path) -> None:
    assert findings(tmp_path / "near", {"h1": (5.0, 65.0), "h2": (5.0, 60.0)}, None) == []
    (one,) = findings(tmp_path / "far", {"h1": (5.0, 65.0), "h2": (5.0, 25.0)}, None)
    assert (one.severity, one.scope["hosts"]) == ("warning", "h2")


def jobs_that_ran(*seconds: float, bound_s: float | None = 60.0) -> RunEvidence:
    """Return a run of one host whose jobs ran so long."""
    names = [f"j{at}" for at in range(len(seconds))]
    at = evidence(jobs=[JobLoad(name, ("read",), bound_s=bound_s) for name in names])
    dirs = [
        {"read": DirectionResult(1000, 4096_000, each, 1000 / each, 4096_000 / each)}
        for each in seconds
    ]
    told = HostResult(
        t=61.0, host="h1", step=0, dirs=dirs[0], jobs=dict(zip(names, dirs, strict=True))
    )
    fold(at.seen.state, told)
    return at


def test_a_job_that_ended_early_beside_others_is_an_error_with_its_name() -> None:
    (one,) = found("job-time", jobs_that_ran(60.0, 5.0, 60.0))
    assert (one.severity, one.scope["job"], one.measured, one.threshold) == (
        "error",
        "j1",
        5.0,
        60.0,
    )


@given(st.lists(st.floats(57.1, 61.0), min_size=2, max_size=5))
def test_jobs_that_ran_to_the_end_have_none(seconds: list[float]) -> None:
    assert found("job-time", jobs_that_ran(*seconds)) == []


def test_a_load_that_was_short_as_a_whole_is_another_finding() -> None:
    assert found("job-time", jobs_that_ran(5.0, 5.1)) == []


def of_roles(one: tuple[float, float], other: tuple[float, float]) -> list[Finding]:
    """Return what `roles-overlap` finds of two steps at the same time that measured from and to
    these seconds.
    """
    spans = [
        HostTimingRecord(
            start_s=start_s, end_s=end_s, start_uncertainty_s=0, end_uncertainty_s=0, source="tool"
        )
        for start_s, end_s in (one, other)
    ]
    return found(
        "roles-overlap",
        beside(*(evidence(timing=TimingRecord(hosts={"h1": span})) for span in spans)),
    )


def test_a_role_that_measured_half_of_its_time_alone_is_reported_with_that_share() -> None:
    (one,) = of_roles((5.0, 65.0), (5.0, 35.0))
    assert (one.severity, one.scope, one.measured) == ("warning", {"step": 0, "hosts": "h1"}, 0.5)


@given(late_s=st.floats(-60.0, 60.0), runtime_s=st.floats(20.0, 90.0))
def test_both_roles_are_named_when_a_tenth_of_the_time_is_not_shared(
    late_s: float, runtime_s: float
) -> None:
    told = of_roles((65.0, 65.0 + runtime_s), (65.0 + late_s, 65.0 + late_s + runtime_s))
    shared = max(0.0, 1 - abs(late_s) / runtime_s)
    assert len(told) == (0 if shared >= 0.9 else 2) or shared == pytest.approx(0.9)


def test_a_step_alone_has_no_roles_to_overlap() -> None:
    with pytest.raises(UnknownError):
        found("roles-overlap", evidence())


def job_of(bound_s: float, *directions: str) -> JobLoad:
    return JobLoad("a", directions or ("read",), bound_s=bound_s)


def ran(seconds: dict[str, float], runtime_s: float, *jobs: JobLoad) -> RunEvidence:
    """Return the evidence of a run that measured each direction for these seconds."""
    dirs = {name: direction(10.0, 4e4) for name in seconds}
    for name, each in dirs.items():
        each.runtime_s = seconds[name]
    at = evidence({"h1": dirs}, jobs=jobs)
    at.steps[0].runtime_s, at.steps[0].measured_s = runtime_s, max(seconds.values())
    return at


def test_start_delays_of_single_jobs_do_not_make_a_load_short() -> None:
    planned_s = 6.0  # from the start of the first job to the end of the last
    assert found("short", ran({"read": 4.0}, planned_s, job_of(4.0), job_of(4.0))) == []
    assert found("short", ran({"read": 3.0}, planned_s, job_of(4.0), job_of(4.0)))


def test_reads_that_verify_come_after_the_writes_and_count_as_time_of_the_load() -> None:
    writer = job_of(12.0, "write")
    assert found("short", ran({"write": 8.0, "read": 4.0}, 12.0, writer)) == []
    assert found("short", ran({"write": 5.0, "read": 4.0}, 12.0, writer))
    both = job_of(12.0, "read", "write")
    assert found("short", ran({"write": 8.0, "read": 8.0}, 12.0, both)), "at the same time"
