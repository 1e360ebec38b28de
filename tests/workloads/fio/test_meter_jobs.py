"""Samples of several jobs: what each did, told once."""

from __future__ import annotations

from collections import Counter

from msgspec.structs import replace

from tests.workloads.fio.test_meter import moment, samples
from tui.model.dense import listed
from tui.model.event import PhaseName, encode
from tui.workloads.fio.results import Meter
from tui.workloads.fio.snapshot import Snapshot, StatusDirection

NAMES = ("first", "second")


def named(snapshot: Snapshot, *names: str) -> Snapshot:
    jobs = [replace(job, jobname=name) for job, name in zip(snapshot.jobs, names, strict=True)]
    return replace(snapshot, jobs=jobs)


def writing(snapshot: Snapshot, place: int) -> Snapshot:
    """The job at this place writes what it read."""
    jobs = list(snapshot.jobs)
    jobs[place] = replace(jobs[place], write=jobs[place].read, read=StatusDirection())
    return replace(snapshot, jobs=jobs)


def test_jobs_that_do_the_same_have_parts_that_add_up_to_the_direction() -> None:
    found = samples([named(moment(1000, 10, 1), *NAMES), named(moment(2000, 30, 2), *NAMES)])
    for sample in found:
        parts = [dirs["read"] for dirs in sample.of_jobs().values()]
        assert sum(part.ios for part in parts) == sample.dirs["read"].ios
        assert sum(sum(listed(part.lat).n) for part in parts) == sum(
            listed(sample.dirs["read"].lat).n
        )
    ios = Counter(
        {name: sum(sample.of_jobs()[name]["read"].ios for sample in found) for name in NAMES}
    )
    assert ios == {"first": 30, "second": 2}


def test_a_direction_of_one_job_alone_is_written_once() -> None:
    mixed = [writing(named(moment(ms, 10 * ms, ms), *NAMES), 1) for ms in (1000, 2000)]
    for sample in samples(mixed):
        assert sample.jobs == {"first": {"read": None}, "second": {"write": None}}
        assert sample.of_jobs() == {
            "first": {"read": sample.dirs["read"]},
            "second": {"write": sample.dirs["write"]},
        }


def test_one_job_alone_writes_nothing_more() -> None:
    for sample in samples([named(moment(1000, 10), "only"), named(moment(2000, 30), "only")]):
        assert b'"jobs"' not in encode(sample)


def test_entries_of_one_name_are_one_job() -> None:
    for sample in samples(
        [named(moment(1000, 10, 5), "j", "j"), named(moment(2000, 30, 9), "j", "j")]
    ):
        assert not sample.jobs


def test_files_that_are_laid_out_are_of_no_job() -> None:
    phase: PhaseName = "layout"
    meter = Meter("h1", 0, phase)
    sample = meter.feed(named(moment(1000, 10, 5), *NAMES))
    assert sample is not None and not sample.jobs


def test_a_job_that_waits_for_the_one_before_counts_for_itself() -> None:
    found = samples([named(moment(1000, 10, 0), *NAMES), named(moment(2000, 10, 7), *NAMES)])
    assert found[0].of_jobs().keys() == {"first"}
    assert found[1].of_jobs()["second"]["read"].ios == 7
    assert found[1].of_jobs()["first"]["read"].ios == 0
