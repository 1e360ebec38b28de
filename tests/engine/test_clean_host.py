"""What goes from a host and what stays, with a real agent on this machine."""

from __future__ import annotations

import os
import subprocess
import tempfile
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from tui.engine.preflight.clean import (
    Cleaning,
    Created,
    clean,
    created_on,
    remove_created,
    sizes_text,
)
from tui.engine.preflight.clean import _remove as remove_under_lock
from tui.engine.preflight.made_files import MadeFiles
from tui.journal.rundir import sole_engine
from tui.model.address import HostAddress
from tui.model.plan import FILE_NUMBER, FileSpec, HostTask, Plan, ProfileRef, Step
from tui.model.problem import BenchtuiError
from tui.remote.agent import Agent
from tui.remote.connections import Connections
from tui.remote.local import LocalTransport
from tui.remote.made import identify, unmake_tree
from tui.remote.transport import HostError

HOST = HostAddress(name="h1", transport="local")


@pytest.fixture
def agent(tmp_path: Path) -> Agent:
    environ = {**os.environ, "BENCHTUI_LOCKS": str(tmp_path / "locks")}
    return Agent(LocalTransport(HOST, environ=environ), f"test-{uuid.uuid4().hex[:12]}")


async def made(agent: Agent, *paths: Path, target: str = "", mount: str = "") -> Created:
    """What a run made at these paths, as it is now; a dot in the name of a file."""
    files = {str(path): 4 for path in paths if "." in path.name}
    names = tuple(map(str, paths))
    known = await identify(agent, names)
    return Created(HOST, names, files, complete=False, target=target, mount=mount, known=known)


async def test_what_could_not_be_removed_is_reported_and_not_settled(
    agent: Agent, tmp_path: Path
) -> None:
    ours, others = tmp_path / "d" / "f.0", tmp_path / "d" / "theirs"
    ours.parent.mkdir()
    ours.write_bytes(b"1234")
    others.write_bytes(b"precious")
    done = await remove_created(agent, await made(agent, ours.parent, ours))
    assert done.settled == [str(ours)]
    assert done.stays == {str(ours.parent): "not empty"}
    assert others.read_bytes() == b"precious"


async def test_a_file_that_has_grown_since_is_not_removed(agent: Agent, tmp_path: Path) -> None:
    (tmp_path / "f.0").write_bytes(b"precious")
    done = await remove_created(agent, await made(agent, tmp_path / "f.0"))
    assert (done.settled, list(done.stays)) == ([], [str(tmp_path / "f.0")])
    assert (tmp_path / "f.0").exists()


def test_sizes_that_three_digits_do_not_tell_apart_are_told_in_bytes() -> None:
    assert sizes_text(2**20 + 3, 2**20) == "1,048,579 B now, 1,048,576 B when created"
    assert sizes_text(2**21, 2**20) == "2 MiB now, 1 MiB when created"


@pytest.mark.parametrize("holding", [b"", b"precious"])
async def test_numbered_files_go_as_far_as_the_run_counted(
    agent: Agent, tmp_path: Path, holding: bytes
) -> None:
    for number in range(5):
        (tmp_path / f"f.{number}").touch()
    (tmp_path / "f.10").write_bytes(holding)
    spec = FileSpec(str(tmp_path / f"f.{FILE_NUMBER}"), 0, 5)
    known = await identify(agent, [spec.path], {spec.path: 5})
    created = created_on(plan_of(spec), HOST, [spec.path], {}, known, complete=True)
    assert (await remove_created(agent, created)).settled == [spec.path]
    assert [path.name for path in tmp_path.glob("f.*")] == ["f.10"]


async def test_numbered_files_stay_when_one_of_them_holds_something(
    agent: Agent, tmp_path: Path
) -> None:
    for number in range(5):
        (tmp_path / f"f.{number}").touch()
    (tmp_path / "f.3").write_bytes(b"precious")
    (tmp_path / "f.0").unlink()
    spec = FileSpec(str(tmp_path / f"f.{FILE_NUMBER}"), 0, 5)
    known = await identify(agent, [spec.path], {spec.path: 5})
    created = created_on(plan_of(spec), HOST, [spec.path], {}, known, complete=True)
    done = await remove_created(agent, created)
    assert done.stays == {
        spec.path: f"{tmp_path}/f.3 is not empty, but the run created an empty file"
    }
    assert (tmp_path / "f.3").read_bytes() == b"precious"


