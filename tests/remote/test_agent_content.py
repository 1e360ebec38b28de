"""A few blocks of files, under every POSIX shell that is here: zeros, copies, what gzip can
pack.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui.engine.run.layout import SAMPLED, SAMPLED_FILES, sampled_of
from tui.model.plan import FileSpec
from tui.remote.agent import Agent
from tui.remote.answers import BlockSample
from tui.remote.files import read_blocks

BLOCK, COUNT = 4096, 8


@pytest.mark.parametrize(
    ("content", "zero", "distinct", "packs"),
    [
        (os.urandom(COUNT * BLOCK), 0, COUNT, False),
        (bytes(COUNT * BLOCK), COUNT, 0, None),
        (os.urandom(BLOCK) * COUNT, 0, 1, False),
        (bytes(BLOCK) * 3 + os.urandom(5 * BLOCK), 3, 5, False),
        (
            b"".join(os.urandom(BLOCK // 4) + bytes(BLOCK * 3 // 4) for _ in range(COUNT)),
            0,
            COUNT,
            True,
        ),
    ],
    ids=["random", "zeros", "copies", "some zeros", "compressible"],
)
async def test_blocks_are_reported_by_what_they_hold(
    shell_agent: Agent, tmp_path: Path, content: bytes, zero: int, distinct: int, packs: bool | None
) -> None:
    path = tmp_path / "a file; with $(odd) name"
    path.write_bytes(content)
    found = await read_blocks(shell_agent, [(str(path), number) for number in range(COUNT)])
    assert (found.blocks, found.zero, found.distinct) == (COUNT, zero, distinct)
    assert (None if found.packed is None else found.packed < 0.8) == packs


async def test_what_blocks_have_in_common_is_found_at_any_distance(
    shell_agent: Agent, tmp_path: Path
) -> None:
    """fio changes a few bytes of each sector before it writes the same buffer again."""
    path, base = tmp_path / "file", os.urandom(64 * 1024)
    places = [(str(path), number * 16) for number in range(COUNT)]  # 64 KiB apart
    path.write_bytes(os.urandom(2 << 20))
    random = await read_blocks(shell_agent, places)
    assert (random.row, random.apart) == (1.0, 1.0)
    path.write_bytes(
        b"".join(base[:at] + os.urandom(16) + base[at + 16 :] for at in range(0, 32 * 16, 16))
    )
    alike = await read_blocks(shell_agent, places)
    assert alike.distinct == COUNT
    assert (alike.row or 1) < 0.1
    assert (alike.apart or 1) < 0.2


async def test_what_is_not_there_or_ends_before_is_no_block(
    shell_agent: Agent, tmp_path: Path
) -> None:
    short = tmp_path / "short"
    short.write_bytes(os.urandom(BLOCK + 100))
    found = await read_blocks(
        shell_agent,
        [(str(short), 0), (str(short), 1), (str(short), 9), (str(tmp_path / "none"), 0)],
    )
    assert found.blocks == 1


@given(st.lists(st.integers(0, 2**44), max_size=8), st.integers(0, 2**44))
def test_blocks_are_few_and_lie_within_the_files(sizes: list[int], device: int) -> None:
    files = [FileSpec(f"/mnt/{number}", size) for number, size in enumerate(sizes)] + [
        FileSpec("/dev/sdz", 0)
    ]
    room = {spec.path: spec.size_bytes for spec in files} | {"/dev/sdz": device}
    places = sampled_of(files, {"/dev/sdz": device})
    assert len(places) == len(set(places)) <= SAMPLED
    assert len({path for path, _ in places}) == min(
        SAMPLED_FILES, sum(size >= BLOCK for size in room.values())
    )
    assert all((number + 1) * BLOCK <= room[path] for path, number in places)


def test_nothing_is_reported_of_no_answer() -> None:
    from tui.remote.answers import AgentAnswer, parse_content

    assert parse_content(AgentAnswer({}, [])) == BlockSample(0, 0, 0, None)
