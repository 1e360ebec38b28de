"""Transport `slurm`: shells on the nodes of a running job, through trunks: one srun for all nodes
that are wanted at the same time.

A node that no trunk reaches gets one srun per shell.
"""

from __future__ import annotations

import asyncio
import base64
import os
import secrets
import shutil
import zlib
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from functools import cache
from importlib.resources import files
from typing import NamedTuple, TypeVar

from tui.model.address import HostAddress
from tui.model.event import ALLOCATION_ENDED
from tui.model.operands import Clause, clause
from tui.model.plain import printable
from tui.model.quantities import seconds_of
from tui.remote.local import MARKS, start_process
from tui.remote.scripts import Script
from tui.remote.slurm_trunk import (
    NodeEnd,
    Trunk,
    TrunkChannel,
    ready_starters,
)
from tui.remote.ssh import Shells
from tui.remote.transport import (
    BEGIN,
    Channel,
    Completed,
    GoneError,
    HostError,
    Transport,
    read_all,
    read_stderr,
)
from tui.remote.way_base import HostLimits, HostTransport, SshOpener
from tui.remote.way_command import PipedTransport
from tui.text.problem_texts import problem_text

QUIET_S, MOST_GATHERING_S = 0.1, 1.0  # without a request for another node
MOST_NODES = 128  # of a trunk: see docs/decisions/one-srun-for-many-nodes.md
TRIES = 2
QUOTED = 200
NO_PYTHON, NO_STARTER = "no-python", "no-starter"
PYTHONS = "python3 /usr/libexec/platform-python"
BOOT = (
    f"for p in {PYTHONS}; do"
    ' if command -v "$p" >/dev/null 2>&1; then exec "$p" -E -s -S -c "$1" "$2" "$3"; fi; done;'
    f' echo "!{NO_PYTHON} $SLURMD_NODENAME"'
)
HOW = ("--overlap", "--mpi=none", "--cpu-bind=none", "--quiet")
TOGETHER = ("--ntasks-per-node=1", "--no-kill", "--kill-on-bad-exit=0", "--wait=0")
T = TypeVar("T")
ANSWER_S = 30.0
ENDING_TRIES, ENDING_PAUSE_S = 60, 0.5
# A step lasts as long as anything started in it: descendants of the shell hold descriptor 3, and
# `cat` waits for its end. Slurm ends what a step leaves behind (proctrack/cgroup): so the lease
# ends a load, as over SSH, and not the end of srun.
HOLDER = "exec 4>&1; /bin/sh 3>&1 >&4 4>&- | cat >/dev/null 4>&-"
FOREIGN = ("SLURM", "SRUN", "SBATCH", "SALLOC")  # of the job that benchtui runs in: options of srun
GOING_ON = ("", "RUNNING", "SUSPENDED")

UNKNOWN = "Invalid job id"


@cache
def node_program() -> str:
    """Return the Python program that runs on nodes, compressed."""
    source = files("tui.remote").joinpath("frames.py").read_text("utf-8")
    relay = files("tui.remote").joinpath("node_relay.py").read_text("utf-8")
    source += "".join(line for line in relay.splitlines(True) if not line.startswith("from tui."))
    packed = base64.b64encode(zlib.compress(source.encode(), 9)).decode()
    return f"import base64,zlib;exec(zlib.decompress(base64.b64decode('{packed}')))"


def trunk_argv(job: str, nodes: Sequence[str], mode: str, token: str) -> list[str]:
    """Return the srun command that starts the node program on these nodes.

    `mode`: `start` for the starter, or `relay`.
    """
    size = f"--nodes={len(nodes)}", f"--ntasks={len(nodes)}", f"--nodelist={','.join(nodes)}"
    command = ("/bin/sh", "-c", BOOT, "benchtui", node_program(), mode, token)
    return ["srun", f"--jobid={job}", *size, *TOGETHER, *HOW, *command]


