"""A load that has other files open than its test files."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
import pytest_asyncio

from tests.patience import seen
from tests.remote.helpers import FIO, fio_job, start
from tui.engine.executors import open_files
from tui.engine.session.task import TaskRun
from tui.model.host_tables import LoadCommand, rows
from tui.model.plan import FileSpec, HostTask, JobLoad, Step
from tui.remote.agent import Agent

NAME = "load.0.0"


@pytest_asyncio.fixture
async def at(
    shell_agent: Agent, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Machine]:
    monkeypatch.setattr(open_files, "AFTER_S", 0.0)
    yield Machine(shell_agent, tmp_path)


class Machine:
    """A host on which a load runs, and what is recorded of it."""

    def __init__(self, agent: Agent, root: Path) -> None:
        self.agent, self.data, self.job = agent, root / "data", ""
        self.data.mkdir()

    async def load(self, job: str, file: Path, argv: list[str] | None = None) -> None:
        """Start a load, and wait until it has this file open."""
        self.job = job
        await start(self.agent, argv or FIO, files={"job.fio": job})

        async def opened() -> bool:
            processes = await self.agent.open_files("job.fio")
            listed = [entry for each in processes for entry in each.files]
            # fio first writes its files
            return any(
                path == str(file) and (argv or flags & os.O_ACCMODE != os.O_WRONLY)
                for flags, path in listed
            )

        await seen(opened, f"{file} open")

    async def recorded(self, *planned: Path) -> list[LoadCommand]:
        """Return what is recorded of the load, of which these test files are planned."""
        files = [FileSpec(str(path), 1 << 20) for path in planned]
        task = HostTask("local", 1, self.job, FIO, files=files)
        step = Step(
            index=0,
            name="s",
            tool="fio",
            params={},
            tasks=[task],
            runtime_s=60,
            jobs=[JobLoad("j", ("read",))],
        )
        done: list[Any] = []
        session = SimpleNamespace(
            name="local", agent=self.agent, facts={}, journal=SimpleNamespace(append=done.append)
        )
        run = SimpleNamespace(session=session, step=step, files=lambda: {"job.fio": self.job})
        gathered = cast("TaskRun", run)
        await open_files._record(gathered)
        return rows(session.facts, LoadCommand)


async def test_other_files_in_place_of_the_test_files_are_recorded(at: Machine) -> None:
    await at.load(fio_job(at.data), at.data / NAME)
    (row,) = await at.recorded(at.data.parent / "planned" / "f")
    assert row.elsewhere.split(":") == [str(at.data / f"load.{job}.0") for job in range(3)]


async def test_a_file_of_the_planned_name_in_another_directory_is_not_the_test_file(
    at: Machine,
) -> None:
    planned = at.data.parent / "planned"
    planned.mkdir()
    (planned / NAME).write_bytes(b"planned")
    await at.load(fio_job(at.data, jobs=1), at.data / NAME)
    assert {row.elsewhere for row in await at.recorded(planned / NAME)} == {str(at.data / NAME)}


async def test_the_planned_files_are_not_elsewhere(at: Machine) -> None:
    await at.load(fio_job(at.data), at.data / NAME)
    found = await at.recorded(*(at.data / f"load.{job}.0" for job in range(3)))
    assert found and not any(row.elsewhere for row in found)


async def test_one_worker_with_a_planned_file_open_is_enough(at: Machine) -> None:
    await at.load(fio_job(at.data), at.data / "load.2.0")
    found = await at.recorded(at.data / "load.2.0", at.data / "absent")
    assert found and not any(row.elsewhere for row in found)


async def test_a_symbolic_link_is_not_elsewhere(at: Machine) -> None:
    """As for a test directory, /dev/mapper and /dev/disk/by-id."""
    directory, link = at.data.parent / "linked", at.data / "link"
    directory.symlink_to(at.data)
    job = fio_job(directory, jobs=1).replace(str(directory), f"{directory}/")  # fio: lstat
    await at.load(job, at.data / NAME)
    link.symlink_to(at.data / NAME)
    for planned in (directory / NAME, link):
        assert not any(row.elsewhere for row in await at.recorded(planned))


async def test_a_test_file_that_was_removed_is_not_elsewhere(at: Machine) -> None:
    await at.load(fio_job(at.data, jobs=1), at.data / NAME)
    (at.data / NAME).unlink()
    assert not any(row.elsewhere for row in await at.recorded(at.data / NAME))


@pytest.mark.parametrize("option", ["startdelay=1\n", "ioengine=mmap\n", "mem=mmap:/tmp/m\n"])
async def test_a_load_that_may_have_no_test_file_open_is_not_judged(
    at: Machine, option: str
) -> None:
    await at.load(fio_job(at.data, jobs=1), at.data / NAME)
    at.job += option
    assert not await at.recorded(at.data.parent / "other")


HOLDS = """\
exec 5>>"$1/log" 6<"$1/beside" 7<job.fio
while [ "$2" ]; do sleep 1; done
"""


async def test_logs_and_files_of_the_task_are_not_elsewhere(at: Machine) -> None:
    """A script has itself open, too, as long as it waits for the load."""
    script = at.data / "script"
    script.write_text(HOLDS.replace(' 6<"$1/beside"', ""))
    argv = ["/bin/sh", str(script), str(at.data), "job.fio"]
    await at.load(fio_job(at.data), at.data / "log", argv)
    assert not await at.recorded(at.data / "planned")


async def test_a_file_that_is_read_by_another_program_is_elsewhere(at: Machine) -> None:
    (at.data / "beside").touch()
    argv = ["/bin/sh", "-c", HOLDS, "sh", str(at.data), "job.fio"]
    await at.load(fio_job(at.data), at.data / "beside", argv)
    (row,) = await at.recorded(at.data / "planned")
    assert row.elsewhere == str(at.data / "beside")
