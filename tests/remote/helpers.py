"""Starting loads, collecting streams, waiting for what must come."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

from tests.patience import PATIENCE_S, seen
from tui.remote import made
from tui.remote.agent import Agent, AgentStream, Lease, TaskStatus


async def start(
    agent: Agent,
    argv: Sequence[str],
    *,
    task: str = "t",
    lease_s: float = 60,
    grace_s: float = 5,
    armed: bool = False,
    files: dict[str, str] | None = None,
) -> str:
    return await agent.start(task, argv, files or {}, lease=Lease(lease_s, grace_s), armed=armed)


def sh(text: str) -> list[str]:
    return ["/bin/sh", "-c", text]


def allocated(path: Path) -> int:
    """Return the bytes that the file system has allocated for a file by the time it is written:
    each has its way.
    """
    with path.open("rb") as file:
        os.fsync(file.fileno())
    return path.stat().st_blocks * 512


async def collect(stream: AgentStream) -> tuple[bytes, bytes]:
    """Everything a stream brings until it ends."""
    found = {"out": bytearray(), "err": bytearray()}
    async with asyncio.timeout(PATIENCE_S):
        async for kind, data in stream:
            found[kind] += data
    return bytes(found["out"]), bytes(found["err"])


async def until(
    condition: Callable[[], Awaitable[bool]], what: str, timeout_s: float = PATIENCE_S
) -> None:
    """Wait for a condition; fail by name when it does not come."""
    await seen(condition, what, timeout_s)


async def ended(agent: Agent, task: str = "t", timeout_s: float = PATIENCE_S) -> TaskStatus:
    """The status of a task once it is over."""

    async def over() -> bool:
        return (await agent.status(task)).done

    await until(over, f"the end of task {task}", timeout_s)
    return await agent.status(task)


async def running(agent: Agent, count: int, what: str = "the load's processes") -> None:
    """Wait until at least `count` marked processes are there."""

    async def there() -> bool:
        return len(await agent.sweep(kill=False)) >= count

    await until(there, what)


def fio_job(directory: Path, *, jobs: int = 3, runtime_s: int = 60) -> str:
    return (
        f"[global]\nioengine=psync\nrw=randread\nbs=4k\nsize=1m\ndirectory={directory}\ntime_based=1\n"
        f"runtime={runtime_s}\nnumjobs={jobs}\nrate_iops=10\n[load]\n"
    )


FIO = ["fio", "--output-format=json+", "--status-interval=1", "--eta=never", "job.fio"]


async def removed(
    agent: Agent, paths: Sequence[str], counts: dict[str, int] | None = None
) -> list[str]:
    """Remove files and directories as they are now; what is gone, in the order asked."""
    counts = counts or {}
    directories = {path for path in paths if Path(path).is_dir() and not Path(path).is_symlink()}
    items = [
        made.Item(path, "directory" if path in directories else "file", count=counts.get(path, 0))
        for path in paths
    ]
    said = await made.unmake(agent, "remove", items, await made.identify(agent, paths, counts))
    return [path for path in paths if said[path] == made.REMOVED]
