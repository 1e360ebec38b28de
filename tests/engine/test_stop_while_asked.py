"""An engine that waits for a secret obeys a stop, also one that goes on with a run."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.lab.sshd import refusing_port
from tests.patience import wait_until
from tui.engine.control import request
from tui.engine.inputs.profiles import Catalogue
from tui.engine.launch import EngineMode, create_run, spawn_asking
from tui.engine.plan.plan import Choices, build_plan
from tui.engine.run.run import open_run
from tui.journal.reader import read_events
from tui.journal.rundir import is_running, load_plan
from tui.model.address import HostAddress
from tui.model.event import AnyEvent, RunEnded, StopRequested
from tui.model.rundir import JOURNAL_FILE
from tui.remote.connections import Connections
from tui.text.run_texts import run_text

PROFILE = """\
profile: own/secret
title: Reads with a key
tool: fio
params: {key: {kind: secret, default: "${OUR_TEST_KEY}"}}
fio: {jobs: {data: {rw: randread, filename: /mnt/x, size: 64k, description: "{key}"}}}
headline: {metric: iops, direction: read}
"""


@pytest.fixture
def run_dir(home: Path, tmp_path: Path) -> Iterator[Path]:
    """A run that wants a secret, on a host that nothing answers on."""
    with refusing_port() as port:
        (tmp_path / "secret.yaml").write_text(PROFILE)
        host = HostAddress(name="h1", address="127.0.0.1", port=port)
        yield create_run(
            build_plan(Catalogue(tmp_path).load("own/secret"), Choices([host])), home / "runs"
        )


async def begin(run_dir: Path, *events: AnyEvent) -> None:
    """Journal what an earlier engine did."""
    async with Connections() as connections:
        ctx = open_run(run_dir, load_plan(run_dir), connections)
        for event in events:
            ctx.journal.append(event)
        ctx.journal.close()


STOPPED = StopRequested(t=0.0, mode="stop", by="test")
ENDED = RunEnded(t=0.0, state="failed", exit_code=4, reason="")
CASES: list[tuple[str, EngineMode, list[AnyEvent], str]] = [
    ("a run that begins", "start", [], "stopped on request"),
    ("one that had ended", "resume", [STOPPED, ENDED], "stopped on request"),
    ("one whose engine died", "resume-failed", [], "the engine died; 1 of 1 steps never started"),
    ("one that is collected", "recover", [], "the engine died; 1 of 1 steps never started"),
    (
        "one that had been stopped",
        "recover",
        [STOPPED],
        "the engine died; 1 of 1 steps never started",
    ),
]


@pytest.mark.parametrize(
    ("mode", "events", "reason"), [case[1:] for case in CASES], ids=[case[0] for case in CASES]
)
def test_it_ends_without_an_answer(
    mode: EngineMode, events: list[AnyEvent], reason: str, run_dir: Path
) -> None:
    if mode != "start":
        asyncio.run(begin(run_dir, *events))
    with closing(spawn_asking(run_dir, mode)) as questions:
        question = questions.next()
        assert question is not None and question.key == "secret OUR_TEST_KEY"
        assert request(run_dir, {"verb": "stop", "by": "test"}) == {"ok": True}
        wait_until(lambda: not is_running(run_dir), "the end of the engine")
    *_, end = read_events(run_dir / JOURNAL_FILE)
    assert isinstance(end, RunEnded) and run_text(end.reason) == reason
