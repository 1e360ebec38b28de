"""A host that freezes: how long until the screen says so, ours beside `fio --client`.

Ours is the row of the host on the Live screen, looked at once a second as the screen does it: `row`
is when it says that something is wrong, `link` when the connection itself is said to be lost
(keepalive). `fio --client` is its own output: `named` is when it prints a word about that host.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.lab.faults import frozen, kill
from tests.lab.faults_run import LiveRun
from tests.lab.proxy import FaultProxy, ProxiedLab, ProxyLoop
from tests.lab.sshd import free_port, parent_of
from tests.long.bench.kept import Row, told
from tests.long.bench.start_skew import await_port
from tui.app.screens.live_feed import LiveFeed
from tui.view.live_hosts import message_of

TIMES = int(os.environ.get("TIMES", "3"))
LOOK_S = 1.0
GIVEN_UP_S = 20.0
ROWS = {
    "h1": "all of fio stopped (SIGSTOP)",
    "h2": "fio's workers stopped",
    "h3": "sshd session stopped",
    "h4": "network: blackhole",
}
SERVERS = {"127.0.0.2": "h1", "127.0.0.3": "h2", "127.0.0.1": "h4", "127.0.0.4": "untouched"}
JOB = """[freeze]
ioengine=psync
time_based=1
runtime=40
size=1M
rate_iops=300
rw=randread
bs=4k
filename={file}
"""


@dataclass
class Times:
    """Seconds from the fault on, by host; what never came is missing."""

    row: dict[str, float] = field(default_factory=dict)
    link: dict[str, float] = field(default_factory=dict)
    named: dict[str, float] = field(default_factory=dict)


def ours(lab: ProxiedLab, root: Path) -> Times:
    """One run of ours on five hosts, the first four of which freeze at the same moment, each in its
    way.
    """
    home = root / "home"
    home.mkdir(exist_ok=True)
    lab.forget_locks()
    settings = {"runtime": "60s"}
    with (
        LiveRun.begin(home, lab, root, settings, hosts="h[1-5]", lease_s=60) as run,
        ExitStack() as stack,
    ):
        run.measuring(5, samples=3)
        loads = {host: run.load_on(host) for host in ("h1", "h2")}
        pids = [
            loads["h1"].main,
            *loads["h1"].workers(),
            *loads["h2"].workers(),
            lab.host("h3").sessions()[0],
        ]
        for pid in pids:
            stack.enter_context(frozen(pid))
        lab.proxies["h4"].blackhole()
        stack.callback(lab.heal)
        return watched(run)


def watched(run: LiveRun) -> Times:
    """Look at the rows as the Live screen does until every host is said to be in trouble."""
    feed, times, begin = LiveFeed(run.run_dir), Times(), time.monotonic()
    while (passed := time.monotonic() - begin) < GIVEN_UP_S:
        while feed.advance():
            pass
        for host in ROWS:
            view = feed.state.hosts[host]
            if message_of(view, feed.state.clock.now)[1] == "warn" or view.state == "connecting":
                times.row.setdefault(host, passed)
            if view.state == "connecting":
                times.link.setdefault(host, passed)
        time.sleep(LOOK_S)
    return times


def theirs(root: Path) -> Times:
    """One run of fio --client on four servers, three of which freeze at the same moment."""
    loop = ProxyLoop()
    with ExitStack() as stack:
        stack.callback(loop.stop)
        ports = {address: free_port() for address in SERVERS}
        servers = {
            address: stack.enter_context(fio_server(address, ports[address], root))
            for address in SERVERS
        }
        proxy = FaultProxy(loop, ports["127.0.0.1"])
        proxy.accept()
        stack.callback(proxy.close)
        ports["127.0.0.1"] = proxy.port
        client = stack.enter_context(fio_client(ports, root))
        lines: list[tuple[float, str]] = []
        threading.Thread(target=read, args=(client, lines), daemon=True).start()
        wait(
            lambda: (
                any("[r=" in text for _, text in lines)
                and len(descendants(servers["127.0.0.3"])) >= 2
            )
        )
        workers = descendants(servers["127.0.0.3"])[1:]  # the first one serves the connection
        begin = time.monotonic()
        for pid in [servers["127.0.0.2"], *descendants(servers["127.0.0.2"]), *workers]:
            stack.enter_context(frozen(pid))
        proxy.blackhole()
        wait(lambda: time.monotonic() - begin > GIVEN_UP_S)
        times = Times()
        for when, text in lines:
            for address, host in SERVERS.items():
                if when > begin and f"<{address}>" in text:
                    times.named.setdefault(host, when - begin)
        proxy.heal()
        return times


@contextmanager
def fio_server(address: str, port: int, root: Path) -> Iterator[int]:
    """A fio server; it, and what it started, ends by pid."""
    command = ["fio", f"--server={address},{port}"]
    server = subprocess.Popen(
        command, cwd=root, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        await_port(port, address)
        yield server.pid
    finally:
        children = descendants(server.pid)
        for pid in [server.pid, *children]:
            kill(pid)
        server.wait(10)


@contextmanager
def fio_client(ports: dict[str, int], root: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A fio client of all servers, its words on a pipe."""
    command = ["fio", "--eta=always", "--eta-newline=1"]
    for number, (address, port) in enumerate(ports.items()):
        job = root / f"{number}.fio"
        job.write_text(JOB.format(file=root / f"freeze-{number}"))
        command += [f"--client={address},{port}", str(job)]
    client = subprocess.Popen(command, cwd=root, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    try:
        yield client
    finally:
        client.kill()
        client.wait(10)


def read(client: subprocess.Popen[bytes], lines: list[tuple[float, str]]) -> None:
    assert client.stdout is not None
    while data := os.read(client.stdout.fileno(), 65536):
        lines.append((time.monotonic(), data.decode(errors="replace")))


def descendants(pid: int) -> list[int]:
    """All processes below one, parents first."""
    everyone = [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]
    children = [each for each in everyone if parent_of(each) == pid]
    return [*children, *(below for child in children for below in descendants(child))]


def wait(condition: Callable[[], bool], timeout_s: float = 60.0) -> None:
    deadline = time.monotonic() + timeout_s
    while not condition():
        if time.monotonic() > deadline:
            raise RuntimeError("fio --client does not get going")
        time.sleep(0.05)


def median(found: list[float], trials: int) -> float | str:
    """The median of the trials, or that it did not come in all of them."""
    if len(found) < trials:
        return f"never in {trials - len(found)} of {trials}"
    return float(statistics.median(found))


def rows_of(mine: list[Times], client: list[Times]) -> list[Row]:
    """Return two rows for each way to freeze."""
    rows: list[Row] = []
    for host, what in ROWS.items():
        row, link = (
            [getattr(t, name)[host] for t in mine if host in getattr(t, name)]
            for name in ("row", "link")
        )
        rows.append({"what": what, "program": "benchtui", "reported after, s": median(row, len(mine)),
                     "connection reported lost after, s": median(link, len(mine))})  # fmt: skip
        if host in SERVERS.values():
            named = [times.named[host] for times in client if host in times.named]
            rows.append(
                {
                    "what": what,
                    "program": "fio --client",
                    "reported after, s": median(named, len(client)),
                }
            )
    return rows


def main() -> int:
    """Print both; the exit code is 1 when one of our rows said nothing within 10 s."""
    os.environ.setdefault("BENCHTUI_LOCKS", tempfile.mkdtemp())
    mine: list[Times] = []
    client: list[Times] = []
    with tempfile.TemporaryDirectory() as folder, ProxiedLab(Path(folder) / "lab", 5) as lab:
        for _ in range(TIMES):
            mine.append(ours(lab, Path(folder)))
            client.append(theirs(Path(folder)))
    note = (
        f"Medians of {TIMES}; all hosts freeze at the same moment; given up after {GIVEN_UP_S:g} s."
    )
    told("frozen_host", rows_of(mine, client), note)
    slowest = max(
        (times.row.get(host, GIVEN_UP_S) for times in mine for host in ROWS), default=GIVEN_UP_S
    )
    return 0 if slowest <= 10 else 1
