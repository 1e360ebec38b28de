"""The journal's writer."""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.lab import tmpfs
from tests.samples.events import sample
from tui.journal import writer
from tui.journal.raw import RawFile, readable
from tui.journal.reader import parse_line, read_events
from tui.journal.writer import Journal, Resume
from tui.model.event import AnyEvent, HostProblem, Message, RunEnded, decode, encode
from tui.model.rundir import JOURNAL_FILE, RESERVE_FILE
from tui.text.run_texts import run_text


def said(text: str) -> Message:
    return Message(t=0.0, severity="info", text=text)


def events_in(run_dir: Path) -> list[AnyEvent]:
    lines = (run_dir / JOURNAL_FILE).read_bytes().split(b"\n")
    assert lines[-1] == b""
    return [decode(line) for line in lines[:-1]]


def test_event_is_on_disk_when_append_returns(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    journal.append(Message(t=0.0, severity="info", text="hello"))
    line = (tmp_path / JOURNAL_FILE).read_bytes()
    assert line.endswith(b"\n")
    assert decode(line) == Message(t=decode(line).t, severity="info", text="hello")


def test_events_are_stamped_in_order(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    stamps = [journal.append(Message(t=99.0, severity="info", text=str(n))).t for n in range(50)]
    assert stamps == sorted(stamps)
    assert stamps[-1] < 99.0


def test_journal_is_private(tmp_path: Path) -> None:
    Journal(tmp_path).close()
    assert (tmp_path / JOURNAL_FILE).stat().st_mode & 0o777 == 0o600


def test_problems_are_counted(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    journal.append(Message(t=0.0, severity="error", text="not a host's problem"))
    journal.append(
        HostProblem(t=0.0, host="h1", phase="measure", code="x", message="y", fatal=False)
    )
    assert journal.problems == 1


# -- going on with what another engine left


def test_only_an_incomplete_last_line_is_cut_off(tmp_path: Path) -> None:
    newer = b'{"type":"telemetry","t":0.5,"cpu":3}\n'
    whole = encode(said("before")) + newer + b"dam\xffaged\n" + encode(said("after"))
    (tmp_path / JOURNAL_FILE).write_bytes(whole + b'{"type":"mess')
    journal = Journal(tmp_path, Resume(t=1.0, zero_ms=time.time() * 1000, problems=0))
    journal.append(said("resumed"))
    journal.close()
    data = (tmp_path / JOURNAL_FILE).read_bytes()
    assert data.startswith(whole)
    assert parse_line(data[len(whole) :].strip()).text == "resumed"  # type: ignore[union-attr]


# -- on the disk, and not at the cost of the event loop


@pytest.fixture
def slow_disk(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """A disk that takes until the event is set."""
    ready, real = threading.Event(), os.fdatasync

    def fdatasync(descriptor: int) -> None:
        assert ready.wait(30)
        real(descriptor)

    monkeypatch.setattr(writer.os, "fdatasync", fdatasync)  # type: ignore[attr-defined]
    monkeypatch.setattr(writer, "SYNC_EVERY_S", 0.0)
    yield ready
    ready.set()


def test_a_slow_disk_holds_up_nobody_who_appends(
    tmp_path: Path, slow_disk: threading.Event
) -> None:
    journal = Journal(tmp_path)
    for number in range(100):
        journal.append(said(str(number)))  # each asks for a sync
    assert len(events_in(tmp_path)) == 100
    slow_disk.set()
    journal.close()


async def test_settled_waits_until_the_newest_event_is_on_the_disk(
    tmp_path: Path, slow_disk: threading.Event
) -> None:
    journal = Journal(tmp_path)
    journal.append(said("first"))  # its sync has begun
    journal.append(said("newest"))
    waiting = asyncio.create_task(journal.settled())
    await asyncio.sleep(0)
    assert not waiting.done()
    slow_disk.set()
    await asyncio.wait_for(waiting, 30)
    journal.close()


# -- a disk that is full


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Path]:
    if not tmpfs.possible():
        pytest.skip("mounting a tmpfs needs root")
    with tmpfs.small_tmpfs(tmp_path / "small", "4m") as path:
        yield path


def test_a_full_disk_is_named_in_the_journal_once_and_nothing_measured_follows(small: Path) -> None:
    journal, heard = Journal(small), list[str]()
    journal.on_failure = heard.append
    journal.append(said("begun"))
    tmpfs.fill(small)
    for _ in range(200):
        journal.append(sample(1.0, "h1", range(1, 3000)))
    journal.append(said("ended in order"))
    journal.append(RunEnded(t=0.0, state="complete", exit_code=0))
    journal.close()
    texts = [run_text(event.text) for event in events_in(small) if isinstance(event, Message)]
    assert [text for text in texts if "No space left on device" in text] == [texts[1]]
    assert (texts[0], texts[-1], len(texts)) == ("begun", "ended in order", 3)
    assert heard == [journal.failed]
    assert "run_ended" not in (small / JOURNAL_FILE).read_text()  # so it can be recovered


def test_a_raw_file_that_finds_no_room_ends_with_what_fitted(small: Path) -> None:
    journal = Journal(small)
    raw = RawFile(small, "x.out", "h1", journal=journal)
    pieces = [os.urandom(100_000) for _ in range(60)]
    for piece in pieces:
        raw.write(piece)
    raw.close()
    assert journal.failed.endswith("No space left on device")
    assert raw.offset == 6_000_000  # what arrived
    kept = b"".join(readable(raw.path))
    assert kept and b"".join(pieces).startswith(kept)
    journal.close()


def test_a_disk_that_gives_nothing_back_ends_the_load_all_the_same(tmp_path: Path) -> None:
    journal, heard = Journal(tmp_path), list[str]()
    journal.on_failure = heard.append
    (tmp_path / RESERVE_FILE).unlink()
    # cannot be unlinked, as nothing can on a file system that became read-only
    (tmp_path / RESERVE_FILE).mkdir()
    full = os.open("/dev/full", os.O_WRONLY)
    os.dup2(full, journal._fd)
    os.close(full)
    journal.append(said("measured"))
    journal.close()
    assert heard == [journal.failed] and "No space left on device" in journal.failed


def test_words_that_are_no_text_are_written_all_the_same(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    journal.append(said("caf\udce9"))
    journal.close()
    assert [event.text for event in events_in(tmp_path) if isinstance(event, Message)] == ["caf?"]


def test_room_is_held_back_while_an_engine_writes_and_given_back_at_its_end(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    assert (tmp_path / RESERVE_FILE).stat().st_blocks * 512 >= writer.RESERVE_BYTES
    journal.close()
    assert not (tmp_path / RESERVE_FILE).exists()
    assert list(read_events(tmp_path / JOURNAL_FILE)) == []
