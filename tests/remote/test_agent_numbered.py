"""One path for very many numbered files, under every POSIX shell that is here."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.remote.helpers import removed
from tui.model.plan import FILE_NUMBER
from tui.remote import made
from tui.remote.agent import Agent
from tui.remote.answers import FileInfo
from tui.remote.files import count_numbered, stat_files


async def test_of_numbered_files_the_first_is_looked_at(shell_agent: Agent, tmp_path: Path) -> None:
    here, none = str(tmp_path / f"f.{FILE_NUMBER}"), str(tmp_path / f"g.{FILE_NUMBER}")
    (tmp_path / "f.0").write_bytes(b"")
    (tmp_path / "g.1").write_bytes(b"")
    assert await stat_files(shell_agent, [here, none]) == {here: FileInfo(0, 0, "file"), none: None}


async def test_numbered_files_are_removed_and_nothing_else(
    shell_agent: Agent, tmp_path: Path
) -> None:
    directory = tmp_path / "a [1]* $b"
    directory.mkdir()
    numbered = [directory / f"f.{number}.x" for number in range(450)]
    names = ("f.x", "f..x", "f.1a.x", "f.12", "g.1.x", "1", "f.007.x", "f.450.x", "f.4294967296.x")
    others = [directory / name for name in names]
    for path in (*numbered, *others):
        path.write_bytes(b"")
    (directory / "f.9999.x").symlink_to(others[0])
    (directory / "f.7777.x").mkdir()
    numbered_path = str(directory / f"f.{FILE_NUMBER}.x")
    assert await removed(shell_agent, [numbered_path, str(directory)], {numbered_path: 450}) == [
        numbered_path
    ]
    left = {each.name for each in directory.iterdir()}
    assert left == {"f.9999.x", "f.7777.x", *(each.name for each in others)}


async def test_a_directory_goes_with_its_numbered_files(shell_agent: Agent, tmp_path: Path) -> None:
    directory = tmp_path / "bt.0"
    directory.mkdir()
    (directory / "f.0").write_bytes(b"")
    path = str(directory / f"f.{FILE_NUMBER}")
    assert await removed(shell_agent, [str(directory), path], {path: 1}) == [str(directory), path]


async def test_what_holds_something_is_reported(shell_agent: Agent, tmp_path: Path) -> None:
    for number in range(12):
        (tmp_path / f"f.{number}").write_bytes(b"precious" if number == 10 else b"")
    found = await count_numbered(shell_agent, str(tmp_path / f"f.{FILE_NUMBER}"), 12)
    assert (found.there, found.full) == (12, str(tmp_path / "f.10"))


async def test_numbered_files_go_up_to_their_count_and_not_without_one(
    shell_agent: Agent, tmp_path: Path
) -> None:
    for number in range(12):
        (tmp_path / f"f.{number}").touch()
    path = str(tmp_path / f"f.{FILE_NUMBER}")
    assert await removed(shell_agent, [path]) == [], "nobody said how many"
    assert await removed(shell_agent, [path], {path: 5}) == [path]
    assert {each.name for each in tmp_path.iterdir()} == {f"f.{number}" for number in range(5, 12)}


@pytest.mark.parametrize("change", ["written", "replaced", "linked", "one more", "one less"])
async def test_numbered_files_stay_when_one_of_them_is_not_the_same(
    shell_agent: Agent, tmp_path: Path, change: str
) -> None:
    (tmp_path / "d").mkdir()
    for number in (0, 1, 2, 4):
        (tmp_path / "d" / f"f.{number}").touch()
    path = str(tmp_path / "d" / f"f.{FILE_NUMBER}")
    known = await made.identify(shell_agent, [path], {path: 5})
    file = tmp_path / "d" / "f.2"
    match change:
        case "written":
            file.write_bytes(b"precious")
        case "replaced":
            (tmp_path / "other").touch()
            (tmp_path / "other").rename(file)
        case "linked":
            (tmp_path / "link").hardlink_to(file)
        case "one more":
            (tmp_path / "d" / "f.3").touch()
        case _:
            file.unlink()
    before = set((tmp_path / "d").iterdir())
    said = await made.unmake(shell_agent, "remove", [made.Item(path, "file", count=5)], known)
    assert said == {path: "other"}
    assert set((tmp_path / "d").iterdir()) == before


async def test_numbered_files_of_a_size_may_hold_something_and_are_plain(
    shell_agent: Agent, tmp_path: Path
) -> None:
    path = str(tmp_path / f"f{FILE_NUMBER}")
    for number in range(3):
        (tmp_path / f"f{number}").write_bytes(b"full")
    assert (await count_numbered(shell_agent, path, 4, 4)).full == ""
    assert (await count_numbered(shell_agent, path, 4)).full == str(tmp_path / "f0")
    (tmp_path / "f3").symlink_to(tmp_path / "f0")
    found = await count_numbered(shell_agent, path, 4, 4)
    assert (found.there, found.full) == (4, str(tmp_path / "f3"))
