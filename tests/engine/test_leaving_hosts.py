"""What runs leave on hosts: named, found again, removed; real sshd and real fio."""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.lab.course import Course, course
from tests.lab.sshd import SshdLab
from tui.engine.preflight.clean import (
    clean,
    created_of,
    find_leftovers,
    plan_cleaning,
    remove_leftovers,
)
from tui.engine.recover import execute_collection
from tui.engine.run import run as run_module
from tui.engine.run.run import execute, open_run
from tui.engine.session.context import RunContext
from tui.engine.session.history import read_history
from tui.engine.session.host_session import HostSession
from tui.journal.raw import RawFile
from tui.library.build import build_record
from tui.model.rundir import JOURNAL_FILE
from tui.remote.agent import Agent, Lease
from tui.remote.connections import Connections
from tui.remote.transport import HostError
from tui.text import names
from tui.text.run_texts import run_text

pytestmark = pytest.mark.e2e


@pytest.fixture(autouse=True)
def no_lock_stays(lab: SshdLab) -> Iterator[None]:
    """A lock that could not be given back holds until its lease ends: the next test does not wait
    for that.
    """
    yield
    for host in lab.hosts:
        shutil.rmtree(host.root / "locks", ignore_errors=True)


def warnings(run: Course, host: str) -> list[str]:
    return [
        run_text(event["text"]) for event in run.events("message", host) if event["severity"] == "warning"
    ]


async def sweep(lab: SshdLab, run_id: str) -> list[HostError]:
    """End and remove what a run left on h1, so that nothing stays whatever a test finds."""
    async with Connections(ssh_config=lab.ssh_config) as connections:
        found, _ = await find_leftovers(lab.addresses(1), connections)
        return await remove_leftovers(
            lab.addresses(1), [each for each in found if each.run == run_id], connections
        )


async def left_behind(lab: SshdLab, home: Path, monkeypatch: pytest.MonkeyPatch) -> Course:
    """A run that could not remove what its agent had on h1."""

    async def busy(agent: Agent) -> None:
        await asyncio.sleep(60)

    with monkeypatch.context() as patched:
        patched.setattr(run_module, "LEAVE_S", 6.0)
        patched.setattr(Agent, "clean", busy)
        async with course(home, lab, "1s", hosts=1) as run:
            await execute(run.ctx)
    return run


