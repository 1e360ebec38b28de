"""The same jobs with one thing changed, on the same files."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from tui import workloads
from tui.model.address import HostAddress
from tui.model.plan import Step
from tui.model.problem import UsageError
from tui.model.profile import resolve_params
from tui.model.profile_model import whole
from tui.model.search import Change

PARAMS = {
    "depth": {"default": 4, "kind": "count"},
    "jobs": {"default": 4, "kind": "count", "spread": True},
}
MDTEST = {"directory": "/mnt/t", "ranks_per_host": 1, "items": 1, "iterations": 1}
OPS = {"metric": "ops", "direction": "create"}
DIRECT = {
    "rw": "randread",
    "bs": "4k",
    "ioengine": "libaio",
    "iodepth": 8,
    "size": "1M",
    "directory": "/mnt/t",
}


def step(
    job: Mapping[str, Any], change: Change | None = None, more: Mapping[str, Any] | None = None
) -> Step:
    """The step of one job on two hosts, changed or not; an option that is None is not set."""
    own = {name: value for name, value in {**DIRECT, **job}.items() if value is not None}
    profile = whole().model_validate(
        {
            "profile": "my/p",
            "title": "A profile",
            "tool": "fio",
            "params": PARAMS,
            "fio": {"global": {"time_based": 1, "runtime": 5}, "jobs": {"a": own, **(more or {})}},
            "headline": {"metric": "iops", "direction": "read"},
        }
    )
    tool, params = workloads.get("fio"), resolve_params(profile, {})
    changed = profile if change is None else tool.vary(profile, params, change)
    hosts = [HostAddress("h1"), HostAddress("h2")]
    (found,) = tool.build_steps(changed, params, hosts, {"h1": 1, "h2": 2})
    return found


def files(of: Step) -> dict[str, int]:
    return {spec.path: spec.size_bytes for spec in of.tasks[0].files}


def test_an_engine_that_queues_gets_twice_the_depth() -> None:
    assert step({}, "twice-in-flight").jobs[0].held == 16
    assert step({"iodepth": "{depth}"}, "twice-in-flight").jobs[0].held == 8


@pytest.mark.parametrize(
    "job",
    [
        {"ioengine": "psync", "numjobs": 3},
        {"ioengine": "psync", "numjobs": 3, "rw": "write"},
        {"ioengine": "psync", "numjobs": 3, "rw": "read", "nrfiles": 2},
        {"ioengine": "psync", "filename": "/mnt/t/one"},
        {"ioengine": "psync", "numjobs": 2, "filename_format": "$JOBNAME-$jobnum-$filenum"},
        {"ioengine": "psync", "numjobs": 2, "rw": "read", "filesize": "1M", "size": None},
        {"ioengine": "psync", "numjobs": "{jobs}"},
    ],
    ids=lambda job: " ".join(f"{name}={value}" for name, value in job.items()),
)
def test_of_others_as_many_workers_again_are_on_the_same_files(job: dict[str, Any]) -> None:
    before, after = step(job), step(job, "twice-in-flight")
    assert after.in_flight == 2 * (before.in_flight or 0)
    assert files(after) == files(before)


def test_two_workers_that_go_through_a_file_in_order_do_not_read_the_same_blocks() -> None:
    found = step({"ioengine": "psync", "rw": "read"}, "twice-in-flight")
    again = found.tasks[0].job_file.partition("[a-again]")[2]
    assert "offset=524288" in again and "size=524288" in again


def test_a_copy_does_not_wait_for_its_original() -> None:
    found = step({}, "twice-workers", {"b": {**DIRECT, "stonewall": 1}})
    assert [job.name for job in found.jobs if job.wave == 1] == ["b", "b-again"]
    assert "stonewall" not in found.tasks[0].job_file.partition("[b-again]")[2]


def test_half_of_the_workers_keep_their_files() -> None:
    before, after = step({"numjobs": 4}), step({"numjobs": 4}, "half-workers")
    assert after.jobs[0].workers == 2
    assert set(files(after)) < set(files(before))


def test_blocks_are_halved_and_files_stay() -> None:
    before, after = step({"bs": "1M"}), step({"bs": "1M"}, "half-block")
    assert "bs=524288" in after.tasks[0].job_file
    assert files(after) == files(before)


def test_a_rate_is_left_out_wherever_it_stands() -> None:
    assert step({"rate_iops": 100}).jobs[0].paced
    assert not step({"rate_iops": 100}, "no-rate").jobs[0].paced


@pytest.mark.parametrize(
    ("job", "change", "why"),
    [
        ({}, "half-workers", "one worker cannot be halved"),
        ({}, "half-block", "cannot halve blocks of 4k: expected at least 8192 bytes"),
        (
            {"bs": None, "bssplit": "4k/50:8k/50"},
            "half-block",
            "the job has several block sizes",
        ),
        ({}, "no-rate", "my/p: no job has a rate"),
        (
            {"ioengine": "filecreate", "filesize": "4k"},
            "twice-in-flight",
            "each file is processed only once",
        ),
        ({"numjobs": "{jobs}"}, "half-workers", "hosts have different numbers of workers"),
        ({}, "half-hosts", "my/p: half-hosts does not change its jobs"),
    ],
)
def test_what_cannot_be_changed_is_refused_with_the_reason(
    job: dict[str, Any], change: Change, why: str
) -> None:
    with pytest.raises(UsageError, match=why):
        step(job, change)


def test_a_load_generator_without_experiments_says_so_by_name() -> None:
    given = {"profile": "my/m", "title": "t", "tool": "mdtest", "mdtest": MDTEST, "headline": OPS}
    profile = whole().model_validate(given)
    with pytest.raises(UsageError, match="my/m: mdtest has no counter-experiment"):
        workloads.get("mdtest").vary(profile, {}, "twice-in-flight")
