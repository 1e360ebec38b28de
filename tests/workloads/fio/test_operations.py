"""Engines that work on files without reading or writing them, and engines that no file of the host
is known of.
"""

from __future__ import annotations

import pytest

from tui.model.address import HostAddress
from tui.model.plan import FILE_NUMBER, FileSpec, HostTask
from tui.model.problem import UsageError
from tui.model.profile import resolve_params
from tui.model.profile_load import load_profile
from tui.workloads.fio.layout import files_of
from tui.workloads.fio.plan import build_steps

NUMBERED = {
    "directory": "/t",
    "nrfiles": "50000",
    "filename_format": "bt.$jobnum/f.$filenum",
    "create_on_open": "1",
}


def task(engine: str, **options: str) -> HostTask:
    rows = "".join(f"      {name}: {value}\n" for name, value in options.items())
    text = (
        "profile: t/t\ntitle: t\ntool: fio\nfio:\n  jobs:\n    j:\n"
        f"      ioengine: {engine}\n      bs: 4k\n      filesize: 4k\n{rows}"
        "headline: {metric: iops, direction: mixed}\n"
    )
    profile = load_profile(text, "t.yaml")
    (step,) = build_steps(profile, resolve_params(profile, {}), [HostAddress("h")], {"h": 1})
    return step.tasks[0]


@pytest.mark.parametrize("engine", ["filecreate", "filestat", "filedelete"])
def test_very_many_files_are_one_path_for_each_worker(engine: str) -> None:
    files, directories = files_of({}, {"j": {"ioengine": engine, "numjobs": "2", **NUMBERED}})
    assert files == [FileSpec(f"/t/bt.{n}/f.{FILE_NUMBER}", 0, 50000) for n in (0, 1)]
    assert directories == ["/t", "/t/bt.0", "/t/bt.1"]


def test_the_keyword_may_be_written_in_any_case() -> None:
    options = {"ioengine": "filecreate", **NUMBERED, "filename_format": "a.$JOBNUM.$FileNum.b"}
    assert files_of({}, {"j": options})[0] == [FileSpec(f"/t/a.0.{FILE_NUMBER}.b", 0, 50000)]


def test_files_in_numbered_directories_are_named_one_by_one() -> None:
    options = {
        "ioengine": "filecreate",
        **NUMBERED,
        "nrfiles": "3",
        "filename_format": "$filenum/x",
        "size": "3",
    }
    assert [spec.path for spec in files_of({}, {"j": options})[0]] == ["/t/0/x", "/t/1/x", "/t/2/x"]


def test_workers_with_the_same_files_are_refused() -> None:
    options = {
        "ioengine": "filecreate",
        "numjobs": "2",
        **NUMBERED,
        "filename_format": "f.$filenum",
    }
    with pytest.raises(UsageError, match="must contain \\$jobnum"):
        files_of({}, {"j": options})


def test_what_fio_writes_before_it_stats_is_known_file_by_file() -> None:
    options = {
        "ioengine": "filestat",
        **NUMBERED,
        "nrfiles": "2",
        "create_on_open": "0",
        "filesize": "4k",
    }
    assert files_of({}, {"j": options})[0] == [
        FileSpec("/t/bt.0/f.0", 4096),
        FileSpec("/t/bt.0/f.1", 4096),
    ]


@pytest.mark.parametrize(
    ("engine", "found"),
    [("filecreate", "absent"), ("filestat", "present"), ("filedelete", "present"), ("psync", "")],
)
def test_how_files_must_be_found(engine: str, found: str) -> None:
    assert task(engine, **NUMBERED | {"nrfiles": "2"}).expects == found


@pytest.mark.parametrize(
    "engine", ["libfio_vitastor.so", "external:/usr/lib/x.so", "/usr/lib/x.so"]
)
def test_an_engine_from_a_file_has_no_files_here_and_writes_without_bound(engine: str) -> None:
    planned = task(f'"{engine}"', rw="randwrite", image="testimg")
    assert (planned.files, planned.directories, planned.layout, planned.writes_bytes) == (
        [],
        [],
        False,
        None,
    )
