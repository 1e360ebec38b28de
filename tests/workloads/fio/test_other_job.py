"""Whether the output of fio is that of the job that it was given."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.samples.words import said as in_words
from tests.workloads.fio.real import needs_fio, run
from tui.journal.rundir import load_plan
from tui.model.operands import clause
from tui.workloads.fio.reader import FioReader, other_options
from tui.workloads.fio.workload import FioWorkload
from tui.workloads.reading import OTHER_JOB

JOB_FILE = """\
; made by benchtui
[global]
ioengine=libaio
bs=4k
group_reporting=1
[log]
rw=write
bs=64k
[data]
rw=randread
filename=/mnt/$jobname
"""
NAMES = st.sampled_from(["bs", "rw", "ioengine", "iodepth", "size", "direct", "runtime"])
VALUES = st.text("abcdefghijklmnop0123456789:/.", min_size=1, max_size=8)
WHOLE = Path(__file__).parents[2] / "data" / "whole"


def printed(shared: dict[str, str], **jobs: dict[str, str]) -> bytes:
    """Return what fio prints of its jobs."""
    told = [{"jobname": name, "job options": options} for name, options in jobs.items()]
    return json.dumps({"fio version": "fio-3.36", "global options": shared, "jobs": told}).encode()


def test_what_fio_was_given_is_what_it_prints() -> None:
    shared = {"ioengine": "libaio", "bs": "4k"}
    log, data = {"rw": "write", "bs": "64k"}, {"rw": "randread", "filename": "/mnt/data"}
    assert other_options(JOB_FILE, printed(shared, log=log, data=data)) == []


def test_a_group_has_the_name_of_its_first_job_and_the_options_of_its_last() -> None:
    assert other_options(JOB_FILE, printed({"bs": "4k"}, log={"rw": "randread"})) == []


@pytest.mark.parametrize(
    ("shared", "options", "said"),
    [
        ({"bs": "4k"}, {"rw": "write", "bs": "1k"}, "bs=1k (planned: 64k)"),
        (
            {"ioengine": "null", "bs": "4k"},
            {"rw": "write", "bs": "64k"},
            "ioengine=null (planned: libaio)",
        ),
    ],
)
def test_another_option_is_named_with_both_values(
    shared: dict[str, str], options: dict[str, str], said: str
) -> None:
    found = other_options(JOB_FILE, printed(shared, log=options))
    assert [in_words("fio", each) for each in found] == [said]


def test_a_job_of_another_name_is_named() -> None:
    found = other_options(JOB_FILE, printed({"bs": "4k"}, other={"rw": "write", "bs": "64k"}))
    assert found == [clause("job-not-planned", job="other")]


@given(st.dictionaries(NAMES, VALUES), st.dictionaries(NAMES, VALUES, min_size=1), st.data())
def test_any_one_option_that_differs_is_found(
    shared: dict[str, str], options: dict[str, str], data: st.DataObject
) -> None:
    lines = ["[global]", *map("=".join, shared.items()), "[j]", *map("=".join, options.items())]
    assert other_options("\n".join(lines), printed(shared, j=options)) == []
    name = data.draw(st.sampled_from(sorted(options)))
    assert (
        len(
            other_options(
                "\n".join(lines), printed(shared, j=options | {name: options[name] + "x"})
            )
        )
        == 1
    )


@given(st.integers(1, 4096), st.sampled_from("kmg"), st.integers(1, 4096))
def test_one_value_may_be_written_in_several_ways(number: int, unit: str, other: int) -> None:
    size, seconds = number * 1024 ** ("kmg".index(unit) + 1), number * 60
    same = {
        "size": str(size),
        "bs": f"{number}{unit}",
        "runtime": str(seconds),
        "ramp_time": f"{number}m",
    }
    written = (
        f"[j]\nsize={number}{unit.upper()}\nbs={size}\nruntime={number}m\nramp_time={seconds}s"
    )
    assert other_options(written, printed({}, j=same)) == []
    assert bool(other_options(written, printed({}, j=same | {"size": f"{other}{unit}"}))) is (
        other != number
    )
    assert bool(other_options(written, printed({}, j=same | {"runtime": f"{other}m"}))) is (
        other != number
    )


def sent(text: str) -> str:
    return FioWorkload().sent_job(text)


@needs_fio
def test_a_directory_may_be_a_symbolic_link(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "link").symlink_to("there")
    job = f"[global]\ndirectory={tmp_path}/link\nioengine=sync\n[a]\nrw=write\nsize=4k\n"
    assert run(job, tmp_path / "planned").returncode == 1, "or fio needs no slash"
    ended = run(sent(job), tmp_path / "sent")
    assert ended.returncode == 0 and list((tmp_path / "there").iterdir())
    assert other_options(job, ended.stdout) == []


@pytest.mark.parametrize("told", ["/a:/b", "/a/", "a", "/a\\"])
def test_other_directories_are_sent_as_planned(told: str) -> None:
    job = f"[a]\ndirectory={told}\n"
    assert sent(job) == job


@given(st.binary(max_size=60))
def test_what_is_no_output_contradicts_nothing(text: bytes) -> None:
    assert other_options(JOB_FILE, text) == []


@pytest.mark.parametrize(("ran", "is_other"), [(b"4k", False), (b"1k", True)])
def test_a_host_that_ran_another_job_has_a_problem(ran: bytes, is_other: bool) -> None:
    (step,) = load_plan(WHOLE).steps
    output = gzip.decompress((WHOLE / "raw" / "0.measure.local.out.gz").read_bytes())
    assert b'"bs" : "4k"' in output
    reader = FioReader("local", step, "measure")
    reader.feed(output.replace(b'"bs" : "4k"', b'"bs" : "' + ran + b'"'))
    reader.flush()
    assert (OTHER_JOB in dict(reader.problems(0))) is is_other
