"""The files that runs have made are remembered, and forgotten when they are removed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tui.engine.preflight import made_files
from tui.engine.preflight.made_files import MADE_FILES, MadeFiles
from tui.model.plan import FileSpec


def test_what_was_made_is_known_to_the_next_run(tmp_path: Path) -> None:
    run_dir = tmp_path / "runs" / "r1"
    MadeFiles.beside(run_dir).add(
        "h1", [FileSpec("/a/f", 100), FileSpec("/a/g", 100), FileSpec("/a/h", 7)]
    )
    known = MadeFiles(tmp_path / MADE_FILES)
    assert known.sizes("h1") == {"/a/f": 100, "/a/g": 100, "/a/h": 7}
    assert known.sizes("h2") == {}


def test_what_was_removed_is_forgotten(tmp_path: Path) -> None:
    book = MadeFiles(tmp_path / "made")
    book.add("h1", [FileSpec("/a/f", 100), FileSpec("/a/g", 100)])
    book.forget("h1", ["/a/f", "/a/never"])
    assert MadeFiles(tmp_path / "made").sizes("h1") == {"/a/g": 100}


def test_the_largest_size_counts_and_what_is_known_is_not_written_again(tmp_path: Path) -> None:
    book = MadeFiles(tmp_path / "made")
    for size in (100, 50, 200, 200):
        book.add("h1", [FileSpec("/a/f", size)])
    assert MadeFiles(tmp_path / "made").sizes("h1") == {"/a/f": 200}
    assert len((tmp_path / "made").read_bytes().splitlines()) == 2


def test_it_is_compacted_when_it_grows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(made_files, "COMPACT_BYTES", 2000)
    for number in range(60):
        book = MadeFiles(tmp_path / "made")
        book.add("h1", [FileSpec("/a/f", number + 1)])
    assert (tmp_path / "made").stat().st_size < 2100
    assert MadeFiles(tmp_path / "made").sizes("h1") == {"/a/f": 60}


def test_a_list_that_cannot_be_used_says_that_nothing_is_ours(tmp_path: Path) -> None:
    book = MadeFiles(tmp_path / "no" / "such" / "folder")
    book.add("h1", [FileSpec("/a/f", 1)])
    assert MadeFiles(book.path).sizes("h1") == {}
    (tmp_path / "made").write_bytes(
        b'{"host":"h1","size":5,"made":["/a/f"]}\nnonsense\n\xff\n{"host":'
    )
    assert MadeFiles(tmp_path / "made").sizes("h1") == {"/a/f": 5}
