"""Client of the remote agent: each call sends the agent and one command line to a /bin/sh on the
host.

Calls about files are in `files.py`, about devices and file systems in `devices.py`, about files
that a run created in `made.py`.
"""

from __future__ import annotations

import asyncio
import math
import posixpath
import re
import secrets
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from types import MappingProxyType

from msgspec import Struct

from tui.model.hostfacts import Fact
from tui.model.operands import clause
from tui.remote.answers import (
    AgentAnswer,
    AgentError,
    Expired,
    HostProbe,
    LoadProcess,
    MarkedProcess,
    TaskDir,
    TaskStatus,
    load_processes,
    parse_answer,
    parse_expired,
    parse_probe,
    parse_processes,
    parse_status,
    parse_tasks,
    quoted,
)
from tui.remote.facts import host_facts, with_unknown
from tui.remote.scripts import Script, is_hidden, supervisor_script
from tui.remote.stream import AgentStream, ClockOffset, Piece, measure_clock
from tui.remote.transport import HostError, Transport, slow_shell

__all__ = [
    "Agent",
    "AgentError",
    "AgentStream",
    "ClockOffset",
    "Holder",
    "MarkedProcess",
    "Piece",
    "TaskDir",
    "TaskStatus",
    "host_mark",
]

TIMEOUT_S = 60.0
PROBE_TIMEOUT_S = 90.0  # a busy host answers late; one with a hanging file system never does
FACTS_TIMEOUT_S = 90.0
STREAM_TIMEOUT_S = 60.0
CLOCK_TIMEOUT_S = 60.0
POLL_S = 0.25  # polling interval on the host
# uncollected output stays as long as systemd-tmpfiles keeps files in /tmp
KEPT_DAYS = 10
PATHS_AT_ONCE = 500  # far below the argument limit of any system


def host_mark(name: str) -> str:
    """Return a host's name in a form that is safe in file names and process marks."""
    return re.sub(r"[^A-Za-z0-9_-]", "_", name) or "_"


class Holder(Struct, frozen=True):
    """The run that has locked a host: its name, its owner, and seconds until the lock expires."""

    run: str
    owner: str
    left_s: int


NOTHING: Mapping[str, Sequence[str]] = MappingProxyType({})
NO_VALUES: Mapping[str, str] = MappingProxyType({})


class Lease(Struct, frozen=True):
    """Seconds that a load may run without contact, and seconds that it then gets to finish."""

    lasts_s: float
    grace_s: float


