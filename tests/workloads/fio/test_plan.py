"""From a profile and hosts to the step that runs it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.workloads.fio.fixtures import objects
from tests.workloads.fio.real import needs_fio, run, tree
from tui import workloads
from tui.model.address import HostAddress
from tui.model.plan import FileSpec, Step
from tui.model.problem import UsageError
from tui.model.profile import Profile, resolve_params, wants_layout
from tui.model.profile_model import whole
from tui.workloads.fio.jobfile import render
from tui.workloads.fio.loads import job_loads
from tui.workloads.fio.options import job_options
from tui.workloads.fio.plan import (
    Timing,
    argv,
    in_flight,
    required_dir,
    shown_latency,
    timing,
    writes_bytes,
)
from tui.workloads.fio.snapshot import decode

GIB = 1 << 30
SEEDS = {"h1": 11, "h2": 22}

WEKA = {
    "profile": "weka/read-iops",
    "title": "WEKA read IOPS",
    "tool": "fio",
    "params": {
        "directory": {"default": "/mnt/weka/fio", "kind": "directory"},
        "runtime": {"default": "300s", "kind": "duration"},
        "size": {"default": "4G", "kind": "size"},
        "numjobs": {"default": 192, "kind": "count"},
        "layout": {"default": "yes", "kind": "flag"},
    },
    "fio": {
        "global": {
            "ioengine": "posixaio",
            "iodepth": 1,
            "direct": 1,
            "time_based": 1,
            "startdelay": 5,
            "runtime": "{runtime}",
            "directory": "{directory}/{host}",
            "filename_format": "$jobnum/$filenum/iops.$jobnum.$filenum",
        },
        "jobs": {
            "read_iops": {
                "rw": "randread",
                "bs": "4k",
                "numjobs": "{numjobs}",
                "filesize": "{size}",
            }
        },
    },
    "prepare": {"layout": "{layout}"},
    "headline": {"metric": "iops", "direction": "read"},
}


def profile(**changes: Any) -> Profile:
    return whole().model_validate(WEKA | changes)


def job(shared: dict[str, Any], **jobs: dict[str, Any]) -> Profile:
    return profile(fio={"global": shared, "jobs": jobs})


def built(made: Profile, hosts: tuple[str, ...] = ("h1", "h2"), **overrides: str) -> Step:
    steps = workloads.get("fio").build_steps(
        made, resolve_params(made, overrides), [HostAddress(name) for name in hosts], SEEDS
    )
    assert len(steps) == 1
    return steps[0]


def test_every_host_gets_its_own_files_and_seed() -> None:
    step = built(profile())
    assert [(task.host, task.randseed) for task in step.tasks] == [("h1", 11), ("h2", 22)]
    assert [task.files[0] for task in step.tasks] == [
        FileSpec("/mnt/weka/fio/h1/0/0/iops.0.0", 4 * GIB),
        FileSpec("/mnt/weka/fio/h2/0/0/iops.0.0", 4 * GIB),
    ]
    assert [len(task.files) for task in step.tasks] == [192, 192]
    assert "randseed=22" in step.tasks[1].job_file
    assert "directory=/mnt/weka/fio/h2" in step.tasks[1].job_file


def test_a_step_says_how_long_in_which_directions_and_how_deep() -> None:
    step = built(profile())
    assert (step.startdelay_s, step.ramp_s, step.runtime_s, step.expected_s) == (
        5.0,
        0.0,
        300.0,
        305.0,
    )
    assert step.directions == ["read"]
    assert step.in_flight == 2 * 192
    assert (step.name, step.tool, step.index) == ("weka/read-iops", "fio", 0)
    assert step.params["numjobs"] == 192


def test_overridden_parameters_are_what_runs() -> None:
    step = built(profile(), numjobs="2", size="1M", runtime="30s", directory="/mnt/x")
    assert step.tasks[0].files == [FileSpec(f"/mnt/x/h1/{n}/0/iops.{n}.0", 1 << 20) for n in (0, 1)]
    assert "runtime=30s" in step.tasks[0].job_file
    assert step.runtime_s == 30


def test_the_given_directory_must_exist_and_those_below_are_made() -> None:
    task = built(profile(), numjobs="2").tasks[0]
    assert task.required_dir == "/mnt/weka/fio"
    assert task.directories == ["/mnt/weka/fio/h1", "/mnt/weka/fio/h1/0/0", "/mnt/weka/fio/h1/1/0"]


def test_the_command_is_the_status_stream() -> None:
    assert built(profile()).tasks[0].argv == [
        "fio",
        "--output-format=json+",
        "--status-interval=1",
        "--eta=never",
        "job.fio",
    ]
    assert "--max-jobs=5000" in argv(job_options({}, {"a": {"numjobs": "5000"}}))


def test_reading_writes_nothing_and_writing_is_bounded_by_the_files() -> None:
    assert built(profile(), numjobs="2").tasks[0].writes_bytes == 0
    writer = job(
        {"directory": "/mnt/x", "filesize": "1G", "rw": "randwrite"},
        a={"numjobs": 2},
        b={"rw": "read"},
    )
    assert built(writer).tasks[0].writes_bytes == 2 * GIB


@pytest.mark.parametrize(
    "options",
    [
        {"filename": "/dev/vdx", "ioengine": "libaio"},
        {"directory": "/t", "size": "50%"},
        {"ioengine": "rbd", "size": "1G"},
    ],
)
def test_writing_without_a_known_size_has_no_bound(options: dict[str, str]) -> None:
    assert writes_bytes(options, {"a": {"rw": "write"}}, []) is None
    assert writes_bytes(options, {"a": {"rw": "read"}}, []) == 0


def test_writing_to_null_writes_nothing() -> None:
    assert writes_bytes({"ioengine": "null", "size": "1G"}, {"a": {"rw": "write"}}, []) == 0


@pytest.mark.parametrize(("text", "layout"), [("yes", True), ("no", False)])
def test_layout_may_be_left_to_a_parameter(text: str, layout: bool) -> None:
    made = profile()
    assert wants_layout(made, resolve_params(made, {"layout": text})) is layout
    assert built(made, numjobs="1", layout=text).tasks[0].layout is layout


def test_a_device_is_never_laid_out() -> None:
    made = job({"filename": "/dev/vdx", "size": "1G", "rw": "read"}, a={})
    task = built(profile(fio=made.body.model_dump(by_alias=True), prepare={"layout": True})).tasks[
        0
    ]
    assert task.files == [FileSpec("/dev/vdx", GIB)]
    assert not task.layout
    assert task.directories == []
    assert task.required_dir is None


def test_a_size_that_layout_needs_and_nobody_gives_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match="percentages"):
        built(job({"directory": "/mnt/x", "size": "20%"}, a={}))


def test_the_required_directory_is_the_longest_that_was_given() -> None:
    made = profile(
        params=WEKA["params"]  # type: ignore[operator]
        | {
            "top": {"default": "/mnt", "kind": "directory"},
            "other": {"default": "/srv/elsewhere/deep", "kind": "directory"},
        }
    )
    assert required_dir(made, resolve_params(made, {}), ["/mnt/weka/fio/h1"]) == "/mnt/weka/fio"
    assert required_dir(made, resolve_params(made, {}), ["/mnt/wekafs"]) == "/mnt"
    assert required_dir(made, resolve_params(made, {}), []) is None


TIMED = {"time_based": "1", "runtime": "10s"}


@pytest.mark.parametrize(
    ("shared", "jobs", "expected"),
    [
        (TIMED, {"a": {}}, Timing(0, 0, 10)),
        (TIMED | {"ramp_time": "3s", "startdelay": "2s"}, {"a": {}}, Timing(2, 3, 10)),
        (TIMED, {"a": {}, "b": {"startdelay": "5s"}}, Timing(0, 0, 15)),
        (TIMED, {"a": {}, "b": {"stonewall": "1"}}, Timing(0, 0, 20)),
        (
            TIMED | {"ramp_time": "2s"},
            {"a": {}, "b": {"stonewall": "1", "runtime": "5s"}},
            Timing(0, 2, 17),
        ),
        ({"runtime": "10s"}, {"a": {}}, Timing(0, 0, 10)),
        ({"ramp_time": "3s"}, {"a": {}}, Timing(0, 3, None)),
        ({}, {"a": TIMED, "b": {"size": "1G"}}, Timing(0, 0, None)),
    ],
)
def test_time_is_counted_to_the_end_of_the_last_job(
    shared: dict[str, str], jobs: dict[str, dict[str, str]], expected: Timing
) -> None:
    assert timing(job_options(shared, jobs)) == expected


@pytest.mark.parametrize(
    ("more", "bound_s"),
    [
        ({}, 10.0),
        ({"latency_target": "5ms"}, None),  # it ends with its search for a depth
        ({"latency_target": "5ms", "latency_run": "1"}, 10.0),
        ({"time_based": "0"}, None),
    ],
)
def test_only_a_job_that_its_runtime_ends_has_a_bound(
    more: dict[str, str], bound_s: float | None
) -> None:
    (load,) = job_loads(job_options(TIMED | more, {"a": {"rw": "read"}}))
    assert load.bound_s == bound_s


def test_jobs_that_run_in_turn_are_not_in_flight_together() -> None:
    shared = {"ioengine": "libaio", "iodepth": "8"}
    assert in_flight(job_options(shared, {"a": {}, "b": {"numjobs": "2"}})) == 24
    assert in_flight(job_options(shared, {"a": {}, "b": {"numjobs": "2", "stonewall": "1"}})) == 16


def test_the_profiles_own_seed_is_the_one_that_is_recorded() -> None:
    made = job({"directory": "/t", "size": "1G", "randrepeat": 0, "randseed": 77}, a={})
    task = built(made).tasks[0]
    assert task.randseed == 77
    assert task.job_file.count("randseed=") == 1


def test_the_shown_job_file_is_the_load_without_a_seed() -> None:
    made = profile()
    shown = render(made, resolve_params(made, {}), "h1", 1, None)
    planned = built(made).tasks[0].job_file
    assert [line for line in planned.splitlines() if line not in shown.splitlines()] == [
        "randrepeat=0",
        "randseed=11",
    ]


@needs_fio
def test_a_planned_step_runs_on_the_files_that_were_laid_out(tmp_path: Path) -> None:
    made = profile()
    step = built(
        made, ("h1",), directory=str(tmp_path / "t"), numjobs="3", size="1500k", runtime="1s"
    )
    task = step.tasks[0]
    for directory in task.directories:
        Path(directory).mkdir(parents=True)
    laid = run(workloads.get("fio").layout_job(task.files), tmp_path / "layout")
    assert laid.returncode == 0, laid.stderr
    before = tree(tmp_path / "t")
    assert before == {spec.path: spec.size_bytes for spec in task.files}
    text = task.job_file.replace("startdelay=5", "startdelay=0").replace("direct=1", "direct=0")
    done = run(text + "allow_file_create=0\n", tmp_path / "measure", "--status-interval=1")
    snapshot = decode(objects(done.stdout)[-1])
    assert (done.returncode, snapshot.jobs[0].error) == (0, 0)
    assert snapshot.jobs[0].read is not None
    assert snapshot.jobs[0].read.total_ios > 0
    assert tree(tmp_path / "t") == before


@needs_fio
@pytest.mark.parametrize(
    "options",
    [
        {"rw": "read", "size": "1M"},
        {"rw": "write", "size": "1M", "nrfiles": "4", "numjobs": "2"},
        {"rw": "randread", "size": "1M", "io_size": "256k"},
        {"rw": "randread", "size": "256k", "io_size": "1M"},
        {"rw": "randrw", "filesize": "1M", "number_ios": "16"},
        {"rw": "read", "size": "256k", "loops": "3"},
        {"rw": "randread", "size": "1M", "io_size": "256k", "loops": "3", "numjobs": "2"},
        {"rw": "read", "size": "256k", "io_size": "1M", "runtime": "60"},
    ],
    ids=str,
)
def test_a_load_that_ends_with_its_bytes_says_how_many(
    tmp_path: Path, options: dict[str, str]
) -> None:
    shared = {"directory": str(tmp_path), "ioengine": "psync", "bs": "4k"}
    task = built(job(shared, j=options), ("h1",)).tasks[0]
    (load,) = decode(objects(run(task.job_file, tmp_path / "run").stdout)[-1]).jobs
    assert task.moves_bytes == sum(each.io_bytes for each in (load.read, load.write) if each)


@pytest.mark.parametrize(
    "options",
    [
        {"size": "1M", "io_size": "4M", "time_based": "1", "runtime": "60"},
        {"size": "1M", "io_size": "50%"},
        {"size": "256k", "io_size": "1M", "loops": "2"},
        {"size": "256k", "io_size": "1M", "loops": "2", "number_ios": "300"},
        {"filesize": "4k-1M"},
        {"size": "1M", "ramp_time": "1"},
        {"size": "1M", "rw": "write", "verify": "crc32c"},
        {"size": "1M", "rw": "trimwrite"},
    ],
    ids=str,
)
def test_bytes_that_only_time_or_the_host_bounds_are_not_known(options: dict[str, str]) -> None:
    assert built(job({"directory": "/d"}, j=options), ("h1",)).bound_bytes is None


def test_fio_is_found_by_name_and_other_tools_are_refused() -> None:
    workload = workloads.get("fio")
    assert workload.name == "fio"
    assert workload.layout_argv()[-1] == "job.fio"
    with pytest.raises(UsageError, match="'fioo' is not supported \\(did you mean 'fio'"):
        workloads.get("fioo")


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"ioengine": "libaio"}, "lat"),
        ({"ioengine": "io_uring", "direct": 0}, "lat"),
        ({"ioengine": "libaio", "direct": 1}, None),
        ({"ioengine": "libaio", "buffered": 0}, None),
        ({"ioengine": "psync"}, None),
        ({"ioengine": "rbd"}, None),
    ],
)
def test_where_clat_would_hide_the_wait_lat_is_shown(
    options: dict[str, Any], expected: str | None
) -> None:
    shared = {name: str(value) for name, value in options.items()}
    assert shown_latency(profile(), job_options(shared, {"a": {"rw": "randread"}})) == expected


def test_a_latency_that_the_profile_names_is_shown() -> None:
    jobs = job_options({"ioengine": "libaio"}, {"a": {"rw": "randread"}})
    assert shown_latency(profile(latency="clat"), jobs) is None
