"""`benchtui clean`: what a run created goes from its hosts, and nothing else."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.app.driver import opened, options
from tests.e2e.command import benchtui, journal_has, measures, only_run, start
from tests.lab.sshd import SshdLab
from tests.patience import wait_until
from tests.samples.journals import told_in
from tui.engine.preflight.clean import Cleaning, Created, judge
from tui.model.address import HostAddress
from tui.remote.answers import FileInfo

WRITES = """\
profile: own/writes
version: 1
title: Random writes, laid out first
tool: fio
params:
  directory: {kind: directory, default: /mnt}
prepare: {layout: true}
fio:
  global:
    {ioengine: psync, rw: randwrite, bs: 4k, rate_iops: 10, time_based: 1, runtime: 3s, directory: "{directory}/in"}
  jobs:
    data: {filesize: 1M}
headline: {metric: iops, direction: write}
"""
PROFILE = """\
profile: own/files
version: 1
title: Random reads in directories of the run's own
tool: fio
params:
  directory: {kind: directory, default: /mnt}
  runtime: {kind: duration, default: 1s}
prepare: {layout: true}
fio:
  global:
    {ioengine: psync, rw: randread, bs: 4k, rate_iops: 10, time_based: 1, runtime: "{runtime}",
     directory: "{directory}/{host}/deep"}
  jobs:
    data: {filesize: 1M, nrfiles: 2}
headline: {metric: iops, direction: read}
"""

ONE_OF_FOUR = """\
profile: own/one
title: Opens one of four files
tool: fio
params:
  directory: {kind: directory, default: /mnt}
fio:
  global: {ioengine: psync, directory: "{directory}", filesize: 16k, bs: 4k, nrfiles: 4}
  jobs: {data: {rw: write, openfiles: 1, create_on_open: 1, number_ios: 1}}
