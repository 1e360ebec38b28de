"""`benchtui ARGS` in a process that has its modules already: forked from one that loaded them once.

Half of what a short command costs is loading them, and the tests run hundreds. Everything else is as when a user types
it: a process with its own environment, directory, streams and exit code. `command.start` is the plain way.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

LONGEST_REQUEST = 1 << 20
PRELOADED = (
    "tui.cli.run",
    "tui.cli.runs.verb",
    "tui.cli.runs.show",
    "tui.cli.runs.listing",
    "tui.cli.runs.go_on",
    "tui.cli.clean",
    "tui.cli.hosts",
    "tui.cli.profiles",
    "tui.cli.stop",
    "tui.cli.attach",
    "tui.cli.watching",
    "tui.cli.progress",
    "tui.cli.agree",
    "tui.cli.review",
    "tui.cli.asking",
    "tui.cli.launching",
    "tui.results.record.build",
    "tui.results.store.runs",
    "tui.results.text.summary",
    "tui.results.matrix.text",
    "tui.engine.profiles.catalogue",
    "tui.engine.safety.destroy",
    "tui.engine.safety.preview",
    "tui.engine.hosts.fleet",
    "tui.engine.process.launch",
    "tui.engine.hosts.inventory_file",
    "tui.engine.planning.plan",
    "tui.engine.safety.logout",
    "tui.remote.agentsock",
    "tui.workloads.fio.plan",
    "tui.results.store.filter",
    "tui.results.store.order",
    "tui.cli.settings",
)


class Forker:
    """The process that loads the modules, and forks one for each command."""

    def __init__(self) -> None:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "tests.e2e.forked", str(theirs.fileno())],
                cwd=Path(__file__).parents[2],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
            )
        self.socket = ours
        self.turn = threading.Lock()

    def fork(self, argv: Sequence[str], environ: Mapping[str, str], cwd: str, out: int, err: int) -> socket.socket:
        """Start a command and return the socket that tells its pid, and its exit code when it has ended."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs, self.turn:
            request = json.dumps({"argv": list(argv), "environ": dict(environ), "cwd": cwd}).encode()
            socket.send_fds(self.socket, [request], [out, err, theirs.fileno()])
        return ours

    def stop(self) -> None:
        """End it: it leaves when nobody can ask any more."""
        self.socket.close()
        self.process.wait()


_forkers: list[Forker] = []


def stop() -> None:
    """End the process that forks commands, if there is one."""
    while _forkers:
        _forkers.pop().stop()


def run(argv: Sequence[str], environ: Mapping[str, str], cwd: str, timeout: float) -> subprocess.CompletedProcess[str]:
    """Run `benchtui ARGV` to its end. Raises TimeoutError."""
    if not _forkers:
        _forkers.append(Forker())
    out, err = os.pipe(), os.pipe()
    with _forkers[0].fork(argv, environ, cwd, out[1], err[1]) as told:
        for end in (out[1], err[1]):
            os.close(end)
        told.settimeout(timeout)
        pid = int(told.recv(64))
        said: dict[int, bytes] = {}
        readers = [threading.Thread(target=_read_whole, args=(end[0], said), daemon=True) for end in (out, err)]
        for reader in readers:
            reader.start()
        try:
            code = int(told.recv(64))
        except TimeoutError:
            os.kill(pid, signal.SIGKILL)
            raise
        for reader in readers:
            reader.join(timeout)
    return subprocess.CompletedProcess(list(argv), code, said[out[0]].decode(), said[err[0]].decode())


def _read_whole(fd: int, said: dict[int, bytes]) -> None:
    with open(fd, "rb") as stream:
        said[fd] = stream.read()


def serve(asked: socket.socket) -> None:
    """Fork a command for each request; returns in each of them, with its arguments in place. Ends when nobody asks."""
    told: dict[int, socket.socket] = {}
    signal.signal(signal.SIGCHLD, lambda *_: _reap(told))
    while True:
        message, fds, _, _ = socket.recv_fds(asked, LONGEST_REQUEST, 3)
        if not message:
            sys.exit(0)
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD})
        pid = os.fork()
        if pid == 0:
            asked.close()
            return _become(json.loads(message), fds, told)
        told[pid] = socket.socket(fileno=fds[2])
        told[pid].send(str(pid).encode())
        for fd in fds[:2]:
            os.close(fd)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGCHLD})


def _become(request: Mapping[str, Any], fds: Sequence[int], told: Mapping[int, socket.socket]) -> None:
    """Take the place of a command: streams, directory, environment, arguments, and signals as a shell leaves them."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGCHLD})
    for other in told.values():
        other.close()
    os.dup2(fds[0], 1)
    os.dup2(fds[1], 2)
    for fd in fds:
        os.close(fd)
    os.chdir(request["cwd"])
    os.environ.clear()
    os.environ.update(request["environ"])
    sys.argv = ["benchtui", *request["argv"]]


def _reap(told: dict[int, socket.socket]) -> None:
    """Tell the exit codes of commands that have ended, as subprocess does."""
    for pid in list(told):
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            with told.pop(pid) as peer:
                peer.send(str(os.waitstatus_to_exitcode(status)).encode())


def preload() -> None:
    """Load what commands load, and build the models of profiles."""
    import gc
    import importlib

    from tui.engine.profiles.catalogue import Catalogue

    for name in PRELOADED:
        importlib.import_module(name)
    Catalogue(Path(os.devnull)).load("demo/quick")
    gc.collect()
    gc.freeze()


if __name__ == "__main__":
    preload()
    serve(socket.socket(fileno=int(sys.argv[1])))
    from tui.cli.main import entry

    entry()
