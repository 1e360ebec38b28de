from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.results.samples import CASES, DATA
from tui.journal.reader import JournalTail, read_events
from tui.model.event import Message, RunEnded, RunStarted, encode

MIX = (DATA / "mix" / "journal.jsonl").read_bytes()


@pytest.mark.parametrize("case", CASES)
def test_reads_a_closed_journal_whole(case: str) -> None:
    path = DATA / case / "journal.jsonl"
    reader = read_events(path)
    events = list(reader)
    assert isinstance(events[0], RunStarted)
    assert isinstance(events[-1], RunEnded)
    assert b"".join(map(encode, events)) == path.read_bytes()
    assert (reader.events, reader.unread_bytes, reader.damaged) == (len(events), 0, False)


@given(cut=st.integers(0, len(MIX)))
@settings(max_examples=60, deadline=None)
def test_an_incomplete_last_line_is_left_unread(tmp_path_factory: pytest.TempPathFactory, cut: int) -> None:
    path = tmp_path_factory.mktemp("cut") / "journal.jsonl"
    path.write_bytes(MIX[:cut])
    reader = read_events(path)
    complete = MIX[:cut].count(b"\n")
    assert len(list(reader)) == complete
    assert reader.unread_bytes == cut - (MIX[:cut].rfind(b"\n") + 1)
    assert not reader.damaged


def test_stops_before_a_damaged_line_and_says_how_much_was_not_read(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    good, bad = encode(Message(t=1.0, severity="info", text="good")), b'{"type":"message","t":oops}\n'
    path.write_bytes(good + bad + good)
    reader = read_events(path)
    assert [event.t for event in reader] == [1.0]
    assert reader.damaged
    assert reader.unread_bytes == len(bad + good)


def test_an_event_of_a_newer_kind_is_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    line = encode(Message(t=1.0, severity="info", text="known"))
    path.write_bytes(b'{"type":"telemetry","t":0.5,"cpu":3}\n' + line)
    reader = read_events(path)
    assert [type(event).__name__ for event in reader] == ["Message"]
    assert not reader.damaged


def test_a_known_event_with_wrong_values_is_damage_not_news(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    path.write_bytes(b'{"type":"message","t":"soon","severity":"info","text":""}\n')
    reader = read_events(path)
    assert list(reader) == []
    assert reader.damaged


def test_a_tail_of_a_file_that_is_not_there_yet_is_empty(tmp_path: Path) -> None:
    tail = JournalTail(tmp_path / "journal.jsonl")
    assert tail.poll() == []
    tail.path.write_bytes(MIX)
    assert len(tail.poll()) == MIX.count(b"\n")


@given(cuts=st.lists(st.integers(0, len(MIX)), max_size=12))
@settings(max_examples=40, deadline=None)
def test_a_tail_gives_each_event_once_however_the_file_grows(
    tmp_path_factory: pytest.TempPathFactory, cuts: list[int]
) -> None:
    path = tmp_path_factory.mktemp("tail") / "journal.jsonl"
    tail = JournalTail(path)
    events = []
    with path.open("ab", buffering=0) as file:
        edges = [0, *sorted(cuts), len(MIX)]
        for start, end in pairwise(edges):
            file.write(MIX[start:end])
            events += tail.poll()
    assert b"".join(map(encode, events)) == MIX


def test_a_tail_can_read_a_long_journal_in_portions(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    path.write_bytes(MIX)
    tail = JournalTail(path)
    events = []
    for _ in range(len(MIX) // 1000 + 1):
        events += tail.poll(max_bytes=1000)
    assert b"".join(map(encode, events)) == MIX


def test_a_tail_stops_at_a_damaged_line(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    line = encode(Message(t=1.0, severity="info", text="good"))
    path.write_bytes(line + b"garbage\n" + line)
    tail = JournalTail(path)
    assert len(tail.poll()) == 1
    assert tail.damaged
    assert tail.poll() == []
