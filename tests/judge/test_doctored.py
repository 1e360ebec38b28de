"""Real output with figures that were changed, drawn from a seed: who must name it does.

More of it: make lies.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.long.lies.doctored.case import JudgedCase, judged
from tests.long.lies.doctored.documents import DATA, doctored_copy, imported, kept
from tests.long.lies.doctored.drawn import cases, drawers
from tui.judge.catalogue import BY_ID
from tui.library.imported import records_of

SOURCES = (
    "size/1job-json+-3.33", "size/100psync-gr-json-master", "stream/ramp-3.33",
    "stream/basic-randread-2jobs-3.42",
)  # fmt: skip
OF_EACH = 2


@pytest.fixture(scope="module")
def doctored(tmp_path_factory: pytest.TempPathFactory) -> list[JudgedCase]:
    folder = tmp_path_factory.mktemp("doctored")
    return [judged(case, folder) for case in cases(drawers(kept(SOURCES), folder), OF_EACH)]


def test_every_change_that_can_be_seen_is_named(doctored: list[JudgedCase]) -> None:
    assert len(doctored) > 50
    missed = [
        (each.case.what, each.case.aims[0], each.said)
        for each in doctored
        if each.case.aims and not each.named
    ]
    assert missed == []


def test_what_cannot_be_seen_has_a_reason_and_lies_name_checks_that_exist(
    doctored: list[JudgedCase],
) -> None:
    assert all(bool(each.case.aims) != bool(each.case.unseen) for each in doctored)
    assert {aim for each in doctored for aim in each.case.aims} <= set(BY_ID)


def test_output_that_nobody_changed_is_not_named(tmp_path: Path) -> None:
    for source in kept(SOURCES):
        # three seconds, on files of a few MiB
        assert imported(tmp_path, source.hosts) <= {"runtime", "hot-set"}


@pytest.mark.parametrize("name", ["verified", "computing", "delayed"])
def test_unusual_loads_that_ran_as_asked_are_not_named(name: str, tmp_path: Path) -> None:
    """Reads that verify after the writes, a job that only computes, a job with startdelay."""
    document = json.loads((DATA / "unusual" / f"{name}-3.33.json").read_text())
    assert imported(tmp_path, [document]) <= {"runtime", "hot-set"}


def test_each_host_is_judged_by_its_own_options(tmp_path: Path) -> None:
    (document,) = kept(("size/1job-json+-3.33",))[0].hosts
    other = doctored_copy(document)
    other["jobs"][0]["job options"]["bs"] = "64k"
    assert {"size-mismatch", "host-differences"} <= imported(tmp_path, [document, other])


def test_sections_of_one_name_keep_all_their_ios_in_flight(tmp_path: Path) -> None:
    (document,) = kept(("size/1job-json+-3.33",))[0].hosts
    twice = doctored_copy(document)
    twice["jobs"] += doctored_copy(document)["jobs"]
    for job, depth in zip(twice["jobs"], ("1", "8"), strict=True):
        job["job options"] |= {"ioengine": "libaio", "iodepth": depth, "numjobs": "1"}
    path = tmp_path / "out.json"
    path.write_text(json.dumps(twice))
    assert [step.in_flight for each in records_of([path]) for step in each.record.steps] == [9]


def test_a_job_that_moved_all_its_bytes_had_no_short_ios(tmp_path: Path) -> None:
    """fio 3.33 counts each sync_file_range as a short I/O."""
    (document,) = kept(("size/1job-json+-3.33",))[0].hosts
    told = doctored_copy(document)
    part = told["jobs"][0]["read"]
    part["short_ios"] = 7
    assert "tool-errors" not in imported(tmp_path, [told])
    part["io_bytes"] -= 512
    assert "tool-errors" in imported(tmp_path, [told])


def test_a_depth_that_fio_rounds_up_may_be_kept_as_a_whole(tmp_path: Path) -> None:
    (document,) = kept(("size/1job-json+-3.33",))[0].hosts
    for depth, said in (("12", False), ("4", True)):
        told = doctored_copy(document)
        told["jobs"][0]["job options"] |= {"ioengine": "io_uring", "iodepth": depth, "numjobs": "1"}
        part = told["jobs"][0]["read"]
        for name in ("clat_ns", "lat_ns"):  # 15 in flight
            scale = 15 * part["runtime"] * 1e6 / part["total_ios"] / part[name]["mean"]
            part[name] = {
                each: part[name][each] * (1 if each == "N" else scale)
                for each in ("N", "min", "max", "mean", "stddev")
            }
        assert ("above-depth" in imported(tmp_path, [told])) is said


def test_a_job_that_reports_reads_and_writes_together_offers_no_reads() -> None:
    (only,) = records_of([DATA / "stream" / "uni-3.33.stdout.gz"])  # three jobs: none, mixed, both
    assert "offered-rate" in (only.record.checks or ())
    assert "offered-rate" not in {finding.id for finding in only.record.findings}


def test_the_headline_of_writers_that_read_to_verify_is_what_they_wrote(tmp_path: Path) -> None:
    (document,) = kept(("size/1job-json+-3.33",))[0].hosts
    told = doctored_copy(document)
    job = told["jobs"][0]
    job["write"] = doctored_copy(job)["read"]
    path = tmp_path / "out.json"
    for rw, expected in (("randwrite", "write"), ("randrw", "mixed")):
        job["job options"] |= {"rw": rw, "verify": "crc32c"}
        path.write_text(json.dumps(told))
        (only,) = records_of([path])
        assert only.record.headline is not None
        assert only.record.headline.direction == expected
