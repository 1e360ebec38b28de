"""The client of the remote agent: each call sends agent.sh and one command line to a /bin/sh on the host."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import posixpath
import re
import secrets
import shlex
import stat
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib import resources
from typing import Literal

from tui.remote.probe import HostProbe, parse_probe
from tui.remote.transport import Channel, HostError, Transport

TIMEOUT_S = 60.0
STREAM_TIMEOUT_S = 20.0
PATHS_AT_ONCE = 500  # far below the longest argument list of any system
READ_BYTES = 65536
QUEUED_PIECES = 64
KINDS = (
    (stat.S_ISREG, "file"),
    (stat.S_ISDIR, "directory"),
    (stat.S_ISBLK, "block"),
    (stat.S_ISCHR, "char"),
)
Piece = tuple[Literal["out", "err"], bytes]


@functools.cache
def agent_script() -> str:
    """Return the text of agent.sh."""
    return resources.files("tui.remote").joinpath("agent.sh").read_text(encoding="utf-8")


@dataclass(frozen=True, slots=True)
class FileInfo:
    """A path on a host: size and allocated bytes; kind file, directory, block, char or other."""

    size: int
    allocated: int
    kind: str = "file"


@dataclass(frozen=True, slots=True)
class TaskStatus:
    """What the agent knows of a command. `exit_code` None: not ended, or unknown."""

    done: bool
    alive: bool
    exit_code: int | None
    reason: str
    out_bytes: int
    err_bytes: int
    rebooted: bool = False
    left: int = 0


@dataclass(frozen=True, slots=True)
class CacheDrop:
    """How dropping the page cache went."""

    method: str
    ok: bool
    detail: str


@dataclass(frozen=True, slots=True)
class MarkedProcess:
    """A process of one of our runs."""

    pid: int
    run: str
    host: str
    task: str
    command: str


@dataclass(frozen=True, slots=True)
class TaskDir:
    """A private directory of a task on a host."""

    run: str
    host: str
    task: str
    alive: bool
    done: bool
    age_s: int


@dataclass
class Answer:
    """The lines between BT-BEGIN and BT-END: KEY=VALUE pairs, and lines that are none."""

    values: dict[str, str] = field(default_factory=dict)
    lines: list[str] = field(default_factory=list)

    def all(self, key: str) -> list[str]:
        """Return every value of a key that comes several times."""
        prefix = f"{key}="
        return [line.removeprefix(prefix) for line in self.lines if line.startswith(prefix)]


def host_mark(name: str) -> str:
    """Return a host's name as a plain file name and mark."""
    return re.sub(r"[^A-Za-z0-9_-]", "_", name) or "_"


