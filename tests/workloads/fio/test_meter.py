"""From cumulative snapshots to samples."""

from __future__ import annotations

from collections import Counter

import pytest
from msgspec.structs import replace

from tests.workloads.fio.fixtures import names, snapshots
from tui.model.dense import listed
from tui.model.event import Sample
from tui.workloads.fio.results import Meter
from tui.workloads.fio.snapshot import (
    LatencyKind,
    Snapshot,
    StatusDirection,
    StatusJob,
    StatusLatency,
)

STREAMS = [name for name in names("stream", "stall", "size", "errors") if snapshots(name)]


def samples(
    found: list[Snapshot], kind: LatencyKind = "clat", *, ramp: bool = False
) -> list[Sample]:
    meter = Meter("h1", 3, "measure", kind, ramp=ramp)
    made = [sample for snapshot in found if (sample := meter.feed(snapshot))]
    last = meter.flush()
    return made + ([last] if last else [])


def moment(
    ms: int, *ios: int, latencies: bool = True, started: int = 0, runtime: int | None = None
) -> Snapshot:
    return Snapshot(
        timestamp_ms=1_000_000 + ms,
        jobs=[job(ms, each, latencies, started, runtime) for each in ios],
    )


def job(ms: int, ios: int, latencies: bool, started: int, runtime: int | None) -> StatusJob:
    clat = (
        StatusLatency(max=900, mean=100.0, n=ios, bins={100: ios})
        if latencies and ios
        else StatusLatency()
    )
    ran = runtime if runtime is not None else ms if ios else 0
    read = StatusDirection(io_bytes=ios * 4096, total_ios=ios, runtime=ran, clat=clat)
    return StatusJob(jobname="j", job_start=started and 1_000_000 + started, read=read)


@pytest.mark.parametrize("name", STREAMS)
def test_samples_add_up_to_the_totals_of_the_last_object(name: str) -> None:
    ramp = "ramp" in name
    found = [sample for sample in samples(snapshots(name), ramp=ramp) if not sample.ramp]
    last = snapshots(name)[-1]
    expected: Counter[str] = Counter()
    for entry in last.jobs:
        for direction, part in entry.directions().items():
            expected[direction] += part.total_ios
            expected[direction + " bytes"] += part.io_bytes
            latency = part.lat if direction == "sync" else part.clat
            expected[direction + " latencies"] += (
                sum((latency.bins or {}).values()) if latency else 0
            )
    got: Counter[str] = Counter()
    for sample in found:
        for direction, piece in sample.dirs.items():
            got[direction] += piece.ios
            got[direction + " bytes"] += piece.bytes
            got[direction + " latencies"] += sum(listed(piece.lat).n)
    assert +got == +expected


@pytest.mark.parametrize("name", STREAMS)
def test_every_sample_has_a_length_and_they_follow_each_other(name: str) -> None:
    found = samples(snapshots(name), ramp="ramp" in name)
    assert all(sample.interval_s > 0 for sample in found)
    starts = [sample.host_time_ms - sample.interval_s * 1000 for sample in found]
    assert all(
        start >= sample.host_time_ms - 1 for start, sample in zip(starts[1:], found, strict=False)
    )


@pytest.mark.parametrize("name", ["stream/ramp-3.33", "stream/ramp-master"])
def test_ramp_load_is_marked_and_the_first_measured_sample_restarts(name: str) -> None:
    found = samples(snapshots(name), ramp=True)
    ramping = [sample.ramp for sample in found]
    assert ramping == sorted(ramping, reverse=True)
    first = ramping.index(False)
    assert first >= 3
    assert [sample.restart for sample in found] == [index == first for index in range(len(found))]
    assert all(sum(listed(sample.dirs["read"].lat).n) == 0 for sample in found[:first])


@pytest.mark.parametrize("name", ["stream/ramp-3.33", "stream/ramp-master"])
def test_the_first_sample_after_the_ramp_has_the_length_of_the_measured_part_only(
    name: str,
) -> None:
    restart = next(sample for sample in samples(snapshots(name), ramp=True) if sample.restart)
    assert restart.dirs["read"].ios / restart.interval_s == pytest.approx(2000, rel=0.01)


def test_the_end_of_a_ramp_is_seen_although_the_totals_have_grown_beyond_it() -> None:
    found = samples(
        [moment(1000, 500, latencies=False), moment(6000, 800, started=5000)], ramp=True
    )
    assert [(sample.ramp, sample.restart, sample.dirs["read"].ios) for sample in found] == [
        (True, False, 500),
        (False, True, 800),
    ]
    assert found[1].interval_s == 1.0


def test_a_snapshot_at_the_very_end_of_a_ramp_is_not_a_second_without_load() -> None:
    found = samples(
        [
            moment(1000, 500, latencies=False),
            moment(2000, 0, started=2000),
            moment(3000, 400, started=2000, runtime=1000),
        ],
        ramp=True,
    )
    assert [(sample.ramp, sum(each.ios for each in sample.dirs.values())) for sample in found] == [
        (True, 500),
        (False, 400),
    ]
    assert found[1].interval_s == 1.0


def test_a_job_without_latencies_is_not_taken_for_ramp_load() -> None:
    found = samples([moment(1000, 500, latencies=False), moment(2000, 900, latencies=False)])
    assert [sample.ramp for sample in found] == [False, False]


def test_totals_that_fall_restart_even_without_a_known_ramp() -> None:
    found = samples([moment(1000, 500), moment(2000, 300, started=1500)])
    assert [(sample.restart, sample.dirs["read"].ios, sample.interval_s) for sample in found] == [
        (False, 500, 1.0),
        (True, 300, 0.5),
    ]


