"""`benchtui ARGS` in a process that has its modules already: forked from one that loaded them once.

Half of what a short command costs is loading them, and the tests run hundreds. Everything else is
as when a user types it: a process with its own environment, directory, streams and exit code.
Engines that such commands start are forked likewise, with a session of their own. `command.start`
is the plain way, for the command and for its engine.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

LONGEST_REQUEST = 1 << 20
PRELOADED = (
    "tui.cli.run",
    "tui.cli.runs",
    "tui.cli.runs_view",
    "tui.cli.clean",
    "tui.cli.hosts",
    "tui.cli.profiles",
    "tui.cli.stop",
    "tui.cli.attach",
    "tui.cli.shared.progress",
    "tui.cli.shared.launching",
    "tui.cli.shared.review",
    "tui.library.build",
    "tui.library.runs",
    "tui.view.run_summary",
    "tui.view.matrix",
    "tui.engine.inputs.profiles",
    "tui.engine.preflight.destroy",
    "tui.engine.preflight.preview",
    "tui.engine.inputs.hosts",
    "tui.engine.launch",
    "tui.engine.plan.plan",
    "tui.engine.preflight.logout",
    "tui.workloads.fio.plan",
    "tui.library.filter",
    "tui.library.summary",
    "tui.cli.shared.settings",
    "tui.cli.engine",
    "tui.engine.main",
    "asyncssh",
    "tui.remote.login",
    "tui.remote.ssh",
    "tui.remote.sshconfig",
    "tui.library.load",
    "tui.library.additions",
    "tui.workloads.fio.engine_kinds",
    "tui.workloads.fio.layout",
    "tui.workloads.fio.reader",
    "tui.workloads.fio.results",
    "tui.engine.executors.io_limits",
    "tui.engine.executors.open_files",
    "tui.engine.executors.per_host",
    "tui.engine.inputs.job_words",
    "tui.engine.inputs.terms",
    "tui.engine.inputs.choosing",
    "tui.export.copies",
    "tui.export.run_files",
    "tui.library.unfinished",
    "tui.model.baseline",
    "tui.remote.local",
    "tui.remote.way_plain",
    "tui.remote.hostkeys",
    "tui.remote.proxy",
    "tui.sources.commands",
    "tui.sources.files",
    "tui.view.matrix_bests",
    "tui.workloads.fio.bucket",
    "tui.workloads.fio.contradictions",
    "tui.workloads.fio.terms",
    "encodings.idna",
)
# a run from whose journal the record is made once before programs are forked
REHEARSED = Path(__file__).parents[1] / "data/journals/mix"


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

    def fork(self, request: Mapping[str, Any], streams: Sequence[int]) -> socket.socket:
        """Start a program and return the socket that tells its pid, and its exit code when it has
        ended.
        """
        with self.turn:
            return _ask(self.socket, request, streams)

    def stop(self) -> None:
        """End it: it leaves when nobody can ask any more."""
        self.socket.close()
        self.process.wait()


_forkers: list[Forker] = []


def stop() -> None:
    """End the process that forks commands, if there is one."""
    while _forkers:
        _forkers.pop().stop()


def forker() -> Forker:
    """Return the process that forks commands, started at its first use."""
    if not _forkers:
        _forkers.append(Forker())
    return _forkers[0]


class Started(NamedTuple):
    """What a process inherits from its parent."""

    environ: Mapping[str, str]
    cwd: str
    umask: int | None = None  # that of the process that forks


def run(argv: Sequence[str], started: Started, timeout: float) -> subprocess.CompletedProcess[str]:
    """Run `benchtui ARGV` to its end. Raises TimeoutError."""
    out, err = os.pipe(), os.pipe()
    request = {"argv": list(argv), **started._asdict(), "session": False}
    with Path(os.devnull).open() as nothing:
        told = forker().fork(request, [nothing.fileno(), out[1], err[1]])
    with told:
        for end in (out[1], err[1]):
            os.close(end)
        told.settimeout(timeout)
        pid = int(told.recv(64))
        said: dict[int, bytes] = {}
        readers = [
            threading.Thread(target=_read_whole, args=(end[0], said), daemon=True)
            for end in (out, err)
        ]
        for reader in readers:
            reader.start()
        try:
            code = int(told.recv(64))
        except TimeoutError:
            os.kill(pid, signal.SIGKILL)
            raise
        for reader in readers:
            reader.join(timeout)
    return subprocess.CompletedProcess(
        list(argv), code, said[out[0]].decode(), said[err[0]].decode()
    )


def start_program(arguments: Sequence[str], stdin: int, log: int, directory: Path) -> int:
    """What `tui.engine.launch.start_program` does, for a test that launches in its own process."""
    return _engine(forker().fork, arguments, stdin, log, directory)


def _engine(
    fork: Callable[[Mapping[str, Any], Sequence[int]], socket.socket],
    arguments: Sequence[str],
    stdin: int,
    log: int,
    directory: Path,
) -> int:
    request = {
        "argv": list(arguments),
        "environ": dict(os.environ),
        "cwd": str(directory),
        "umask": None,
        "session": True,
    }
    with Path(os.devnull).open() as nothing:
        streams = [nothing.fileno() if stdin == subprocess.DEVNULL else stdin, log, log]
        with fork(request, streams) as told:
            return int(told.recv(64))


def _ask(asked: socket.socket, request: Mapping[str, Any], streams: Sequence[int]) -> socket.socket:
    """Ask for a program with these streams, and return the socket that tells of it."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with theirs:
        socket.send_fds(asked, [json.dumps(request).encode()], [*streams, theirs.fileno()])
    return ours