def plan_of(spec: FileSpec) -> Plan:
    task = HostTask(host="h1", randseed=1, job_file="", argv=["fio"], files=[spec])
    step = Step(index=0, name="s", tool="fio", params={}, tasks=[task], runtime_s=None)
    return Plan(profile=ProfileRef("a/b", 1, "t", "", ""), params={}, hosts=[HOST], steps=[step])


async def test_what_is_gone_is_settled_only_where_its_directory_is_there(
    agent: Agent, tmp_path: Path
) -> None:
    here, away = tmp_path / "f.0", tmp_path / "unmounted" / "f.0"
    done = await remove_created(agent, await made(agent, here, away))
    assert done.settled == [str(here)]
    why = f"not visible, and {away.parent} does not exist: is its file system mounted?"
    assert done.stays == {str(away): why}


async def test_a_directory_of_the_run_that_went_with_its_files_is_settled(
    agent: Agent, tmp_path: Path
) -> None:
    paths = (tmp_path / "h1", tmp_path / "h1" / "f.0")
    assert (await remove_created(agent, await made(agent, *paths))).settled == [
        str(path) for path in paths
    ]


async def test_nothing_is_settled_while_another_file_system_is_mounted(
    agent: Agent, tmp_path: Path
) -> None:
    created = await made(agent, tmp_path / "f.0", target=str(tmp_path), mount="/mnt/of-the-run")
    done = await remove_created(agent, created)
    assert done.settled == []
    assert "nothing is mounted at /mnt/of-the-run" in done.stays[str(tmp_path / "f.0")]


@pytest.mark.skipif(
    not Path("/dev/shm").is_mount(), reason="needs a file system that is mounted below /"
)
async def test_what_was_mounted_over_the_files_is_named(agent: Agent) -> None:
    gone = Path(f"/dev/shm/{uuid.uuid4().hex}.0")
    done = await remove_created(agent, await made(agent, gone, target="/dev/shm", mount="/"))
    assert "a file system is now mounted at /dev/shm" in done.stays[str(gone)]


async def test_nothing_goes_while_a_process_of_the_run_is_alive(
    agent: Agent, tmp_path: Path
) -> None:
    (tmp_path / "f.0").write_bytes(b"1234")
    environ = {**os.environ, "BENCHTUI_RUN": agent.run_id, "BENCHTUI_HOST": agent.mark}
    with subprocess.Popen(["sleep", "60"], env=environ) as load:
        try:
            done = await remove_under_lock(agent, await made(agent, tmp_path / "f.0"))
        finally:
            load.kill()
    assert done.error == "1 process of this run still running: not cleaned"
    assert (tmp_path / "f.0").exists()
    assert (await remove_under_lock(agent, await made(agent, tmp_path / "f.0"))).settled == [
        str(tmp_path / "f.0")
    ]


async def test_no_engine_resumes_a_run_that_is_being_cleaned(agent: Agent, tmp_path: Path) -> None:
    run_dir = tmp_path / "runs" / "r1"
    run_dir.mkdir(parents=True)

    def keep(cleaned: list[Cleaning]) -> None:
        with (
            pytest.raises(BenchtuiError, match="already has an engine, or is being cleaned up"),
            sole_engine(run_dir),
        ):
            pass
        kept.extend(cleaned)

    kept: list[Cleaning] = []
    (tmp_path / "f.0").write_bytes(b"1234")
    MadeFiles.beside(run_dir).add("h1", [FileSpec(str(tmp_path / "f.0"), 4)])
    async with Connections() as connections:
        with sole_engine(run_dir), pytest.raises(BenchtuiError, match="already has an engine"):
            await clean(run_dir, [await made(agent, tmp_path / "f.0")], connections, keep)
        assert kept == []
        await clean(run_dir, [await made(agent, tmp_path / "f.0")], connections, keep)
    assert [each.settled for each in kept] == [[str(tmp_path / "f.0")]]
    assert MadeFiles.beside(run_dir).sizes("h1") == {}