headline: {metric: iops, direction: write}
"""


@pytest.fixture
def target(tmp_path: Path) -> Path:
    path = tmp_path / "target"
    path.mkdir()
    return path


@pytest.fixture
def own(home: Path) -> Path:
    (home / "profiles").mkdir()
    (home / "profiles" / "files.yaml").write_text(PROFILE)
    return home


@pytest.fixture
def ran(own: Path, target: Path, lab: SshdLab) -> Iterator[Path]:
    """A run on h1 and h2 that left its files; its directory."""
    words = (
        "run",
        "own/files",
        "--hosts",
        "h1,h2",
        "--ssh-config",
        lab.ssh_config,
        "--set",
        f"directory={target}",
    )
    done = benchtui(own, *words, "--json")
    assert done.returncode == 0, done.stderr
    yield only_run(own)


def left(run_dir: Path) -> dict[str, object]:
    """What run.json says is left, by host."""
    return {
        host["name"]: host["files_left"]
        for host in json.loads((run_dir / "run.json").read_text())["hosts"]
    }


@pytest.mark.e2e
def test_everything_that_the_run_made_goes_and_the_record_says_so(
    own: Path, ran: Path, target: Path
) -> None:
    before = json.loads((ran / "run.json").read_text())
    refused = benchtui(own, "clean", "last")
    assert refused.returncode == 2
    some = f"{target}/h1, {target}/h1/deep, {target}/h1/deep/data.0.0 and 1 more"
    assert f"h1: {some}, 2 MiB: will be removed\n" in refused.stderr
    assert refused.stderr.endswith(
        f"this removes the files of {ran.name} from its hosts; confirm with --yes\n"
    )
    assert len(list(target.rglob("data.*"))) == 4, "nothing was removed without a yes"
    done = benchtui(own, "clean", ran.name, "--yes")
    assert done.returncode == 0, done.stderr
    assert [line.rpartition(", ")[2] for line in done.stdout.splitlines()] == ["2 MiB: removed"] * 2
    assert list(target.iterdir()) == []
    assert left(ran) == {"h1": None, "h2": None}
    record = json.loads((ran / "run.json").read_text())
    assert [each["bytes"] for host in record["hosts"] for each in host["files_removed"]] == [
        2 << 20
    ] * 2
    assert (record["state"], record["duration_s"]) == ("complete", before["duration_s"])
    again = benchtui(own, "clean", ran.name, "--yes")
    assert (again.returncode, again.stderr) == (0, f"{ran.name} left nothing on its hosts\n")


@pytest.mark.e2e
def test_what_is_not_the_runs_stays_and_is_named(
    own: Path, ran: Path, target: Path, lab: SshdLab
) -> None:
    """On h1 a file has grown and one was put beside it; on h2 one is gone.

    Another file of ours stays out of reach.
    """
    (target / "h1/deep/data.0.0").write_bytes(b"precious" * 200_000)
    (target / "h1/deep/somebody.else").write_text("precious")
    (target / "h2/deep/data.0.1").unlink()
    done = benchtui(own, "clean", ran.name, "--yes")
    assert done.returncode == 4
    assert done.stdout.splitlines() == [
        f"h1: {target}/h1/deep/data.0.1, 1 MiB: removed",
        f"h1: {target}/h1/deep/data.0.0: not removed: its size differs: 1.53 MiB now, 1 MiB when created",
        f"h1: {target}/h1: not removed: not empty",
        f"h1: {target}/h1/deep: not removed: not empty",
        f"h2: {target}/h2, {target}/h2/deep, {target}/h2/deep/data.0.0, 1 MiB: removed",
        f"h2: {target}/h2/deep/data.0.1: already gone",
    ]
    assert sorted(path.name for path in target.rglob("*") if path.is_file()) == [
        "data.0.0",
        "somebody.else",
    ]
    assert left(ran)["h2"] is None
    still = left(ran)["h1"]
    assert isinstance(still, dict)
    assert still["paths"] == [f"{target}/h1", f"{target}/h1/deep", f"{target}/h1/deep/data.0.0"]
    assert still["bytes"] == 1 << 20
    assert set(still["identities"]) == set(still["paths"])


@pytest.mark.e2e
def test_a_directory_that_became_a_link_to_another_is_not_cleaned(
    own: Path, ran: Path, target: Path
) -> None:
    """On h1 the directory is a link now, on h2 another file has the name.

    Both have files of the same name and size.
    """
    precious = target / "precious"
    precious.mkdir()
    for number in (0, 1):
        (precious / f"data.0.{number}").write_bytes(b"precious" * (1 << 17))
    (target / "h1/deep").rename(target / "h1/deep.old")
    (target / "h1/deep").symlink_to(precious)
    (precious / "data.0.1").rename(target / "h2/deep/data.0.0")
    (precious / "data.0.1").write_bytes(b"precious" * (1 << 17))
    done = benchtui(own, "clean", ran.name, "--yes")
    assert done.returncode == 4
    assert (
        f"h1: {target}/h1/deep/data.0.0: not removed: {target}/h1/deep now leads to {precious}: it was"
        in done.stdout
    )
    assert (
        f"h2: {target}/h2/deep/data.0.0: not removed: replaced since the run created it"
        in done.stdout
    )
    assert f"h2: {target}/h2/deep/data.0.1, 1 MiB: removed" in done.stdout
    assert len(list(precious.iterdir())) == 2
    assert (target / "h2/deep/data.0.0").exists()
    assert len(list((target / "h1/deep.old").iterdir())) == 2


@pytest.mark.e2e
def test_a_directory_that_is_swapped_between_two_measurements_is_not_written_to(
    own: Path, target: Path
) -> None:
    (own / "profiles" / "writes.yaml").write_text(WRITES)
    precious = target / "precious"
    precious.mkdir()
    (precious / "data.0.0").write_bytes(b"precious" * (1 << 17))
    words = (
        "--hosts",
        "local",
        "--set",
        f"directory={target}",
        "--repeat",
        "2",
        "--cleanup",
        "--detach",
    )
    done = benchtui(own, "run", "own/writes", *words)
    assert done.returncode == 0, done.stderr
    run_dir = only_run(own)
    wait_until(lambda: measures(run_dir, 0), "the first measurement")
    (target / "in").rename(target / "away")
    (target / "in").symlink_to(precious)
    wait_until((run_dir / "run.json").exists, "the end of the run")
    leads = f"{target}/in: it now resolves to {precious}"
    assert any(leads in text for text in told_in(run_dir))
    assert json.loads((run_dir / "run.json").read_text())["state"] == "partial"
    assert (precious / "data.0.0").read_bytes() == b"precious" * (1 << 17), (
        "neither written to nor removed"
    )
    assert (target / "in").is_symlink()


@pytest.mark.e2e
def test_a_directory_of_any_name_is_used_and_cleaned(own: Path, target: Path) -> None:
    directory = target / "-rf 'q\" [a]*?,={b}~%"
    directory.mkdir()
    done = benchtui(own, "run", "own/files", "--hosts", "local", "--set", f"directory={directory}")
    assert done.returncode == 0, done.stderr
    assert len(list(directory.rglob("data.*"))) == 2
    done = benchtui(own, "clean", "last", "--yes")
    assert done.returncode == 0, done.stdout
    assert (list(directory.iterdir()), list(target.iterdir())) == ([], [directory])


@pytest.mark.e2e
@pytest.mark.parametrize(
    "name", ["new\nline", "esc\x1b[2J", "not\udcff utf-8", "back\\slash", "$(id)"]
)
def test_a_name_that_cannot_stand_in_a_job_file_is_refused_in_one_line(
    own: Path, target: Path, name: str
) -> None:
    (target / name).mkdir()
    done = benchtui(
        own, "run", "own/files", "--hosts", "local", "--set", f"directory={target / name}"
    )
    assert done.returncode == 2
    assert done.stderr.startswith("benchtui: parameter 'directory': ")
    assert len(done.stderr.splitlines()) == 1 and "\x1b" not in done.stderr


@pytest.mark.e2e
def test_a_record_that_identifies_nothing_is_not_cleaned(
    own: Path, ran: Path, target: Path
) -> None:
    """As older versions wrote it."""
    journal = ran / "journal.jsonl"
    lines = [json.loads(line) for line in journal.read_text().splitlines()]
    for line in lines:
        line.pop("known", None)
    journal.write_text("".join(json.dumps(line) + "\n" for line in lines))
    record = json.loads((ran / "run.json").read_text())
    for host in record["hosts"]:
        for key in ("identities", "directories"):
            host["files_left"].pop(key)
    (ran / "run.json").write_text(json.dumps(record))
    done = benchtui(own, "clean", ran.name, "--yes")
    assert done.returncode == 4
    assert done.stdout.count("not identified in the record") == 8
    assert len(list(target.rglob("data.*"))) == 4


@pytest.mark.slow
@pytest.mark.e2e
async def test_a_key_in_the_app_does_the_same_after_a_question(
    own: Path, ran: Path, target: Path
) -> None:
    async with opened(options(own), (120, 36)) as user:
        await user.press("6")
        await user.sees("own/files")
        await user.press("C")
        await user.sees("Remove these from the hosts?")
        await user.sees("MiB: will")
        await user.press("n")
        assert len(list(target.rglob("data.*"))) == 4
        await user.press("enter")
        await user.sees(lambda: user.scope == "result")
        await user.press("C")
        await user.sees("Remove these from the hosts?")
        await user.press("y")
        await user.sees("Removed from the hosts")
        await user.sees("2 MiB: removed")
        await user.press("o")
        await user.sees(lambda: user.scope == "result")
        assert list(target.iterdir()) == []
        await user.sees(lambda: left(ran) == {"h1": None, "h2": None})


@pytest.mark.e2e
def test_a_running_run_is_not_cleaned(own: Path, target: Path) -> None:
    words = (
        "run",
        "own/files",
        "--hosts",
        "local",
        "--set",
        f"directory={target}",
        "--set",
        "runtime=60s",
        "--detach",
    )
    assert benchtui(own, *words).returncode == 0
    done = benchtui(own, "clean", "last", "--yes")
    name = only_run(own).name
    assert (done.returncode, done.stderr) == (
        2,
        f"benchtui: {name} is still running; stop it first: benchtui stop {name}\n",
    )
    stopping = start(own, "stop", "last", "--abort")
    wait_until(lambda: stopping.poll() is not None, "the end of the run")
    assert benchtui(own, "clean", "last:any", "--yes").returncode == 0
    assert list(target.iterdir()) == []


@pytest.mark.e2e
def test_what_is_where_a_removed_file_was_is_not_overwritten_by_a_resume(
    own: Path, target: Path
) -> None:
    words = (
        "--hosts",
        "local",
        "--set",
        f"directory={target}",
        "--set",
        "runtime=60s",
        "--cleanup",
        "--detach",
    )
    assert benchtui(own, "run", "own/files", *words).returncode == 0
    run_dir = only_run(own)
    wait_until(lambda: journal_has(run_dir, '"phase":"measure"'), "the measurement")
    assert benchtui(own, "stop", "last").returncode in (0, 4)
    wait_until((run_dir / "run.json").exists, "the end of the run")
    assert list(target.iterdir()) == []
    assert left(run_dir) == {"local": None}
    assert [
        len(host["files_removed"])
        for host in json.loads((run_dir / "run.json").read_text())["hosts"]
    ] == [1]
    foreign = target / "local/deep/data.0.0"
    foreign.parent.mkdir(parents=True)
    foreign.write_bytes(b"precious")
    resumed = benchtui(own, "runs", "resume", run_dir.name)
    assert resumed.returncode != 0
    assert (
        "a file that your runs did not create would be overwritten"
        in resumed.stdout + resumed.stderr
    )
    assert foreign.read_bytes() == b"precious", "neither overwritten nor removed by --cleanup"


NUMBERED = """\
profile: own/made
version: 1
title: Files without data
tool: fio
params:
  directory: {kind: directory, default: /mnt}
