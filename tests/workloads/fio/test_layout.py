"""Which files a job file uses: the same as real fio creates."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.workloads.fio.fixtures import objects
from tests.workloads.fio.real import needs_fio, run, tree
from tui.model.plan import FileSpec, is_device
from tui.model.problem import UsageError
from tui.workloads.fio.jobfile import render_options
from tui.workloads.fio.layout import file_name, files_of, split_list
from tui.workloads.fio.snapshot import decode

Options = dict[str, str]

SHAPES: dict[str, tuple[Options, dict[str, Options]]] = {
    "one file": ({"directory": "{d}/a", "size": "64k"}, {"j": {}}),
    "a set for each worker": ({"directory": "{d}/a", "filesize": "16k"}, {"j": {"numjobs": "3"}}),
    "workers count from 0 in every section": (
        {"directory": "{d}/a", "filesize": "16k", "numjobs": "2"},
        {"j": {}, "k": {"numjobs": "3"}},
    ),
    "size is shared by the files of a worker": (
        {"directory": "{d}/a", "size": "100000"},
        {"j": {"nrfiles": "3", "numjobs": "2"}},
    ),
    "a remainder of whole blocks goes to the first files": (
        {"directory": "{d}/a", "size": "100018", "bs": "8"},
        {"j": {"nrfiles": "19"}},
    ),
    "filesize is that of every file": (
        {"directory": "{d}/a", "filesize": "16k", "size": "8k"},
        {"j": {"nrfiles": "2"}},
    ),
    "a shared file with a fixed size": (
        {"directory": "{d}/a", "filename": "s", "size": "64k"},
        {"j": {"numjobs": "3"}},
    ),
    "names with escaped colons": (
        {"directory": "{d}/a", "filename": r"x\:1:y:z\:\:2", "size": "96k"},
        {"j": {}},
    ),
    "names that begin with a slash": (
        {"directory": "{d}/a", "filename": "/deep/x", "size": "64k"},
        {"j": {}},
    ),
    "names of both levels add up": (
        {"directory": "{d}/a", "filename": "x", "size": "64k"},
        {"j": {"filename": "y:x"}},
    ),
    "absolute names without a directory": (
        {"filename": "{d}/a/x:{d}/b/y", "size": "64k"},
        {"j": {}},
    ),
    "nrfiles does not count next to names": (
        {"directory": "{d}/a", "nrfiles": "5", "size": "64k"},
        {"j": {"filename": "x:y"}},
    ),
    "directories are taken in turn by worker": (
        {"directory": "{d}/a:{d}/b", "filesize": "16k"},
        {"j": {"numjobs": "3", "nrfiles": "2"}, "k": {}},
    ),
    "named files all go to the first directory": (
        {"directory": "{d}/a:{d}/b", "filesize": "16k"},
        {"j": {"numjobs": "2", "filename": "x"}},
    ),
    "a directory with a colon": (
        {"directory": r"{d}/c\:1", "filesize": "16k"},
        {"j": {"numjobs": "2"}},
    ),
    "a format with directories": (
        {
            "directory": "{d}/a",
            "filename_format": "$jobnum/$filenum/bw.$jobnum.$filenum",
            "filesize": "16k",
        },
        {"j": {"numjobs": "2", "nrfiles": "2"}},
    ),
    "a format in capitals, and one that names a job": (
        {"directory": "{d}/a", "filename_format": "$JOBNAME-$JobNum", "filesize": "16k"},
        {"one two": {}, "k": {"filename_format": "$jobname/$jobname.$filenum", "nrfiles": "2"}},
    ),
    "a format that two sections share": (
        {
            "directory": "{d}/a",
            "filename_format": "$jobnum/$filenum/f",
            "filesize": "16k",
            "numjobs": "2",
        },
        {"j": {}, "k": {"stonewall": "1", "numjobs": "3"}},
    ),
    "an offset lies before the size": (
        {"directory": "{d}/a", "size": "64k", "offset": "8k"},
        {"j": {}},
    ),
    "but inside the filesize": (
        {"directory": "{d}/a", "filesize": "64k", "offset": "8k"},
        {"j": {}},
    ),
    "every worker begins further on": (
        {"directory": "{d}/a", "size": "64k", "offset_increment": "16k"},
        {"j": {"numjobs": "3"}},
    ),
    "second names of options": (
        {"directory": "{d}/a", "filesize": "16k", "nr_files": "2"},
        {"j": {"readwrite": "randread"}},
    ),
    "two jobs on one file of different sizes": (
        {"directory": "{d}/a", "filename": "x"},
        {"j": {"filesize": "16k"}, "k": {"filesize": "64k"}},
    ),
}


def placed(
    shape: tuple[Options, dict[str, Options]], where: Path
) -> tuple[Options, dict[str, Options]]:
    for name in ("a", "b", "c:1"):
        (where / name).mkdir(parents=True, exist_ok=True)

    def fill(options: Options) -> Options:
        return {key: value.replace("{d}", str(where)) for key, value in options.items()}

    return fill(shape[0]), {name: fill(own) for name, own in shape[1].items()}


def created_by_fio(
    shared: Options, jobs: dict[str, Options], where: Path, job_dir: Path
) -> dict[str, int]:
    done = create(shared, jobs, job_dir)
    assert done.returncode == 0, done.stderr.decode()
    return tree(where)


def create(
    shared: Options, jobs: dict[str, Options], job_dir: Path
) -> subprocess.CompletedProcess[bytes]:
    return run(
        render_options({**shared, "create_only": "1", "fallocate": "none"}, jobs, None), job_dir
    )


def some_worker_fails_or_idles(shared: Options, jobs: dict[str, Options], job_dir: Path) -> bool:
    done = run(render_options({**shared, "group_reporting": "0"}, jobs, None), job_dir)
    reads = [job.read for job in decode(objects(done.stdout)[-1]).jobs]
    return done.returncode != 0 or any(part is None or part.total_ios == 0 for part in reads)


def make(directories: list[str]) -> None:
    for path in directories:
        Path(path).mkdir(parents=True, exist_ok=True)


@needs_fio
@pytest.mark.parametrize("name", SHAPES)
def test_files_are_those_that_fio_creates(name: str, tmp_path: Path) -> None:
    shared, jobs = placed(SHAPES[name], tmp_path / "t")
    files, directories = files_of(shared, jobs)
    make(directories)
    assert {spec.path: spec.size_bytes for spec in files} == created_by_fio(
        shared, jobs, tmp_path / "t", tmp_path / "run"
    )
    assert {str(Path(spec.path).parent) for spec in files} <= set(directories)


sections = st.fixed_dictionaries(
    {},
    optional={
        "numjobs": st.integers(1, 4).map(str),
        "nrfiles": st.integers(1, 4).map(str),
        "size": st.integers(4, 40).map(lambda blocks: str(blocks * 4096 + blocks % 3)),
        "filesize": st.sampled_from(["8k", "12k", "9001"]),
        "filename": st.sampled_from(["x", "x:y", r"p\:q", "sub/z"]),
        "filename_format": st.sampled_from(
            ["$jobnum/$filenum", "$jobname.$filenum", "f.$jobnum.$jobnum"]
        ),
        "directory": st.sampled_from(["{d}/a", "{d}/a:{d}/b", "{d}/b/"]),
        "offset": st.just("4k"),
    },
)


@needs_fio
@settings(
    max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.dictionaries(st.sampled_from(["j", "k", "l"]), sections, min_size=1))
def test_files_of_any_mix_of_options_are_those_that_fio_creates(
    tmp_path_factory: pytest.TempPathFactory, jobs: dict[str, Options]
) -> None:
    where = tmp_path_factory.mktemp("mix")
    shared, own = placed(({"directory": "{d}/a", "size": "64k", "bs": "1k"}, jobs), where / "t")
    try:
        files, directories = files_of(shared, own)
    except UsageError as error:
        assert "must contain $jobnum" in str(error)
        assert some_worker_fails_or_idles(shared, own, where / "run")
        return
    make(directories)
    assert {spec.path: spec.size_bytes for spec in files} == created_by_fio(
        shared, own, where / "t", where / "run"
    )


def test_devices_are_listed_with_what_is_used_of_them() -> None:
    files, directories = files_of(
        {"ioengine": "libaio"}, {"a": {"filename": "/dev/vdx"}, "/dev/vdy": {"size": "1g"}}
    )
    assert files == [FileSpec("/dev/vdx", 0), FileSpec("/dev/vdy", 1 << 30)]
    assert directories == []


def test_shared_memory_is_no_device() -> None:
    assert not is_device("/dev/shm/x")


def test_engines_without_files_use_none() -> None:
    assert files_of({"ioengine": "null"}, {"a": {"size": "1g"}}) == ([], [])


def test_a_range_of_file_sizes_counts_with_its_largest() -> None:
    files, _ = files_of({"directory": "/t", "filesize": "4k-64k"}, {"a": {}})
    assert files == [FileSpec("/t/a.0.0", 65536)]


def test_directories_are_those_of_the_option_and_of_the_files() -> None:
    _, directories = files_of(
        {"directory": "/t", "filename_format": "$jobnum/x", "size": "4k"}, {"a": {"numjobs": "2"}}
    )
    assert directories == ["/t", "/t/0", "/t/1"]


@pytest.mark.parametrize(
    ("shared", "own", "words"),
    [
        ({"directory": "/t"}, {"size": "50%"}, "size=50%"),
        ({"directory": "/t"}, {"size": "64k", "offset": "10%"}, "offset=10%"),
        ({"directory": "/t"}, {}, "size= or filesize= is required"),
        ({"size": "4k"}, {}, "directory= or filename= is required"),
        ({"size": "4k"}, {"directory": "data"}, "must be an absolute path"),
        (
            {"size": "4k", "filename": "x"},
            {"directory": "/t"},
            "set directory= in the same section",
        ),
        ({"size": "4k", "directory": "/t"}, {"filename": "${HOME}/x"}, "a variable"),
        ({"size": "4k", "directory": "/t"}, {"opendir": "/t"}, "opendir is not supported"),
        ({"size": "4k", "directory": "/t"}, {"read_iolog": "log"}, "read_iolog is not supported"),
        (
            {"size": "4k", "directory": "/t"},
            {"numjobs": "2000", "nrfiles": "1000"},
            "at most 1000000",
        ),
        ({"size": "4 apples", "directory": "/t"}, {}, "size=4 apples"),
        ({"size": "4k", "directory": "/t"}, {"numjobs": "many"}, "numjobs=many"),
    ],
)
def test_what_cannot_be_known_before_the_run_is_refused_by_name(
    shared: Options, own: Options, words: str
) -> None:
    with pytest.raises(UsageError) as raised:
        files_of(shared, {"a": own, "b": own})
    assert words in str(raised.value)
    assert str(raised.value).startswith("job a: ")
    with pytest.raises(UsageError) as of_one:
        files_of(shared, {"a": own})
    assert f"job a: {of_one.value}" == str(raised.value), "of an only job there is nothing to tell"


def test_sizes_may_stay_unknown_when_nothing_is_laid_out() -> None:
    files, _ = files_of({"directory": "/t", "size": "50%"}, {"a": {}}, strict=False)
    assert files == [FileSpec("/t/a.0.0", 0)]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("a", ["a"]),
        ("a:b", ["a", "b"]),
        (r"a\:b", ["a:b"]),
        (":a::b:", ["a", "b"]),
        (r"a\::b", ["a:", "b"]),
        (" a ", ["a"]),
        ("", []),
    ],
)
def test_lists_are_split_at_colons_that_are_not_escaped(text: str, names: list[str]) -> None:
    assert split_list(text) == names


def test_keywords_of_a_format_may_stand_more_than_once() -> None:
    assert file_name("$jobnum/$filenum/bw.$jobnum.$filenum", "j", 3, 1) == "3/1/bw.3.1"


ROOM: list[tuple[Options, bool]] = [
    ({"size": "2"}, False),
    ({"size": "4095"}, False),
    ({"size": "4k"}, True),
    ({"size": "64k", "bs": "128k"}, False),
    ({"size": "64k", "bsrange": "4k-128k"}, True),
    ({"size": "8k", "nrfiles": "3"}, False),
    ({"size": "12k", "nrfiles": "3"}, True),
    ({"filesize": "2k"}, False),
    ({"filesize": "64k", "size": "64k", "offset": "64k"}, False),
    ({"filesize": "64k", "size": "4k", "offset": "60k"}, True),
]


@pytest.mark.parametrize(("options", "fits"), ROOM)
def test_a_file_holds_one_block_at_least(options: Options, fits: bool, tmp_path: Path) -> None:
    jobs = {"j": {"directory": str(tmp_path), "rw": "read", **options}}
    if fits:
        assert files_of({}, jobs)[0]
    else:
        with pytest.raises(UsageError, match="less than one block"):
            files_of({}, jobs)


@needs_fio
@pytest.mark.parametrize("options", [options for options, fits in ROOM if fits])
def test_what_holds_one_block_is_read_by_real_fio(options: Options, tmp_path: Path) -> None:
    jobs = {"j": {"directory": str(tmp_path), "rw": "read", "ioengine": "psync", **options}}
    (tmp_path / "job.fio").write_text(render_options({}, jobs, 1))
    done = subprocess.run(
        ["fio", "job.fio"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0 and "IOPS" in done.stdout, done.stderr


def test_a_number_without_a_unit_is_named_as_bytes() -> None:
    with pytest.raises(
        UsageError,
        match=r"size=2 is less than one block of 4 KiB; a number without a unit is bytes",
    ):
        files_of({}, {"j": {"directory": "/x", "size": "2"}})