def _read_whole(fd: int, said: dict[int, bytes]) -> None:
    with open(fd, "rb") as stream:
        said[fd] = stream.read()


def serve(asked: socket.socket) -> None:
    """Fork a program for each request; returns in each of them, with its arguments in place. Ends
    when nobody asks.

    Commands that were forked ask for their engines through a socket of their own.
    """
    told: dict[int, socket.socket] = {}
    engines, for_commands = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    signal.signal(signal.SIGCHLD, lambda *_: _reap(told))
    while True:
        for ready in select.select([asked, engines], [], [])[0]:
            message, fds, _, _ = socket.recv_fds(ready, LONGEST_REQUEST, 4)
            if not message:
                sys.exit(0)
            signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD})
            pid = os.fork()
            if pid == 0:
                for other in (asked, engines, *told.values()):
                    other.close()
                return _become(json.loads(message), fds, for_commands)
            told[pid] = socket.socket(fileno=fds[3])
            _tell(told[pid], pid)
            for fd in fds[:3]:
                os.close(fd)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGCHLD})


def _become(request: Mapping[str, Any], fds: Sequence[int], engines: socket.socket) -> None:
    """Take the place of a program: streams, directory, environment, arguments, and signals as a
    shell leaves them.
    """
    from tui.engine import launch

    # a Ctrl-C that falls into one of the parent's is lost: Python prints it, and goes on
    gc.callbacks.clear()
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGCHLD})
    if request["session"]:
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        os.setsid()
    for number, fd in enumerate(fds[:3]):
        os.dup2(fd, number)
    for fd in fds:
        os.close(fd)
    os.chdir(request["cwd"])
    if request["umask"] is not None:
        os.umask(request["umask"])
    os.environ.clear()
    os.environ.update(request["environ"])
    sys.argv = ["benchtui", *request["argv"]]
    launch.start_program = partial(_engine, partial(_ask, engines))


def _reap(told: dict[int, socket.socket]) -> None:
    """Tell the exit codes of programs that have ended, as subprocess does."""
    for pid in list(told):
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            with told.pop(pid) as peer:
                _tell(peer, os.waitstatus_to_exitcode(status))


def _tell(peer: socket.socket, number: int) -> None:
    with contextlib.suppress(ConnectionError):  # nobody waits for the end of an engine
        peer.send(str(number).encode())


def rehearse() -> None:
    """Write and read the record of a kept run: models, cleaners and patterns are made at their
    first use, which takes most commands longer than all else they do.
    """
    from tui.export.run_files import write_run_files
    from tui.library.build import write_record
    from tui.library.load import load_record

    with tempfile.TemporaryDirectory() as directory:
        run_dir = Path(directory, REHEARSED.name)
        shutil.copytree(REHEARSED, run_dir)
        write_record(run_dir)
        write_run_files(run_dir, load_record(run_dir), None)


def preload() -> None:
    """Load what commands load, and build the models of profiles and records."""
    import importlib

    from tui.engine.inputs.profiles import Catalogue

    for name in PRELOADED:
        importlib.import_module(name)
    Catalogue(Path(os.devnull)).load("demo/quick")
    rehearse()
    gc.collect()
    gc.freeze()


if __name__ == "__main__":
    preload()
    serve(socket.socket(fileno=int(sys.argv[1])))
    from tui.cli.main import entry

    entry()
