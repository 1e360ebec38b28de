"""Run a ProxyCommand in the user's shell, as ssh does.

The command ends with its connection, or with this process.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, cast

from tui.model.operands import clause
from tui.remote.answers import quoted
from tui.remote.transport import BusyError, DeniedError, HostError

if TYPE_CHECKING:
    from pathlib import Path

    from tui.remote.sshconfig import Resolved

Tunnel = Any  # asyncssh accepts it as a tunnel: it has create_connection
STDIN, STDOUT, STDERR = 0, 1, 2
KEPT_BYTES = 4096  # of its last output
LAST_WORDS_S = 1.0  # for a failed command to print the reason
STDERR_S = 0.2  # to read the rest of its output after the exit
CLOSE_TIMEOUT_S = 3.0
NOT_FOUND = (126, 127)  # a shell's exit codes for a command that cannot run: do not retry
# The watcher waits for the end of a pipe that only we hold, so a kill -9 of us ends the command
# too, and all of its group: what `exec` leaves of a pipeline are several processes. $1: that pipe,
# $2: the user's shell, $3: the command, $4: where it runs, if that is still there.
WATCHED = """
{ trap '' HUP; read -r _; kill -HUP -$$; sleep 1; kill -KILL -$$; } \
    <"/proc/self/fd/$1" >/dev/null 2>&1 &
cd "$4" 2>/dev/null
exec "$2" -c "$3"
"""


class ProxyCommand(asyncio.SubprocessProtocol):
    """A process that carries one connection.

    To asyncssh it is the tunnel, and the transport of the connection.
    """

    def __init__(self, command: str, directory: Path | None = None) -> None:
        self.command = command
        self.directory = directory
        self.connection: Any = None
        self._make: Callable[[], Any] | None = None
        self._transport: asyncio.SubprocessTransport | None = None
        self._life: int | None = None
        self._words = bytearray()
        self._lost: set[int] = set()
        self._exited = False
        self._over = asyncio.Event()
        self._over.set()  # until it runs

    async def create_connection(
        self, factory: Callable[[], Any], _host: str, _port: int
    ) -> tuple[ProxyCommand, Any]:
        """Start the command and open a connection over it."""
        self._make = factory
        shell = os.environ.get("SHELL") or "/bin/sh"
        heard, self._life = os.pipe()
        place = str(self.directory or ".")
        words = ("/bin/sh", "-c", WATCHED, "sh", str(heard), shell, f"exec {self.command}", place)
        try:
            loop = asyncio.get_running_loop()
            await loop.subprocess_exec(
                lambda: self, *words, pass_fds=(heard,), start_new_session=True
            )
        except BaseException:
            self.close()
            raise
        finally:
            os.close(heard)
        return self, self.connection

    async def over(self, timeout_s: float = CLOSE_TIMEOUT_S) -> bool:
        """Wait for the command to end; return False if it is still running after `timeout_s`."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(timeout_s):
                await self._over.wait()
        return self._over.is_set()

    @property
    def status(self) -> int | None:
        """Exit status; None while it runs, or if it was killed."""
        code = self._transport.get_returncode() if self._transport else None
        return code if code is not None and code >= 0 else None

    @property
    def last_line(self) -> str:
        """Last line that the command wrote to stderr; empty if there is none."""
        lines = self._words.decode(errors="replace").strip().splitlines()
        return quoted(lines[-1], 300) if lines else ""

    # -- as a protocol of asyncio

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Start the SSH connection over the ProxyCommand, which is now running."""
        self._over.clear()
        self._transport = cast(asyncio.SubprocessTransport, transport)
        assert self._make is not None
        self.connection = self._make()
        self.connection.connection_made(self)

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        """Handle output: on stdout it comes from the server, on stderr from the command itself."""
        if fd == STDOUT:
            self.connection.data_received(data)
        elif fd == STDERR:
            self._words += data
            del self._words[:-KEPT_BYTES]

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        """End the connection if the command closes stdin or stdout; a closed stderr is harmless."""
        self._lost.add(fd)
        ours = fd == STDIN and self._life is None
        if fd != STDERR and not ours:
            self.connection.connection_lost(exc or (BrokenPipeError() if fd == STDIN else None))
            self.close()
        self._settle()

    def process_exited(self) -> None:
        """Record the exit; child processes may still carry the connection."""
        self._exited = True
        self._settle()

    def _settle(self) -> None:
        if self._exited and STDOUT in self._lost:
            # others may hold stderr forever, such as an ssh with ControlPersist
            wait_s = 0 if STDERR in self._lost else STDERR_S
            asyncio.get_running_loop().call_later(wait_s, self._finish)

    def _finish(self) -> None:
        if self._transport is not None:
            self._transport.close()
        self._over.set()

    # -- as a transport of asyncssh

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        """Return a property of the process transport, as asyncio transports do."""
        return self._transport.get_extra_info(name, default) if self._transport else default

    def write(self, data: bytes) -> None:
        """Write to the command's stdin."""
        pipe = self._transport.get_pipe_transport(0) if self._transport else None
        if pipe is not None:
            cast(asyncio.WriteTransport, pipe).write(data)

    def close(self) -> None:
        """Close the command's stdin, and the pipe whose end its watcher waits for.

        The watcher then sends HUP to the command's process group, and KILL a second later.
        """
        pipe = self._transport.get_pipe_transport(0) if self._transport else None
        if pipe is not None:
            pipe.close()
        if self._life is not None:
            os.close(self._life)
            self._life = None

    def abort(self) -> None:
        """End the command as `close` does; asyncssh calls this for a broken connection."""
        self.close()


@asynccontextmanager
async def way_to(target: Resolved, tunnel: Tunnel | None) -> AsyncIterator[Tunnel | None]:
    """Yield the tunnel for a connection: a bastion's, a ProxyCommand, or None.

    A HostError raised in the context becomes the error from `failure` if the tunnel is a
    ProxyCommand.
    """
    if tunnel is not None or target.proxy_command is None:
        yield tunnel
        return
    proxy = ProxyCommand(target.proxy_command, target.directory)
    try:
        yield proxy
    except HostError as error:
        raise await failure(proxy, error) from error
    except BaseException:
        proxy.close()
        raise


async def failure(proxy: ProxyCommand, error: HostError) -> HostError:
    """End a ProxyCommand after a failed connection; return the error to report.

    That is the server's refusal, or an error that names the command, how it ended and its last
    output.
    """
    if isinstance(error, DeniedError) or error.code.startswith("host-key"):
        proxy.close()
        await proxy.over()
        return error
    if error.code != "timeout":
        await proxy.over(LAST_WORDS_S)
    proxy.close()
    await proxy.over()
    command, output = quoted(proxy.command, 200), proxy.last_line
    if error.code == "timeout":
        told = clause("no-answer-through", command=command, quote=error.told, output=output)
        return HostError("timeout", error.host, told)
    ended = clause("proxy-ended", command=command, status=proxy.status, output=output)
    if proxy.status in NOT_FOUND:
        return HostError("unreachable", error.host, ended)
    if isinstance(error, BusyError):
        return BusyError(error.host, ended)
    told = clause("proxy-said", command=command, quote=error.told, output=output)
    return HostError(error.code, error.host, told if output else error.told)
