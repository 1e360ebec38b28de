"""Programs on a host for the time of a run: whole or not there, before those of the host, gone with
the run.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import random
from pathlib import Path

import pytest

from tests.remote.helpers import collect, ended, start
from tui.remote.agent import Agent
from tui.remote.files import PIECE, copy_program
from tui.remote.transport import HostError

TELLS = b"#!/bin/sh\necho brought along\n#"


def packed(data: bytes) -> str:
    return base64.b64encode(gzip.compress(data, 6)).decode()


def sum_of(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


@pytest.fixture
def carrying(agent: Agent) -> Agent:
    """An agent of a run that brings programs along."""
    return Agent(agent.transport, agent.run_id, carries=True)


async def test_a_program_arrives_whole_and_comes_before_that_of_the_host(carrying: Agent) -> None:
    path = Path(await copy_program(carrying, "sort", packed(TELLS), sum_of(TELLS)))
    assert path.read_bytes() == TELLS
    probe = await carrying.probe((), {"sort": ()})
    assert probe.tools["sort"].path == str(path)
    await start(carrying, ["sort"])
    stream = await carrying.stream("t", 0, 0)
    assert (await collect(stream))[0] == b"brought along\n"
    await ended(carrying)
    await carrying.clean()
    assert not path.exists()


async def test_a_large_program_arrives_in_pieces(carrying: Agent) -> None:
    data = random.Random(7).randbytes(2 * PIECE)  # does not pack
    path = Path(await copy_program(carrying, "large", packed(data), sum_of(data)))
    assert sum_of(path.read_bytes()) == sum_of(data)
    assert path.stat().st_mode & 0o777 == 0o700


async def test_what_is_there_is_not_sent_again(carrying: Agent) -> None:
    path = Path(await copy_program(carrying, "tool", packed(TELLS), sum_of(TELLS)))
    assert await copy_program(carrying, "tool", "what is no base64 at all", sum_of(TELLS)) == str(
        path
    )


async def test_a_program_with_another_sum_is_refused(carrying: Agent) -> None:
    with pytest.raises(HostError, match="checksum mismatch"):
        await copy_program(carrying, "tool", packed(TELLS), sum_of(b"something else"))


async def test_a_run_that_brings_nothing_along_uses_what_the_host_has(
    agent: Agent, carrying: Agent
) -> None:
    await copy_program(carrying, "sort", packed(TELLS), sum_of(TELLS))
    assert "/with/" not in (await agent.probe((), {"sort": ()})).tools["sort"].path


async def test_a_load_does_not_begin_with_the_hosts_own_program_when_the_copied_one_is_gone(
    carrying: Agent,
) -> None:
    path = Path(await copy_program(carrying, "sort", packed(TELLS), sum_of(TELLS)))
    path.unlink()
    path.parent.rmdir()
    with pytest.raises(HostError, match="gone"):
        await start(carrying, ["sort"])