def test_the_end_of_one_jobs_ramp_does_not_discard_what_another_has_measured() -> None:
    def two(ms: int, first: int, second: int, ramp: bool) -> Snapshot:
        return replace(
            moment(ms, 0),
            jobs=[
                job(ms, first, True, 0, None),
                job(ms, second, not ramp, 0, 400 if second else 0),
            ],
        )

    found = samples(
        [two(1000, 100, 0, True), two(2000, 200, 50, True), two(3000, 300, 40, False)], ramp=True
    )
    assert [sample.restart for sample in found] == [False, False, False]
    assert [sample.dirs["read"].ios for sample in found] == [100, 100, 140]


@pytest.mark.parametrize(
    "name",
    ["stall/lat100ms-50jobs-3.42", "stall/lat100ms-50jobs-master", "stall/lat100ms-50jobs-3.33"],
)
def test_late_and_bunched_snapshots_give_the_true_rate(name: str) -> None:
    found = samples(snapshots(name))
    assert [sample.interval_s for sample in found if sample.interval_s < 0.05] == []
    rates = [
        sample.dirs["read"].ios / sample.interval_s for sample in found if sample.interval_s > 0.5
    ]
    assert rates == pytest.approx([500] * len(rates), rel=0.08)


def test_a_worker_that_hangs_makes_one_long_sample() -> None:
    assert max(sample.interval_s for sample in samples(snapshots("stall/onehang-3.42"))) > 8


def test_two_snapshots_of_the_same_moment_become_one_sample() -> None:
    found = samples([moment(1000, 100), moment(1000, 110), moment(2000, 200)])
    assert [(sample.interval_s, sample.dirs["read"].ios) for sample in found] == [
        (1.0, 100),
        (1.0, 100),
    ]


def test_a_clock_that_goes_back_does_not_make_a_negative_interval() -> None:
    found = samples([moment(5000, 100), moment(3000, 150), moment(6000, 200)])
    assert [(sample.interval_s, sample.dirs["read"].ios) for sample in found] == [
        (5.0, 100),
        (1.0, 100),
    ]


def test_what_is_held_back_comes_with_the_end_of_the_stream() -> None:
    found = samples([moment(1000, 100), moment(1010, 101)])
    assert [(sample.interval_s, sample.dirs["read"].ios) for sample in found] == [
        (1.0, 100),
        (0.01, 1),
    ]


def test_a_last_object_that_repeats_the_one_before_makes_no_sample() -> None:
    assert len(samples([moment(1000, 100), moment(1010, 100)])) == 1


def test_the_first_sample_is_as_long_as_the_load_has_run() -> None:
    assert samples([moment(3612, 1775, started=100, runtime=814)])[0].interval_s == pytest.approx(
        3.512
    )
    assert samples([moment(900, 1775, runtime=814)])[0].interval_s == pytest.approx(0.814)


def test_time_before_the_load_starts_does_not_dilute_its_first_sample() -> None:
    found = samples([moment(1000, 0), moment(2000, 0), moment(3000, 400, started=2600)])
    assert [(sample.interval_s, dict(sample.dirs)) for sample in found[:-1]] == [(1.0, {})]
    assert (found[-1].interval_s, found[-1].dirs["read"].ios) == (0.4, 400)


def test_fio_that_lays_out_files_shows_that_it_is_alive() -> None:
    found = samples(snapshots("stream/layout-3.33"))
    assert [len(sample.dirs) for sample in found[:4]] == [0, 0, 0, 0]


def test_groups_are_summed_by_direction() -> None:
    last = samples([moment(1000, 10, 20)])[-1].dirs["read"]
    assert (last.ios, last.bytes, last.lat_sum_ns, sum(listed(last.lat).n)) == (
        30,
        30 * 4096,
        3000,
        30,
    )


def test_the_maximum_is_that_since_the_start() -> None:
    found = samples(snapshots("stream/basic-randread-2jobs-3.33"))
    final = snapshots("stream/basic-randread-2jobs-3.33")[-1].jobs[0].read
    assert final is not None
    assert final.clat is not None
    assert found[-1].dirs["read"].lat_max_ns == final.clat.max


def test_the_latency_kind_is_the_one_asked_for() -> None:
    clat, lat = (
        samples(snapshots("stream/slat-3.33"), kind)[-1].dirs["read"] for kind in ("clat", "lat")
    )
    assert sum(listed(lat.lat).n) > 0
    assert lat.lat_sum_ns > clat.lat_sum_ns


def test_samples_say_whose_they_are() -> None:
    sample = samples([moment(1000, 10)])[0]
    assert (sample.host, sample.step, sample.phase, sample.host_time_ms) == (
        "h1",
        3,
        "measure",
        1_001_000,
    )


def stepped(by_ms: int) -> list[Sample]:
    """One I/O a millisecond for 6 s.

    The host's clock is set by so much after the third snapshot.
    """
    return samples(
        [
            moment(s * 1000 + (by_ms if s > 3 else 0), s * 1000, runtime=s * 1000, started=1)
            for s in range(1, 7)
        ]
    )


@pytest.mark.parametrize("by_ms", [-3_600_000, -5_000, -2_500, 3_600_000])
def test_clock_that_is_set_meanwhile_does_not_hold_up_the_samples_nor_bend_a_rate(
    by_ms: int,
) -> None:
    found = stepped(by_ms)
    assert [sample.dirs["read"].ios for sample in found] == [1000] * 6
    assert [sample.interval_s for sample in found][1:] == pytest.approx([1.0] * 5)


def test_snapshots_that_come_late_keep_the_time_of_their_stamps() -> None:
    late = [
        moment(1000, 1000),
        moment(2000, 2000),
        moment(7500, 7500, runtime=2010),
        moment(8500, 8500),
    ]
    assert [sample.interval_s for sample in samples(late)] == [1.0, 1.0, 5.5, 1.0]
