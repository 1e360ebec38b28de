"""What the checks of files, contents and flushes find in a step, and what they leave alone."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from tests.samples.evidence import WRITER, direction, evidence, found, said
from tui.judge.check import Moot, RunEvidence, UnknownError
from tui.judge.wording import message_of
from tui.model.plan import FileSpec, JobLoad
from tui.model.step_record import (
    CacheDropRecord,
)

# -- data


GIB = 1 << 30


@pytest.mark.parametrize(
    ("size", "doubt"),
    [(4 * GIB, True), (32 * GIB, False)],
)
def test_files_that_fit_into_memory_are_reported_without_direct_io(size: int, doubt: bool) -> None:
    job = JobLoad("w", ("write",))
    task = {"files": [FileSpec("/d/f", size)]}
    result = found("working-set", evidence(jobs=[job], facts={"mem_bytes": 16 * GIB}, task=task))
    assert [each.measured for each in result] == ([0.25] if doubt else [])


@pytest.mark.parametrize("check", ["working-set", "memory-limit"])
@pytest.mark.parametrize(
    ("job", "why"),
    [
        (JobLoad("w", ("write",), direct=True), Moot.DIRECT),
        (JobLoad("w", ("write",), stores=False), Moot.DATA),
    ],
)
def test_checks_of_the_page_cache_do_not_apply_to_loads_that_do_not_use_it(
    check: str, job: JobLoad, why: Moot
) -> None:
    facts = {"mem_bytes": 16 * GIB, "cgroup_version": "v2", "cgroup_mem_bytes": GIB}
    at = evidence(jobs=[job], facts=facts, task={"files": [FileSpec("/d/f", 4 * GIB)]})
    with pytest.raises(UnknownError) as reason:
        found(check, at)
    assert reason.value.code == why


LOG = JobLoad("log", ("write",), durable="fdatasync=1", range_bytes=GIB, ranges=1)
PAGES = JobLoad("data", ("read", "write"), direct=True, range_bytes=GIB, ranges=64)


@pytest.mark.parametrize(
    ("other", "expected"),
    [
        (PAGES, None),  # neither job is served from the page cache
        (JobLoad("scan", ("read",), range_bytes=GIB, ranges=2), [2 / 16]),
        (JobLoad("scan", ("read",), range_bytes=GIB, ranges=64), []),
    ],
)
def test_files_of_jobs_that_the_page_cache_cannot_serve_do_not_count(
    other: JobLoad, expected: list[float] | None
) -> None:
    task = {"files": [FileSpec("/d/log", GIB), FileSpec("/d/data", GIB)]}
    at = evidence(jobs=[LOG, other], facts={"mem_bytes": 16 * GIB}, task=task)
    if expected is None:
        with pytest.raises(UnknownError):
            found("working-set", at)
        return
    told = found("working-set", at)
    assert [each.measured for each in told] == expected
    assert all(each.operands["jobs"] == ["scan"] for each in told)


def test_writes_that_are_not_flushed_are_those_of_a_job() -> None:
    (told,) = found("no-flush", evidence(jobs=[LOG, PAGES]))
    assert told.operands["jobs"] == ["data"]


def test_a_memory_limit_is_not_compared_with_files_of_unknown_size() -> None:
    facts = {"mem_bytes": 16 * GIB, "cgroup_version": "v2", "cgroup_mem_bytes": GIB}
    with pytest.raises(UnknownError):
        found("memory-limit", evidence(jobs=[JobLoad("w", ("write",))], facts=facts))


def test_the_memory_that_a_control_group_leaves_is_what_counts() -> None:
    task = {"files": [FileSpec("/d/f", 4 * GIB)]}
    facts = {"mem_bytes": 16 * GIB, "mem_usable_bytes": GIB}
    assert (
        found("working-set", evidence(jobs=[JobLoad("w", ("write",))], facts=facts, task=task))
        == []
    )


def test_a_cache_that_was_not_dropped_is_named_with_its_host() -> None:
    drops = [
        CacheDropRecord(host="h1", ok=False, method="none", detail="sudo: a password is required")
    ]
    (only,) = found("page-cache", evidence(plan={"drop_caches": "try"}, cache_drops=drops))
    assert message_of(only) == "the page cache was not dropped: h1: sudo: a password is required"


@pytest.mark.parametrize(
    ("job", "facts", "doubt"),
    [
        ({"same_offsets": True}, {"shares_files_with": "h1 h2"}, True),
        # the same seed on both hosts
        ({"same_offsets": False}, {"shares_files_with": "h1 h2"}, True),
        ({"same_offsets": True}, {}, False),  # the same paths, each on a disk of its own
    ],
)
def test_hosts_that_ask_for_the_same_blocks_of_one_file_are_reported(
    job: dict[str, bool], facts: dict[str, str], doubt: bool
) -> None:
    hosts = {name: {"read": direction(1.0, 1.0)} for name in ("h1", "h2")}
    jobs = [JobLoad("r", ("read",), random=True, **job)]  # type: ignore[arg-type]
    task = {"files": [FileSpec("/data/f", 1)]}
    assert bool(found("same-offsets", evidence(hosts, jobs=jobs, facts=facts, task=task))) is doubt


@pytest.mark.parametrize(("other", "doubt"), [("naa.6001", True), ("naa.6002", False), ("", False)])
def test_hosts_that_see_one_lun_are_known_by_its_name(other: str, doubt: bool) -> None:
    hosts = {name: {"read": direction(1.0, 1.0)} for name in ("h1", "h2")}
    jobs = [JobLoad("r", ("read",), random=True, same_offsets=True)]
    at = evidence(hosts, jobs=jobs, task={"files": [FileSpec("/dev/mapper/lun", 1)]})
    for host, wwid in zip(at.hosts, ("naa.6001", other), strict=True):
        host.facts = {
            "boot_id": host.name,
            "devices": [{"name": "dm-1", "below": ["sdb"]}, {"name": "sdb", "wwid": wwid}],
        }
    assert bool(found("same-offsets", at)) is doubt


def test_a_device_of_one_machine_is_shared_by_all_its_names() -> None:
    hosts = {name: {"read": direction(1.0, 1.0)} for name in ("h1", "h2")}
    jobs = [JobLoad("r", ("read",), random=True, same_offsets=True)]
    task = {"files": [FileSpec("/dev/loop7", 1)]}
    assert found("same-offsets", evidence(hosts, jobs=jobs, task=task, facts={"boot_id": "b"}))
    assert not found(
        "same-offsets", evidence(hosts, jobs=jobs, task=task, facts={"boot_id": "unknown"})
    )


def test_a_depth_that_the_engine_does_not_keep_is_reported_and_that_it_was_swept() -> None:
    vain = JobLoad("r", ("read",), in_vain="iodepth has no effect with psync", idle=("iodepth=4",))
    assert [message_of(each) for each in found("depth", evidence(jobs=[vain]))] == [vain.in_vain]
    assert found("depth", evidence(jobs=[WRITER])) == []
    at = evidence(jobs=[vain], plan={"axes": ["depth"]})
    (step,) = at.plan.steps
    step.point = {"depth": 4}
    at.plan.steps.append(
        replace(step, index=1, point={"depth": 1}, jobs=[replace(vain, in_vain="", idle=())])
    )
    both = RunEvidence(at.plan, at.hosts, [*at.steps, *at.steps], at.seen)
    (only,) = found("depth", both)
    told = "; points that differ only in depth are the same load"
    assert (only.severity, message_of(only)) == ("warning", f"{vain.in_vain}{told}")


def test_data_that_an_array_can_reduce_is_reported() -> None:
    job = JobLoad("w", ("write",), reducible="zero_buffers=1")
    assert said("reducible-data", evidence(jobs=[job])) == [("warning", "zero_buffers=1")]
    assert said("reducible-data", evidence(jobs=[WRITER])) == []


def test_an_engine_that_does_no_io_is_an_error() -> None:
    jobs = [JobLoad("a", ("read",), no_storage="ioengine=null", stores=False), WRITER]
    assert said("no-storage", evidence(jobs=jobs)) == [("error", "ioengine=null")]
    assert said("no-storage", evidence(jobs=[WRITER])) == []


@pytest.mark.parametrize(("share", "severity"), [(0.0625, "warning"), (0.8, "info"), (1.0, None)])
def test_random_io_that_goes_on_from_where_it_is_is_reported(
    share: float, severity: str | None
) -> None:
    job = JobLoad("a", ("read",), random=True, random_share=share, ordered_by="rw=randread:N")
    assert said("random-share", evidence(jobs=[job])) == ([(severity, share)] if severity else [])


def test_sequential_io_has_no_share_of_random_blocks() -> None:
    with pytest.raises(UnknownError, match=Moot.RANDOM):
        said("random-share", evidence(jobs=[JobLoad("a", ("read",))]))


def test_writes_that_are_never_flushed_are_a_note() -> None:
    assert said("no-flush", evidence(jobs=[WRITER])) == [("info", "none")]
    assert said("no-flush", evidence(jobs=[JobLoad("w", ("write",), durable="fsync=1")])) == []


def test_writes_between_syncs_are_a_note() -> None:
    for every, lost in ((1, []), (1000, [("info", "999")])):
        job = JobLoad("w", ("write",), durable=f"fsync={every}", synced_every=every)
        assert [(a, str(b)) for a, b in said("no-flush", evidence(jobs=[job]))] == lost


@pytest.mark.parametrize(("never", "severity"), [(0, None), (4, "warning"), (60, "error")])
def test_what_is_read_and_was_never_written_is_reported(never: int, severity: str | None) -> None:
    row = {
        "step": 0,
        "files": 1,
        "size_bytes": 100,
        "never_written_bytes": never,
        "path": "/data/f",
    }
    reads = [JobLoad("r", ("read",), direct=True)]
    result = found(
        "unwritten-data", evidence(jobs=reads, facts={"written": [row, {**row, "step": 1}]})
    )
    assert [(each.severity, each.measured) for each in result] == (
        [(severity, 1 - never / 100)] if severity else []
    )


def test_where_nobody_can_tell_what_was_written_the_check_is_not_made_and_says_why() -> None:
    unknown = {"unknown": [{"name": "written", "reason": "filefrag (e2fsprogs) not found"}]}
    with pytest.raises(UnknownError, match="file-extents") as reason:
        found("unwritten-data", evidence(jobs=[JobLoad("r", ("read",))], facts=unknown))
    assert "filefrag" in reason.value.operands["quote"]
    with pytest.raises(UnknownError, match="no-reads"):
        found("unwritten-data", evidence(jobs=[WRITER]))


# -- flushes


SYNCING = JobLoad("w", ("write",), durable="fdatasync=1")


def synced(median_ns: int, options: str = "rw,noatime", job: JobLoad = SYNCING) -> RunEvidence:
    """Return a run whose syncs took so long, on a mount with these options."""
    sync = direction(100.0, float(median_ns))
    assert sync.lat is not None
    sync.lat.percentiles_ns = {"50": median_ns}
    mount = {"path": "/t", "at": "/t", "fstype": "xfs", "options": options.split(",")}
    dirs = {"write": direction(100.0, 50_000.0), "sync": sync}
    return evidence({"h1": dirs}, jobs=[job], facts={"mounts": [mount]})


@pytest.mark.parametrize("option", ["nobarrier", "barrier=0"])
def test_a_mount_that_drops_flushes_is_named(option: str) -> None:
    assert said("flush-no-op", synced(100_000, f"rw,{option}")) == [("warning", 1)]


@pytest.mark.parametrize(
    ("median_ns", "doubt"), [(900, True), (2_900, True), (12_000, False), (400_000, False)]
)
def test_a_flush_that_no_device_could_have_answered_is_a_doubt(median_ns: int, doubt: bool) -> None:
    assert bool(found("flush-no-op", synced(median_ns))) is doubt


@pytest.mark.parametrize(
    ("cache", "direct", "doubt"),
    [("write back", True, True), ("write through", True, False), ("write through", False, True)],
)
def test_after_direct_io_a_device_without_a_volatile_cache_has_nothing_to_flush(
    cache: str, direct: bool, doubt: bool
) -> None:
    at = synced(900, job=replace(SYNCING, direct=direct))
    at.hosts[0].facts["devices"] = [{"name": "nvme0n1", "kind": "disk", "write_cache": cache}]
    assert bool(found("flush-no-op", at)) is doubt


def test_without_flushes_nothing_is_reported_of_them() -> None:
    with pytest.raises(UnknownError):
        found("flush-no-op", synced(900, "rw,nobarrier", WRITER))


@pytest.mark.parametrize(
    ("device", "doubt"), [("ram0", True), ("zram1", True), ("nullb0", True), ("nvme0n1", False)]
)
def test_a_device_in_memory_is_no_storage(device: str, doubt: bool) -> None:
    at = evidence(facts={"devices": [{"name": device}]})
    assert said("direct-io", at) == ([("error", device)] if doubt else [])
