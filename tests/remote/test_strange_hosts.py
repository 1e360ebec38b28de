"""Hosts that say what no host should: without end, no text, words that would steer a terminal."""

from __future__ import annotations

from pathlib import Path

import pytest

from tui.journal.writer import Journal
from tui.model.address import HostAddress
from tui.model.event import HostFactsCollected, HostProblem
from tui.remote.agent import Agent
from tui.remote.answers import parse_answer, parse_probe
from tui.remote.local import LocalTransport
from tui.remote.transport import Completed, HostError

STRANGE = "caf\udce9 \x1b[31m\u202e"  # Latin-1, a colour, a change of direction


async def test_what_a_host_repeats_steers_no_terminal(agent: Agent) -> None:
    with pytest.raises(HostError) as caught:
        await agent.status(STRANGE)
    assert "bad name: caf" in caught.value.message
    assert caught.value.message.isprintable() and str(caught.value).isprintable()


def test_facts_that_are_no_text_are_kept(tmp_path: Path) -> None:
    source = b"srv:/donn\xe9es\x1b[31m"
    said = b"BT-BEGIN t\ndir.0.exists=1\ndir.0.source=" + source + b"\nos=\xffinux\nBT-END t 0\n"
    probe = parse_probe(parse_answer(Completed(said, b"", 0), "t", "h1").values, ["/mnt"])
    journal = Journal(tmp_path)
    journal.append(HostFactsCollected(t=0.0, host="h1", facts=probe.facts()))
    journal.close()
    assert probe.dirs["/mnt"].source == "srv:/donn\ufffdes [31m"


def test_a_problem_is_journalled_whatever_its_words_are(tmp_path: Path) -> None:
    error = HostError("lost", "h1", STRANGE)
    journal = Journal(tmp_path)
    journal.append(
        HostProblem(t=0.0, host="h1", phase="measure", code=error.code, message=error.told)
    )
    journal.close()
    assert b'"quote":"caf   [31m ' in (tmp_path / "journal.jsonl").read_bytes()


async def test_a_host_that_never_ends_is_given_up() -> None:
    endless = Agent(
        LocalTransport(HostAddress(name="local", transport="local"), ("yes", "no" * 2000)), "run"
    )
    for call in (endless.clock(), endless.stream("t", 0, 0), endless.tasks()):
        with pytest.raises(HostError) as refused:
            await call
        assert refused.value.code == "flooded"
