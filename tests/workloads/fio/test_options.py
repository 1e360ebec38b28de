"""What fio options mean for a plan."""

from __future__ import annotations

import pytest

from tui.model.problem import UsageError
from tui.workloads.fio.loads import job_loads
from tui.workloads.fio.options import JobOptions


def job(**own: str) -> JobOptions:
    return JobOptions("j", {"bs": "4k"}, own)


def test_a_jobs_own_value_wins_over_global_and_both_names_count() -> None:
    assert job(bs="1m").get("bs") == "1m"
    assert job().get("bs") == "4k"
    assert JobOptions("j", {"bs": "4k"}, {"blocksize": "8k"}).get("bs") == "8k"
    assert job().get("rw") is None


@pytest.mark.parametrize(
    ("value", "flag"),
    [("1", True), ("0", False), ("", True), ("true", True), ("false", False), (None, False)],
)
def test_flags(value: str | None, flag: bool) -> None:
    options = job() if value is None else job(time_based=value)
    assert options.flag("time_based") is flag


@pytest.mark.parametrize(
    ("rw", "access"),
    [
        (None, ("read",)),
        ("randwrite", ("write",)),
        ("randrw", ("read", "write")),
        ("randread:8", ("read",)),
        ("trimwrite", ("write", "trim")),
    ],
)
def test_kinds_of_io(rw: str | None, access: tuple[str, ...]) -> None:
    options = job() if rw is None else job(rw=rw)
    assert options.access == access
    assert options.writes is (access != ("read",))


def test_unified_reporting_gives_one_mixed_direction() -> None:
    assert job(rw="randrw", unified_rw_reporting="mixed").directions == ("mixed",)
    assert job(rw="randrw", unified_rw_reporting="both").directions == ("read", "write")


@pytest.mark.parametrize(
    ("engine", "in_flight"),
    [("libaio", 64), ("io_uring", 64), ("posixaio", 64), ("psync", 4), ("mmap", 4), (None, 4)],
)
def test_synchronous_engines_hold_one_io_a_worker_whatever_iodepth_says(
    engine: str | None, in_flight: int
) -> None:
    own = {"numjobs": "4", "iodepth": "16"} | ({"ioengine": engine} if engine else {})
    assert job(**own).in_flight == in_flight


@pytest.mark.parametrize(
    ("options", "reopens"),
    [
        ({}, False),
        ({"nrfiles": "64"}, False),
        ({"nrfiles": "64", "openfiles": "64"}, False),
        ({"nrfiles": "64", "openfiles": "16"}, True),
    ],
)
def test_a_job_with_more_files_than_it_keeps_open_opens_them_between_ios(
    options: dict[str, str], reopens: bool
) -> None:
    (load,) = job_loads([job(rw="randread", **options)])
    assert load.reopens is reopens


def test_sizes_and_times_may_be_ranges() -> None:
    assert job(filesize="4k-1m").size("filesize") == 1 << 20
    assert job(startdelay="5-10").seconds("startdelay") == 10
    assert job(runtime="250ms").seconds("runtime") == 0.25
    assert job(size="50%").size("size") is None


@pytest.mark.parametrize(
    ("option", "value"), [("rw", "reed"), ("numjobs", "many"), ("size", "big"), ("runtime", "long")]
)
def test_values_that_mean_nothing_are_refused_by_name(option: str, value: str) -> None:
    options = job(**{option: value})
    with pytest.raises(UsageError, match=f"job j: {option}={value}"):
        _ = (options.access, options.numjobs, options.size("size"), options.seconds("runtime"))
