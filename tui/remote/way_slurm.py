"""Transport `slurm`: a shell on a node, started as a step of a running job."""

from __future__ import annotations

import asyncio
import os
import shutil
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import Callable, Coroutine, Mapping
from typing import NamedTuple, TypeVar

from tui.model.address import HostAddress
from tui.model.event import ALLOCATION_ENDED
from tui.model.quantities import seconds_of
from tui.remote.local import MARKS
from tui.remote.slurm_job import SlurmJob, TrunkTransport
from tui.remote.transport import GoneError, Transport
from tui.remote.way_base import HostLimits, HostTransport, SshOpener
from tui.remote.way_command import PipedTransport

T = TypeVar("T")
ANSWER_S = 30.0
ENDING_TRIES, ENDING_PAUSE_S = 60, 0.5
# A step lasts as long as anything started in it: descendants of the shell hold descriptor 3, and
# `cat` waits for its end. Slurm ends what a step leaves behind (proctrack/cgroup): so the lease
# ends a load, as over SSH, and not the end of srun.
HOLDER = "exec 4>&1; /bin/sh 3>&1 >&4 4>&- | cat >/dev/null 4>&-"
FOREIGN = ("SLURM", "SRUN", "SBATCH", "SALLOC")  # of the job that benchtui runs in: options of srun
GOING_ON = ("", "RUNNING", "SUSPENDED")
REASONS = {"TIMEOUT": "time limit", "NODE_FAIL": "a node failed", "OUT_OF_MEMORY": "out of memory"}
UNKNOWN = "Invalid job id"


class Said(NamedTuple):
    """Output of a Slurm command; both fields are empty if it does not answer."""

    out: str = ""
    err: str = ""


class AsSlurmStep(HostTransport):
    """Transport with srun --overlap; `address.through` is the job.

    One srun carries the shells of many nodes (`slurm_job`). A node without Python has an srun for
    each shell.
    """

    def __init__(self) -> None:
        self._jobs: dict[str, SlurmJob] = {}
        self._notes: dict[str, str] = {}  # by host
        self._asked: dict[str, asyncio.Task[str]] = {}
        self._times: dict[str, asyncio.Task[Said]] = {}

    async def open(self, address: HostAddress, ssh: SshOpener) -> Transport:
        """Return a connection to a node of the job. Raises GoneError if the job has ended."""
        if ended := await self.why_ended(address):
            raise GoneError(ALLOCATION_ENDED, address.name, ended)
        environ = {
            name: value
            for name, value in os.environ.items()
            if name not in MARKS and (name == "SLURM_CONF" or not name.startswith(FOREIGN))
        }
        number = address.through or ""
        job = self._jobs.setdefault(number, SlurmJob(number, environ))
        end = await job.end_of(node_of(address))
        if isinstance(end, str):
            self._notes[address.name] = f"uses one srun for each shell, not the shared one: {end}"
            ssh.warn(address.name, self._notes[address.name])
            return PipedTransport(address, step_of(address), environ)
        return TrunkTransport(address, end)

    def notes(self, address: HostAddress) -> tuple[str, ...]:
        """Return why a host is not reached through the srun of the others."""
        return (self._notes[address.name],) if address.name in self._notes else ()

    async def release(self) -> None:
        """End the sruns that carry channels."""
        jobs, self._jobs = self._jobs, {}
        await asyncio.gather(*(job.close() for job in jobs.values()))

    async def limits(self, address: HostAddress) -> HostLimits:
        """Return the remaining time of the job. Concurrent callers share one query to Slurm."""
        asked = ("squeue", "--noheader", f"--jobs={address.through}", "--format=%L")
        said = await asked_once(self._times, address.through or "", lambda: said_by(*asked))
        return HostLimits(left_s=seconds_of(said.out))

    async def why_ended(self, address: HostAddress) -> str:
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


async def how_ended(job: str) -> str:
    """Return how a job ended, such as ``allocation 4711 ended: time limit``; empty while it
    runs.
    """
    for _ in range(ENDING_TRIES):
        said = await said_by("scontrol", "--oneliner", "show", "job", job)
        if UNKNOWN in said.err:
            return f"allocation {job} ended: no longer known to Slurm"
        words: Mapping[str, str] = dict(word.partition("=")[::2] for word in said.out.split())
        state = words.get("JobState", "")
        if state in GOING_ON:
            return ""
        if state != "COMPLETING":
            return f"allocation {job} ended: {REASONS.get(state, state.lower().replace('_', ' '))}"
        await asyncio.sleep(ENDING_PAUSE_S)  # the reason is known once its processes are gone
    return f"allocation {job} ended"


def node_of(address: HostAddress) -> str:
    """Return the name that Slurm has for a host."""
    return address.address or address.name


def step_of(address: HostAddress) -> list[str]:
    """Return the command that starts a shell on a node of the job."""
    one = ["--nodes=1", "--ntasks=1", f"--nodelist={node_of(address)}"]
    how = ["--overlap", "--mpi=none", "--cpu-bind=none", "--unbuffered", "--quiet"]
    return ["srun", f"--jobid={address.through}", *one, *how, "/bin/sh", "-c", HOLDER]


async def said_by(program: str, *arguments: str) -> Said:
    """Return the output of a Slurm command; empty if it does not answer in time."""
    if shutil.which(program) is None:
        return Said()
    process = await asyncio.create_subprocess_exec(
        program, *arguments, stdin=DEVNULL, stdout=PIPE, stderr=PIPE
    )
    try:
        async with asyncio.timeout(ANSWER_S):
            out, err = await process.communicate()
    except TimeoutError:
        process.kill()
        await process.communicate()
        return Said()
    return Said(out.decode("utf-8", "replace"), err.decode("utf-8", "replace"))
