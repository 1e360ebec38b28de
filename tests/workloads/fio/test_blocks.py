"""I/O sizes that direct I/O cannot do are refused in terms, profiles and plans."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.workloads.fio.test_plan import built, profile
from tui.model.problem import BenchtuiError
from tui.model.profile_load import load_profile
from tui.workloads.fio.blocks import block_problem, direct_sizes
from tui.workloads.fio.options import JobOptions, jobs_of_job_file
from tui.workloads.fio.terms import FioTerms

DIRECT = {"ioengine": "libaio", "direct": "1"}


@given(size=st.integers(1, 1 << 24), engine=st.sampled_from(["psync", "libaio", "io_uring"]))
def test_direct_io_is_of_whole_sectors(size: int, engine: str) -> None:
    given = {"bs": str(size), "ioengine": engine, "filename": "/dev/sdb"}
    assert (block_problem(JobOptions("j", {"direct": "1"}, given)) is not None) == bool(size % 512)
    assert block_problem(JobOptions("j", {}, given)) is None
    file = given | {"filename": "/mnt/t/a"}
    assert block_problem(JobOptions("j", {"direct": "1"}, file)) is None, "only the host knows"


@pytest.mark.parametrize(("options", "refused"), [
    ({"bs": "4k,1000"}, True), ({"bs": "4k,8k"}, False), ({"bs": "1-4k"}, True),
    ({"bsrange": "512-1000"}, False), ({"bsrange": "100-4k"}, True),
    ({"bssplit": "4k/50:700/50"}, True), ({"bssplit": "4k/50:512/50,8k/"}, False),
    ({"bs": "1", "bssplit": "4k/100"}, False), ({"bs": "2300", "ioengine": "mmap"}, False),
    ({"bs": "1", "ioengine": "null"}, False), ({"bs": "1", "kb_base": "1000"}, False),
    ({"bs": "nonsense"}, False), ({}, False),
])  # fmt: skip
def test_every_way_to_set_sizes_is_read(options: dict[str, str], refused: bool) -> None:
    device = {"filename": "/dev/sdb"}
    assert (block_problem(JobOptions("j", DIRECT | device, options)) is not None) == refused


def test_sizes_of_direct_io_are_those_of_each_target() -> None:
    job_file = (
        "[global]\nioengine=libaio\ndirect=1\ndirectory=/mnt/t\n; added by benchtui\n"
        "[a]\nbs=4k,3k\n[b]\nfilename=x:y\nbssplit=1k/50:8k/50\n[c]\ndirect=0\nbs=1\n"
        "[d]\ndirectory=/mnt/u/\n"
    )
    assert direct_sizes(job_file) == {
        "/mnt/t": (4096, 3072), "/mnt/t/x": (1024, 8192), "/mnt/t/y": (1024, 8192),
        "/mnt/u": (4096,),
    }  # fmt: skip


def test_a_job_file_of_benchtui_may_have_more_jobs_than_one_to_import() -> None:
    text = "[global]\nrw=read\n" + "".join(f"[j{at}]\nbs={at}\n" for at in range(1, 2402))
    jobs = jobs_of_job_file(text)
    assert len(jobs) == 2401 and (jobs[-1].get("rw"), jobs[-1].get("bs")) == ("read", "2401")


@pytest.mark.parametrize(
    ("terms", "refused"),
    [
        ({"bs": ["1"]}, True),
        ({"bs": ["4k", "100"]}, True),
        ({"bs": ["1"], "direct": ["no"]}, False),
        ({"bs": ["1"], "direct": ["no", "yes"]}, True),
        ({"bs": ["1"], "ioengine": ["psync"]}, True),
        ({"bs": ["512"]}, False),
    ],
)
def test_a_job_of_terms_names_the_term(terms: dict[str, list[str]], refused: bool) -> None:
    given = {"filename": ["/dev/sdb"], **terms}
    assert FioTerms().job_of_terms({"directory": ["/mnt/t"], **terms}).body
    if not refused:
        assert FioTerms().job_of_terms(given).body
        return
    with pytest.raises(BenchtuiError, match=f"bs={','.join(terms['bs'])}: "):
        FioTerms().job_of_terms(given)


def test_a_plan_refuses_what_a_parameter_makes_of_a_valid_profile() -> None:
    params = {"bs": {"default": "4k", "kind": "size"}}
    shared = {**DIRECT, "filename": "/dev/sdb", "size": "1M"}
    made = profile(params=params, prepare={}, fio={
        "global": shared, "jobs": {"a": {"rw": "read", "bs": "{bs}"}},
    })  # fmt: skip
    assert built(made, bs="8k").jobs[0].block_bytes == 8192
    with pytest.raises(BenchtuiError, match=r"^weka/read-iops: bs: "):
        built(made, bs="1000")


def test_a_profile_names_the_place() -> None:
    text = """
profile: my/x
title: A test
tool: fio
params: {block: {default: 700, kind: size}}
fio:
  global: {ioengine: psync, filename: /dev/sdb, size: 1M, direct: 1}
  jobs: {a: {rw: randread, bs: "{block}"}}
headline: {metric: iops, direction: read}
"""
    with pytest.raises(BenchtuiError) as told:
        load_profile(text, "x.yaml")
    (problem,) = [each for each in told.value.problems if "bs: found 700" in each.message]
    assert problem.line == 8