@pytest.mark.parametrize("name", ["benchtui-r1/home", "data", "benchtui-"])
async def test_a_tree_is_removed_by_its_own_name_alone(
    agent: Agent, tmp_path: Path, name: str
) -> None:
    path = str(tmp_path / name)
    (tmp_path / name).mkdir(parents=True)
    with pytest.raises(HostError, match="not a directory of a run"):
        await unmake_tree(agent, "remove", path, await identify(agent, [path]))
    assert (tmp_path / name).exists()


async def test_a_tree_goes_whole_unless_it_was_replaced_or_something_is_mounted_below(
    agent: Agent, tmp_path: Path
) -> None:
    tree = tmp_path / "benchtui-r2"
    path = str(tree)
    tree.mkdir()
    known = await identify(agent, [path])
    tree.rename(tmp_path / "moved")
    (tree / "deep").mkdir(parents=True)
    assert await unmake_tree(agent, "remove", path, known) == "other"
    assert (tree / "deep").exists()
    (tree / "deep").rmdir()
    tree.rmdir()
    (tmp_path / "moved").rename(tree)
    (tree / "deep").mkdir()
    (tree / "deep" / ".hidden").touch()
    assert await unmake_tree(agent, "empty", path, known) == "stuck"
    assert await unmake_tree(agent, "remove", path, known) == "removed"
    assert not tree.exists()


@pytest.fixture
def overlay(tmp_path: Path) -> Iterator[Path]:
    """An overlay of two file systems: its files have another device than its directories."""
    (lower := tmp_path / "lower").mkdir()
    (merged := tmp_path / "merged").mkdir()
    with tempfile.TemporaryDirectory(dir="/dev/shm") as memory:
        for name in ("upper", "work"):
            Path(memory, name).mkdir()
        layers = f"lowerdir={lower},upperdir={memory}/upper,workdir={memory}/work"
        words = ["mount", "-t", "overlay", "overlay", "-o", layers, str(merged)]
        if subprocess.run(words, capture_output=True, check=False).returncode:
            pytest.skip("mounting is not allowed here")
        try:
            yield merged
        finally:
            subprocess.run(["umount", "-R", str(merged)], check=True)


async def test_files_of_an_overlay_go_unless_something_is_mounted_on_them(
    agent: Agent, overlay: Path
) -> None:
    ours, covered = overlay / "f.0", overlay / "f.1"
    for each in (ours, covered):
        each.write_bytes(b"1234")
    if ours.stat().st_dev == overlay.stat().st_dev:
        pytest.skip("this overlay's files have its device")
    created = await made(agent, ours, covered)
    subprocess.run(["mount", "--bind", str(covered), str(covered)], check=True)
    done = await remove_created(agent, created)
    assert done.settled == [str(ours)]
    assert list(done.stays) == [str(covered)]
    assert (ours.exists(), covered.exists()) == (False, True)


async def test_empty_directories_go_at_any_of_three_levels_and_files_stay(
    agent: Agent, tmp_path: Path
) -> None:
    tree = tmp_path / "benchtui-r3"
    path = str(tree)
    (tree / "0" / "data" / "ior-easy").mkdir(parents=True)  # IO500 removes them in a race of ranks
    (tree / "0" / "kept").mkdir()
    (kept := tree / "0" / "kept" / "file").touch()
    known = await identify(agent, [path])
    assert await unmake_tree(agent, "empty", path, known) == "stuck"
    assert sorted(tree.rglob("*")) == [tree / "0", kept.parent, kept]
    kept.unlink()
    assert await unmake_tree(agent, "empty", path, known) == "removed"
    assert not tree.exists()


async def test_a_directory_of_mpi_that_goes_whole_is_reported_as_removed(
    agent: Agent, tmp_path: Path
) -> None:
    own = tmp_path / f"benchtui-{agent.run_id}"
    (own / "0" / "test-dir.0-0").mkdir(parents=True)
    (own / "0" / "test-dir.0-0" / "file.mdtest.0").write_bytes(b"")
    done = await remove_under_lock(agent, await made(agent, own))
    assert not own.exists()
    assert (list(done.goes), done.absent, done.stays) == ([str(own)], [], {})
    assert any("removed" in line for line in done.lines(done=True))