fio:
  global: {ioengine: ENGINE, create_on_open: 1, filesize: 4k, bs: 4k, nrfiles: 5, file_service_type: sequential,
           filename_format: bt.$jobnum/f.$filenum, directory: "{directory}"}
  jobs:
    make: {numjobs: 1}
headline: {metric: ops, direction: DIRECTION}
"""


@pytest.mark.e2e
@pytest.mark.parametrize(
    ("engine", "direction"), [("filecreate", "create"), ("filedelete", "remove")]
)
def test_numbered_files_of_another_user_are_neither_used_nor_removed(
    own: Path, target: Path, engine: str, direction: str
) -> None:
    text = NUMBERED.replace("ENGINE", engine).replace("DIRECTION", direction)
    (own / "profiles" / "files.yaml").write_text(text)
    (target / "bt.0").mkdir()
    for number in (0, 1, 2, 3, 4) if engine == "filedelete" else (3,):
        (target / "bt.0" / f"f.{number}").touch()
    (target / "bt.0" / "f.3").write_bytes(b"precious")
    done = benchtui(
        own, "run", "own/made", "--hosts", "local", "--set", f"directory={target}", "--cleanup"
    )
    assert done.returncode != 0
    assert f"{target}/bt.0/f.3" in done.stdout + done.stderr
    assert (target / "bt.0" / "f.3").read_bytes() == b"precious"


@pytest.mark.e2e
def test_of_numbered_files_only_those_that_the_run_made_are_removed(
    own: Path, target: Path
) -> None:
    text = NUMBERED.replace("ENGINE", "filecreate").replace("DIRECTION", "create")
    (own / "profiles" / "files.yaml").write_text(text)
    (target / "bt.0").mkdir()
    (target / "bt.0" / "f.10").write_bytes(b"precious")
    done = benchtui(own, "run", "own/made", "--hosts", "local", "--set", f"directory={target}")
    assert done.returncode == 0, done.stderr
    assert len(list((target / "bt.0").iterdir())) == 6
    assert benchtui(own, "clean", "last", "--yes").returncode == 0
    assert [path.name for path in (target / "bt.0").iterdir()] == ["f.10"]


def judged(complete: bool, size: int, info: FileInfo | None) -> Cleaning:
    created = Created(HostAddress(name="h1"), ("/a/f",), {"/a/f": size}, complete)
    return judge(created, {"/a/f": info})


@pytest.mark.parametrize(
    ("complete", "size", "info", "goes"),
    [
        (True, 100, FileInfo(100, 100), True),
        (True, 100, FileInfo(101, 101), False),
        (True, 100, FileInfo(99, 99), False),
        (False, 100, FileInfo(99, 99), True),
        (False, 100, FileInfo(101, 101), False),
        (True, 0, FileInfo(12345, 0), True),
        (True, 100, FileInfo(100, 0, "directory"), False),
        (True, 100, FileInfo(100, 0, "block"), False),
    ],
)
def test_a_file_goes_when_it_is_what_the_run_made(
    complete: bool, size: int, info: FileInfo, goes: bool
) -> None:
    found = judged(complete, size, info)
    assert (bool(found.goes), bool(found.stays), found.absent) == (goes, not goes, [])


def test_a_file_that_is_gone_is_reported() -> None:
    assert judged(True, 100, None).lines(done=True) == ["h1: /a/f: already gone"]


def test_a_file_that_the_load_did_not_create_is_not_left_behind(home: Path, target: Path) -> None:
    (home.parent / "one.yaml").write_text(ONE_OF_FOUR)
    words = ["--hosts", "local", "--set", f"directory={target}", "--json", "--yes"]
    done = benchtui(home, "run", home.parent / "one.yaml", *words)
    assert done.returncode in (0, 1), done.stderr
    (host,) = json.loads(done.stdout)["hosts"]
    assert host["files_left"]["paths"] == [str(path) for path in target.iterdir()]
    assert (len(host["files_left"]["paths"]), host["files_left"]["bytes"]) == (1, 16 << 10)
