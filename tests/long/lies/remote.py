"""Storage behind a network: a server that is slow or computes, and a link with a speed of its own,
in a network namespace. Real bytes over real sockets; the link is a pair of tun devices whose cable
is this process."""

from __future__ import annotations

import ctypes
import fcntl
import os
import selectors
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import IO

from tests.lab.netns import NetnsLab, run
from tests.lab.sshd import SshdLab
from tests.long.lies.lie import Place, Sabotage, Setting, hosts_of
from tests.long.lies.sabotage import meanwhile, while_measuring

ROOT = Path(__file__).parents[3]
TUNSETIFF, IFF_TUN, IFF_NO_PI = 0x400454CA, 0x0001, 0x1000
SIOCETHTOOL, ETHTOOL_GSET, ETHTOOL_SSET = 0x8946, 1, 2
SPEED_MBIT, MTU = 50, 9000
RATE_KBIT = 50_000
MANY = 1000  # requests at a time: all of them


@contextmanager
def server(
    address: str, delay_ms: float, burn_us: float, name: str = "nbd", slots: int = MANY
) -> Iterator[str]:
    """Yield the options of a load on a storage server."""
    with serving(address, delay_ms, burn_us, name, slots) as (_, options):
        yield options


@contextmanager
def serving(
    address: str, delay_ms: float, burn_us: float, name: str, slots: int = MANY
) -> Iterator[tuple[IO[str], str]]:
    """Yield what takes another delay of a storage server, and the options of a load on it."""
    command = [
        sys.executable,
        "-m",
        "tests.long.lies.nbd",
        address,
        str(delay_ms),
        str(burn_us),
        str(slots),
        name,
    ]
    process = subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdin is not None and process.stdout is not None
    try:
        yield process.stdin, f'uri: "nbd://{address}:{int(process.stdout.readline())}/"'
    finally:
        process.kill()
        process.communicate()


def server_after(delay_ms: float, slots: int = MANY) -> Sabotage:
    """Storage that answers after so long, at most `slots` requests at a time."""

    @contextmanager
    def sabotage(_: Place) -> Iterator[Setting]:
        with server("127.0.0.1", delay_ms, 0, slots=slots) as options:
            yield Setting(options=options)

    return sabotage


slow_server = server_after(10)


def served(sabotage: Sabotage, delay_ms: float) -> Sabotage:
    """Storage that answers after so long, beside another sabotage that prepares hosts."""

    @contextmanager
    def both(place: Place) -> Iterator[Setting]:
        with server("127.0.0.1", delay_ms, 0) as options, sabotage(place) as setting:
            assert setting is not None
            yield replace(setting, options=options)

    return both


def changing_server(*delays_ms: float, every_s: float) -> Sabotage:
    """Storage that answers after another time every few seconds of the load, over and over."""

    @contextmanager
    def sabotage(place: Place) -> Iterator[Setting]:
        with serving("127.0.0.1", delays_ms[0], 0, "nbd") as (delays, options):

            def change(turn: int) -> None:
                print(delays_ms[turn % len(delays_ms)], file=delays, flush=True)

            with while_measuring(place, "local", change, every_s):
                yield Setting(options=options)

    return sabotage


def server_that_computes(burn_us: float) -> Sabotage:
    """Storage whose one process computes so long for each I/O, on a host of role server."""

    @contextmanager
    def sabotage(place: Place) -> Iterator[Setting]:
        with _computing(place, burn_us) as setting:
            yield setting

    return sabotage


computing_server = server_that_computes(2000)


@contextmanager
def _computing(place: Place, burn_us: float) -> Iterator[Setting]:
    name = f"osd-{place.folder.name}"
    inventory = place.folder / "hosts.yaml"
    inventory.write_text(
        f'hosts:\n  h1: {{}}\n  h2: {{role: server, processes: {{OSD: "{name}"}}}}\n'
    )
    with SshdLab(place.folder / "lab", 2) as lab, server("127.0.0.1", 0, burn_us, name) as options:
        yield Setting(
            (*hosts_of(lab, "h1"), "--servers", "h2", "--inventory", inventory), options=options
        )


@contextmanager
def narrow_link(place: Place) -> Iterator[Setting]:
    """Storage behind a link of 50 Mbit/s."""
    with ExitStack() as stack:
        lab = stack.enter_context(NetnsLab(place.folder / "lab", 1))
        net = f"10.{os.getpid() % 100 + 20}.{os.getpid() // 100 % 250}"
        here, there = f"{lab.tag}a", f"{lab.tag}b"
        cable = [
            stack.enter_context(os.fdopen(_tun(name), "r+b", buffering=0)) for name in (here, there)
        ]
        run("ip", "link", "set", there, "netns", lab._ns("h1"))
        for inside, name, address in (
            ((), here, f"{net}.1"),
            (("-n", lab._ns("h1")), there, f"{net}.2"),
        ):
            run("ip", *inside, "addr", "add", f"{address}/30", "dev", name)
            run("ip", *inside, "link", "set", name, "mtu", str(MTU), "up")
            enter = ("ip", "netns", "exec", inside[1]) if inside else ()
            run(
                *enter,
                sys.executable,
                "-c",
                f"from tests.long.lies.remote import set_speed; set_speed({name!r})",
            )
            run(*enter, "tc", "qdisc", "add", "dev", name, "root", "tbf", "rate",
                f"{RATE_KBIT}kbit", "burst", "64kb",
                "latency", "100ms")  # fmt: skip
        stack.enter_context(
            meanwhile(lambda over: _carry(cable[0].fileno(), cable[1].fileno(), over))
        )
        options = stack.enter_context(server(f"{net}.1", 0, 0))
        yield Setting(("--hosts", "h1", "--ssh-config", lab.ssh_config), options=options)


def _tun(name: str) -> int:
    """Return the descriptor of a new tun device; it goes with it."""
    descriptor = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(descriptor, TUNSETIFF, struct.pack("16sH22x", name.encode(), IFF_TUN | IFF_NO_PI))
    return descriptor


def set_speed(name: str) -> None:
    """Have a link say its speed, as one of hardware does (linux/ethtool.h: struct ethtool_cmd)."""
    command = ctypes.create_string_buffer(44)
    struct.pack_into("I", command, 0, ETHTOOL_GSET)
    request = struct.pack("16sQ16x", name.encode(), ctypes.addressof(command))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as handle:
        fcntl.ioctl(handle, SIOCETHTOOL, request)
        struct.pack_into("I", command, 0, ETHTOOL_SSET)
        struct.pack_into("H", command, 12, SPEED_MBIT)
        struct.pack_into("H", command, 28, 0)  # the upper half
        fcntl.ioctl(handle, SIOCETHTOOL, request)


def _carry(one: int, other: int, over: threading.Event) -> None:
    """Carry packets between both ends until it is over."""
    with selectors.DefaultSelector() as selector:
        selector.register(one, selectors.EVENT_READ, other)
        selector.register(other, selectors.EVENT_READ, one)
        while not over.is_set():
            for key, _ in selector.select(0.2):
                _hand_over(key.fd, key.data)


def _hand_over(source: int, target: int) -> None:
    for _ in range(64):
        try:
            packet = os.read(source, MTU + 64)
            os.write(target, packet)
        # nothing more, or the other end is down: a cable loses what it cannot deliver
        except OSError:
            return
