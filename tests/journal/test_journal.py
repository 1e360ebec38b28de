from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.samples.events import CASES, DATA, encoded, sample
from tui.journal import reader as reader_module
from tui.journal.fold import fold_all
from tui.journal.reader import JournalTail, complete_bytes, events_backwards, read_events
from tui.journal.state import RunState
from tui.metrics.buckets import PLAT_BUCKETS
from tui.model.event import Buckets, DirectionSample, Message, RunEnded, RunStarted, Sample, encode

MIX = (DATA / "mix" / "journal.jsonl").read_bytes()


def written_today(journal: bytes) -> bytes:
    """Return a journal of before as it is written now: empty histograms without their keys."""
    return journal.replace(b'{"idx":[],"n":[]}', b"{}")


@pytest.mark.parametrize("case", CASES)
def test_reads_a_closed_journal_whole(case: str) -> None:
    path = DATA / case / "journal.jsonl"
    reader = read_events(path)
    events = list(reader)
    assert isinstance(events[0], RunStarted)
    assert isinstance(events[-1], RunEnded)
    assert encoded(events) == written_today(path.read_bytes())
    assert (reader.events, reader.unread_bytes, reader.damaged) == (len(events), 0, 0)


@given(cut=st.integers(0, len(MIX)))
@settings(max_examples=60, deadline=None)
def test_an_incomplete_last_line_is_left_unread(
    tmp_path_factory: pytest.TempPathFactory, cut: int
) -> None:
    path = tmp_path_factory.mktemp("cut") / "journal.jsonl"
    path.write_bytes(MIX[:cut])
    reader = read_events(path)
    complete = MIX[:cut].count(b"\n")
    assert len(list(reader)) == complete
    assert reader.unread_bytes == cut - (MIX[:cut].rfind(b"\n") + 1)
    assert reader.damaged == 0


def line_of(t: float) -> bytes:
    return encode(Message(t=t, severity="info", text="good"))


GOOD_SAMPLE = encode(sample(1.0, "h1", [1000, 1000]))
DAMAGE = {
    "no JSON": b'{"type":"message","t":oops}',
    "not UTF-8": line_of(1.0).strip().replace(b"good", b"g\xff\xfed"),
    "a number beyond 64 bits": line_of(1.0).strip().replace(b"1.0", b"1" * 400),
    "a count beyond 64 bits": GOOD_SAMPLE.strip().replace(b'"ios":2', b'"ios":' + b"9" * 40),
    "no end of nesting": b"[" * 100_000,
    "a time that cannot be": line_of(1.0).strip().replace(b"1.0", b"-5.0"),
    "a bucket that cannot be": encode(Sample(
        t=1.0, host="h", step=0, phase="measure", host_time_ms=1, interval_s=1.0,
        dirs={"read": DirectionSample(1, 1, lat=Buckets(idx=[PLAT_BUCKETS], n=[1]))},
    )).strip(),
    "fewer than no I/Os": GOOD_SAMPLE.strip().replace(b'"ios":2', b'"ios":-2'),
    "a bucket with fewer than none": GOOD_SAMPLE.strip().replace(b'"n":[2]', b'"n":[-2]'),
    "half a histogram": GOOD_SAMPLE.strip().replace(b'"n":[2]', b'"n":[1,1]'),
    "zeros of a power cut": bytes(300),
}  # fmt: skip


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_line_is_counted_and_does_not_hide_those_after_it(
    tmp_path: Path, damage: str
) -> None:
    path = tmp_path / "journal.jsonl"
    path.write_bytes(line_of(1.0) + DAMAGE[damage] + b"\n" + line_of(2.0))
    reader = read_events(path)
    assert [event.t for event in reader if isinstance(event, Message)] == [1.0, 2.0]
    assert (reader.damaged, reader.unread_bytes) == (1, len(DAMAGE[damage]) + 1)


def test_the_highest_bucket_of_fio_can_be_read(tmp_path: Path) -> None:
    path, last = tmp_path / "journal.jsonl", Buckets(idx=[0, PLAT_BUCKETS - 1], n=[1, 1])
    seen = Sample(t=1.0, host="h", step=0, phase="measure", host_time_ms=1, interval_s=1.0,
                  dirs={"read": DirectionSample(2, 2, lat=last)})  # fmt: skip
    path.write_bytes(encode(seen))
    assert list(read_events(path)) == [seen]


def test_damage_is_reported_once(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    path.write_bytes(line_of(1.0) + b"garbage\n" * 3 + line_of(2.0))
    state = fold_all(RunState(), read_events(path))
    assert state.unreadable == 3
    assert [line.text for line in state.messages.newest if "damaged" in line.text] == [
        "part of the journal is damaged and unreadable"
    ]


def test_the_end_of_a_journal_is_found_behind_any_length_of_lines(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    long = encode(Message(t=2.0, severity="info", text="x" * 3_000_000))
    path.write_bytes(line_of(1.0) + long + b'{"type":"mess')
    assert complete_bytes(path) == len(line_of(1.0) + long)
    assert [event.t for event in events_backwards(path)] == [2.0, 1.0]


def test_an_event_of_a_newer_kind_is_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    line = encode(Message(t=1.0, severity="info", text="known"))
    path.write_bytes(b'{"type":"weather","t":0.5,"cpu":3}\n' + line)
    reader = read_events(path)
    assert [type(event).__name__ for event in reader] == ["Message"]
    assert reader.damaged == 0


def test_a_known_event_with_wrong_values_is_damage_not_news(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    path.write_bytes(b'{"type":"message","t":"soon","severity":"info","text":""}\n')
    reader = read_events(path)
    assert not any(isinstance(event, Message) for event in reader)
    assert reader.damaged == 1


def test_a_tail_of_a_file_that_is_not_there_yet_is_empty(tmp_path: Path) -> None:
    tail = JournalTail(tmp_path / "journal.jsonl")
    assert tail.poll() == []
    tail.path.write_bytes(MIX)
    assert len(tail.poll()) == MIX.count(b"\n")


@pytest.mark.parametrize("length", [999, 1000, 1001, 5000])
def test_a_line_that_is_too_long_is_damage_and_hides_no_other(
    length: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reader_module, "MOST_LINE_BYTES", 500)
    monkeypatch.setattr(reader_module, "CHUNK_BYTES", 64)
    short = [encode(Message(t=float(t), severity="info", text="x")) for t in range(4)]
    path = tmp_path / "journal.jsonl"
    long = encode(Message(t=2.0, severity="info", text="y" * length))
    path.write_bytes(b"".join((*short[:2], long, *short[2:], long[:-1])))
    tail = JournalTail(path)
    events = tail.poll(64)
    while tail.more:
        events += tail.poll(64)
    assert encoded([event for event in events if isinstance(event, Message)]) == b"".join(short)
    assert (tail.damaged, tail.unread_bytes) == (1, 2 * len(long) - 1)
    assert encoded(list(events_backwards(path))[::-1]) == b"".join(short)


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
    assert encoded(events) == written_today(MIX)


def test_a_tail_can_read_a_long_journal_in_portions(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    path.write_bytes(MIX)
    tail = JournalTail(path)
    events = []
    for _ in range(len(MIX) // 1000 + 1):
        events += tail.poll(max_bytes=1000)
    assert encoded(events) == written_today(MIX)


def test_a_tail_continues_behind_a_damaged_line(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    path.write_bytes(line_of(1.0) + b"garbage\n" + line_of(2.0))
    tail = JournalTail(path)
    assert [type(event).__name__ for event in tail.poll()] == ["Message", "Unreadable", "Message"]
    assert tail.damaged == 1
