"""The index of a directory of runs: a cache that is never wrong."""

from __future__ import annotations

import os
import shutil
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.samples.events import DATA
from tui.library import runs
from tui.library.build import write_record
from tui.library.runs import INDEX_FILE, Index, RunStore
from tui.library.summary import RunSummary, rename, star

LONG_AGO_S = 1_700_000_000
NAMES = [f"2026112{day}T080000Z-test-mix-000{day}" for day in range(4)]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    source = tmp_path_factory.mktemp("made") / "run"
    shutil.copytree(DATA / "mix", source)
    write_record(source)
    return source


@pytest.fixture
def store(made: Path, tmp_path: Path) -> RunStore:
    """Four runs that have not changed for long, listed once."""
    for name in NAMES:
        shutil.copytree(made, tmp_path / "runs" / name)
    store = RunStore(tmp_path / "runs")
    for names in ("*/run.json", "*"):
        for path in store.runs_dir.glob(names):
            os.utime(path, (LONG_AGO_S, LONG_AGO_S))
        store.list()  # the first time it makes what is missing beside the records
    return store


def kept(store: RunStore) -> dict[str, runs.IndexEntry]:
    return Index.read(store.runs_dir / INDEX_FILE).runs


def test_what_did_not_change_is_listed_without_a_look_into_any_run(
    store: RunStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = store.list()
    monkeypatch.setattr(runs, "summarize", lambda *_, **__: pytest.fail("a run was read"))
    assert store.list() == before and len(before) == 4
    assert before[0].checks, "lists that runs share are there"


@pytest.mark.parametrize(
    ("change", "seen"),
    [
        (lambda run_dir: star(run_dir, starred=True), lambda run: run.starred),
        (lambda run_dir: rename(run_dir, "new"), lambda run: run.title == "new"),
        (
            lambda run_dir: (run_dir / "run.json").write_text("{"),
            lambda run: run.state == "unreadable",
        ),
        (lambda run_dir: (run_dir / "run.json").unlink(), lambda run: run.state == "interrupted"),
    ],
)
def test_what_changed_is_seen(store: RunStore, change: object, seen: object) -> None:
    assert callable(change) and callable(seen)
    change(store.runs_dir / NAMES[1])
    assert [bool(seen(run)) for run in store.list()] == [False, False, True, False]


def test_runs_come_and_go(store: RunStore, made: Path) -> None:
    shutil.rmtree(store.runs_dir / NAMES[0])
    new = shutil.copytree(made, store.runs_dir / "20261130T080000Z-new-0009")
    for path in (new / "run.json", new):  # it stays new, however busy the machine is
        os.utime(path, (time.time() + 3600,) * 2)
    assert [run.run_id for run in store.list()] == [
        "20261130T080000Z-new-0009",
        *reversed(NAMES[1:]),
    ]
    assert sorted(kept(store)) == NAMES[1:], (
        "what has just changed may change again with the same time stamp"
    )


@pytest.mark.parametrize(
    "data", [b"", b"garbage", b"\x93\x01\x90\x80", b"\x93\x01\x90\x81\xa1\xff\xc0", None]
)
def test_an_index_that_is_damaged_or_gone_is_made_again(
    store: RunStore, data: bytes | None
) -> None:
    before, path = store.list(), store.runs_dir / INDEX_FILE
    path.unlink() if data is None else path.write_bytes(data)
    assert store.list() == before
    assert sorted(kept(store)) == NAMES


def test_a_part_of_a_list_forgets_nothing(store: RunStore) -> None:
    assert len(store.list(limit=1)) == 1
    assert sorted(kept(store)) == NAMES


def test_a_directory_that_cannot_be_written_is_listed(
    store: RunStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    (store.runs_dir / INDEX_FILE).unlink()
    monkeypatch.setattr(runs, "write_atomic", refuse)
    assert len(store.list()) == 4


def test_many_who_list_at_once_do_not_disturb_each_other(store: RunStore) -> None:
    def again(number: int) -> list[RunSummary]:
        if number % 3 == 0:
            (store.runs_dir / INDEX_FILE).unlink(missing_ok=True)
        return store.list()

    before = store.list()
    with ThreadPoolExecutor(4) as pool:
        assert all(found == before for found in pool.map(again, range(24)))
    assert store.list() == before
    assert [path.name for path in store.runs_dir.iterdir() if path.suffix == ".tmp"] == []
