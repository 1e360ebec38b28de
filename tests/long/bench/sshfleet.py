"""Very many hosts answered by one process: one host is real, all others repeat what it answers.

The first host that makes a call has it made by the agent's own shell; every other host gets the
same answer, after as long as it took, with its own name and token in it. Every host sends, over an
SSH connection of its own, the bytes that the real host's task spools. So a thousand hosts cost one
machine an SSH server each and nothing else.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import random
import re
import resource
import shlex
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import asyncssh
from msgspec import Struct

from tests.lab.sshd import SshdLab
from tests.leftovers import mark
from tests.long.bench.kept import ROOT
from tests.patience import wait_until

# the group that ends a script: tui/remote/scripts.py
ALONE = re.compile(rb"\n\{ bt_begin (\S+); (.*); bt_end 0; \}\n\Z", re.DOTALL)
KEPT = re.compile(
    rb"\n\{ \(bt_begin (\S+); (.*); bt_end 0\)( </dev/null)?; bt_over \S+ \$\?; \}\n\Z", re.DOTALL
)
STREAM = re.compile(r"bt_stream (.*)", re.DOTALL)
SPOOLS = Path(f"/tmp/.benchtui-{os.getuid()}")
LOOK_S, PIECE = 0.25, 1 << 18
WINDOW = 1 << 16  # for what the engine says: a few words
Process = asyncssh.SSHServerProcess[bytes]


class Answer(Struct, frozen=True):
    """What a call printed, how it ended, and how long it took."""

    out: bytes
    err: bytes
    code: int
    took_s: float


class RealHost:
    """The host that exists: runs each call once, and follows the spools of its tasks."""

    def __init__(self, name: str, environ: Mapping[str, str]) -> None:
        self.name = name
        self.environ = {**os.environ, **environ}
        self.answers: dict[tuple[str, int], asyncio.Task[Answer]] = {}
        self.spools: dict[Path, Spool] = {}

    async def answer(self, call: str, time_no: int, token: str, functions: bytes) -> Answer:
        """Return the answer to the n-th call of these words; the first who asks has it run."""
        task = self.answers.get((call, time_no))
        if task is None:
            task = asyncio.create_task(self._run(call, token, functions))
            self.answers[call, time_no] = task
            return await asyncio.shield(task)
        begun = time.monotonic()
        answer = await asyncio.shield(task)
        await asyncio.sleep(max(0.0, begun + answer.took_s - time.monotonic()))
        return answer

    async def _run(self, call: str, token: str, functions: bytes) -> Answer:
        pipe, begun = subprocess.PIPE, time.monotonic()
        shell = await asyncio.create_subprocess_exec(
            "/bin/sh", env=self.environ, stdin=pipe, stdout=pipe, stderr=pipe
        )
        text = f"\n{{ bt_begin {token}; {call}; bt_end 0; }}\n".encode()
        out, err = await shell.communicate(functions + text)
        return Answer(
            out.replace(token.encode(), b"@TOKEN@"),
            err,
            shell.returncode or 0,
            time.monotonic() - begun,
        )

    def spool(self, folder: Path) -> Spool:
        """Return a task's output, opened once for all hosts."""
        if folder not in self.spools:
            self.spools[folder] = Spool(folder)
        return self.spools[folder]