class Agent:
    """Client of the agent on one host, for one run."""

    def __init__(self, transport: Transport, run_id: str, *, carries: bool = False) -> None:
        self.carries = carries  # the run copies programs to the host
        self.transport = transport
        self.run_id = run_id
        self.host = transport.address.name
        self.mark = host_mark(self.host)

    async def probe(
        self, directories: Sequence[str] = (), commands: Mapping[str, Sequence[str]] = NOTHING
    ) -> HostProbe:
        """Return the basic facts of the host.

        `commands`: by name, the arguments with which a command prints its version. Raises
        HostError.
        """
        words = [" ".join([name, *args]) for name, args in commands.items()]
        try:
            answer = await self.call(
                "probe", str(len(words)), *words, *directories, timeout_s=PROBE_TIMEOUT_S
            )
        except HostError as error:
            if error.code == "timeout" and directories:
                told = clause(
                    "file-system-may-hang", quote=error.told, directories=list(directories)
                )
                raise HostError("timeout", self.host, told) from error
            raise
        return parse_probe(answer.values, directories, list(commands))

    async def facts(
        self, probe: HostProbe, targets: Sequence[str] = (), commands: Sequence[str] = ()
    ) -> dict[str, Fact]:
        """Return all facts of the host, including checksums of commands and the devices underneath
        targets.

        No decision depends on them: if the agent fails or is too slow, they are unknown. Raises
        HostError for other problems, such as a lost connection.
        """
        words = [str(len(commands)), *commands, *targets]
        try:
            return host_facts(
                probe, await self.call("facts", *words, timeout_s=FACTS_TIMEOUT_S), commands
            )
        except HostError as error:
            if error.code not in ("agent-failed", "timeout"):
                raise
            return with_unknown(probe.facts(), error.message)

    async def trial(self, words: Sequence[str], environ: Mapping[str, str] = NO_VALUES) -> str:
        """Run a harmless command with additional environment variables.

        Returns "" if it succeeds, else its output; without output, its exit code as text.
        """
        answer = await self.call("trial", *words, timeout_s=PROBE_TIMEOUT_S, environ=environ)
        values = answer.values
        return (
            ""
            if values.get("exit") == "0"
            else values.get("said", "").strip() or f"exit code {values.get('exit')}"
        )

    async def start(
        self,
        task: str,
        argv: Sequence[str],
        files: dict[str, str],
        *,
        lease: Lease,
        armed: bool,
        environ: Mapping[str, str] | None = None,
    ) -> str:
        """Start a command under supervision; an armed one waits for `AgentStream.go`. Return its
        private directory on the host.

        `files` (name -> text) are written there and end with a newline. `environ` are secrets:
        added to the command's environment, never in a file or on a command line, and masked in the
        output (but see `is_hidden`). Starting the same task again has no effect.
        """
        hidden = [name for name, value in (environ or {}).items() if is_hidden(value)]
        secrets = {**(environ or {}), "BT_SECRETS": " ".join(hidden)}
        given = {"agent.sh": supervisor_script(), **files}
        texts = [part for name, text in given.items() for part in (name, text.removesuffix("\n"))]
        numbers = [
            str(math.ceil(lease.lasts_s)),
            str(math.ceil(lease.grace_s)),
            str(int(armed)),
            str(len(given)),
        ]
        answer = await self.call(
            "start", self.run_id, self.mark, task, *numbers, *texts, *argv, environ=secrets
        )
        return answer.values["dir"]

    async def stream(
        self, task: str, out_offset: int, err_offset: int, poll_s: float = POLL_S
    ) -> AgentStream:
        """Open the stream of a task's output at these byte offsets; an older stream of the task
        ends.

        `poll_s`: how often the host checks for output.
        """
        generation = time.time_ns() // 1_000_000
        try:
            return await self._stream(task, out_offset, err_offset, generation, poll_s)
        except AgentError as error:
            fenced = error.answer.values.get("fenced", "")
            if not fenced.isdigit():
                raise
            # the previous holder had a clock ahead of ours
            return await self._stream(task, out_offset, err_offset, int(fenced) + 1, poll_s)

    async def status(self, task: str) -> TaskStatus:
        """Return the state of a task."""
        return parse_status(await self.call("status", self.run_id, self.mark, task))

    async def stop(self, task: str, *, abort: bool = False) -> None:
        """End a task: with SIGINT and time to finish, or with `abort` immediately."""
        await self.call("stop", self.run_id, self.mark, task, "abort" if abort else "stop")

    async def free_spool(self, task: str) -> None:
        """Remove the output of a collected task; refused while it runs."""
        await self.call("free_spool", self.run_id, self.mark, task)

    async def sweep(self, *, kill: bool) -> list[MarkedProcess]:
        """Return the processes of this run on this host; with `kill`, end them.

        Raises HostError, with code processes-stuck if some survive SIGKILL.
        """
        return await self._sweep(self.run_id, self.mark, kill=kill)

    async def leftovers(self) -> tuple[list[MarkedProcess], list[TaskDir]]:
        """Return processes and task directories of all of the user's runs on this host."""
        processes = parse_processes(await self.call("leftovers"))
        return processes, await self.tasks()

    async def expire(self) -> Expired:
        """End abandoned loads of other runs, remove expired leftovers, and return both."""
        return parse_expired(await self.call("expire", self.run_id, str(KEPT_DAYS)))

    async def tasks(self) -> list[TaskDir]:
        """Return the task directories of all of the user's runs on this host."""
        return parse_tasks(await self.call("list"))

    async def end_leftovers(self, run: str, mark: str) -> None:
        """End the processes of a run on this host, and remove the run's directories.

        `mark`: the `host_mark` under which that run used this host.
        """
        await self._sweep(run, mark, kill=True)
        await self.call("clean", run, mark)

    async def clean(self) -> None:
        """Remove the run's private directories on this host; refused while its processes run."""
        await self.call("clean", self.run_id, self.mark)

    async def lock(self, lease_s: float, owner: str, *, force: bool = False) -> Holder | None:
        """Lock the host for this run; return the holder if another run has it, else None.

        The lock lasts `lease_s` and is renewed by streams. With `force`, the run takes a lock in
        addition to the other one.
        """
        words = [str(math.ceil(lease_s)), str(int(force)), owner]
        return _holder((await self.call("lock", self.run_id, self.mark, *words)).values)

    async def locked(self) -> Holder | None:
        """Return the other run that holds the host, or None; does not lock it."""
        return _holder((await self.call("locked", self.run_id)).values)

    async def unlock(self) -> None:
        """Release this run's lock."""
        await self.call("unlock", self.run_id, self.mark)

    async def clock(self) -> ClockOffset | None:
        """Return the host's clock relative to this machine's; None if its `date` has no fractions
        of a second.

        Raises HostError.
        """
        script = self._script("clock")
        try:
            async with asyncio.timeout(CLOCK_TIMEOUT_S), self.transport.talk(script) as channel:
                return await measure_clock(channel, script.token, self.host)
        except TimeoutError:
            raise HostError(
                "timeout", self.host, clause("clock-not-read", limit_s=CLOCK_TIMEOUT_S)
            ) from None

    async def call(
        self,
        command: str,
        *words: str,
        timeout_s: float = TIMEOUT_S,
        environ: Mapping[str, str] | None = None,
    ) -> AgentAnswer:
        """Call a function of the agent (tui/remote/sh/). Raises HostError."""
        script = self._script(command, *words, environ=environ)
        return parse_answer(await self.transport.call(script, timeout_s), script.token, self.host)

    async def open_files(self, job_file: str, program: str = "") -> list[LoadProcess]:
        """Return this run's load processes that have open files, with their files and commands.

        `job_file`: its name in the directory in which they run. `program`: path of the load
        generator. Raises HostError.
        """
        words = (self.run_id, self.mark, job_file, program)
        return load_processes(await self.call("open_files", *words))

    async def files_elsewhere(
        self, job_file: str, pids: Collection[int], planned: Sequence[str]
    ) -> list[tuple[int, str]]:
        """Return files and block devices, with the pid, that load processes may have in place of
        the planned files; none if any process has any planned file open.

        Leaves out files that are only written to, that programs do not inherit (close-on-exec) or
        that are in the load's working directory. Raises HostError.
        """
        answer = await self.call("files_elsewhere", job_file, *map(str, pids), "--", *planned)
        found = (line.partition(" ") for line in answer.all("elsewhere"))
        return [(int(pid), path) for pid, _, path in found if pid.isdecimal() and path]

    async def _sweep(self, run: str, mark: str, *, kill: bool) -> list[MarkedProcess]:
        answer = await self.call("sweep", "kill" if kill else "list", run, mark)
        if left := int(answer.values.get("left") or 0):
            told = clause("still-there", run=run, left=left)
            raise HostError("processes-stuck", self.host, told)
        return parse_processes(answer)

    async def _stream(
        self, task: str, out_offset: int, err_offset: int, generation: int, poll_s: float
    ) -> AgentStream:
        numbers = (str(out_offset + 1), str(err_offset + 1), str(generation), f"{poll_s:g}")
        script = self._script("stream", self.run_id, self.mark, task, *numbers)
        channel = await self.transport.open(script.alone())
        stream = AgentStream(channel, self.host, script.token, out_offset, err_offset)
        try:
            async with asyncio.timeout(STREAM_TIMEOUT_S):
                await stream.begin()
        except TimeoutError:
            await stream.close()
            if not stream.begun:
                raise slow_shell(self.host, STREAM_TIMEOUT_S, stream.noise) from None
            told = clause("stream-not-started", limit_s=STREAM_TIMEOUT_S)
            raise HostError("timeout", self.host, told) from None
        except BaseException:
            await stream.close()
            raise
        return stream

    def _script(self, *words: str, environ: Mapping[str, str] | None = None) -> Script:
        if any("\0" in word for word in words):
            raise HostError("agent-failed", self.host, clause("nul-in-argument"))
        caller = f"{self.run_id}/{self.mark}"
        return Script.of(secrets.token_hex(8), words, environ, caller, carries=self.carries)


def batches(paths: Sequence[str]) -> Iterator[tuple[int, Sequence[str]]]:
    """Yield (index of the first path, paths) in batches that fit an argument list."""
    for start in range(0, len(paths), PATHS_AT_ONCE):
        yield start, paths[start : start + PATHS_AT_ONCE]


def with_parents(paths: Sequence[str]) -> list[str]:
    """Return directories and all of their parents except /, without duplicates, parents first."""
    found: dict[str, None] = {}
    for path in paths:
        chain = [path]
        while (parent := posixpath.dirname(chain[-1])) not in ("", "/", chain[-1]):
            chain.append(parent)
        found.update(dict.fromkeys(reversed(chain)))
    return list(found)


def _holder(values: Mapping[str, str]) -> Holder | None:
    if "held_run" not in values:
        return None
    run, owner = (quoted(values.get(name, "")) for name in ("held_run", "held_by"))
    return Holder(run, owner, int(values.get("held_s") or 0))
