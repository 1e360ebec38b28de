"""Objects and noise in fio's status stream."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.workloads.fio.fixtures import names, recording
from tui.workloads.fio.snapshot import JsonSplitter, Piece

WHOLE = [name for name in names("stream", "stall", "size") if not name.endswith("-merged")]


def pieces_of(data: bytes, cuts: list[int] | None = None) -> list[Piece]:
    framer = JsonSplitter()
    edges = [0, *sorted(cut % (len(data) + 1) for cut in cuts or []), len(data)]
    found = [piece for start, end in pairwise(edges) for piece in framer.feed(data[start:end])]
    return found + framer.close()


def pretty(value: object) -> bytes:
    return json.dumps(value, indent=2).encode()


keys = st.text(min_size=1, max_size=8)
nested = st.dictionaries(
    keys, st.integers() | st.dictionaries(keys, st.lists(st.integers(), max_size=3)), min_size=1
)
noise = st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=2, max_size=40).map(
    lambda text: f"fio: {text}"
)
stream = st.lists(nested | noise, max_size=8)


@given(stream, st.lists(st.integers(0, 10**6), max_size=20))
def test_any_chunking_gives_the_same_objects_and_noise_in_their_order(
    parts: list[dict[str, object] | str], cuts: list[int]
) -> None:
    data = b"".join(
        part.encode() + b"\n" if isinstance(part, str) else pretty(part) + b"\n" for part in parts
    )
    found = [
        piece if isinstance(piece, str) else json.loads(piece) for piece in pieces_of(data, cuts)
    ]
    assert found == parts


@settings(max_examples=25)
@given(st.sampled_from(WHOLE), st.lists(st.integers(0, 10**7), max_size=30))
def test_recordings_are_framed_the_same_however_they_arrive(name: str, cuts: list[int]) -> None:
    data = recording(name).stdout
    assert pieces_of(data, cuts) == pieces_of(data)


def test_one_byte_at_a_time_is_enough() -> None:
    data = b"fio: hello\n" + pretty({"a": {"b": 1}}) + b"\n" + pretty({"c": 2}) + b"\n"
    assert pieces_of(data, list(range(len(data)))) == [
        "fio: hello",
        pretty({"a": {"b": 1}}),
        pretty({"c": 2}),
    ]


@pytest.mark.parametrize("name", WHOLE)
def test_every_object_of_a_recording_is_whole(name: str) -> None:
    found = [piece for piece in pieces_of(recording(name).stdout) if isinstance(piece, bytes)]
    assert found
    assert all("fio version" in json.loads(piece) for piece in found)


def test_noise_between_the_objects_of_a_failing_run_is_kept() -> None:
    found = pieces_of(recording("errors/eio-3.33").stdout)
    assert [type(piece) for piece in found] == [str, bytes, bytes, bytes, bytes]
    assert "err=5" in str(found[0])


def test_a_last_object_without_its_newline_is_complete() -> None:
    assert pieces_of(pretty({"a": 1})) == [pretty({"a": 1})]


def test_an_object_that_is_cut_off_by_the_end_is_dropped_and_said_to_be() -> None:
    framer = JsonSplitter()
    assert framer.feed(pretty({"a": 1}) + b"\n" + pretty({"b": {"c": 2}})[:12]) == [
        pretty({"a": 1})
    ]
    assert framer.close() == []
    assert framer.cut


def test_an_object_that_begins_inside_another_is_kept_and_the_broken_one_counted() -> None:
    framer = JsonSplitter()
    assert framer.feed(b'{\n  "a" : 1,\n  "lost\n' + pretty({"b": 2}) + b"\n") == [pretty({"b": 2})]
    assert framer.broken == 1


def test_an_endless_object_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tui.workloads.fio.snapshot.MAX_OBJECT_BYTES", 100)
    framer = JsonSplitter()
    assert framer.feed(b"{\n" + b'  "x" : 1,\n' * 20) == []
    assert framer.feed(pretty({"after": 1}) + b"\n") == [pretty({"after": 1})]
    assert framer.broken == 1


def test_a_line_without_an_end_does_not_fill_the_memory() -> None:
    framer = JsonSplitter()
    told = [piece for _ in range(100) for piece in framer.feed(b"x" * 20_000)]
    assert told and all(len(piece) <= 4096 for piece in told)
    assert len(framer._buffer) < 100_000
    assert framer.feed(b"\n" + pretty({"after": 1}) + b"\n")[-1] == pretty({"after": 1})


def test_noise_cannot_drive_a_terminal() -> None:
    assert pieces_of(b"fio: \x1b[31mred\x07\n") == ["fio:  [31mred"]


def test_a_brace_in_noise_opens_nothing() -> None:
    assert pieces_of(b"{ not an object\n}\n") == ["{ not an object", "}"]