class Agent:
    """Speaks to the agent on one host for one run."""

    def __init__(self, transport: Transport, run_id: str) -> None:
        self.transport = transport
        self.run_id = run_id
        self.host = transport.address.name
        self.mark = host_mark(self.host)

    async def probe(self, directories: Sequence[str] = ()) -> HostProbe:
        """Return what the host is and has."""
        answer = await self._call("probe", *directories)
        return parse_probe(answer.values, directories)

    async def files(self, paths: Sequence[str]) -> dict[str, FileInfo | None]:
        """Return size and allocation of each path; None for what is not there."""
        found: dict[str, FileInfo | None] = {}
        for start in range(0, len(paths), PATHS_AT_ONCE):
            part = paths[start : start + PATHS_AT_ONCE]
            found.update(parse_files(part, await self._call("files", *part), self.host))
        return found

    async def make_dirs(self, paths: Sequence[str]) -> list[str]:
        """Create directories with their parents and return those that were not there, parents first."""
        wanted = with_parents(paths)
        created: list[str] = []
        for start in range(0, len(wanted), PATHS_AT_ONCE):
            answer = await self._call("mkdirs", str(start), *wanted[start : start + PATHS_AT_ONCE])
            created += [wanted[int(index)] for index in answer.all("created")]
        return created

    async def remove(self, paths: Sequence[str]) -> list[str]:
        """Remove plain files, then directories that are empty, deepest first; return what is gone."""
        gone: list[str] = []
        for command in ("remove", "rmdirs"):
            rest = [path for path in paths if path not in set(gone)]
            rest = sorted(rest, key=lambda path: path.count("/"), reverse=True) if command == "rmdirs" else rest
            for start in range(0, len(rest), PATHS_AT_ONCE):
                answer = await self._call(command, str(start), *rest[start : start + PATHS_AT_ONCE])
                gone += [rest[int(index)] for index in answer.all("removed")]
        return gone

    async def start(
        self,
        task: str,
        argv: Sequence[str],
        files: dict[str, str],
        *,
        lease_s: float,
        grace_s: float,
        armed: bool,
    ) -> str:
        """Start a command under supervision, armed: it waits for GO. Returns its private directory on the host."""
        given = {"agent.sh": agent_script(), **files}
        texts = [part for name, text in given.items() for part in (name, text.removesuffix("\n"))]
        numbers = [str(round(lease_s)), str(round(grace_s)), str(int(armed)), str(len(given))]
        answer = await self._call("start", self.run_id, self.mark, task, *numbers, *texts, *argv)
        return answer.values.get("dir", "")

    async def stream(self, task: str, out_offset: int, err_offset: int) -> AgentStream:
        """Open the stream of a task's output from these byte offsets; an older stream of the task is ended."""
        token = secrets.token_hex(8)
        generation = str(time.time_ns() // 1_000_000)
        words = ["stream", self.run_id, self.mark, task, str(out_offset), str(err_offset), generation]
        channel = await self.transport.open(script(token, words))
        stream = AgentStream(channel, self.host, token, out_offset, err_offset)
        try:
            async with asyncio.timeout(STREAM_TIMEOUT_S):
                await stream.begin()
        except TimeoutError:
            await channel.close()
            raise HostError("timeout", self.host, f"no stream in {STREAM_TIMEOUT_S:g}s") from None
        except HostError:
            await channel.close()
            raise
        return stream

    async def status(self, task: str) -> TaskStatus:
        """Return how a task is doing."""
        values = (await self._call("status", self.run_id, self.mark, task)).values
        code = values.get("exit", "")
        return TaskStatus(
            done=bool(values.get("done")),
            alive=bool(values.get("alive")),
            exit_code=int(code) if code.isdigit() else None,
            reason=values.get("reason", ""),
            out_bytes=int(values.get("out_bytes") or 0),
            err_bytes=int(values.get("err_bytes") or 0),
            rebooted=bool(values.get("rebooted")),
            left=int(values.get("left") or 0),
        )

    async def stop(self, task: str, *, abort: bool = False) -> None:
        """Ask a task to end: INT and time to finish, or at once."""
        await self._call("stop", self.run_id, self.mark, task, "abort" if abort else "stop")

    async def sweep(self, *, kill: bool) -> list[MarkedProcess]:
        """Return the processes of this run on this host, and end them when asked."""
        answer = await self._call("sweep", "kill" if kill else "list", self.run_id, self.mark)
        return parse_processes(answer)

    async def leftovers(self) -> tuple[list[MarkedProcess], list[TaskDir]]:
        """Return processes and task directories of all our runs on this host."""
        processes = parse_processes(await self._call("leftovers"))
        return processes, parse_tasks(await self._call("list"))

    async def clean(self) -> None:
        """Remove the run's private directories on this host; refused while something of it runs."""
        await self._call("clean", self.run_id, self.mark)

    async def drop_caches(self) -> CacheDrop:
        """Drop the host's page cache, as root or by sudo, and say how it went."""
        values = (await self._call("drop_caches")).values
        return CacheDrop(values.get("method", "none"), bool(values.get("ok")), values.get("detail", ""))

    async def _call(self, command: str, *words: str) -> Answer:
        token = secrets.token_hex(8)
        done = await self.transport.run(script(token, [command, *words]), TIMEOUT_S)
        return parse_answer(done.stdout, done.stderr, token, self.host)


class AgentStream:
    """A task's stdout and stderr as the host spooled them, byte for byte, from the offsets asked for.

    `out_offset` and `err_offset` count what has been handed out, for resuming. `complete` is True when the agent
    said that this was everything.
    """

    def __init__(self, channel: Channel, host: str, token: str, out_offset: int, err_offset: int) -> None:
        self.out_offset = out_offset
        self.err_offset = err_offset
        self.complete = False
        self._channel = channel
        self._host = host
        self._token = token
        self._beats = 0
        self._pieces: asyncio.Queue[Piece | HostError | None] = asyncio.Queue(QUEUED_PIECES)
        self._pumps: list[asyncio.Task[None]] = []

    async def begin(self) -> None:
        """Read up to the marks that stand before the spooled bytes. Raises HostError when the agent refuses."""
        marker = f"BT-STREAM {self._token}".encode()
        first_out = await self._past(marker, self._channel.read)
        first_err = await self._past(marker, self._channel.read_stderr)
        self._pumps = [
            asyncio.create_task(self._pump("out", first_out)),
            asyncio.create_task(self._pump("err", first_err)),
        ]

    async def next(self) -> Piece | None:
        """Return the next bytes, or None at the end. Raises HostError when the connection broke."""
        while True:
            if all(pump.done() for pump in self._pumps) and self._pieces.empty():
                self.complete = await self._channel.wait() == 0
                return None
            piece = await self._pieces.get()
            if isinstance(piece, HostError):
                await self.close()
                raise piece
            if piece is not None:
                self._count(piece)
                return piece

    async def go(self) -> None:
        """Release the barrier of an armed task."""
        await self._channel.write(b"go\n")

    async def renew(self) -> None:
        """Renew the task's lease."""
        self._beats += 1
        await self._channel.write(f"lease {self._beats}\n".encode())

    async def close(self) -> None:
        """Stop streaming; the task goes on."""
        for pump in self._pumps:
            pump.cancel()
        await asyncio.gather(*self._pumps, return_exceptions=True)
        with contextlib.suppress(HostError, OSError):
            await self._channel.close()

    def _count(self, piece: Piece) -> None:
        if piece[0] == "out":
            self.out_offset += len(piece[1])
        else:
            self.err_offset += len(piece[1])

    async def _past(self, marker: bytes, read: object) -> bytes:
        """Return what was read after the line of the marker; login shells may print things before it."""
        assert callable(read)
        seen = b""
        while True:
            at = seen.find(marker)
            end = seen.find(b"\n", at) if at >= 0 else -1
            if end >= 0:
                return seen[end + 1 :]
            data = await read(READ_BYTES)
            if not data:
                parse_answer(seen, b"", self._token, self._host)  # raises what the agent said
                raise HostError("agent-failed", self._host, "the stream ended before it began")
            seen += data

    async def _pump(self, kind: Literal["out", "err"], first: bytes) -> None:
        read = self._channel.read if kind == "out" else self._channel.read_stderr
        try:
            data = first or await read(READ_BYTES)
            while data:
                await self._pieces.put((kind, data))
                data = await read(READ_BYTES)
            await self._pieces.put(None)
        except HostError as error:
            await self._pieces.put(error)


def script(token: str, words: Sequence[str]) -> bytes:
    """Return agent.sh with one call; user input only ever stands in it quoted by shlex."""
    command, *arguments = words
    call = " ".join([f"bt_{command}", *map(shlex.quote, arguments)])
    return f"{agent_script()}\n{{ bt_begin {token}; {call}; bt_end 0; }}\n".encode()


def parse_answer(stdout: bytes, stderr: bytes, token: str, host: str) -> Answer:
    """Return the agent's answer. Raises HostError when it reports a failure, or never spoke."""
    text = stdout.decode(errors="surrogateescape")
    begin = text.find(f"BT-BEGIN {token}\n")
    if begin < 0:
        said = (stdout + stderr).decode(errors="replace").strip().splitlines()
        what = f"; it printed {said[0][:120]!r}" if said else ""
        raise HostError("forced-command", host, f"/bin/sh did not answer: a forced command or a broken shell?{what}")
    body, end, code = text[begin:].partition(f"BT-END {token} ")
    answer = Answer(lines=body.split("\n")[1:])
    for line in answer.lines:
        key, equals, value = line.partition("=")
        if equals:
            answer.values.setdefault(key, value)
    if not end or code.strip() != "0":
        said = stderr.decode(errors="replace").strip().splitlines()
        reason = answer.values.get("error") or (said[-1] if said else "the agent ended early")
        raise HostError("agent-failed", host, reason)
    return answer


def parse_files(paths: Sequence[str], answer: Answer, host: str) -> dict[str, FileInfo | None]:
    """Return what `bt_files` said of each path, in the order asked."""
    lines = iter([line for line in answer.lines if line and not line.startswith("map=")])
    present = answer.values.get("map", "")
    if len(present) != len(paths):
        raise HostError("agent-failed", host, "the agent's list of files is incomplete")
    return {
        path: file_info(next(lines, "")) if there == "1" else None for path, there in zip(paths, present, strict=True)
    }


def file_info(line: str) -> FileInfo | None:
    """Return one file of `size blocks block_size mode`; None when it vanished in between."""
    words = line.split()
    if len(words) < 3 or not words[0].isdigit():
        return None
    mode = int(words[3], 16) if len(words) > 3 and words[3] != "-" else stat.S_IFREG
    kind = next((name for test, name in KINDS if test(mode)), "other")
    return FileInfo(int(words[0]), int(words[1]) * int(words[2]), kind)


def with_parents(paths: Sequence[str]) -> list[str]:
    """Return directories with all their parents, each once, parents first."""
    found: dict[str, None] = {}
    for path in paths:
        chain = [path]
        while (parent := posixpath.dirname(chain[-1])) not in ("", "/", chain[-1]):
            chain.append(parent)
        found.update(dict.fromkeys(reversed(chain)))
    return list(found)


def parse_processes(answer: Answer) -> list[MarkedProcess]:
    """Return the processes of an answer: ``process=PID NAME=VALUE... | command``."""
    found = []
    for line in answer.all("process"):
        left, _, command = line.partition("| ")
        pid, *marks = left.split()
        named = dict(mark.split("=", 1) for mark in marks if "=" in mark)
        get = named.get
        found.append(
            MarkedProcess(
                int(pid),
                get("BENCHTUI_RUN", ""),
                get("BENCHTUI_HOST", ""),
                get("BENCHTUI_TASK", ""),
                command.strip(),
            )
        )
    return found


def parse_tasks(answer: Answer) -> list[TaskDir]:
    """Return the task directories of an answer: ``task=ALIVE DONE EPOCH RUN/HOST/TASK``."""
    now = int(answer.values.get("now") or 0)
    found = []
    for line in answer.all("task"):
        alive, done, epoch, path = line.split(" ", 3)
        run, host, task = path.split("/", 2)
        age = now - int(epoch) if epoch.isdigit() and int(epoch) else 0
        found.append(TaskDir(run, host, task, alive == "1", done == "1", age))
    return found
