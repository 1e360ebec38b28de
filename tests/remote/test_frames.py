"""Frames of many channels as lines: any bytes, in any chunks, and nothing damaged passes."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui.remote.frames import PIECE_BYTES, Framer, GarbledError, Joiner
from tui.remote.slurm_trunk import LEAST_BLOCK_BYTES, MOST_BLOCK_BYTES, blocks_of

ATOMIC_BYTES = 1024  # that slurmstepd passes on at once
Frame = tuple[int, bytes, bytes]
frames = st.lists(
    st.tuples(st.integers(0, 1000), st.sampled_from([b"1", b"w", b"g"]), st.binary(max_size=5000)),
    max_size=8,
)


def decoded(joiner: Joiner, lines: bytes) -> list[Frame]:
    """Frames in lines, as a node or the jump host reads them."""
    rests = [line.partition(b" ")[2] for line in lines.split(b"\n")[:-1]]
    return [frame for rest in rests if (frame := joiner.frame(rest)) is not None]


@given(sent=frames)
def test_frames_arrive_as_they_were_sent(sent: list[Frame]) -> None:
    framer = Framer(b"7")
    lines = b"".join(framer.lines(*frame) for frame in sent)
    assert decoded(Joiner(), lines) == sent
    assert all(len(line) < ATOMIC_BYTES for line in lines.split(b"\n"))


@pytest.mark.parametrize("data", [bytes(PIECE_BYTES), random.Random(7).randbytes(PIECE_BYTES)])
def test_the_largest_frame_arrives_whether_it_compresses_or_not(data: bytes) -> None:
    assert decoded(Joiner(), Framer(b"7").lines(1, b"1", data)) == [(1, b"1", data)]


@given(sent=frames.filter(bool), data=st.data())
def test_a_line_that_is_missing_is_noticed(sent: list[Frame], data: st.DataObject) -> None:
    framer = Framer(b"7")
    lines = b"".join(framer.lines(*frame) for frame in [*sent, (0, b"a", b"")]).splitlines(True)
    del lines[data.draw(st.integers(0, len(lines) - 2))]
    with pytest.raises(GarbledError):
        decoded(Joiner(), b"".join(lines))


@given(line=st.binary(max_size=200).filter(lambda line: b"\n" not in line))
def test_noise_is_an_error_or_a_frame_and_nothing_else(line: bytes) -> None:
    try:
        Joiner().frame(line)
    except GarbledError:
        return


@given(data=st.lists(st.binary(max_size=3000), max_size=20).map(b"\n".join))
def test_blocks_together_are_the_data(data: bytes) -> None:
    blocks = list(blocks_of(data))
    assert b"".join(blocks) == data
    assert all(len(block) <= MOST_BLOCK_BYTES for block in blocks)


def test_scripts_that_differ_in_their_last_line_share_all_other_blocks() -> None:
    agent = b"".join(b"line %d of the agent\n" % number for number in range(4000))
    first, second = ([*blocks_of(agent + b"call " + host)] for host in (b"h1\n", b"h2\n"))
    assert len(set(first) - set(second)) == 1
    assert all(len(block) >= LEAST_BLOCK_BYTES for block in first[:-1])
