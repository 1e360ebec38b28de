"""Before each step devices are looked at again: hours may have passed since the preflight."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.engine.test_planning import plan
from tests.lab.disks import loop_device
from tui.engine.session.context import RunContext, RunRefused
from tui.engine.session.host_session import HostSession
from tui.engine.session.targets import still_free
from tui.journal.writer import Journal
from tui.model.address import HostAddress
from tui.model.plan import FileSpec, HostTask, Plan
from tui.remote.connections import Connections
from tui.remote.devices import read_devices


@dataclass
class Machine:
    """This machine as the one host of a run that has seen `link` lead to the first of two disks."""

    ctx: RunContext
    link: Path
    disks: tuple[str, str]

    async def refusals(self, *, writes: bool) -> list[str]:
        """Return the codes of what keeps the step from starting."""
        self.ctx.plan = plan_for(str(self.link), writes=writes)
        try:
            await still_free(self.ctx, self.ctx.plan.steps[0])
        except RunRefused:
            lines = (self.ctx.run_dir / "journal.jsonl").read_text().splitlines()
            return [event["code"] for event in map(json.loads, lines) if "code" in event]
        return []


def plan_for(path: str, *, writes: bool) -> Plan:
    """One step of one host on a device that somebody named."""
    files = [FileSpec(path, 1 << 20)]
    task = HostTask("local", 1, "", ["fio"], files=files, writes_bytes=None if writes else 0)
    return replace(
        plan(), steps=[replace(plan().steps[0], tasks=[task])], allow_device=True, destroy=(path,)
    )


@pytest.fixture
def disks(tmp_path: Path) -> Iterator[tuple[str, str]]:
    with ExitStack() as stack:
        yield (
            stack.enter_context(loop_device(tmp_path / "one.img")),
            stack.enter_context(loop_device(tmp_path / "two.img")),
        )


@pytest.fixture
async def machine(tmp_path: Path, disks: tuple[str, str]) -> AsyncIterator[Machine]:
    link = tmp_path / "by-id"
    link.symlink_to(disks[0])
    run_dir = tmp_path / "data" / "runs" / "one"
    run_dir.mkdir(parents=True)
    journal = Journal(run_dir)
    session = HostSession(
        HostAddress(name="local", transport="local"), Connections(), "check", journal
    )
    await session.connect()
    session.devices = await session.ask(lambda agent: read_devices(agent, [str(link)]))
    yield Machine(
        RunContext(run_dir, plan_for(str(link), writes=True), journal, [session]), link, disks
    )
    await session.disconnect()
    journal.close()


@pytest.mark.parametrize("writes", [True, False])
async def test_a_device_that_is_as_it_was_is_used(machine: Machine, writes: bool) -> None:
    assert await machine.refusals(writes=writes) == []


@pytest.mark.parametrize("writes", [True, False])
async def test_a_device_that_is_gone_is_not_made_as_a_file(machine: Machine, writes: bool) -> None:
    machine.link.unlink()
    assert await machine.refusals(writes=writes) == ["device-missing"]


@pytest.mark.parametrize("writes", [True, False])
async def test_another_device_under_the_same_name_is_not_used(
    machine: Machine, writes: bool
) -> None:
    machine.link.unlink()
    machine.link.symlink_to(machine.disks[1])
    assert await machine.refusals(writes=writes) == ["device-changed"]


@pytest.mark.parametrize(("writes", "codes"), [(True, ["device-in-use"]), (False, [])])
async def test_a_device_that_came_into_use_is_only_read(
    machine: Machine, writes: bool, codes: list[str]
) -> None:
    with Path(machine.disks[0]).open("rb"):
        assert await machine.refusals(writes=writes) == codes