class JobTrunks:
    """Trunks to the nodes of one job."""

    def __init__(self, job: str, environ: Mapping[str, str]) -> None:
        self.job = job
        self._environ = environ
        self._token = f"benchtui-{secrets.token_hex(16)}"
        self._trunks: set[Trunk] = set()
        self._ends: dict[str, NodeEnd] = {}
        self._ready: set[str] = set()  # nodes with a starter
        self._by_steps: dict[str, str] = {}  # nodes that no trunk reaches, and why
        self._suspects: set[str] = set()
        self._wanted: dict[str, asyncio.Future[None]] = {}
        self._work: set[asyncio.Task[None]] = set()

    async def end_of(self, node: str) -> NodeEnd | str:
        """Return the node's end of a trunk, or the reason why each shell on the node needs a step
        of its own.
        """
        if node not in self._by_steps:
            end = self._ends.get(node)
            if end is not None and not end.lost:
                return end
            if end is not None and node in end.trunk.suspects:
                self._suspects.add(node)
            await asyncio.shield(self._want(node))
        return self._by_steps.get(node) or self._ends[node]

    async def close(self) -> None:
        """End all trunks; starters end with the last process that they started."""
        for task in self._work:
            task.cancel()
        await asyncio.gather(*self._work, return_exceptions=True)
        trunks, self._trunks = self._trunks, set()
        await asyncio.gather(*(trunk.close(leave=True) for trunk in trunks))

    def _want(self, node: str) -> asyncio.Future[None]:
        if node not in self._wanted:
            if not self._wanted:
                self._start(self._gather())
            self._wanted[node] = asyncio.get_running_loop().create_future()
        return self._wanted[node]

    def _start(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.create_task(work)
        self._work.add(task)
        task.add_done_callback(self._work.discard)

    async def _gather(self) -> None:
        """Connect nodes requested at the same time through shared trunks; give suspects one of
        their own.
        """
        clock, size = asyncio.get_running_loop().time, 0
        began = clock()
        while len(self._wanted) > size and clock() - began < MOST_GATHERING_S:
            size = len(self._wanted)
            await asyncio.sleep(QUIET_S)
        wanted, self._wanted = self._wanted, {}
        alone = [node for node in wanted if node in self._suspects]
        self._suspects -= set(alone)
        rest = [node for node in wanted if node not in alone]
        groups = [rest[at : at + MOST_NODES] for at in range(0, len(rest), MOST_NODES)]
        for group in [*groups, *([node] for node in alone)]:
            self._start(self._answer(group, wanted))

    async def _answer(self, group: list[str], wanted: Mapping[str, asyncio.Future[None]]) -> None:
        try:
            await self._connect(group)
        except HostError as error:
            self._by_steps.update(dict.fromkeys(group, error.message))
        finally:
            for node in group:
                if node not in self._ends:
                    self._by_steps.setdefault(node, "srun failed")
                wanted[node].set_result(None)

    async def _connect(self, nodes: list[str], tries: int = TRIES) -> None:
        """Reach nodes through one trunk; a node that does not answer gets a step for each shell."""
        await self._prepare([node for node in nodes if node not in self._ready], tries)
        nodes = [node for node in nodes if node in self._ready]
        if not nodes:
            return
        argv = trunk_argv(self.job, nodes, "relay", self._token)
        trunk = Trunk(await start_process(argv, self._environ, nodes[0]), nodes)
        self._trunks.add(trunk)
        await trunk.settled()
        without = [node for node in nodes if trunk.notices.get(node) == NO_STARTER]
        self._ready.difference_update(without)
        answered = [node for node in nodes if node in trunk.ends]
        if not trunk.over:
            self._ends.update(trunk.ends)
            self._start(self._tidy())
        again = [*without, *answered] if trunk.over else without
        if tries > 1 and again:
            await self._connect(again, tries - 1)
        for node in nodes:
            if node not in answered and node not in again:
                self._by_steps[node] = trunk.last_words

    async def _prepare(self, nodes: list[str], tries: int) -> None:
        """Start a starter on each node; record the nodes without one, and why."""
        if not nodes:
            return
        argv = trunk_argv(self.job, nodes, "start", self._token)
        process = await start_process(argv, self._environ, nodes[0])
        words, stay = await ready_starters(process, nodes)
        ready = [node for node in nodes if words.get(node) == "ready"]
        for node in nodes:
            if node not in ready:
                missing = words.get(node) == NO_PYTHON
                self._by_steps[node] = "no python3 on this node" if missing else "srun failed"
        if stay:
            self._ready.update(ready)
        elif tries > 1:
            await self._prepare(ready, tries - 1)

    async def _tidy(self) -> None:
        """Close trunks that no longer reach any node."""
        for trunk in list(self._trunks):
            if trunk.over or all(end.lost for end in trunk.ends.values()):
                self._trunks.discard(trunk)
                await trunk.close(leave=False)


class TrunkTransport:
    """Runs scripts on a node of a trunk; one shell is kept for calls, as over SSH."""

    def __init__(self, address: HostAddress, end: NodeEnd) -> None:
        self.address = address
        self._end = end
        self._shells = Shells(self, address.name, proven=True)

    async def run(self, script: bytes, timeout_s: float) -> Completed:
        """Run a script to its end. Raises HostError."""
        host = self.address.name
        channel = self._end.open(host)
        try:
            async with asyncio.timeout(timeout_s):
                await channel.write(script)
                channel.end_input()
                out, err = await asyncio.gather(
                    read_all(channel.read, host), read_stderr(channel.read_stderr, host)
                )
                return self._answered(Completed(out, err, await channel.wait()))
        except TimeoutError:
            raise HostError("timeout", host, clause("no-answer", limit_s=timeout_s)) from None
        finally:
            channel.drop()

    async def call(self, script: Script, timeout_s: float) -> Completed:
        """Make one agent call in the shell that is kept for calls."""
        return self._answered(await self._shells.call(script, timeout_s))

    def talk(self, script: Script) -> AbstractAsyncContextManager[Channel]:
        """Make a call that reads input, in the shell that is kept for calls."""
        return self._shells.talk(script)

    async def open(self, script: bytes) -> TrunkChannel:
        """Start a script whose stdin stays open."""
        channel = self._end.open(self.address.name)
        await channel.write(script)
        return channel

    def lost(self) -> bool:
        """Return whether the trunk no longer reaches the node."""
        return bool(self._end.lost)

    async def close(self) -> None:
        """Close the kept shell; tasks keep running under their supervisors."""
        await self._shells.close()

    def _answered(self, done: Completed) -> Completed:
        """Return the output of a call. Raises HostError if the shell exited before the script
        began.
        """
        if BEGIN in done.stdout:
            return done
        last = printable(done.stderr.decode("utf-8", "replace").strip()[-QUOTED:])
        told = clause("shell-ended-early", status=done.exit_status, quote=last)
        raise HostError("lost" if self.lost() else "channel-failed", self.address.name, told)


class SlurmOutput(NamedTuple):
    """Output of a Slurm command; both fields are empty if the command is missing or does not
    answer.
    """

    out: str = ""
    err: str = ""


class AsSlurmStep(HostTransport):
    """Transport with srun --overlap; `address.through` is the job.

    One srun carries the shells of many nodes (`JobTrunks`). A node that no trunk reaches, such as
    one without Python, gets one srun per shell.
    """

    def __init__(self) -> None:
        self._jobs: dict[str, JobTrunks] = {}
        self._notes: dict[str, str] = {}  # by host
        self._asked: dict[str, asyncio.Task[Clause | str]] = {}
        self._times: dict[str, asyncio.Task[SlurmOutput]] = {}

    async def open(self, address: HostAddress, ssh: SshOpener) -> Transport:
        """Return a connection to a node of the job; warn if no trunk reaches it.

        Raises GoneError if the job has ended.
        """
        if ended := await self.why_ended(address):
            raise GoneError(ALLOCATION_ENDED, address.name, ended)
        environ = {
            name: value
            for name, value in os.environ.items()
            if name not in MARKS and (name == "SLURM_CONF" or not name.startswith(FOREIGN))
        }
        number = address.through or ""
        job = self._jobs.setdefault(number, JobTrunks(number, environ))
        end = await job.end_of(node_of(address))
        if isinstance(end, str):
            told = clause("own-srun", quote=end)
            self._notes[address.name] = problem_text(told)
            ssh.warn(address.name, told)
            return PipedTransport(address, step_of(address), environ)
        return TrunkTransport(address, end)

    def notes(self, address: HostAddress) -> tuple[str, ...]:
        """Return why a host has an srun for each shell; empty if it shares one with other hosts."""
        return (self._notes[address.name],) if address.name in self._notes else ()

    async def release(self) -> None:
        """End the shared sruns."""
        jobs, self._jobs = self._jobs, {}
        await asyncio.gather(*(job.close() for job in jobs.values()))

    async def limits(self, address: HostAddress) -> HostLimits:
        """Return the remaining time of the job. Concurrent callers share one query to Slurm."""
        asked = ("squeue", "--noheader", f"--jobs={address.through}", "--format=%L")
        answer = await asked_once(self._times, address.through or "", lambda: slurm_output(*asked))
        return HostLimits(left_s=seconds_of(answer.out))

    async def why_ended(self, address: HostAddress) -> Clause | str:
        """Return how the job ended; empty while it runs, or if Slurm does not answer.

        Concurrent callers share one query to Slurm.
        """
        job = address.through or ""
        return await asked_once(self._asked, job, lambda: how_ended(job))


async def asked_once(
    under_way: dict[str, asyncio.Task[T]], job: str, ask: Callable[[], Coroutine[None, None, T]]
) -> T:
    """Return the answer to a query about a job; concurrent callers share one query."""
    task = under_way.get(job)
    if task is None or task.done():
        task = under_way[job] = asyncio.create_task(ask())
    return await asyncio.shield(task)


async def how_ended(job: str) -> Clause | str:
    """Return how a job ended, such as ``allocation 4711 ended: time limit``; empty while it runs,
    or if Slurm does not answer.

    Waits up to 30 s for a job that is completing, because Slurm then does not know the reason yet.
    """
    for _ in range(ENDING_TRIES):
        answer = await slurm_output("scontrol", "--oneliner", "show", "job", job)
        if UNKNOWN in answer.err:
            return clause("allocation-unknown", job=job)
        words: Mapping[str, str] = dict(word.partition("=")[::2] for word in answer.out.split())
        state = words.get("JobState", "")
        if state in GOING_ON:
            return ""
        if state != "COMPLETING":
            return clause("allocation-over", job=job, state=state)
        await asyncio.sleep(ENDING_PAUSE_S)  # the reason is known once its processes are gone
    return clause("allocation-over", job=job, state="")


def node_of(address: HostAddress) -> str:
    """Return the name that Slurm has for a host."""
    return address.address or address.name


def step_of(address: HostAddress) -> list[str]:
    """Return the command that starts a shell on a node of the job."""
    one = ["--nodes=1", "--ntasks=1", f"--nodelist={node_of(address)}"]
    how = ["--overlap", "--mpi=none", "--cpu-bind=none", "--unbuffered", "--quiet"]
    return ["srun", f"--jobid={address.through}", *one, *how, "/bin/sh", "-c", HOLDER]


async def slurm_output(program: str, *arguments: str) -> SlurmOutput:
    """Return the output of a Slurm command; empty if it is missing or does not answer in 30 s."""
    if shutil.which(program) is None:
        return SlurmOutput()
    process = await asyncio.create_subprocess_exec(
        program, *arguments, stdin=DEVNULL, stdout=PIPE, stderr=PIPE
    )
    try:
        async with asyncio.timeout(ANSWER_S):
            out, err = await process.communicate()
    except TimeoutError:
        process.kill()
        await process.communicate()
        return SlurmOutput()
    return SlurmOutput(out.decode("utf-8", "replace"), err.decode("utf-8", "replace"))
