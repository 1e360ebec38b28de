"""Few blocks, touched over and over, are served by a cache on the way: direct I/O leaves out the
client's alone.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.profiles.test_presets import FIO, rendered
from tests.samples.evidence import direction, evidence, found, said
from tui.judge.check import RunEvidence, StepEvidence, UnknownError
from tui.judge.hot_set import hot_sets
from tui.model.plan import Attestation, FileSpec, JobLoad, Skew
from tui.workloads.fio.loads import job_loads
from tui.workloads.fio.options import JobOptions

KIB, MIB, GIB, TIB = 2**10, 2**20, 2**30, 2**40
READS = JobLoad(
    "r", ("read",), direct=True, random=True, block_bytes=4096, ranges=1, each_once=True
)


def reads(size: int, ios: int = 1_000_000, skew: Skew | None = None, **more: object) -> RunEvidence:
    job = replace(
        READS, range_bytes=size, skew={"read": skew} if skew else {}, each_once=skew is None
    )
    return evidence(
        {"h1": {"read": direction(10_000.0, 1e6, ios)}},
        jobs=[job],
        task={"files": [FileSpec("/mnt/f", size)]},
        **more,  # type: ignore[arg-type]
    )


@pytest.mark.parametrize(
    ("size", "skew", "severity"),
    [
        (MIB, None, "warning"),
        (16 * MIB, None, "warning"),
        (64 * MIB, None, "info"),
        (16 * GIB, None, None),
        (TIB, None, None),
        (TIB, Skew("zipf:1.4", "zipf", 1.4), "warning"),
        (
            100 * MIB,
            Skew("zoned:99/1:1/99", "zoned", zones=((0.99, 0.01), (0.01, 0.99))),
            "warning",
        ),
        (100 * GIB, Skew("zoned:60/40:40/60", "zoned", zones=((0.6, 0.4), (0.4, 0.6))), None),
        (100 * GIB, Skew("pareto:0.4", "pareto", 0.4), None),
        (100 * GIB, Skew("normal:10", "normal", 10.0), None),
    ],
)
def test_what_any_drive_keeps_in_its_buffer_is_no_figure_of_storage(
    size: int, skew: Skew | None, severity: str | None
) -> None:
    assert [each.severity for each in found("hot-set", reads(size, skew=skew))] == (
        [severity] if severity else []
    )


def test_blocks_that_are_read_once_come_from_no_cache_however_few() -> None:
    assert found("hot-set", reads(16 * MIB, ios=4096)) == []
    assert said("hot-set", reads(16 * MIB, ios=8192)) == [("warning", round(0.9 * 16 * MIB))]


SKEWS = (
    None,
    Skew("zipf:1.2", "zipf", 1.2),
    Skew("pareto:0.2", "pareto", 0.2),
    Skew("zoned:99/1:1/99", "zoned", zones=((0.99, 0.01), (0.01, 0.99))),
)


@given(
    size=st.sampled_from((MIB, 16 * MIB, 30 * MIB, 64 * MIB, GIB, 100 * GIB)),
    skew=st.sampled_from(SKEWS),
    ios=st.integers(100, 10_000_000),
    more=st.floats(1.0, 1000.0),
)
def test_what_a_running_load_is_told_its_result_has_too(
    size: int, skew: Skew | None, ios: int, more: float
) -> None:
    now = reads(size, ios, skew)
    running = now.steps[0].model_copy(update={"state": "running", "measured_s": 10.0})
    if any(each.severity == "warning" for each in found("hot-set", replace(now, steps=[running]))):
        final = found("hot-set", reads(size, round(ios * more), skew))
        assert [each.severity for each in final] == ["warning"]


def test_the_hosts_blocks_are_added_but_those_of_a_shared_file_once() -> None:
    host = {"read": direction(10_000.0, 1e6)}
    task = {"files": [FileSpec("/mnt/f", 16 * MIB)]}
    job = replace(READS, range_bytes=16 * MIB)
    four = {f"h{number}": host for number in range(4)}
    own = evidence(four, jobs=[job], task=task)
    assert [each.severity for each in found("hot-set", own)] == ["info"]
    shared = evidence(four, jobs=[job], task=task, facts={"shares_files_with": "h0 h1 h2 h3"})
    assert [each.severity for each in found("hot-set", shared)] == ["warning"]


def test_the_memory_of_storage_nodes_counts_where_it_is_known() -> None:
    at = reads(16 * GIB, ios=40_000_000)
    assert found("hot-set", at) == []
    at.seen.state.server_facts.update({f"s{number}": {"mem_bytes": 8 * GIB} for number in range(4)})
    assert [(each.severity, each.threshold) for each in found("hot-set", at)] == [
        ("info", 32 * GIB)
    ]


def test_caches_that_a_person_attested_to_be_off_serve_nothing() -> None:
    for answer, expected in (("yes", 0), ("unknown", 1)):
        attested = [Attestation("cache-off", "is it off?", answer)]  # type: ignore[arg-type]
        assert len(found("hot-set", reads(MIB, plan={"attested": attested}))) == expected


def test_without_sizes_nothing_is_reported() -> None:
    for files in ([], [FileSpec("/dev/sdb", 0)], [FileSpec("/mnt/f", MIB), FileSpec("/mnt/g", 0)]):
        with pytest.raises(UnknownError):
            found("hot-set", evidence(jobs=[READS], task={"files": files}))


def test_a_load_generator_that_says_no_more_goes_over_all_of_its_files() -> None:
    files = [FileSpec("/mnt/f", 8 * MIB), FileSpec("/mnt/g", 8 * MIB)]
    at = evidence(
        {"h1": {"read": direction(1e4, 1e6)}},
        jobs=[JobLoad("r", ("read",), direct=True)],
        task={"files": files},
    )
    assert said("hot-set", at) == [("warning", round(0.9 * 16 * MIB))]


def test_without_direct_io_the_page_cache_is_what_counts() -> None:
    with pytest.raises(UnknownError):
        found("hot-set", evidence(jobs=[replace(READS, direct=False, range_bytes=MIB)]))


def test_a_skew_makes_files_beyond_memory_fit_into_it() -> None:
    def buffered(skew: Skew | None) -> RunEvidence:
        at = reads(64 * GIB, ios=100_000_000, skew=skew, facts={"mem_bytes": 8 * GIB})
        at.plan.steps[0].jobs = [replace(at.plan.steps[0].jobs[0], direct=False)]
        return at

    assert found("working-set", buffered(None)) == []
    assert [
        each.severity for each in found("working-set", buffered(Skew("zipf:1.2", "zipf", 1.2)))
    ] == ["warning"]


@pytest.mark.parametrize("tag", FIO)
def test_no_preset_is_weakened_by_what_it_is_made_of(tag: str) -> None:
    (job,) = job_loads([JobOptions(*rendered(tag), {})])
    at = evidence(
        {"h1": {name: direction(1e6, 1e5, 60_000_000) for name in job.directions}}, jobs=[job]
    )
    try:
        assert "warning" not in {each.severity for each in found("hot-set", at)}
    except UnknownError:
        assert not (job.stores and job.range_bytes), "the size is that of a device, or of an image"


@pytest.mark.parametrize(
    ("given", "skew", "size", "ranges", "once"),
    [
        ({}, None, 4 * GIB, 1, True),
        ({"norandommap": "1"}, None, 4 * GIB, 1, False),
        ({"nrfiles": "4", "numjobs": "2"}, None, GIB, 8, True),
        ({"filename": "/a:/b\\:c"}, None, 2 * GIB, 2, True),
        ({"size": "50%"}, None, None, 1, True),
        ({"random_distribution": "zipf:1.4"}, Skew("zipf:1.4", "zipf", 1.4), 4 * GIB, 1, False),
        ({"random_distribution": "zipf"}, Skew("zipf", "zipf", 1.1), 4 * GIB, 1, False),
        (
            {"random_distribution": "pareto:0.3:0.5"},
            Skew("pareto:0.3:0.5", "pareto", 0.3),
            4 * GIB,
            1,
            False,
        ),
        (
            {"random_distribution": "normal:20"},
            Skew("normal:20", "normal", 20.0),
            4 * GIB,
            1,
            False,
        ),
        (
            {"random_distribution": "zoned:90/25:10/75"},
            Skew("zoned:90/25:10/75", "zoned", zones=((0.9, 0.25), (0.1, 0.75))),
            4 * GIB,
            1,
            False,
        ),
        (
            {"random_distribution": "zoned_abs:100/1G"},
            Skew("zoned_abs:100/1G", "zoned", zones=((1.0, 0.25),)),
            4 * GIB,
            1,
            False,
        ),
        ({"random_distribution": "zipf:1.4", "rw": "read"}, None, 4 * GIB, 1, False),
        ({"random_distribution": "zipf:x"}, None, 4 * GIB, 1, False),
    ],
)
def test_distributions_are_read_as_fio_reads_them(
    given: dict[str, str], skew: Skew | None, size: int | None, ranges: int, once: bool
) -> None:
    (job,) = job_loads([JobOptions("a", {"rw": "randread", "size": "4G"} | given, {})])
    assert (job.skew.get("read"), job.range_bytes, job.ranges, job.each_once) == (
        skew,
        size,
        ranges,
        once,
    )


def test_writes_that_are_flushed_one_by_one_end_in_no_volatile_buffer() -> None:
    at = reads(MIB)
    writer = replace(
        at.plan.steps[0].jobs[0], directions=("write",), durable="fdatasync=1", random=False
    )
    for every, severity in ((1, "info"), (1000, "warning")):
        at.plan.steps[0].jobs = [replace(writer, synced_every=every)]
        assert [each.severity for each in found("hot-set", at)] == [severity]


@pytest.mark.parametrize("directions", [("read", "write"), ("read",)])
def test_reads_come_from_a_buffer_also_if_the_writes_between_them_are_flushed(
    directions: tuple[str, ...],
) -> None:
    at = reads(MIB)
    job = at.plan.steps[0].jobs[0]
    at.plan.steps[0].jobs = [
        replace(job, directions=directions, durable="fsync=1", synced_every=1)
    ]
    assert [each.severity for each in found("hot-set", at)] == ["warning"]


@pytest.mark.parametrize(
    ("rw", "increment", "touched"),
    [
        ("read", "", 0.25),  # in order, all of them the same quarter
        ("randread", "", 1 - 0.75**4),
        ("read", "25%", 1.0),
    ],
)
def test_workers_on_one_file_touch_the_same_blocks(rw: str, increment: str, touched: float) -> None:
    size = 64 * MIB
    options = {"filename": "/mnt/f", "size": str(size), "bs": "4k", "rw": rw, "direct": "1"}
    if increment:
        options |= {"offset_increment": increment}
    (job,) = job_loads([JobOptions("a", {}, options | {"numjobs": "4"})])
    ios = 4 * size // 4 // 4096  # a quarter of the file for each worker
    at = evidence(
        {"h1": {"read": direction(1000.0, 1e6, ios)}},
        jobs=[job],
        task={"files": [FileSpec("/mnt/f", size)]},
    )
    seen = hot_sets(StepEvidence(at, at.plan.steps[0], at.steps[0]))["h1"].touched_bytes
    assert seen == pytest.approx(touched * size)


@pytest.mark.parametrize(
    ("options", "doubt"),
    [
        ({"rw": "read", "numjobs": "4", "filename": "/mnt/f"}, True),
        ({"rw": "write", "numjobs": "4", "filename": "/mnt/f"}, True),
        ({"rw": "randread", "numjobs": "4", "filename": "/mnt/f"}, False),
        ({"rw": "read", "numjobs": "4", "filename": "/mnt/f", "offset_increment": "1g"}, False),
        ({"rw": "read", "numjobs": "4", "directory": "/mnt"}, False),
        ({"rw": "read", "numjobs": "1", "filename": "/mnt/f"}, False),
    ],
)
def test_workers_that_read_one_file_in_the_same_order_are_named(
    options: dict[str, str], doubt: bool
) -> None:
    jobs = job_loads([JobOptions("a", {}, {"size": "1g", **options})])
    at = evidence(jobs=[*jobs, JobLoad("b", ("read",), random=True)])
    assert [each.measured for each in found("same-offsets", at)] == ([4] if doubt else [])
