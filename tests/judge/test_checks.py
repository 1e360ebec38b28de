"""What each check finds in a step, and what it leaves alone.

Figures small enough to be checked by hand.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

import tui.judge
from tests.samples.evidence import WRITER, direction, evidence, found, latency, said, series
from tui.judge.bottleneck import bottleneck_of
from tui.judge.catalogue import BY_ID, CHECKS, examine, verdict_of
from tui.judge.chance import Chance
from tui.judge.check import Check, RunEvidence, StepEvidence, UnknownError
from tui.judge.hosts import stalled_seconds
from tui.judge.wording import message_of
from tui.model.criteria import THRESHOLDS
from tui.model.event import ALLOCATION_ENDED, Contradiction, HostResult
from tui.model.figure_record import AggregateRecord, CodedText, LatencyRecord
from tui.model.host_record import HostProblemRecord
from tui.model.plan import BlockShare, JobLoad, Plan
from tui.model.search import Search
from tui.model.step_record import (
    CoverageRecord,
    HostTelemetryRecord,
    StepError,
    TaskRecord,
    TelemetryColumn,
)


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.id)
def test_a_check_explains_itself(check: Check) -> None:
    assert all((check.title, check.rule, check.means, check.advice, check.source))
    assert (check.of_run is None) != (check.of_step is None)


def test_no_two_checks_have_one_id() -> None:
    assert len(BY_ID) == len(CHECKS)


# -- concurrency


@pytest.mark.parametrize(
    ("iops", "mean_ns", "severity"),
    [
        (1000.0, 4_000_000.0, None),  # 4.0 in flight of 4
        (985.0, 4_000_000.0, None),  # 98.5 %
        (970.0, 4_000_000.0, "warning"),
        (943.0, 4_000_000.0, "error"),
        (1030.0, 4_000_000.0, "warning"),
        (2200.0, 4_000_000.0, "error"),
    ],
)
def test_iops_times_latency_is_the_load_that_the_profile_keeps_in_flight(
    iops: float, mean_ns: float, severity: str | None
) -> None:
    result = found("concurrency", evidence({"h1": {"write": direction(iops, mean_ns)}}))
    assert [each.severity for each in result] == ([severity] if severity else [])


def test_fewer_in_flight_on_a_host_whose_cpu_nobody_watched_is_no_error() -> None:
    for share, severity in ((0.75, "warning"), (2.25, "error")):
        at = evidence({"h1": {"write": direction(1000.0 * share, 4_000_000.0)}})
        assert said("concurrency", replace(at, foreign=True)) == [(severity, share)]
        assert said("concurrency", at) == [("error", share)]


def test_what_the_load_generator_needs_between_two_quick_ios_is_no_missing_load() -> None:
    assert (
        found("concurrency", evidence({"h1": {"write": direction(100_000.0, 30_000.0)}})) == []
    )  # 75 %, 10 µs between


def test_a_worker_that_waits_for_syncs_is_in_flight() -> None:
    write, sync = direction(100.0, 10_000_000.0), direction(100.0, 30_000_000.0)
    assert found("concurrency", evidence({"h1": {"write": write, "sync": sync}})) == []
    assert said("concurrency", evidence({"h1": {"write": write}})) == [("error", 0.25)]


def test_ios_in_flight_of_an_asynchronous_engine_may_wait_for_a_sync_of_their_worker() -> None:
    queued, waiting = replace(WRITER, queues=True), replace(WRITER, queues=False)
    write, sync = direction(1000.0, 3_900_000.0), direction(100.0, 3_000_000.0)  # 3.9 + 0.3 of 4
    for job, expected in ((queued, []), (waiting, [("error", 1.05)])):
        at = evidence({"h1": {"write": write, "sync": sync}}, jobs=[job])
        assert said("concurrency", at) == expected
    more = direction(1000.0, 4_400_000.0)  # more than 4, whatever waits for what
    at = evidence({"h1": {"write": more, "sync": sync}}, jobs=[queued])
    assert said("concurrency", at) == [("error", 1.1)]


def test_files_that_are_opened_between_ios_weaken_a_share_below_the_depth_only() -> None:
    job = replace(WRITER, reopens=True)
    for rate, severity in ((400.0, "warning"), (2000.0, "error")):
        at = evidence({"h1": {"write": direction(rate, 4_000_000.0)}}, jobs=[job])
        assert said("concurrency", at) == [(severity, rate / 1000)]


def test_writes_and_their_later_verification_are_not_in_flight_together() -> None:
    each = direction(1000.0, 4_000_000.0)
    assert found("concurrency", evidence({"h1": {"read": each, "write": each}})) == []


def test_whole_files_are_in_flight_instead_of_their_ios_and_not_beside_them() -> None:
    ios, opened = direction(100.0, 30_000_000.0), direction(100.0, 40_000_000.0)
    assert found("concurrency", evidence({"h1": {"write": ios, "write-files": opened}})) == []
    assert said("concurrency", evidence({"h1": {"write": ios}})) == [("error", 0.75)]


def test_fewer_in_flight_on_a_client_whose_cpu_is_busy_weakens_the_figure_only() -> None:
    busy = TelemetryColumn(name="cpu.busy", unit="percent", mean=97.0)
    host = HostTelemetryRecord(host="h1", start_s=0.0, end_s=60.0, columns=[busy])
    at = evidence({"h1": {"write": direction(1000.0, 3_000_000.0)}}, telemetry=[host])
    (only,) = found("concurrency", at)
    assert (only.severity, only.measured) == ("warning", 0.75)
    assert message_of(only).endswith("75.0 % of that; the client's CPU was busy")
    few = [
        TelemetryColumn(name=f"gen.{name}", unit="core_percent", mean=8.0)
        for name in ("cpu", "wait")
    ]
    host.columns.extend(few)
    assert said("concurrency", at) == [("error", 0.75)], (
        "4 % of the workers' time does not explain a quarter"
    )
    more = evidence({"h1": {"write": direction(1000.0, 9_000_000.0)}}, telemetry=[host])
    assert said("concurrency", more) == [("error", 2.25)]


@pytest.mark.parametrize(
    ("jobs", "record", "why"),
    [
        ([JobLoad("w", ("write",), held=4, paced=True)], {}, "paced"),
        ([JobLoad("a", ("write",)), JobLoad("b", ("write",), wave=1)], {}, "jobs-in-sequence"),
        ([WRITER], {"measured_s": 20.0}, "size-bound"),
        ([], {}, "queue-depth"),
    ],
)
def test_a_load_that_is_not_always_the_same_is_not_judged(
    jobs: list[JobLoad], record: dict[str, Any], why: str
) -> None:
    with pytest.raises(UnknownError, match=why):
        found("concurrency", evidence(jobs=jobs, **record))


# -- rate, length, tails


@pytest.mark.parametrize(("reached", "doubt"), [(2000.0, False), (1981.0, False), (1900.0, True)])
def test_a_rate_that_is_not_reached_is_reported(reached: float, doubt: bool) -> None:
    job = JobLoad("w", ("write",), paced=True, rate_iops={"write": 2000.0})
    result = found("offered-rate", evidence({"h1": {"write": direction(reached, 1e6)}}, jobs=[job]))
    said = ["write: achieved 1.90k of 2.00k IOPS offered (95 %)"] if doubt else []
    assert [message_of(each) for each in result] == said


@pytest.mark.parametrize(("reached", "doubt"), [(295.0, False), (240.0, True)])
def test_poisson_arrivals_may_fall_short_by_chance(reached: float, doubt: bool) -> None:
    job = JobLoad("w", ("write",), paced=True, rate_iops={"write": 300.0}, poisson=True)
    assert (
        bool(
            found(
                "offered-rate",
                evidence({"h1": {"write": direction(reached, 1e6)}}, jobs=[job], measured_s=13.0),
            )
        )
        is doubt
    )


@pytest.mark.parametrize(("reached", "doubt"), [(99e6, False), (75e6, True)])
def test_a_rate_in_bytes_of_few_large_blocks_may_fall_short_by_one_of_them(
    reached: float, doubt: bool
) -> None:
    split = (BlockShare(4096, 4096, 0.99), BlockShare(1 << 20, 1 << 20, 0.01))
    job = JobLoad(
        "w", ("write",), paced=True, rate_bytes_per_s={"write": 100e6}, blocks={"write": split}
    )
    result = direction(reached / 14561, 1e6, bw_bytes_per_s=reached)
    assert bool(found("offered-rate", evidence({"h1": {"write": result}}, jobs=[job]))) is doubt


@pytest.mark.parametrize(("reached", "doubt"), [(400.0, False), (300.0, True)])
def test_a_job_that_misses_its_rate_is_reported_though_others_of_its_direction_have_none(
    reached: float, doubt: bool
) -> None:
    jobs = [
        JobLoad("log", ("write",), paced=True, rate_iops={"write": 400.0}),
        JobLoad("bulk", ("write",)),
    ]
    at = evidence({"h1": {"write": direction(9000.0 + reached, 1e6)}}, jobs=jobs)
    by_job = {"log": {"write": direction(reached, 1e6)}, "bulk": {"write": direction(9000.0, 1e6)}}
    at.steps[0].results.jobs = by_job
    result = found("offered-rate", at)
    assert [message_of(each) for each in result] == (
        ["write of job log: achieved 300 of 400 IOPS offered (75 %)"] if doubt else []
    )
    # reported as one: which share each has is not known
    at.steps[0].results.jobs = {"log": by_job["log"]}
    assert not found("offered-rate", at)


@pytest.mark.parametrize(("seconds", "severity"), [(5.0, "warning"), (30.0, "info"), (60.0, None)])
def test_a_short_measurement_is_a_note_and_a_very_short_one_a_warning(
    seconds: float, severity: str | None
) -> None:
    result = found("runtime", evidence(runtime_s=seconds, measured_s=seconds))
    assert [each.severity for each in result] == ([severity] if severity else [])


def test_a_warm_up_is_not_judged() -> None:
    with pytest.raises(UnknownError, match="nothing-measured"):
        found("runtime", evidence(runtime_s=5.0, measured_s=5.0, warmup=True))


def test_what_is_the_same_of_several_steps_is_one_finding() -> None:
    at = evidence(runtime_s=5.0, measured_s=5.0)
    twice = RunEvidence(
        replace_steps(at),
        at.hosts,
        [*at.steps, at.steps[0].model_copy(update={"index": 1})],
        at.seen,
    )
    assert [each.scope for each in found("runtime", twice)] == [{"steps": "0 1"}]


def test_what_weakens_several_points_of_a_search_is_reported_once_at_its_worst() -> None:
    job = JobLoad("w", ("write",), paced=True, rate_iops={"write": 2000.0})
    at = evidence({"h1": {"write": direction(1900.0, 1e6)}}, jobs=[job])
    other = at.steps[0].model_copy(update={"index": 1}, deep=True)
    other.results.aggregate["write"].iops = 1500.0
    plan = msgspec.structs.replace(replace_steps(at), search=Search("capacity"))
    points = RunEvidence(plan, at.hosts, [*at.steps, other], at.seen)
    (only,) = found("offered-rate", points)
    assert (only.scope, only.measured) == ({"steps": "0 1", "direction": "write"}, 0.75)
    assert (
        message_of(only)
        == "write: achieved 1.50k of 2.00k IOPS offered (75 %); the worst of 2 points"
    )
    assert only.severity == "info", "more than can be done is offered on purpose"
    swept = found(
        "offered-rate", RunEvidence(replace_steps(at), at.hosts, [*at.steps, other], at.seen)
    )
    assert [each.severity for each in swept] == ["warning", "warning"]


def replace_steps(at: RunEvidence) -> Plan:
    return Plan(at.plan.profile, {}, at.plan.hosts, [*at.plan.steps, at.plan.steps[0]])


def test_percentiles_of_few_ios_are_named() -> None:
    (only,) = found("few-samples", evidence({"h1": {"write": direction(33.0, 1e6, n=2000)}}))
    assert (only.severity, message_of(only)) == (
        "info",
        "write: 2,000 I/Os are too few for p99.9 and above",
    )


def test_a_wait_in_the_submission_that_clat_leaves_out_is_a_warning() -> None:
    hidden = {"write": direction(100.0, 1e6, slat=latency(9e5), clat=latency(1e5))}
    buffered = [JobLoad("w", ("write",), queues=True)]
    assert said("slat", evidence({"h1": hidden}, jobs=buffered)) == [("warning", 0.9)]
    assert said("slat", evidence({"h1": hidden}, plan={"latency_kind": "lat"})) == []


@pytest.mark.parametrize(("direct", "fileless"), [(True, False), (False, True)])
def test_what_it_costs_to_submit_past_the_page_cache_is_a_note(
    *, direct: bool, fileless: bool
) -> None:
    hidden = {"write": direction(100.0, 1e6, slat=latency(9e5), clat=latency(1e5))}
    jobs = [JobLoad("w", ("write",), queues=True, direct=direct, fileless=fileless)]
    assert said("slat", evidence({"h1": hidden}, jobs=jobs)) == [("info", 0.9)]


@pytest.mark.parametrize(
    ("iops", "slat_ns", "expected"),
    [
        (4000.0, 990_000.0, [("warning", 0.99)]),
        (4000.0, 500_000.0, []),
        (4000.0, 8_000_000.0, []),  # submissions of a batch overlap
    ],
)
def test_workers_that_always_submit_have_no_queue(
    iops: float, slat_ns: float, expected: list[tuple[str, float]]
) -> None:
    jobs = [JobLoad("w", ("write",), queues=True, direct=True, workers=4, held=32)]
    one = {"write": direction(iops, 8e6, slat=latency(slat_ns), clat=latency(7e6))}
    assert said("depth", evidence({"h1": one}, jobs=jobs)) == expected
    synchronous = [JobLoad("w", ("write",), direct=True, workers=4, held=4)]
    assert said("depth", evidence({"h1": one}, jobs=synchronous)) == []


def test_time_in_syncs_is_a_note_when_it_is_most_of_it() -> None:
    job = JobLoad("w", ("write",), workers=1, durable="fdatasync=1")
    dirs = {"write": direction(100.0, 20_000.0), "sync": direction(100.0, 8_000_000.0)}
    assert said("sync", evidence({"h1": dirs}, jobs=[job])) == [("info", 0.8)]


def test_syncs_of_a_queue_are_a_share_of_what_it_holds_and_never_more() -> None:
    job = JobLoad("w", ("write",), workers=1, held=8, queues=True, durable="fsync=1")
    dirs = {"write": direction(100.0, 20_000.0), "sync": direction(100.0, 60e6)}
    assert said("sync", evidence({"h1": dirs}, jobs=[job])) == [("info", 0.75)]
    dirs["sync"] = direction(100.0, 1e9)
    with pytest.raises(UnknownError):
        said("sync", evidence({"h1": dirs}, jobs=[job]))


def test_workers_may_wait_for_syncs_without_a_latency() -> None:
    sync = direction(100.0, 1e6)
    sync.lat = None
    at = evidence({"h1": {"write": direction(100.0, 60_000_000.0), "sync": sync}})  # 6 of 4
    assert said("concurrency", at) == [("error", 1.5)]
    with pytest.raises(UnknownError):
        said(
            "concurrency", evidence({"h1": {"write": direction(100.0, 10_000_000.0), "sync": sync}})
        )


# -- errors


def test_an_error_of_the_load_generator_is_an_error_of_the_run() -> None:
    (only,) = found("tool-errors", evidence(tasks={"h1": TaskRecord(exit_code=1, errors=[5])}))
    assert (only.severity, message_of(only)) == (
        "error",
        "the load generator failed: h1 EIO (Input/output error)",
    )


def test_failed_ios_are_an_error_even_if_the_load_generator_reports_success() -> None:
    at = evidence(tasks={"h1": TaskRecord(final=True, exit_code=0)})
    at.seen.state.at_step(0).results["h1"] = HostResult(
        t=0.0, host="h1", step=0, failed_ios=30, dirs={}
    )
    (only,) = found("tool-errors", at)
    assert (only.severity, "failed I/Os: 30" in message_of(only)) == ("error", True)


def test_a_load_that_was_stopped_on_request_has_no_error() -> None:
    assert (
        found("tool-errors", evidence(state="cut", tasks={"h1": TaskRecord(exit_code=128)})) == []
    )


def test_short_ios_are_an_error() -> None:
    at = evidence(
        {"h1": {"write": direction(1.0, 1.0, short_ios=3)}}, tasks={"h1": TaskRecord(exit_code=0)}
    )
    assert said("tool-errors", at) == [("error", 3)]


def test_an_allocation_that_ended_is_named_once() -> None:
    over = CodedText(code="allocation-over", operands={"job": "7", "state": "cancelled"})
    at = evidence(coverage=[CoverageRecord(start_s=0.0, end_s=60.0, hosts=2, of=2)])
    at.steps[0].errors = [
        StepError(host=name, code=ALLOCATION_ENDED, message=over) for name in ("h1", "h2")
    ]
    (only,) = found("host-loss", at)
    assert message_of(only) == "allocation 7 ended: cancelled"


def test_a_host_that_ended_well_and_did_nothing_is_an_error() -> None:
    ended = TaskRecord(exit_code=0, final=True)
    whole = CoverageRecord(start_s=0.0, end_s=60.0, hosts=2, of=2)
    at = evidence(coverage=[whole], tasks={"h1": ended, "h2": ended})
    (only,) = found("host-loss", at)
    assert (only.severity, only.scope["hosts"]) == ("error", "h2")
    assert (
        found("host-loss", evidence(coverage=[whole], tasks={"h1": ended, "h2": TaskRecord()}))
        == []
    )


def test_a_host_that_was_restarted_is_named() -> None:
    at = evidence(facts={"boot_id": "a"})
    at.hosts[0].problems.append(
        HostProblemRecord(phase="measure", code="host-rebooted", message="")
    )
    assert [each.scope for each in found("host-restart", at)] == [{"hosts": "h1"}]


# -- steadiness


@pytest.mark.parametrize(
    ("values", "doubt"),
    [
        ([100.0] * 60, False),
        ([100.0, 104.0, 96.0, 101.0] * 15, False),
        ([100.0 - second * 0.5 for second in range(60)], True),  # drifts by 28 %
        ([100.0] * 36 + [60.0] * 24, True),
    ],
)
def test_a_rate_that_moves_is_no_steady_state(values: Sequence[float | None], doubt: bool) -> None:
    assert bool(found("steady-state", evidence(series=series(values)))) is doubt


@pytest.mark.parametrize(("seconds", "why"), [(8, "too-short"), (9, "no-jump"), (24, "no-jump")])
def test_a_short_series_without_a_change_is_not_judged(seconds: int, why: str) -> None:
    with pytest.raises(UnknownError, match=why):
        found("steady-state", evidence(series=series([100.0] * seconds)))


@pytest.mark.parametrize(
    ("values", "doubt"),
    [
        ([100.0, 103.0, 98.0] * 4 + [62.0, 60.0, 63.0] * 2, True),  # a limit of 38 % less
        ([100.0, 103.0, 98.0] * 3 + [81.0] + [62.0, 60.0, 63.0] * 2, True),  # within a second
        ([100.0, 103.0, 98.0] * 3 + [85.0, 86.0, 84.0] * 3, False),  # within SNIA's range
        ([100.0, 60.0, 103.0, 98.0] * 5, False),  # garbage collection every 4 s
        ([100.0 - 3 * (at % 12) for at in range(20)], False),  # sawtooth
        ([76.6, 76.3, 75.1, 76.9, 52.9, 31.5, 31.2, 32.0, 33.1], True),  # a load of 10 s
        ([100.0, 100.0, 100.0, 60.0] * 2, False),  # too short
    ],
)
def test_a_short_series_may_change_once(values: Sequence[float | None], doubt: bool) -> None:
    at = evidence(series=series(values))
    if doubt:
        assert found("steady-state", at)
        at.steps[0].state = "running"
    with pytest.raises(UnknownError, match=r"too-short|no-jump"):
        found("steady-state", at)


@pytest.mark.parametrize(
    ("values", "stalled"),
    [
        ([80.6, 41.8, 1.7, 0.5, 0.5, 37.6], 3),  # a load of 7 s
        ([80.0, 30.0, 0.5, 0.5, 25.0, 80.0, 81.0, 82.0, 79.0], 4),  # 3 s, not whole seconds
        ([80.0, 75.0, 0.5, 0.5, 60.0, 80.0, 81.0, 82.0, 79.0], 0),  # 2 s
        ([80.0, 40.0, 30.0, 30.0, 30.0, 30.0], 0),  # a cache that is full
        ([80.0, 70.0, 0.5, 0.5, 80.0], 0),
    ],
)
def test_stalls_in_short_loads(values: list[float], stalled: int) -> None:
    seconds = stalled_seconds([values], [values], tail=True, chance=Chance())
    assert len(seconds) == stalled


@pytest.mark.parametrize(
    ("first", "doubt"), [(100.0, False), (95.0, False), (40.0, True), (250.0, True)]
)
def test_a_warm_up_that_is_in_the_figure_is_reported(first: float, doubt: bool) -> None:
    values: Sequence[float | None] = [first] * 6 + [100.0, 101.0, 99.0] * 18
    assert bool(found("warm-up", evidence(series=series(values)))) is doubt


def test_seconds_without_samples_are_counted() -> None:
    at = evidence(series=series([1.0] * 20 + [None] * 3 + [1.0] * 37, "h1"))
    assert said("missing-samples", at) == [("warning", 3)]


# -- hosts and repetitions


def test_hosts_that_share_unfairly_are_reported_though_none_is_a_straggler() -> None:
    rates = {"h1": 84.0, "h2": 100.0, "h3": 118.0}
    hosts = {name: {"write": direction(rate, 1e6)} for name, rate in rates.items()}
    (only,) = found("straggler", evidence(hosts))
    assert (
        message_of(only)
        == "write: hosts deviate by 14 %, from 84 IOPS (h1) to 118 (h3); Jain's index 0.981"
    )


def test_a_host_with_a_long_tail_is_named() -> None:
    def host(p99: int) -> dict[str, AggregateRecord]:
        lat = LatencyRecord(n=1000, mean_ns=1e6, percentiles_ns={"99": p99})
        return {"write": direction(100.0, 1e6, clat=lat)}

    (only,) = found(
        "straggler", evidence({"h1": host(1_000_000), "h2": host(1_000_000), "h3": host(9_000_000)})
    )
    assert (only.scope["hosts"], only.measured) == ("h3", 9.0)


def test_a_threshold_that_the_profile_changes_is_the_one_that_is_judged_by() -> None:
    at = evidence(
        runtime_s=5.0,
        measured_s=5.0,
        plan={"thresholds": {"runtime.warning_s": 3.0, "runtime.note_s": 4.0}},
    )
    assert said("runtime", at) == []
    at = evidence(runtime_s=5.0, measured_s=5.0, plan={"thresholds": {"runtime.warning_s": 6.0}})
    assert [(each.severity, each.threshold) for each in found("runtime", at)] == [("warning", 6.0)]


@pytest.mark.parametrize("name", THRESHOLDS)
def test_every_threshold_is_asked_for_by_its_check(name: str) -> None:
    folder = Path(str(tui.judge.__file__)).parent
    assert any(f'"{name}"' in file.read_text(encoding="utf-8") for file in folder.glob("*.py"))
    assert name.partition(".")[0] in BY_ID


def failed_load() -> RunEvidence:
    """Return a step whose every I/O failed: counted, but without bytes, rate or latency."""
    nothing = AggregateRecord(hosts=["h1"], ios=16, bytes=0, runtime_s=0.0)
    busy = TelemetryColumn(name="cpu.busy", unit="percent", mean=100.0, max=100.0)
    return evidence(
        {"h1": {"write": nothing}},
        facts={"cpus": 2},
        state="failed",
        measured_s=0.0,
        tasks={"h1": TaskRecord(exit_code=1, errors=[22])},
        telemetry=[HostTelemetryRecord(host="h1", start_s=0.0, end_s=60.0, columns=[busy])],
    )


def test_a_step_of_failed_io_only_is_judged_by_its_errors_and_its_length_alone() -> None:
    at = failed_load()
    told = Contradiction(about="elapsed", told=5.0, expected=1.0, job="j")
    result = HostResult(t=1.0, host="h1", step=0, dirs={}, contradictions=[told])
    at.seen.state.at_step(0).results["h1"] = result
    judged = examine(at)
    of_steps = {check.id for check in CHECKS if check.of_step}
    assert {each.id for each in judged.findings} & of_steps == {"tool-errors", "short"}
    assert judged.not_made["own-figures"] == CodedText(code="no-completed-io")
    assert bottleneck_of(StepEvidence(at, at.plan.steps[0], at.steps[0])) is None
    assert verdict_of("failed", at.steps, judged.findings) is None


@pytest.mark.parametrize("done", [{"bytes": 4096}, {"iops": 1.0}, {"lat": latency(1e6)}])
def test_one_figure_of_a_completed_io_is_enough_to_judge_a_step(done: dict[str, Any]) -> None:
    at = failed_load()
    at.steps[0].results.aggregate["write"] = AggregateRecord(
        **{"hosts": ["h1"], "ios": 16, "bytes": 0} | done
    )
    assert verdict_of("partial", at.steps, examine(at).findings) == "invalid"
    assert bottleneck_of(StepEvidence(at, at.plan.steps[0], at.steps[0])) is not None