class Spool:
    """The output of the real host's task: kept open, for whoever is first removes it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.files = {name: os.open(folder / name, os.O_RDONLY) for name in ("out", "err")}
        self.done = False
        self.sizes = dict.fromkeys(self.files, 0)
        self._looked = 0.0

    def look(self) -> None:
        """See how much there is by now; a look serves all hosts for a moment."""
        if self.done or time.monotonic() - self._looked < 0.02:
            return
        done = (self.folder / "done").exists() or not self.folder.exists()
        self.sizes = {name: os.fstat(file).st_size for name, file in self.files.items()}
        self.done, self._looked = done, time.monotonic()

    def put(self, name: str, text: str) -> None:
        """Write a word as bt_put does: readers see the old one or the new one."""
        new = self.folder / f".{name}.{os.getpid()}"
        with contextlib.suppress(OSError):
            new.write_text(f"{text}\n")
            new.rename(self.folder / name)

    def go(self) -> None:
        """Open the barrier."""
        descriptor = os.open(self.folder / "go", os.O_RDWR | os.O_NONBLOCK)
        os.write(descriptor, b"go\n")
        os.close(descriptor)


class Host:
    """One host as the engine sees it."""

    def __init__(self, name: str, real: RealHost) -> None:
        self.name, self.real = name, real
        self.is_real = name == real.name
        self.times: dict[str, int] = {}

    async def serve(self, process: Process) -> None:
        """Answer the scripts that come over a channel."""
        functions = begin = b""
        while piece := await process.stdin.read(PIECE):
            begin += piece
            if alone := ALONE.search(begin):
                process.exit(await self.alone(process, alone, begin[: alone.start()]))
                return
            if kept := KEPT.search(begin):
                functions += begin[: kept.start()] + b"\n"
                await self.kept(process, kept, functions)
                begin = b""
        process.exit(0)

    async def alone(self, process: Process, match: re.Match[bytes], functions: bytes) -> int:
        """Answer a script that has a shell of its own, or stream."""
        token, call = match[1].decode(), match[2].decode()
        if wanted := STREAM.search(call):
            return await self.stream(process, token, shlex.split(wanted[1]))
        answer = await self.ask(token, call, functions)
        self.say(process, token, answer)
        return answer.code

    async def kept(self, process: Process, match: re.Match[bytes], functions: bytes) -> None:
        """Answer a call of the shell that stays."""
        token, call = match[1].decode(), match[2].decode()
        if match[3] is None:
            await self.clock(process, token)
            code = 0
        elif call == ":":
            process.stdout.write(f"BT-BEGIN {token}\nBT-END {token} 0\n".encode())
            code = 0
        else:
            answer = await self.ask(token, call, functions)
            self.say(process, token, answer)
            code = answer.code
        for pipe in (process.stdout, process.stderr):
            pipe.write(f"BT-OVER {token} {code}\n".encode())

    async def ask(self, token: str, call: str, functions: bytes) -> Answer:
        """Have the real host answer, in its own name."""
        call = re.sub(rf"\b{self.name}\b", self.real.name, call)
        self.times[call] = time_no = self.times.get(call, 0) + 1
        return await self.real.answer(call, time_no, token, functions)

    def say(self, process: Process, token: str, answer: Answer) -> None:
        """Send an answer in this host's name."""
        out = answer.out.replace(b"@TOKEN@", token.encode())
        if not self.is_real:
            out = re.sub(rb"\b%s\b" % self.real.name.encode(), self.name.encode(), out)
        process.stdout.write(out)
        if answer.err:
            process.stderr.write(answer.err)

    async def clock(self, process: Process, token: str) -> None:
        """Tell the time until an empty line."""
        process.stdout.write(f"BT-BEGIN {token}\nBT-CLOCK {token}\n".encode())
        async for line in process.stdin:
            if not line.strip():
                break
            process.stdout.write(
                f"{time.time_ns() // 10**9}.{time.time_ns() % 10**9:09d}\n".encode()
            )
        process.stdout.write(f"BT-END {token} 0\n".encode())

    async def stream(self, process: Process, token: str, words: Sequence[str]) -> int:
        """Send both files of the real host's task from these offsets on, until it is over."""
        run, _, task, out, err, generation, _ = words
        spool = self.real.spool(SPOOLS / run / self.real.name / task)
        if self.is_real:
            spool.put("streamer", f"{generation} {os.getpid()} 0")
            spool.put("lease", f"{generation}.0")
        sent = {"out": int(out) - 1, "err": int(err) - 1}
        pipes = {"out": process.stdout, "err": process.stderr}
        for pipe in pipes.values():
            pipe.write(f"BT-STREAM {token}\n".encode())
        listener = asyncio.create_task(self.listen(process, spool, generation))
        await asyncio.sleep(random.uniform(0, LOOK_S))  # hosts do not look in step
        try:
            while True:
                spool.look()
                last = spool.done
                for name, size in spool.sizes.items():
                    if size > sent[name]:
                        piece = os.pread(spool.files[name], size - sent[name], sent[name])
                        pipes[name].write(piece)
                        sent[name] += len(piece)
                if last:
                    return 0
                await asyncio.sleep(LOOK_S)
        finally:
            listener.cancel()

    async def listen(self, process: Process, spool: Spool, generation: str) -> None:
        """Do what the controller says to the real host; the others have no load of their own."""
        async for line in process.stdin:
            word, _, rest = line.decode().strip().partition(" ")
            if not self.is_real:
                continue
            if word == "go":
                spool.go()
            elif word == "lease":
                spool.put("lease", f"{generation}.{rest}")
            elif word in ("stop", "abort"):
                spool.put("stop", word)


async def serve(hosts: Sequence[Mapping[str, Any]], client_key: str, ready: Path) -> None:
    """Listen for all hosts, each with a key and a port of its own, and write down their ports."""
    ports = []
    real = RealHost(hosts[0]["name"], hosts[0]["environ"])
    for host in hosts:
        listening = await asyncssh.listen(
            "127.0.0.1", 0, server_host_keys=[host["key"]], authorized_client_keys=client_key,
            encoding=None, process_factory=Host(host["name"], real).serve, line_editor=False,
            window=WINDOW, compression_algs=None, gss_host=None,
        )  # fmt: skip
        ports.append(listening.get_port())
    new = ready.with_suffix(".new")
    new.write_text(json.dumps(ports))
    new.rename(ready)
    await asyncio.Event().wait()


def on_last_core(process: subprocess.Popen[bytes]) -> None:
    """Keep a process, and what it starts, off all cores but the last."""
    os.sched_setaffinity(process.pid, {max(os.sched_getaffinity(0))})


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
            told.append({"name": host.name, "key": str(key), "environ": own})
        (self.root / "hosts.json").write_text(json.dumps(told))
        ready = self.root / "ports.json"
        words = [str(self.root / "hosts.json"), str(self.root / "client_key.pub"), str(ready)]
        name, _, value = mark().partition("=")
        program = [sys.executable, "-m", "tests.long.bench.sshfleet", *words]
        self.server = server = subprocess.Popen(program, cwd=ROOT, env={**os.environ, name: value})
        on_last_core(server)
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
