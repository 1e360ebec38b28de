"""Interface to a host: run /bin/sh with a script on its stdin. Nothing else is ever sent."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Protocol

from msgspec import Struct

from tui.model.address import HostAddress
from tui.model.operands import Clause, clause, printed
from tui.model.plain import printable
from tui.model.problem import BenchtuiError, Problem
from tui.remote.scripts import Script
from tui.text.problem_texts import problem_text

MOST_BYTES = 16 << 20  # per answer; the longest are lists of files, tens of KiB
# of a login shell's output before the script begins, or an answer's stderr
MOST_NOISE = 256 << 10
BEGIN = b"BT-BEGIN"  # the script has begun
MOST_QUOTED = 160
SHELL_S = 60.0  # maximum time for a login shell to start the script
READ_BYTES = 65536


class HostError(BenchtuiError):
    """Raised for a problem of one host.

    `code` is a stable name. This package uses unreachable, refused, timeout, auth-failed,
    password-needed, one-time-code, key-unreadable, key-encrypted, host-key-unknown,
    host-key-changed, host-key-revoked, config, command-missing, channel-failed, lost, agent-failed,
    processes-stuck, forced-command, slow-shell, flooded, carry-failed, allocation-ended,
    internal-error; others add their own. `told`: the problem; a text if it comes from elsewhere.
    """

    exit_code = 3

    def __init__(self, code: str, host: str, told: Clause | str) -> None:
        self.code = code
        self.host = host
        coded = clause("problem", quote=told) if isinstance(told, str) else told
        self.told: Clause = printed(coded)
        super().__init__(Problem(problem_text(self.told), host=host))

    @property
    def message(self) -> str:
        """The problem as text, without the host's name."""
        return self.problems[0].message


class DeniedError(HostError):
    """Raised when a server rejects a login.

    `reason`: why the login failed, such as ``no key accepted``, and which key files could not be
    offered.
    """

    def __init__(self, code: str, host: str, place: str, reason: Clause) -> None:
        self.reason = reason
        super().__init__(code, host, clause("denied", place=place, why=reason))


class GoneError(HostError):
    """Raised when a host is gone for good because its allocation has ended."""


# errors of a connection closed by the other side; a proxy command that has ended
# breaks a pipe
HUNG_UP = (ConnectionResetError, BrokenPipeError)


class BusyError(HostError):
    """Raised when a server hangs up before greeting: too busy (MaxStartups), or no SSH server.
    Worth a retry.

    `not_allowed`: the server refused this machine, perhaps as a penalty for failed logins
    (PerSourcePenalties).
    """

    def __init__(self, host: str, told: Clause, *, not_allowed: bool = False) -> None:
        self.not_allowed = not_allowed
        super().__init__("lost", host, told)


class Completed(Struct, frozen=True):
    """Outputs and exit status of a finished script. `exit_status` None is unknown, never
    success.
    """

    stdout: bytes
    stderr: bytes
    exit_status: int | None


def too_much(size: int, host: str, most: int = MOST_BYTES, what: str = "answer") -> None:
    """Raise HostError if output is longer than `most` bytes, more than any valid output has."""
    if size > most:
        raise HostError("flooded", host, clause("too-much", what=what, most_bytes=most))


def slow_shell(host: str, seconds: float, seen: bytes | bytearray) -> HostError:
    """Return the error for a script that has not started in time although the connection is
    alive.
    """
    output = printable(seen[:MOST_QUOTED].decode("utf-8", "replace")).strip()
    return HostError("slow-shell", host, clause("slow-shell", limit_s=seconds, quote=output))


async def find_mark(
    mark: bytes, seen: bytearray, read: Callable[[int], Awaitable[bytes]], host: str, start: int = 0
) -> int:
    """Read until a mark is found at or after `start`; return its position, or -1 at end of file.

    Searches only what each read added. Raises HostError if there is too much output.
    """
    while (at := seen.find(mark, start)) < 0:
        start = max(start, len(seen) - len(mark) + 1)
        data = await read(READ_BYTES)
        if not data:
            return -1
        seen += data
        check_noise(seen, host) if seen.find(mark, start) < 0 else too_much(len(seen), host)
    return at


async def read_all(
    read: Callable[[int], Awaitable[bytes]],
    host: str,
    seen: bytearray | None = None,
    begun: Callable[[], object] | None = None,
) -> bytes:
    """Return the complete stdout of a script.

    `seen` receives it as it arrives; `begun` is called once the script has started. Raises
    HostError if there is too much output.
    """
    seen = bytearray() if seen is None else seen
    began = False
    while data := await read(READ_BYTES):
        start = max(0, len(seen) - len(BEGIN))
        seen += data
        if not began and seen.find(BEGIN, start) >= 0:
            began = True
            if begun is not None:
                begun()
        check_noise(seen, host) if not began else too_much(len(seen), host)
    return bytes(seen)


def check_noise(seen: bytes | bytearray, host: str) -> None:
    """Raise HostError if a host prints too much output before the script starts."""
    too_much(len(seen), host, MOST_NOISE, "login")


async def read_stderr(read: Callable[[int], Awaitable[bytes]], host: str) -> bytes:
    """Return the complete stderr of a script. Raises HostError if there is too much output."""
    seen = bytearray()
    while data := await read(READ_BYTES):
        seen += data
        too_much(len(seen), host, MOST_NOISE, "stderr")
    return bytes(seen)


class Channel(Protocol):
    """A running /bin/sh. Its methods, except `close`, raise HostError if the connection is gone."""

    async def read(self, size: int) -> bytes:
        """Return the next bytes of stdout; empty at end of file."""

    async def read_stderr(self, size: int) -> bytes:
        """Return the next bytes of stderr; empty at end of file."""

    async def write(self, data: bytes) -> None:
        """Write to stdin."""

    async def wait(self) -> int | None:
        """Return the exit status; None if unknown."""

    async def close(self) -> None:
        """Close the channel; loads under supervision of the agent keep running."""


class Opens(Protocol):
    """Anything on which channels can be opened."""

    async def open(self, script: bytes) -> Channel:
        """Start a script whose stdin stays open."""


@asynccontextmanager
async def talk_alone(place: Opens, script: Script) -> AsyncIterator[Channel]:
    """Make a call that reads input, in a new shell."""
    channel = await place.open(script.alone())
    try:
        yield channel
    finally:
        await channel.close()


class Transport(Protocol):
    """A connection to one host."""

    address: HostAddress

    async def run(self, script: bytes, timeout_s: float) -> Completed:
        """Run a script to its end. Raises HostError, with code timeout if it takes longer."""

    async def call(self, script: Script, timeout_s: float) -> Completed:
        """Make one agent call. Raises HostError, with code timeout if it takes longer."""

    async def open(self, script: bytes) -> Channel:
        """Start a script whose stdin stays open."""

    def talk(self, script: Script) -> AbstractAsyncContextManager[Channel]:
        """Make a call that reads input, up to an empty line."""

    async def close(self) -> None:
        """Close the connection."""
