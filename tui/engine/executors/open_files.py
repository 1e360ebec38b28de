"""Record the command lines of a load's processes, and the files that they have open."""

from __future__ import annotations

import asyncio
import posixpath
import zlib
from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, suppress
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from tui import workloads
from tui.engine.executors.executor import in_background
from tui.model.event import HostFactsCollected
from tui.model.host_tables import LoadCommand, OfSteps, OpenFile, rows, with_rows
from tui.model.plan import FILE_NUMBER
from tui.remote.transport import HostError

if TYPE_CHECKING:
    from tui.engine.session.task import TaskRun
    from tui.model.hostfacts import Fact
    from tui.remote.answers import LoadProcess

AFTER_S = 3.0  # seconds into the load; files are open by then
PATIENCE_S = 20.0
REVERSED = bytes(int(f"{byte:08b}"[::-1], 2) for byte in range(256))  # bits of each byte
MOST_PLANNED = 64  # test files that the host compares with those that the load has open
MOST_ELSEWHERE = 4  # paths kept
DELETED = " (deleted)"  # the kernel's mark
# rows of a step, and rows kept of a run, whose steps mostly repeat them
MOST_ROWS, MOST_KEPT = 16, 128


def recording_open_files(runs: Sequence[TaskRun]) -> AbstractAsyncContextManager[None]:
    """Record once which files loads have open, and their commands, in the background of the with
    block.

    Never fails, and does not wait for answers: hosts that have not answered at the end of the block
    stay unknown.
    """
    return in_background(_record(run) for run in runs)


async def _record(run: TaskRun) -> None:
    session, step = run.session, run.step
    task = next((task for task in step.tasks if task.host == session.name), None)
    names = {posixpath.basename(spec.path) for spec in (task.files if task is not None else ())}
    over_network = not names and workloads.of(step).keeps_command
    if not (names or over_network) or not any(job.stores for job in step.jobs):
        return
    await asyncio.sleep(AFTER_S)
    ((job_file, job),) = run.files().items()
    found: list[LoadProcess] = []
    with suppress(HostError, TimeoutError, OSError, ValueError):
        async with asyncio.timeout(PATIENCE_S):
            path = session.facts.get(f"{step.tool}_path")
            found = await session.agent.open_files(job_file, str(path or ""))
    known = {
        process: [each for each in process.files if posixpath.basename(each[1]) in names]
        for process in found
    }
    elsewhere = await _elsewhere(run, job_file, found)
    own = {
        process: files
        for process, files in known.items()
        if files or process.pid in elsewhere or (over_network and _is_load(process, job_file))
    }
    opened = dict.fromkeys(
        OpenFile(step.index, path, flags) for files in own.values() for flags, path in files
    )
    planned = cksum(job.encode())
    # over a network, what waits for the load has the job file as an argument too
    told = not over_network or all(process.program for process in own)
    commands = dict.fromkeys(
        _command(
            run,
            process if told else replace(process, program=""),
            planned,
            elsewhere.get(process.pid, ""),
        )
        for process in own
    )
    if own:
        facts: dict[str, Fact] = {"load_commands": _with(session.facts, commands)}
        if opened:
            facts["open_files"] = _with(session.facts, opened)
        session.facts |= facts
        session.journal.append(HostFactsCollected(t=0.0, host=session.name, facts=facts))


def _is_load(process: LoadProcess, job_file: str) -> bool:
    """Return whether a process has the job file as an argument, and in its directory."""
    return bool(process.job_file_sum) and job_file in process.words.split()


async def _elsewhere(run: TaskRun, job_file: str, found: Sequence[LoadProcess]) -> dict[int, str]:
    """Return by pid the files that a load has open, joined by colons, if it has none of its test
    files open; empty if it has, or if that is unknown.
    """
    loads = {each.pid: each for each in found if _is_load(each, job_file)}
    planned = _comparable(run)
    opened = {path for each in found for _, path in each.files}
    # what preloaded libraries (of a storage client, for example) do for open() is unknown
    if not (planned and loads) or opened & set(planned) or any(each.preload for each in found):
        return {}
    paths: list[tuple[int, str]] = []
    with suppress(HostError, TimeoutError, OSError, ValueError):
        async with asyncio.timeout(PATIENCE_S):
            paths = await run.session.agent.files_elsewhere(job_file, loads, planned)
    names = set(map(posixpath.basename, planned))
    if any(_was_removed(path, names) for _, path in paths):
        return {}
    # a script has itself open
    paths = [(pid, path) for pid, path in paths if path not in loads[pid].words.split()]
    told = ":".join(sorted({path for _, path in paths})[:MOST_ELSEWHERE])
    return {pid: told for pid, _ in paths}


def _comparable(run: TaskRun) -> list[str]:
    """Return the paths of the test files that a load has open all the time; empty if it may have
    none open, or if they are too many to compare or have numbers.
    """
    task = next((task for task in run.step.tasks if task.host == run.session.name), None)
    if task is None or not workloads.of(run.step).opens_files(task):
        return []
    paths = list(dict.fromkeys(posixpath.normpath(spec.path) for spec in task.files))
    known = len(paths) <= MOST_PLANNED and not any(FILE_NUMBER in path for path in paths)
    return paths if known else []


def _was_removed(path: str, names: Collection[str]) -> bool:
    """Return whether a file that is open may be a test file without its name: removed since, or
    removed on NFS.
    """
    name = posixpath.basename(path)
    return name.startswith(".nfs") or (
        name.endswith(DELETED) and name.removesuffix(DELETED) in names
    )


def _with(facts: Mapping[str, Fact], found: Collection[OfSteps]) -> Fact:
    """Return a table with the rows of earlier steps and the new rows."""
    new = sorted(found, key=msgspec.structs.astuple)[:MOST_ROWS]
    before = rows(facts, type(new[0]))
    table = with_rows(before, new, new[0].step, MOST_KEPT)
    return [msgspec.to_builtins(row) for row in table]


def _command(run: TaskRun, process: LoadProcess, planned: str, elsewhere: str) -> LoadCommand:
    return LoadCommand(
        run.step.index,
        process.words if workloads.of(run.step).keeps_command else "",
        process.job_file_sum not in ("", planned),
        process.preload,
        process.touched,
        ":".join(process.replaced),
        process.program,
        elsewhere,
    )


def cksum(content: bytes) -> str:
    """Return checksum and size as ``CRC:SIZE``, as POSIX cksum(1) computes them.

    Uses zlib's CRC of the content and its length, with the bits of every byte and of the result
    reversed.
    """
    size = len(content)
    length = size.to_bytes((size.bit_length() + 7) // 8, "little")
    crc = zlib.crc32((content + length).translate(REVERSED), 0xFFFFFFFF)
    return f"{int(f'{crc:032b}'[::-1], 2)}:{size}"
