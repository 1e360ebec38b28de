"""Very many hosts answered by one process: SSH as asyncssh serves it, everything but streams done
by real shells.

The shell that streams a task's output on a real host looks for it four times a second, at two
processes a look. That costs a host next to nothing, but 256 of them on one machine leave the engine
no core to be measured on. Here this process sends the bytes of the same spool; probes, locks,
supervisors and GO are the agent's own.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import resource
import shlex
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import asyncssh

from tests.lab.sshd import SshdLab
from tests.leftovers import mark
from tests.long.bench.kept import ROOT
from tests.patience import wait_until

# the group that ends a script: tui/remote/scripts.py
CALL = re.compile(rb"\n\{ .*\}\n\Z", re.DOTALL)
STREAM = re.compile(rb"bt_begin (\S+); bt_stream (.*?); bt_end")
SPOOLS = Path(f"/tmp/.benchtui-{os.getuid()}")
LOOK_S, PIECE = 0.25, 1 << 18
Process = asyncssh.SSHServerProcess[bytes]


class Host:
    """One host: what it does with a script that comes over stdin."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self.environ = {**os.environ, **environ}

    async def answer(self, process: Process) -> None:
        """Stream a task where the script asks for it; let a real shell do everything else."""
        begin = b""
        while not CALL.search(begin) and (piece := await process.stdin.read(PIECE)):
            begin += piece
        wanted = STREAM.search(begin)
        if wanted is None:
            process.exit(await self.shell(process, begin))
        else:
            run, host, task, out, err, generation, _ = shlex.split(wanted[2].decode())
            stream = Stream(process, SPOOLS / run / host / task, generation)
            process.exit(await stream.send(wanted[1], int(out) - 1, int(err) - 1))

    async def shell(self, process: Process, begin: bytes) -> int:
        """Hand everything to /bin/sh; return its exit code."""
        pipe = subprocess.PIPE
        shell = await asyncio.create_subprocess_exec(
            "/bin/sh", env=self.environ, stdin=pipe, stdout=pipe, stderr=pipe
        )
        assert shell.stdin is not None
        assert shell.stdout is not None
        assert shell.stderr is not None
        shell.stdin.write(begin)
        feeding = asyncio.create_task(feed(process, shell.stdin))
        await asyncio.gather(copy(shell.stdout, process.stdout), copy(shell.stderr, process.stderr))
        feeding.cancel()
        return await shell.wait()


async def feed(process: Process, stdin: asyncio.StreamWriter) -> None:
    """Hand on what comes, and its end."""
    with contextlib.suppress(OSError):
        while piece := await process.stdin.read(PIECE):
            stdin.write(piece)
            await stdin.drain()
        stdin.close()


async def copy(source: asyncio.StreamReader, target: asyncssh.SSHWriter[bytes]) -> None:
    """Hand on all that a shell says."""
    while piece := await source.read(PIECE):
        target.write(piece)


class Stream:
    """A task's output, byte for byte as it is spooled, and the words that come back.

    It begins as bt_stream does.
    """

    def __init__(self, process: Process, folder: Path, generation: str) -> None:
        self.process, self.folder, self.generation = process, folder, generation

    async def send(self, token: bytes, out_from: int, err_from: int) -> int:
        """Send both files from these offsets on, until the task is over."""
        self.put("streamer", f"{self.generation} {os.getpid()} 0")
        self.put("lease", f"{self.generation}.0")
        for pipe in (self.process.stdout, self.process.stderr):
            pipe.write(b"BT-STREAM " + token + b"\n")
        listener = asyncio.create_task(self.listen())
        out, err = (os.open(self.folder / name, os.O_RDONLY) for name in ("out", "err"))
        try:
            while True:
                last = (self.folder / "done").exists()
                out_from += self.copy(out, out_from, self.process.stdout)
                err_from += self.copy(err, err_from, self.process.stderr)
                if last:
                    return 0
                await asyncio.sleep(LOOK_S)
        finally:
            listener.cancel()
            os.close(out)
            os.close(err)

    def copy(self, file: int, offset: int, pipe: asyncssh.SSHWriter[bytes]) -> int:
        """Send what is new in a file; return how much it was."""
        sent = 0
        while piece := os.pread(file, PIECE, offset + sent):
            pipe.write(piece)
            sent += len(piece)
        return sent

    async def listen(self) -> None:
        """Do what the controller says: GO opens the barrier, a lease is written down."""
        async for line in self.process.stdin:
            word, _, rest = line.decode().strip().partition(" ")
            if word == "go":
                descriptor = os.open(self.folder / "go", os.O_RDWR | os.O_NONBLOCK)
                os.write(descriptor, b"go\n")
                os.close(descriptor)
            elif word == "lease":
                self.put("lease", f"{self.generation}.{rest}")
            elif word in ("stop", "abort"):
                self.put("stop", word)

    def put(self, name: str, text: str) -> None:
        """Write a word as bt_put does: readers see the old one or the new one."""
        new = self.folder / f".{name}.{os.getpid()}"
        new.write_text(f"{text}\n")
        new.rename(self.folder / name)


async def serve(hosts: Sequence[Mapping[str, Any]], client_key: str, ready: Path) -> None:
    """Listen for all hosts, each with a key and an environment of its own, and write down their
    ports.
    """
    ports = []
    for host in hosts:
        listening = await asyncssh.listen(
            "127.0.0.1", 0, server_host_keys=[host["key"]], authorized_client_keys=client_key,
            encoding=None,
            process_factory=Host(host["environ"]).answer, line_editor=False,
        )  # fmt: skip
        ports.append(listening.get_port())
    new = ready.with_suffix(".new")
    new.write_text(json.dumps(ports))
    new.rename(ready)
    await asyncio.Event().wait()


class ServedLab(SshdLab):
    """A lab whose hosts are all answered by one process."""

    def __init__(self, root: Path, hosts: int, environ: Mapping[str, str]) -> None:
        super().__init__(root, hosts)
        self.environ = environ
        self.server: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> ServedLab:
        told = []
        for host in self.hosts:
            key = host.root / "host_key"
            key.write_bytes(host.key.export_private_key("openssh"))
            own = {"BENCHTUI_LOCKS": str(host.root / "locks"), **self.environ}
            told.append({"key": str(key), "environ": own})
        (self.root / "hosts.json").write_text(json.dumps(told))
        ready = self.root / "ports.json"
        words = [str(self.root / "hosts.json"), str(self.root / "client_key.pub"), str(ready)]
        name, _, value = mark().partition("=")
        program = [sys.executable, "-m", "tests.long.bench.sshfleet", *words]
        self.server = server = subprocess.Popen(program, cwd=ROOT, env={**os.environ, name: value})
        wait_until(lambda: ready.exists() or server.poll() is not None, "the server of all hosts")
        for host, port in zip(self.hosts, json.loads(ready.read_text()), strict=True):
            host.port = port
        self.write_config()
        return self

    def stop(self) -> None:
        if self.server is not None:
            self.server.kill()
            self.server.wait()


def main(words: Sequence[str]) -> None:
    """HOSTS.json CLIENT_KEY PORTS.json: serve until somebody ends it."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    hosts, client_key, ports = words
    asyncio.run(serve(json.loads(Path(hosts).read_text()), client_key, Path(ports)))


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        main(sys.argv[1:])
