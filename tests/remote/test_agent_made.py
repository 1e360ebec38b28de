"""What a run made is removed by what it is: anything else of the same name and size stays."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.remote.conftest import agent_under, new_run_id, put_away
from tui.model.address import HostAddress
from tui.model.plan import Identities
from tui.remote import made
from tui.remote.agent import Agent
from tui.remote.local import LocalTransport

DATA = b"x" * 4096


class Target:
    """`h1/deep/f` below a directory, as a run has made it.

    Beside it `precious`, the same to look at.
    """

    def __init__(self, base: Path) -> None:
        self.base, self.middle, self.deep = base, base / "h1", base / "h1" / "deep"
        self.file = self.deep / "f"
        self.precious = base.parent / "precious"
        for root in (self.base, self.precious):
            (root / "h1" / "deep").mkdir(parents=True)
            (root / "h1" / "deep" / "f").write_bytes(DATA)
        self.paths = [str(path) for path in (self.middle, self.deep, self.file)]

    async def known(self, agent: Agent) -> Identities:
        return await made.identify(agent, self.paths)

    async def unmade(self, agent: Agent, known: Identities) -> dict[str, str]:
        """What became of directory, directory and file, by name."""
        items = [made.Item(path, "directory") for path in self.paths[:2]]
        items.append(made.Item(self.paths[2], "file", len(DATA)))
        looked = await made.unmake(agent, "look", items, known)
        said = await made.unmake(agent, "remove", items, known)
        assert (looked[self.paths[2]] == "as-made") == (said[self.paths[2]] == "removed"), (
            "the look tells the truth"
        )
        return {Path(path).name: word.split(" ")[0] for path, word in said.items()}


@pytest.fixture
def target(tmp_path: Path) -> Target:
    return Target(tmp_path / "target")


@contextmanager
def mounted(*words: str, at: Path) -> Iterator[None]:
    """Something mounted over a directory. Skips where this user may not."""
    if (
        os.getuid()
        or subprocess.run(["mount", *words, str(at)], capture_output=True, check=False).returncode
    ):
        pytest.skip("mounting is not allowed here")
    try:
        yield
    finally:
        subprocess.run(["umount", str(at)], check=True)


async def test_everything_that_was_made_goes(shell_agent: Agent, target: Target) -> None:
    known = await target.known(shell_agent)
    target.file.write_bytes(DATA[::-1])  # later runs write to it
    target.file.chmod(0o600)
    assert await target.unmade(shell_agent, known) == {
        "h1": "removed",
        "deep": "removed",
        "f": "removed",
    }
    assert list(target.base.iterdir()) == []
    assert await target.unmade(shell_agent, known) == {
        "h1": "absent",
        "deep": "no-directory",
        "f": "no-directory",
    }


def file_replaced(target: Target) -> None:
    (target.precious / "h1/deep/f").replace(target.file)


def directory_replaced(target: Target) -> None:
    target.deep.rename(target.base / "away")
    (target.precious / "h1/deep").rename(target.deep)


def directory_became_a_link(target: Target) -> None:
    target.deep.rename(target.base / "away")
    target.deep.symlink_to(target.precious / "h1/deep")


def directory_became_a_link_to_itself(target: Target) -> None:
    target.deep.rename(target.base / "away")
    target.deep.symlink_to(target.base / "away")


def middle_became_a_link(target: Target) -> None:
    target.middle.rename(target.base / "away")
    target.middle.symlink_to(target.precious / "h1")


def target_became_a_link(target: Target) -> None:
    target.base.rename(target.base.with_name("away"))
    target.base.symlink_to(target.precious)


def file_became_a_link(target: Target) -> None:
    target.file.unlink()
    target.file.symlink_to(target.precious / "h1/deep/f")


def file_was_linked(target: Target) -> None:
    (target.base / "link").hardlink_to(target.file)


def file_has_grown(target: Target) -> None:
    target.file.write_bytes(DATA + b"precious")


SWAPS: dict[Callable[[Target], None], str] = {
    file_replaced: "other",
    directory_replaced: "other-directory",
    directory_became_a_link: "leads-to",
    directory_became_a_link_to_itself: "leads-to",
    middle_became_a_link: "leads-to",
    target_became_a_link: "leads-to",
    file_became_a_link: "kind",
    file_was_linked: "links",
    file_has_grown: "size",
}


@pytest.mark.parametrize("swap", SWAPS, ids=lambda swap: swap.__name__)
async def test_nothing_goes_in_the_place_of_what_was_made(
    shell_agent: Agent, target: Target, swap: Callable[[Target], None]
) -> None:
    known = await target.known(shell_agent)
    swap(target)
    before = files_below(target.base.parent)
    said = await target.unmade(shell_agent, known)
    assert said["f"] == SWAPS[swap]
    assert files_below(target.base.parent) == before
    assert "removed" not in said.values()


@pytest.mark.parametrize("words", [("-t", "tmpfs", "none"), ("--bind",)], ids=["tmpfs", "bind"])
@pytest.mark.parametrize("over", ["deep", "middle", "base"])
async def test_nothing_goes_below_what_was_mounted_since(
    agent: Agent, target: Target, words: tuple[str, ...], over: str
) -> None:
    known = await target.known(agent)
    at: Path = getattr(target, over)
    source = target.precious / at.relative_to(target.base)
    with mounted(*words, *([str(source)] if "--bind" in words else []), at=at):
        if "tmpfs" in words:
            shutil.copytree(source, at, dirs_exist_ok=True)
        said = await target.unmade(agent, known)
        assert said["f"] in ("other-directory", "other-file-system")
        assert "removed" not in said.values()
        assert target.file.read_bytes() == DATA
    assert target.file.exists()


async def test_a_file_that_is_mounted_over_stays(agent: Agent, target: Target) -> None:
    known = await target.known(agent)
    with mounted("--bind", str(target.precious / "h1/deep/f"), at=target.file):
        assert (await target.unmade(agent, known))["f"] in ("other", "mounted")
    assert target.file.exists() and (target.precious / "h1/deep/f").exists()


async def test_a_tree_with_a_mount_below_stays(agent: Agent, target: Target) -> None:
    tree = target.base / "benchtui r$1"
    (tree / "0").mkdir(parents=True)
    path = str(tree.rename(tree.with_name("benchtui-r [1]\\")))
    known = await made.identify(agent, [path])
    with mounted("--bind", str(target.precious), at=Path(path) / "0"):
        assert await made.unmake_tree(agent, "remove", path, known) == "mounted-below"
        assert (target.precious / "h1/deep/f").exists()
    assert await made.unmake_tree(agent, "remove", path, known) == "removed"


async def test_a_file_system_without_times_of_birth_goes_by_the_time_of_change(
    tmp_path: Path, target: Target
) -> None:
    """As busybox tells it.

    The inode alone would not do: ext4 gives that of a removed file to the next one.
    """
    if shutil.which("busybox") is None:
        pytest.skip("no busybox on this machine")
    (tmp_path / "bin").mkdir()
    stat = tmp_path / "bin" / "stat"
    stat.write_text('#!/bin/sh\nexec busybox stat "$@"\n')
    stat.chmod(0o755)
    environ = {**os.environ, "PATH": f"{stat.parent}:{os.environ['PATH']}"}
    agent = Agent(
        LocalTransport(HostAddress(name="old", transport="local"), environ=environ), new_run_id()
    )
    known = await target.known(agent)
    assert " c:" in known.files[str(target.file)]
    inode = target.file.stat().st_ino
    target.file.unlink()
    target.file.write_bytes(DATA)
    same = target.file.stat().st_ino == inode
    assert (await target.unmade(agent, known))["f"] == "other", f"the same inode: {same}"
    again = await target.known(agent)
    assert (await target.unmade(agent, again))["f"] == "removed"


async def test_a_host_whose_stat_tells_nothing_identifies_nothing(
    tmp_path: Path, target: Target
) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "stat").write_text("#!/bin/sh\nexit 1\n")
    (tmp_path / "bin" / "stat").chmod(0o755)
    known = await target.known(agent_under("dash"))
    environ = {**os.environ, "PATH": f"{tmp_path}/bin:{os.environ['PATH']}"}
    agent = Agent(
        LocalTransport(HostAddress(name="old", transport="local"), environ=environ), new_run_id()
    )
    assert await target.known(agent) == Identities()
    assert set((await target.unmade(agent, known)).values()) == {"no-stat"}
    assert target.file.exists()
    await put_away(agent)


async def test_what_no_record_identifies_stays(agent: Agent, target: Target) -> None:
    assert set((await target.unmade(agent, Identities())).values()) == {"unknown"}
    assert target.file.exists()


def files_below(directory: Path) -> set[Path]:
    return {Path(root, name) for root, _, names in os.walk(directory) for name in names}
