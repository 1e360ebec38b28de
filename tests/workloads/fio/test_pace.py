"""An offered rate, split over hosts, workers and directions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.workloads.fio.real import needs_fio, run
from tui import workloads
from tui.model.address import HostAddress
from tui.model.operands import clause
from tui.model.plan import HostTask, Step
from tui.model.problem import UsageError
from tui.model.profile import resolve_params
from tui.model.profile_model import whole
from tui.model.search import Offer
from tui.workloads.base import Paced
from tui.workloads.fio.variants import rate_of_gap, spread, worker_rates

ATTEMPTS = 4
JOB = {
    "rw": "randrw",
    "rwmixread": 70,
    "ioengine": "libaio",
    "iodepth": 4,
    "numjobs": 4,
    "size": "1M",
}


def paced(
    job: Mapping[str, Any],
    rate: float | None,
    hosts: int = 2,
    more: Mapping[str, Any] | None = None,
    shares: Mapping[str, float] | None = None,
) -> Paced:
    """The step of one job, or of more, at a rate; an option that is None is not set."""
    own = {
        name: value
        for name, value in {**JOB, "directory": "/mnt/t", **job}.items()
        if value is not None
    }
    profile = whole().model_validate(
        {
            "profile": "my/p",
            "title": "A profile",
            "tool": "fio",
            "fio": {"global": {"runtime": 60, "rate_iops": 5}, "jobs": {"a": own, **(more or {})}},
            "headline": {"metric": "iops", "direction": "read"},
        }
    )
    names = [f"h{at}" for at in range(hosts)]
    addresses, seeds = (
        [HostAddress(name) for name in names],
        {name: at + 1 for at, name in enumerate(names)},
    )
    return workloads.get("fio").pace(
        profile,
        resolve_params(profile, {}),
        addresses,
        seeds,
        Offer(rate, 10.0, shares=dict(shares or {})),
    )


def sections(task: HostTask) -> dict[str, dict[str, str]]:
    """Options of a job file by section."""
    found: dict[str, dict[str, str]] = {}
    for line in task.job_file.splitlines():
        if line.startswith("["):
            found[line.strip("[]")] = {}
        elif line and not line.startswith(";"):
            name, _, value = line.partition("=")
            list(found.values())[-1][name] = value
    return found


def rates(step: Step) -> Counter[str]:
    """Sums of the rate options by direction, over hosts, sections and workers."""
    total: Counter[str] = Counter()
    for task in step.tasks:
        for name, own in sections(task).items():
            if name != "global":
                given = own["rate_iops"].split(",")
                both = given if len(given) > 1 else [given[0], "0"]
                total.update(
                    {
                        d: int(r) * int(own["numjobs"])
                        for d, r in zip(("read", "write"), both, strict=True)
                    }
                )
    return total


@pytest.mark.parametrize(("hosts", "rate"), [(1, 1000), (2, 1003), (3, 7777), (5, 999.6)])
def test_rates_of_all_workers_add_up_to_what_is_offered(hosts: int, rate: float) -> None:
    found = rates(paced({}, rate, hosts).step)
    assert (found["read"], found["write"]) == (
        round(round(rate) * 0.7),
        round(rate) - round(round(rate) * 0.7),
    )


@given(st.integers(1, 400), st.integers(1, 3_000_000))
@example(1, 514_286)  # between gaps of 2 and 3 us
def test_what_fio_makes_of_workers_rates_comes_to_the_total(workers: int, total: int) -> None:
    workers = min(workers, total)
    options = worker_rates(total, workers)
    assert len(options) == workers and min(options) > 0
    if total <= 1000 * workers:
        assert sum(options) == total and max(options) - min(options) <= 1
    else:
        gap = 1_000_000 // options[0]
        above = rate_of_gap(gap - 1) if gap > 1 else rate_of_gap(gap)
        furthest = max(rate_of_gap(gap) - rate_of_gap(gap + 1), (above - rate_of_gap(gap)) / 2)
        assert abs(sum(rate_of_gap(1_000_000 // each) for each in options) - total) <= furthest


@given(st.lists(st.integers(1, 9), min_size=1, max_size=5))
def test_hosts_differ_by_one_worker_of_the_larger_rate_at_most(counts: list[int]) -> None:
    found = spread([2] * (sum(counts) // 2) + [1] * (sum(counts) - sum(counts) // 2), counts)
    assert [len(each) for each in found] == counts
    assert all(own == sorted(own, reverse=True) for own in found)


WRITERS = {"rw": "randwrite", "size": "1M", "directory": "/mnt/t", "numjobs": 3}


def by_job(step: Step) -> Counter[str]:
    """Sums of the rate options by job, over hosts and workers: sections without a group of their
    own belong to one.
    """
    total: Counter[str] = Counter()
    for task in step.tasks:
        job = ""
        for name, own in sections(task).items():
            job = job if own.get("new_group") == "0" else name
            rates_of = own["rate_iops"].split(",") if name != "global" else []
            total[job] += sum(map(int, rates_of)) * int(own.get("numjobs", 0))
    return total


@pytest.mark.parametrize(("hosts", "rate"), [(1, 1003), (3, 2001), (2, 60_000)])
def test_several_jobs_share_a_rate_as_they_are_told_over_all_hosts(hosts: int, rate: int) -> None:
    found = paced({"rw": "randread"}, rate, hosts, {"w": WRITERS}, {"a": 0.7, "w": 0.3})
    sums = by_job(found.step)
    assert sums["a"] == pytest.approx(0.7 * rate, abs=1 if rate < 4000 else rate * 0.01)
    assert sums["a"] + sums["w"] == pytest.approx(rate, abs=0 if rate < 4000 else rate * 0.01)
    assert [load.name for load in found.step.jobs] == ["a", "w"]
    assert not found.caveats


def test_sections_for_workers_of_a_job_never_take_the_name_of_another_job() -> None:
    found = paced({"rw": "randread"}, 1003, 1, {"a-4": WRITERS}, {"a": 0.5, "a-4": 0.5})
    assert len(sections(found.step.tasks[0])) > 3, "no worker had a rate of its own"
    assert sum(by_job(found.step).values()) == 1003


def test_the_smallest_job_keeps_one_a_second_on_each_host_and_this_is_reported() -> None:
    found = paced({"rw": "randread"}, 100, 4, {"w": WRITERS}, {"a": 0.999, "w": 0.001})
    assert by_job(found.step)["w"] == 4
    assert sum(by_job(found.step).values()) == 100
    assert clause("above-share", job="w", iops=3) in found.caveats


def test_workers_of_a_section_of_their_own_keep_their_files() -> None:
    full = {task.host: {spec.path for spec in task.files} for task in paced({}, None).step.tasks}
    step = paced({}, 1003).step
    assert {task.host: {spec.path for spec in task.files} for task in step.tasks} == full
    assert any(len(sections(task)) > 2 for task in step.tasks), "no worker had a rate of its own"


def test_a_rate_too_low_for_all_workers_is_offered_by_fewer_and_this_is_reported() -> None:
    found = paced({"rw": "randread"}, 45)
    assert rates(found.step)["read"] == 45
    assert [load.workers for load in found.step.jobs] == [2]
    (told,) = found.caveats
    assert told["operands"] | {"workers": 4, "of": 8} == told["operands"]
    with pytest.raises(UsageError, match="less than one"):
        paced({"rw": "randread"}, 1)


def test_loads_of_an_offered_rate_arrive_by_chance_as_their_workers_do() -> None:
    step = paced({}, 1000).step
    workers = [own for name, own in sections(step.tasks[0]).items() if name != "global"]
    assert {own["rate_process"] for own in workers} == {"poisson"}
    assert all(load.poisson for load in step.jobs)


def test_without_a_rate_the_profiles_own_is_left_out_and_the_time_is_as_offered() -> None:
    step = paced({}, None).step
    assert "rate_iops" not in step.tasks[0].job_file
    assert (step.runtime_s, step.ramp_s, step.in_flight) == (10.0, 1.0, 32)


@pytest.mark.parametrize(
    ("job", "more", "why"),
    [
        ({"thinktime": 100}, {}, "already limited by thinktime"),
        (
            {"ioengine": "filestat", "rw": None, "rwmixread": None},
            {},
            "each file is used only once",
        ),
        (
            {},
            {"b": {"rw": "read", "size": "1M", "directory": "/mnt/t"}},
            "cannot split the rate between jobs a, b",
        ),
        (
            {},
            {"b": {"rw": "read", "size": "1M", "directory": "/mnt/t", "new_group": 0}},
            "reports its jobs as one",
        ),
        (
            {},
            {"b": {"rw": "read", "size": "1M", "directory": "/mnt/t", "stonewall": 1}},
            "one after the other",
        ),
        ({"filename": "/dev/sdz", "offset_increment": "1%", "numjobs": 3}, {}, "in percent"),
    ],
)
def test_what_cannot_be_paced_is_refused_with_the_reason(
    job: dict[str, Any], more: dict[str, Any], why: str
) -> None:
    if "ioengine" in job:
        job = {**job, "create_on_open": 1, "filesize": "1k"}
    with pytest.raises(UsageError, match=why):
        paced(job, 1000, more=more)


def measured(step: Step, folder: Path, agrees: Callable[[list[dict[str, Any]]], bool]) -> bool:
    """Tell whether what fio reports of each job of a step agrees with what was offered.

    A machine that is busy holds fio up now and then; a defect breaks it always.
    """
    text = step.tasks[0].job_file.replace("runtime=10s", "runtime=3s")
    for _ in range(ATTEMPTS):
        assert run(text, folder, "--output=out.json").returncode == 0
        if agrees(msgspec.json.decode((folder / "out.json").read_bytes())["jobs"]):
            return True
    return False


@needs_fio
@pytest.mark.e2e
@pytest.mark.parametrize("rate", [3001, 40_000])
def test_fio_does_what_is_offered(tmp_path: Path, rate: int) -> None:
    # arrivals are Poisson: four standard deviations of their number
    chance = 4 / (rate * 0.3 * 3) ** 0.5

    def agrees(jobs: list[dict[str, Any]]) -> bool:
        (job,) = jobs
        ios = {
            name: job[name]["total_ios"] / (job[name]["runtime"] / 1000)
            for name in ("read", "write")
        }
        return ios == pytest.approx({"read": rate * 0.7, "write": rate * 0.3}, rel=0.01 + chance)

    # null waits where it queues
    job = {"ioengine": "null", "iodepth": 1, "directory": None, "numjobs": 3}
    assert measured(paced(job, rate, hosts=1).step, tmp_path, agrees)


@needs_fio
@pytest.mark.e2e
def test_fio_does_of_each_job_what_is_offered_and_reports_it_by_its_name(tmp_path: Path) -> None:
    def agrees(jobs: list[dict[str, Any]]) -> bool:
        did = {
            job["jobname"]: sum(job[d]["total_ios"] / 3 for d in ("read", "write")) for job in jobs
        }
        assert list(did) == ["a", "w"]
        return bool(
            did["a"] == pytest.approx(2251, rel=0.06) and did["w"] == pytest.approx(750, rel=0.1)
        )

    more = {"w": {"rw": "randwrite", "size": "1M", "numjobs": 2}}
    step = paced({"rw": "randread", "ioengine": "null", "iodepth": 1, "directory": None,
        "numjobs": 3}, 3001, 1,
                 {"w": {**more["w"], "ioengine": "null"}}, {"a": 0.75, "w": 0.25}).step  # fmt: skip
    assert measured(step, tmp_path, agrees)