async def test_what_a_busy_host_keeps_is_reported_in_the_record(
    lab: SshdLab, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = await left_behind(lab, home, monkeypatch)
    try:
        record = build_record(run.ctx.run_dir)
        told = [run_text(message.text) for message in record.messages]
        (said,) = [text for text in told if "may remain" in text]
        assert "no answer in 6 s" in said and "hosts sweep" in said
        assert record.state == "complete"
    finally:
        assert await sweep(lab, run.ctx.run_id) == []


async def test_a_start_that_nobody_knows_of_is_ended_before_the_host_is_left(
    lab: SshdLab, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def armed(ctx: RunContext, session: HostSession) -> None:
        await session.agent.start("9.measure", ["/bin/true"], {}, lease=Lease(60, 5), armed=True)
        await leave(ctx, session)

    leave = run_module._leave
    monkeypatch.setattr(run_module, "_leave", armed)
    async with course(home, lab, "1s", hosts=1) as run:
        end = await execute(run.ctx)
    assert end.state == "complete"
    assert not [event for event in run.events("message") if "may remain" in run_text(event["text"])]
    assert not list(Path("/tmp").glob(f".benchtui-*/{run.ctx.run_id}"))


async def test_the_next_run_finds_what_an_earlier_one_left(
    lab: SshdLab, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # all hosts here share one /tmp, and other tests leave something too
    monkeypatch.setattr(names, "NAMED", 1000)
    first = await left_behind(lab, home, monkeypatch)
    try:
        async with course(home, lab, "1s", hosts=1) as run:
            await execute(run.ctx)
        told = [
            run_text(event["text"])
            for event in run.events("message", "h1")
            if first.ctx.run_id in run_text(event["text"])
        ]
        assert len(told) == 1 and "hosts sweep" in told[0]
    finally:
        await sweep(lab, first.ctx.run_id)


async def test_a_fault_of_ours_while_sweeping_is_no_success(
    lab: SshdLab, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = await left_behind(lab, home, monkeypatch)

    async def broken(agent: Agent, run: str, mark: str) -> None:
        raise ValueError("no such mark")

    with monkeypatch.context() as patched:
        patched.setattr(Agent, "end_leftovers", broken)
        (error,) = await sweep(lab, run.ctx.run_id)
    assert "internal error: ValueError: no such mark" in error.message and error.host == "h1"
    assert await sweep(lab, run.ctx.run_id) == []


async def test_a_host_that_was_lost_and_is_back_keeps_what_it_measured_until_it_is_collected(
    lab: SshdLab, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its connection is gone for good before the end of the load, as after an outage longer than
    the lease.
    """
    write = RawFile.write

    async def never(session: HostSession, patience_s: float) -> bool:
        return False

    def cut(file: RawFile, data: bytes) -> None:
        if ".measure." in file.path.name and ".h1." in file.path.name:
            raise HostError("lost", "h1", "connection lost")
        write(file, data)

    monkeypatch.setattr(HostSession, "reconnect", never)
    monkeypatch.setattr(RawFile, "write", cut)
    async with course(home, lab, "3s", hosts=2) as run:
        end = await execute(run.ctx)
    assert "host-lost" in run.codes("h1")
    assert (
        f"results of h1 are incomplete; once reachable, collect the rest: benchtui runs recover {run.ctx.run_id}"
        in run_text(end.reason)
    )
    assert not [text for text in warnings(run, "h1") if "may remain" in text]
    monkeypatch.undo()
    async with Connections(ssh_config=lab.ssh_config) as connections:
        found, errors = await find_leftovers(lab.addresses(1), connections)
        (left,) = [each for each in found if each.run == run.ctx.run_id]
        assert (errors, left.processes) == ([], ()), "no load goes on"
        history = read_history(run.ctx.run_dir / JOURNAL_FILE)
        again = open_run(run.ctx.run_dir, run.ctx.plan, connections, history)
        end = await execute_collection(again, history)
        assert "output-on-hosts" not in json.dumps(end.reason)
        again.journal.close()
        found, errors = await find_leftovers(lab.addresses(1), connections)
    assert (errors, [each for each in found if each.run == run.ctx.run_id]) == ([], [])
    assert [event.get("collected", True) for event in run.events("task_ended", "h1")][-2:] == [
        False,
        True,
    ]


async def clean_all(run: Course, lab: SshdLab) -> dict[str, Any]:
    """Remove what the record of a run names; return what became of it, by word."""
    created = created_of(run.ctx.plan, build_record(run.ctx.run_dir))
    async with Connections(ssh_config=lab.ssh_config) as connections:
        assert [
            each.error for each in await plan_cleaning(run.ctx.run_dir, created, connections)
        ] == [""] * len(created)
        cleaned = await clean(run.ctx.run_dir, created, connections, lambda _: None)
    return {
        "goes": [path for each in cleaned for path in each.goes],
        "stays": [p for c in cleaned for p in c.stays],
    }


@pytest.mark.parametrize("by", [pytest.param("first", marks=pytest.mark.slow), "second"])
async def test_files_that_a_larger_run_grew_can_be_removed(
    lab: SshdLab, home: Path, by: str
) -> None:
    runs = {}
    for name, size in (("first", "1M"), ("second", "3M")):
        async with course(home, lab, "1s", hosts=1, size=size, cleanup=False) as run:
            assert (await execute(run.ctx)).state == "complete"
        run.ctx.journal.close()
        runs[name] = run
    test_files = [str(path) for path in home.rglob("load.*")]
    assert test_files and {Path(path).stat().st_size for path in test_files} == {3 << 20}
    done = await clean_all(runs[by], lab)
    assert set(test_files) <= set(done["goes"])
    assert [path for path in test_files if Path(path).exists()] == []
