"""A TCP proxy in front of every lab sshd that does to connections what networks do to them.

The proxies run in a thread of their own and are driven by plain calls, so that tests in synchronous
code can use them. `ProxiedLab` is an `SshdLab` whose ssh_config leads through the proxies.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import struct
import threading
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Self, TypeVar

from tests.lab.sshd import SshdLab
from tests.patience import PATIENCE_S

T = TypeVar("T")
Direction = Literal["to_host", "to_client"]
PIECE = 65536
RESET = struct.pack("ii", 1, 0)  # SO_LINGER: on, 0 s; closing sends RST


class ProxyLoop:
    """An event loop in a thread."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self.loop.run_forever, name="proxies", daemon=True)
        self._thread.start()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Do something in the loop and return its result."""
        return asyncio.run_coroutine_threadsafe(work, self.loop).result(PATIENCE_S)

    def stop(self) -> None:
        self.run(_cancel_all())
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join(PATIENCE_S)
        self.loop.close()


async def _cancel_all() -> None:
    others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)


@dataclass(eq=False)
class Link:
    """One connection through a proxy. `shut`: directions in which nothing is passed on any more."""

    writers: dict[Direction, asyncio.StreamWriter]
    shut: set[Direction] = field(default_factory=set)

    def shut_down(self, direction: Direction) -> None:
        """Send FIN in one direction; the other one stays open."""
        self.shut.add(direction)
        with contextlib.suppress(OSError, RuntimeError):
            self.writers[direction].write_eof()

    def reset(self) -> None:
        for writer in self.writers.values():
            sock: socket.socket = writer.get_extra_info("socket")
            with contextlib.suppress(OSError):
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
            writer.transport.abort()

    def hang_up(self) -> None:
        for writer in self.writers.values():
            writer.close()


class FaultProxy:
    """Forwards one port of this machine to another one.

    All public methods may be called from any thread.
    """

    def __init__(self, loop: ProxyLoop, target_port: int = 0) -> None:
        self.target_port = target_port
        self.accepted = 0  # connections taken since the start
        self.passed: dict[Direction, int] = {"to_host": 0, "to_client": 0}  # bytes since the start
        self._loop = loop
        self._delay_s = 0.0
        self._trickle: float | None = None  # bytes a second
        self._budget: int | None = None  # bytes to the client until the connection is cut
        self._links: set[Link] = set()
        self._flowing = asyncio.Event()
        self._flowing.set()
        self._released = asyncio.Event()
        self._released.set()
        self._server: asyncio.Server | None = None
        self._held: socket.socket | None = bound_socket(0)
        self.port = int(self._held.getsockname()[1])

    @property
    def connections(self) -> int:
        """How many connections go through now."""
        return len(self._links)

    def accept(self) -> None:
        """Take new connections (again)."""
        self._loop.run(self._accept())

    def refuse(self) -> None:
        """Refuse new connections, as a host without sshd does; those that are open go on."""
        self._loop.run(self._refuse())

    def blackhole(self) -> None:
        """Pass nothing on, neither way, on old and new connections alike; everything stays open."""
        self._call(self._flowing.clear)

    def hold(self) -> None:
        """Keep back every byte until `release`; no fault, but a way to make a handshake last."""
        self._call(self._released.clear)

    def release(self) -> None:
        """Pass on what was kept back by `hold`."""
        self._call(self._released.set)

    def slow(self, delay_s: float) -> None:
        """Hold back every piece this long."""
        self._delay_s = delay_s

    def trickle(self, bytes_per_s: float) -> None:
        """Pass on so few bytes a second each way, one at a time."""
        self._trickle = bytes_per_s

    def heal(self) -> None:
        """End blackhole, delay, trickle, cut and refusal; what was held back is passed on."""
        self._delay_s, self._trickle, self._budget = 0.0, None, None
        self._call(self._flowing.set)
        self.accept()

    def reset(self) -> None:
        """Cut every connection by RST to both ends."""
        self._each(Link.reset)

    def fin(self) -> None:
        """Close every connection in an orderly way, at both ends."""
        self._each(Link.hang_up)

    def half_close(self, direction: Direction) -> None:
        """Send FIN in one direction and drop what still comes for it.

        The other direction goes on.
        """
        self._each(lambda link: link.shut_down(direction))

    def cut_after(self, size: int) -> None:
        """Reset the connection once this many more bytes went to the client; only once."""
        self._budget = size

    def close(self) -> None:
        """Stop for good."""
        self.heal()
        self.reset()
        self._loop.run(self._refuse())
        if self._held is not None:
            self._held.close()

    def _each(self, do: Callable[[Link], None]) -> None:
        def do_all() -> None:
            for link in list(self._links):
                do(link)

        self._call(do_all)

    def _call(self, function: Callable[[], None]) -> None:
        async def call() -> None:
            function()

        self._loop.run(call())

    async def _accept(self) -> None:
        if self._server is None and self._held is not None:
            self._server = await asyncio.start_server(self._serve, sock=self._held)
            self._held = None

    async def _refuse(self) -> None:
        if self._server is not None:
            server, self._server = self._server, None
            server.close()
            # the port stays ours: bound but not listening, a socket refuses
            self._held = bound_socket(self.port)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.accepted += 1
        try:
            far_reader, far_writer = await asyncio.open_connection("127.0.0.1", self.target_port)
        except OSError:
            Link({"to_client": writer}).reset()
            return
        link = Link({"to_client": writer, "to_host": far_writer})
        self._links.add(link)
        try:
            await asyncio.gather(
                self._forward(link, "to_host", reader),
                self._forward(link, "to_client", far_reader),
            )
        finally:
            self._links.discard(link)
            link.hang_up()

    async def _forward(
        self, link: Link, direction: Direction, reader: asyncio.StreamReader
    ) -> None:
        with contextlib.suppress(OSError, RuntimeError):
            while data := await reader.read(PIECE):
                await self._released.wait()
                await self._flowing.wait()
                if self._delay_s:
                    await asyncio.sleep(self._delay_s)
                while self._trickle and data and direction not in link.shut:
                    await asyncio.sleep(1 / self._trickle)
                    await self._pass_on(link, direction, data[:1])
                    data = data[1:]
                if data and direction not in link.shut:
                    await self._pass_on(link, direction, data)
        await self._flowing.wait()
        if direction not in link.shut:
            link.shut_down(direction)

    async def _pass_on(self, link: Link, direction: Direction, data: bytes) -> None:
        budget = self._budget if direction == "to_client" else None
        if budget is not None:
            data = data[:budget]
            self._budget = budget - len(data)
        link.writers[direction].write(data)
        self.passed[direction] += len(data)
        await link.writers[direction].drain()
        if budget is not None and self._budget == 0:
            self._budget = None
            link.reset()


def bound_socket(port: int) -> socket.socket:
    """Return a socket that holds a port and does not listen."""
    sock = socket.socket()
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    sock.bind(("127.0.0.1", port))
    return sock


class ProxiedLab(SshdLab):
    """A lab whose `ssh_config` leads to every host through a proxy of its own.

    `direct_config` does not.
    """

    def __init__(
        self, root: Path, hosts: int = 4, prefix: str = "h", extra_config: Sequence[str] = ()
    ) -> None:
        super().__init__(root, hosts, prefix, extra_config)
        self.direct_config = root / "ssh_config_direct"
        self._loop = ProxyLoop()
        self.proxies = {name: FaultProxy(self._loop) for name in self.names}

    def __enter__(self) -> Self:
        super().__enter__()
        for name, proxy in self.proxies.items():
            proxy.target_port = self.host(name).port
            proxy.accept()
        return self

    def stop(self) -> None:
        for proxy in self.proxies.values():
            proxy.close()
        self._loop.stop()
        super().stop()

    def heal(self) -> None:
        """End all faults of all proxies."""
        for proxy in self.proxies.values():
            proxy.heal()

    def drop(self) -> None:
        """Cut all connections; what is held back is lost."""
        for proxy in self.proxies.values():
            proxy.reset()

    def forget_locks(self) -> None:
        """Free hosts that a run could not give back: their locks hold for its lease."""
        for host in self.hosts:
            for lock in host.root.glob("locks*/lock.*"):
                lock.unlink(missing_ok=True)

    def write_config(self) -> None:
        super().write_config()
        text = self.ssh_config.read_text()
        self.direct_config.write_text(text)
        for host in self.hosts:
            text = text.replace(f"  Port {host.port}\n", f"  Port {self.proxies[host.name].port}\n")
        self.ssh_config.write_text(text)
        lines = [
            f"[127.0.0.1]:{self.proxies[host.name].port} {host.public_key}\n" for host in self.hosts
        ]
        with self.known_hosts.open("a") as known:
            known.writelines(lines)
