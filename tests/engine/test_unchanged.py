"""Before each step, and before GO, targets are compared with what the preflight saw: a swap is not
written to.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.engine.test_planning import plan
from tui.engine.session.context import RunContext, RunRefused
from tui.engine.session.host_session import HostSession
from tui.engine.session.targets import check_unchanged, files_of, seen_on
from tui.journal.writer import Journal
from tui.model.address import HostAddress
from tui.model.plan import FileSpec, HostTask
from tui.remote.connections import Connections
from tui.text.run_texts import run_text


@dataclass
class Run:
    """A run whose preflight saw `d/there` and no `d/absent`, with a directory that looks the same
    beside it.
    """

    ctx: RunContext
    directory: Path

    @property
    def other(self) -> Path:
        return self.directory.with_name("precious")

    async def refused(self) -> str:
        """What keeps the step from starting."""
        try:
            await check_unchanged(self.ctx, self.ctx.plan.steps[0])
        except RunRefused:
            lines = (self.ctx.run_dir / "journal.jsonl").read_text().splitlines()
            return str(
                run_text(
                    next(event["message"] for event in map(json.loads, lines) if "code" in event)
                )
            )
        return ""


@pytest.fixture
async def run(tmp_path: Path) -> AsyncIterator[Run]:
    directory = tmp_path / "d"
    for each in (directory, tmp_path / "precious"):
        each.mkdir()
        (each / "there").write_bytes(b"x" * 4096)
    run_dir = tmp_path / "data" / "runs" / "one"
    run_dir.mkdir(parents=True)
    journal = Journal(run_dir)
    files = [FileSpec(str(directory / name), 4096) for name in ("there", "absent")]
    task = HostTask("local", 1, "", ["fio"], files=files, writes_bytes=None)
    planned = replace(plan(), steps=[replace(plan().steps[0], tasks=[task])])
    session = HostSession(
        HostAddress(name="local", transport="local"), Connections(), "check", journal
    )
    await session.connect()
    session.seen = await session.ask(partial(seen_on, paths=files_of(task)))
    session.missing = {str(directory / "absent")}
    yield Run(RunContext(run_dir, planned, journal, [session]), directory)
    await session.disconnect()
    journal.close()


async def test_what_is_as_it_was_is_used(run: Run) -> None:
    (run.directory / "there").write_bytes(b"written by somebody" * 1000)
    assert await run.refused() == ""


def directory_became_a_link(run: Run) -> None:
    run.directory.rename(run.directory.with_name("away"))
    run.directory.symlink_to(run.other)


def directory_replaced(run: Run) -> None:
    run.directory.rename(run.directory.with_name("away"))
    run.other.rename(run.directory)


def file_replaced(run: Run) -> None:
    (run.other / "there").replace(run.directory / "there")


def file_became_a_link(run: Run) -> None:
    (run.directory / "there").unlink()
    (run.directory / "there").symlink_to(run.other / "there")


def file_appeared(run: Run) -> None:
    (run.directory / "absent").symlink_to(run.other / "there")


SWAPS: dict[Callable[[Run], None], str] = {
    directory_became_a_link: "it now resolves to ",
    directory_replaced: "the directory was replaced",
    file_replaced: "was replaced since the preflight",
    file_became_a_link: "was replaced since the preflight",
    file_appeared: "appeared since the preflight",
}


@pytest.mark.parametrize("swap", SWAPS, ids=lambda swap: swap.__name__)
async def test_what_was_swapped_since_the_preflight_is_refused(
    run: Run, swap: Callable[[Run], None]
) -> None:
    swap(run)
    assert SWAPS[swap] in await run.refused()


async def test_what_was_mounted_since_the_preflight_is_refused(run: Run) -> None:
    words = ["mount", "-t", "tmpfs", "none", str(run.directory)]
    if os.getuid() or subprocess.run(words, capture_output=True, check=False).returncode:
        pytest.skip("mounting is not allowed here")
    try:
        assert "a different file system was mounted there" in await run.refused()
    finally:
        subprocess.run(["umount", str(run.directory)], check=True)
