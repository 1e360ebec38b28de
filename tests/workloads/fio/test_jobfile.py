"""The job file of one host."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.workloads.fio.fixtures import objects, step
from tests.workloads.fio.real import needs_fio, run
from tui.metrics.histogram import PERCENTILES, label
from tui.model.event import Sample
from tui.model.problem import UsageError
from tui.workloads.fio.jobfile import (
    ADDED_COMMENT,
    OWN_SEED,
    added_options,
    explicit_seed,
    render_options,
)
from tui.workloads.fio.reader import FioReader
from tui.workloads.fio.snapshot import decode

LOAD = {
    "ioengine": "psync",
    "rw": "randrw",
    "bs": "4k",
    "size": "1M",
    "time_based": "1",
    "runtime": "1s",
}


def test_options_keep_the_order_of_the_profile_and_additions_follow() -> None:
    text = render_options(
        {"rw": "read", "bs": "1m", "size": "4G"}, {"a": {"numjobs": "4", "iodepth": "2"}}, 7
    )
    assert (
        text == "[global]\nrw=read\nbs=1m\nsize=4G\n; added by"
        " benchtui\ngroup_reporting=1\nlat_percentiles=1\n"
        "percentile_list=1:5:10:25:50:75:90:95:99:99.5:99.9:99.95:99.99\nexitall_on_error=1\nrandrepeat=0\nrandseed=7\n"
        "\n[a]\nnumjobs=4\niodepth=2\n"
    )


@pytest.mark.parametrize(
    "shared", [{"rw": "read"}, {"rw": "read", "randseed": "5", "group_reporting": "1"}]
)
@pytest.mark.parametrize("jobs", [{"a": {}}, {"a": {}, "b": {"new_group": "1"}, "c": {}}])
def test_what_is_declared_as_added_is_what_is_after_the_comments(
    shared: dict[str, str], jobs: dict[str, dict[str, str]]
) -> None:
    behind = [
        part.split("\n[")[0]
        for part in render_options(shared, jobs, 7).split(ADDED_COMMENT + "\n")[1:]
    ]
    written = dict(line.split("=", 1) for part in behind for line in part.split())
    told = added_options(shared, jobs)
    assert told == written | ({"randseed": OWN_SEED} if "randseed" in written else {})


def test_without_a_seed_the_text_is_the_same_load() -> None:
    seeded, plain = (
        render_options({"rw": "read"}, {"a": {}}, seed).splitlines() for seed in (7, None)
    )
    assert [line for line in seeded if line not in plain] == ["randrepeat=0", "randseed=7"]


@pytest.mark.parametrize(
    "option", ["group_reporting", "lat_percentiles", "percentile_list", "exitall_on_error"]
)
@pytest.mark.parametrize("in_job", [False, True])
def test_what_the_profile_sets_is_not_set_again(option: str, in_job: bool) -> None:
    own = {option: "0"}
    text = render_options({} if in_job else own, {"a": own if in_job else {}}, None)
    assert text.count(f"{option}=") == 1


@pytest.mark.parametrize("option", ["randseed", "randrepeat", "allrandrepeat"])
def test_the_profiles_own_seeding_is_respected(option: str) -> None:
    text = render_options({option: "1"}, {"a": {}}, 7)
    assert "randseed=7" not in text
    assert explicit_seed({"randseed": "5"}, {"a": {}}) == 5
    assert explicit_seed({}, {"a": {"randseed": "6"}}) == 6
    assert explicit_seed({}, {"a": {}}) is None


def test_several_jobs_are_reported_each_by_itself() -> None:
    assert render_options({}, {"a": {}, "b": {}}, None).count("new_group=1") == 2
    assert "new_group" not in render_options({}, {"a": {}}, None)
    assert render_options({}, {"a": {"new_group": "1"}, "b": {}}, None).count("new_group=1") == 2


@pytest.mark.parametrize(
    ("shared", "jobs", "words"),
    [
        ({"directory": "/mnt/x\nexec_prerun=id"}, {"a": {}}, "line breaks"),
        ({"directory": "/mnt/x;y"}, {"a": {}}, "after ';' or '#'"),
        ({"directory": "/mnt/x#y"}, {"a": {}}, "after ';' or '#'"),
        ({}, {"global": {}}, "job name 'global'"),
        ({}, {"a]\n[b": {}}, "job name"),
        ({}, {"": {}}, "job name ''"),
        ({"rw=read\nx": "1"}, {"a": {}}, "is not an option name"),
        ({"; rw": "1"}, {"a": {}}, "is not an option name"),
    ],
)
def test_what_a_job_file_cannot_hold_is_refused(
    shared: dict[str, str], jobs: dict[str, dict[str, str]], words: str
) -> None:
    with pytest.raises(UsageError) as raised:
        render_options(shared, jobs, None)
    assert words in str(raised.value)
    assert "\n" not in str(raised.value)


@needs_fio
def test_fio_takes_the_text(tmp_path: Path) -> None:
    shared = {**LOAD, "directory": str(tmp_path)}
    text = render_options(
        shared, {"a b": {"numjobs": "2"}, "c": {"stonewall": "", "rw": "randread"}}, 12345
    )
    done = run(text, tmp_path, "--parse-only")
    assert (done.returncode, done.stderr) == (0, b"")


values = st.text(
    st.characters(min_codepoint=32, max_codepoint=0x24F, exclude_characters=";#$"),
    min_size=1,
    max_size=30,
)


@needs_fio
@settings(max_examples=20, deadline=None)
@given(values.map(str.strip).filter(bool))
def test_fio_reads_a_value_as_it_was_meant(
    tmp_path_factory: pytest.TempPathFactory, value: str
) -> None:
    try:
        text = render_options(
            {"ioengine": "null", "size": "4k", "rw": "read"}, {"j": {"description": value}}, None
        )
    except UsageError:
        return
    done = run(text, tmp_path_factory.mktemp("value"))
    assert done.returncode == 0, done.stderr
    read = decode(objects(done.stdout)[-1]).jobs[0].options["description"]
    assert read == value


@needs_fio
def test_a_real_run_gives_one_group_a_job_with_both_latency_kinds(tmp_path: Path) -> None:
    shared = {**LOAD, "directory": str(tmp_path)}
    text = render_options(shared, {"a": {"numjobs": "2"}, "b": {"rw": "randread"}}, 99)
    done = run(text, tmp_path, "--status-interval=250ms")
    reader = FioReader("h1", step(), "measure", "lat")
    items = [*reader.feed(done.stdout), *reader.feed_stderr(done.stderr), *reader.flush()]
    result = reader.result(done.returncode)
    assert reader.problems(done.returncode) == []
    assert result is not None
    assert {name: sorted(dirs) for name, dirs in result.jobs.items()} == {
        "a": ["read", "write"],
        "b": ["read"],
    }
    for part in result.dirs.values():
        assert part.clat is not None
        assert part.lat is not None
        assert list(part.lat.percentiles_ns) == [label(each) for each in PERCENTILES]
        assert part.clat.buckets is not None
        assert sum(part.clat.buckets.n) == part.clat.n == part.ios
    samples = [item for item in items if isinstance(item, Sample)]
    assert len(samples) >= 3
    assert (
        sum(sample.dirs["write"].ios for sample in samples if sample.dirs)
        == result.dirs["write"].ios
    )


@needs_fio
def test_percentiles_of_a_real_run_are_fios_own(tmp_path: Path) -> None:
    done = run(render_options({**LOAD, "directory": str(tmp_path)}, {"a": {}}, 1), tmp_path)
    snapshot = decode(objects(done.stdout)[-1])
    reader = FioReader("h1", step(), "measure")
    reader.feed(done.stdout)
    result = reader.result(0)
    for name, part in snapshot.jobs[0].directions().items():
        if part.total_ios and part.lat and result:
            mine = result.dirs[name].lat
            assert mine is not None
            named = {label(float(key)): value for key, value in (part.lat.percentile or {}).items()}
            # fio has the middle of a bucket
            printed = {key: min(value, part.lat.max) for key, value in named.items()}
            assert mine.percentiles_ns == printed


@needs_fio
def test_hosts_with_different_seeds_read_different_offsets(tmp_path: Path) -> None:
    def offsets(seed: int, where: str) -> str:
        shared = {
            **LOAD,
            "rw": "randread",
            "directory": str(tmp_path),
            "runtime": "",
            "time_based": "0",
        }
        shared |= {"write_iolog": str(tmp_path / where), "filename": "x", "number_ios": "100"}
        shared.pop("runtime")
        done = run(render_options(shared, {"a": {}}, seed), tmp_path)
        assert done.returncode == 0, done.stderr
        lines = (tmp_path / where).read_text().splitlines()
        return "\n".join(line.split(" ", 1)[-1] for line in lines if " read " in line)

    first, again, other = offsets(1, "l1"), offsets(1, "l2"), offsets(2, "l3")
    assert first
    assert first == again
    assert first != other
