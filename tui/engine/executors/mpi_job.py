"""One MPI program over many hosts: start it without SSH between hosts, watch it, end it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from tui.engine.executors.executor import ABORT_PATIENCE_S, STOP_PATIENCE_S, end_of, end_runs
from tui.engine.preflight.clean import why_kept
from tui.engine.preflight.mpi_hosts import (
    HOST_FILE,
    LAUNCH_FILE,
    LAUNCH_SCRIPT,
    Cluster,
    host_file,
    mpiexec,
    proxy_of,
)
from tui.engine.session.context import CLEAN_UP, LOOK, RunContext, StopMode, on_hosts
from tui.engine.session.host_session import HostSession
from tui.engine.session.targets import identify_paths
from tui.engine.session.task import Outcome, TaskLoad, TaskRun
from tui.engine.session.telemetry import is_telemetry
from tui.model.event import Artefact, FileCreated, FilesRemoved, HostStateName, PhaseName
from tui.model.operands import Told, clause, of_tool
from tui.model.plan import HostTask, Step
from tui.remote import made, mpi
from tui.remote.agent import host_mark
from tui.remote.transport import HostError
from tui.workloads.mpi import SIGNALS, MpiProgram, ProgramReader, ProxyReader


def directory_of(run_id: str) -> str:
    """Return the scratch directory of a run: the same path on all hosts, with a subdirectory per
    host.
    """
    return f"/dev/shm/benchtui-{run_id}"


async def make_scratch(ctx: RunContext, sessions: Sequence[HostSession]) -> str:
    """Create the scratch directory on all hosts and return it; empty if a host has no room for it.

    Journals it first. Raises RunStopped.
    """
    path = directory_of(ctx.run_id)
    for session in sessions:
        session.journal.append(FileCreated(t=0.0, host=session.name, paths=[path], bytes=0))
    there = await on_hosts(ctx, LOOK, sessions, _make, _without)
    return path if all(there.get(session.name) == path for session in sessions) else ""


async def _make(session: HostSession) -> str:
    path = await session.ask(mpi.make_scratch)
    if path:
        await identify_paths(session, [path])
    return path


def _without(session: HostSession, error: HostError) -> None:
    session.say("warning", clause("no-shared-memory", quote=error.told))


async def remove_scratch(ctx: RunContext, sessions: Sequence[HostSession]) -> None:
    """Remove the scratch directory from all hosts.

    Call it only when no process of the program is left.
    """
    path = directory_of(ctx.run_id)
    makers = [session for session in sessions if path in session.known.files]

    async def remove(session: HostSession) -> None:
        outcome = await made.unmake_tree(session.agent, "remove", path, session.known)
        if why := why_kept(path, outcome):
            raise HostError("stays", session.name, why)
        session.journal.append(FilesRemoved(t=0.0, host=session.name, paths=[path]))

    await on_hosts(
        ctx, CLEAN_UP, makers, remove, lambda session, error: _stays(session, path, error)
    )


def _stays(session: HostSession, path: str, error: HostError) -> None:
    session.say("warning", clause("not-removed", path=path, quote=error.told))


START_S = 30.0  # for mpiexec to request proxies, and for ranks to report
ASKED_S = 1.0  # after a request for a proxy, until the next one
LAST_WORDS_S = 4.0  # for mpiexec itself to say why a proxy ended
TICK_S = 0.5

COUNT_S = 15.0  # between counts of the ranks
ENDING_S = 5.0  # for proxies to end after mpiexec


class HeadRun(TaskRun):
    """The mpiexec command on the head.

    Its output is followed from the start, because it contains the commands of the proxies to start.
    """

    hosts_text = ""
    following: asyncio.Task[Outcome] | None = None

    def files(self) -> dict[str, str]:
        """Return the host file, and the script that mpiexec runs in place of a remote shell."""
        return {HOST_FILE: self.hosts_text, LAUNCH_FILE: LAUNCH_SCRIPT}


@dataclass(frozen=True, slots=True)
class Cause:
    """Reason why a program ended. `host` is None if no single host caused it.

    An empty code means that the program exited normally or was stopped on request.
    """

    code: str = ""
    told: Told = ""
    host: str | None = None


SHOWN_COMMAND = 60  # characters


async def _end_ranks(session: HostSession) -> None:
    swept = await session.agent.sweep(kill=True)
    if left := [each for each in swept if not is_telemetry(each.task)]:
        first = left[0]
        told = clause(
            "killed-leftovers",
            pid=first.pid,
            command=first.command[:SHOWN_COMMAND],
            more=len(left) - 1,
        )
        session.say("warning", told)


async def _lost(run: TaskRun) -> Outcome:
    return run.lost()


def outcome_of(task: asyncio.Task[Outcome]) -> Outcome:
    """Return the outcome of a finished follower; reason `unconfirmed` if it failed or was
    cancelled.
    """
    if task.cancelled() or task.exception() is not None:
        return Outcome(None, "unconfirmed", collected=False)
    return task.result()


@dataclass
class MpiJob:
    """An MPI program on a cluster, working in `directory`.

    `name` distinguishes programs of one step; "" is the measurement.
    """

    ctx: RunContext
    step: Step
    cluster: Cluster
    program: MpiProgram
    directory: str
    phase: PhaseName = "measure"
    name: str = ""
    state: HostStateName = "running"
    reader: ProgramReader = field(init=False)
    proxies: dict[str, TaskRun] = field(default_factory=dict)
    cause: Cause = field(default_factory=Cause)
    outcomes: dict[str, Outcome] = field(default_factory=dict)  # how the proxies ended
    _head: HeadRun | None = None
    _released_s: float = 0.0
    _heard_s: float = 0.0
    # proxies that ended before mpiexec, and when
    _ended_s: dict[str, float] = field(default_factory=dict)
    _counts: dict[str, list[int]] = field(default_factory=dict)  # ranks of each host at every check

    def __post_init__(self) -> None:
        self.reader = self.program.reader(len(self.cluster.hosts), self.cluster.nodes)

    @property
    def head(self) -> HeadRun:
        """The mpiexec command on the head."""
        if self._head is None:
            raise RuntimeError("not started")
        return self._head

    @property
    def runs(self) -> list[TaskRun]:
        """All commands of the program, mpiexec first."""
        return [self.head, *self.proxies.values()] if self._head is not None else []

    @property
    def sessions(self) -> dict[str, HostSession]:
        """Sessions of the program's hosts, by host name."""
        return {each.name: each for each in self.ctx.sessions if each.name in self.cluster.facts}

    # -- beginning

    async def start(self) -> bool:
        """Start mpiexec and the proxies it requests, held back until `run`.

        Returns False on failure, with the reason in `cause`.
        """
        try:
            if self.cluster.family != "mpich":  # leaves nothing in shared memory
                self.cluster.scratch = await make_scratch(self.ctx, list(self.sessions.values()))
            await self._start_head()
            if self.cluster.by_proxy and not await self._start_proxies(await self._asked()):
                return False
        except HostError as error:
            self.cause = Cause(error.code, error.told, error.host)
        except ValueError as error:
            self.cause = Cause("mpi-launch", str(error), self.cluster.head)
        return not self.cause.code

    async def _start_head(self) -> None:
        cluster, ctx = self.cluster, self.ctx
        marks = {host: host_mark(host) for host in cluster.hosts}
        ranks = self.program.launch.ranks_per_host
        words = self.program.words(self.directory, len(cluster.hosts), cluster.tried)
        argv = mpiexec(cluster, ctx.run_id, marks, ranks, [cluster.path, *words])
        text = host_file(cluster, ranks)
        task = HostTask(host=cluster.head, randseed=0, job_file=text, argv=argv)
        session = self.sessions[cluster.head]
        self.reader.notify = self._hear
        load = TaskLoad(self.step, self.phase, task, self.reader, self.name)
        head = HeadRun(session, load, ctx.run_dir, ctx.plan.lease_s)
        head.hosts_text = text
        await head.start(armed=False)
        self._head = head
        head.following = asyncio.create_task(head.follow(self.state))

    def _hear(self) -> None:
        self._heard_s = time.monotonic()

    async def _asked(self) -> list[str]:
        """Wait until mpiexec has requested all proxies, and return their commands.

        mpiexec may start the head's own proxy itself.
        """
        begun = time.monotonic()
        while not self.head.ended and not self.reader.started and not self.reader.launches_end:
            count, now = len(self.reader.launches), time.monotonic()
            all_but_head = (
                count >= len(self.cluster.hosts) - 1 and now - max(self._heard_s, begun) > ASKED_S
            )
            if count >= len(self.cluster.hosts) or (
                self.cluster.family == "openmpi" and all_but_head
            ):
                break
            if now - begun > START_S:
                told = clause(
                    "proxies-missing",
                    requested=count,
                    wanted=len(self.cluster.hosts),
                    limit_s=START_S,
                )
                self.cause = Cause("mpi-start", told, self.cluster.head)
                break
            await asyncio.sleep(0.02)  # its output arrives in another task
        return self.reader.launches

    async def _start_proxies(self, lines: Sequence[str]) -> bool:
        if self.cause.code:
            return False
        for line in lines:
            host, argv = proxy_of(self.cluster, line)
            self.proxies[host] = self._proxy(host, argv)
        starting = (run.start(armed=True) for run in self.proxies.values())
        answers = await asyncio.gather(*starting, return_exceptions=True)
        for run, answer in zip(self.proxies.values(), answers, strict=True):
            if isinstance(answer, HostError):
                told = clause("proxy-not-started", quote=answer.told)
                self.cause = Cause(answer.code, told, run.session.name)
            elif isinstance(answer, BaseException):
                raise answer
        return not self.cause.code

    def _proxy(self, host: str, argv: list[str]) -> TaskRun:
        ctx, session = self.ctx, self.sessions[host]
        role = f"{self.name}-proxy" if self.name else "proxy" if host == self.cluster.head else ""
        task = HostTask(host=host, randseed=0, job_file="", argv=argv)
        reader = ProxyReader(host, self.step)
        load = TaskLoad(self.step, self.phase, task, reader, role)
        return TaskRun(session, load, ctx.run_dir, ctx.plan.lease_s)

    # -- execution

    async def run(self) -> Outcome:
        """Release the proxies, follow all commands to their end, and return the outcome of mpiexec.

        Sets `cause`.
        """
        self._released_s = time.monotonic()
        await asyncio.gather(*(run.go() for run in self.proxies.values()), return_exceptions=True)
        for session in self.sessions.values():
            session.enter(self.state)
        followers: dict[TaskRun, asyncio.Task[Outcome]] = {
            run: asyncio.create_task(run.follow(self.state)) for run in self.proxies.values()
        }
        if self.head.following is not None:
            followers[self.head] = self.head.following
        counting = asyncio.create_task(self._count_ranks())
        try:
            self.cause = await self._reason_to_end(followers)
            await self._end(followers)
        finally:
            counting.cancel()
            await asyncio.gather(counting, return_exceptions=True)
        self.outcomes = {host: outcome_of(followers[run]) for host, run in self.proxies.items()}
        return outcome_of(followers[self.head])

    def adopt(self, head: HeadRun, proxies: dict[str, TaskRun]) -> None:
        """Continue with commands started by another engine.

        The streams of `proxies` are open again; the head is lost if its stream is not.
        """
        self._head, self.proxies = head, proxies
        head.following = asyncio.create_task(
            head.follow(self.state) if head.streaming else _lost(head)
        )

    async def give_up(self) -> None:
        """End the commands already started for a program that cannot begin."""
        followers = {
            run: asyncio.create_task(run.follow(self.state))
            for run in self.proxies.values()
            if run.streaming
        }
        tasks = set(followers.values())
        if self._head is not None and self._head.following is not None:
            tasks.add(self._head.following)
        if tasks:
            await end_runs(
                [run for run in self.runs if run is self._head or run.streaming],
                "abort",
                tasks,
                9.0,
            )
        await self._sweep()

    async def _reason_to_end(self, followers: dict[TaskRun, asyncio.Task[Outcome]]) -> Cause:
        stopping = asyncio.create_task(self.ctx.stop_event.wait())
        try:
            while True:
                if self.ctx.stop_event.is_set() or followers[self.head].done():
                    return Cause()
                if cause := self._part_gone(followers) or self._not_right():
                    return cause
                pending = {task for task in followers.values() if not task.done()}
                await asyncio.wait(
                    {stopping, *pending}, timeout=TICK_S, return_when=asyncio.FIRST_COMPLETED
                )
        finally:
            stopping.cancel()

    def _part_gone(self, followers: dict[TaskRun, asyncio.Task[Outcome]]) -> Cause | None:
        """Return the cause if a proxy ended before mpiexec; else None.

        mpiexec gets a short time to report the reason itself.
        """
        now = time.monotonic()
        for host, run in self.proxies.items():
            if not followers[run].done():
                continue
            outcome = followers[run].result()
            if run.session.gone or not outcome.collected:
                return Cause(*run.session.loss(clause("program-stopped")), host)
            if now - self._ended_s.setdefault(host, now) > LAST_WORDS_S:
                by_itself = outcome.reason == "exit"
                told = clause(
                    "proxy-over",
                    exit_code=outcome.exit_code if by_itself else None,
                    why="" if by_itself else end_of(outcome.reason)[1],
                )
                return Cause("mpi-proxy-died", told, host)
        return None

    def _not_right(self) -> Cause | None:
        if wrong := self.reader.wrong_launch:
            return Cause("mpi-launch", of_tool(self.step.tool, wrong), self.cluster.head)
        if not self.reader.started and (cut_off := self._unreachable()):
            return cut_off
        late = time.monotonic() - self._released_s > START_S
        if late and not self.reader.started:
            return Cause("mpi-start", clause("ranks-late", limit_s=START_S), self.cluster.head)
        for host, counts in self._counts.items():
            if counts[-2:] == [0, 0] and any(counts):
                return Cause("mpi-ranks-gone", clause("no-rank-left"), host)
        return None

    def _unreachable(self) -> Cause | None:
        """Return the cause if a host reported another one as unreachable; else None.

        MPI would wait for that host forever.
        """
        heard = {self.cluster.head: self.reader.unreachable} | {
            host: run.reader.unreachable
            for host, run in self.proxies.items()
            if isinstance(run.reader, ProxyReader)
        }
        for host, told in heard.items():
            if told:
                return Cause("mpi-unreachable", of_tool(self.step.tool, told), host)
        return None

    async def _count_ranks(self) -> None:
        """Periodically count the ranks of every host, and report ranks that hang in the kernel."""
        named: set[str] = set()
        while True:
            await asyncio.sleep(COUNT_S)
            for host, session in self.sessions.items():
                try:
                    count, stuck = await mpi.ranks(session.agent)
                except HostError:
                    continue
                self._counts.setdefault(host, []).append(count)
                if stuck and host not in named:
                    named.add(host)
                    told = clause("ranks-blocked", ranks=len(stuck), pids=list(stuck[:4]))
                    session.say("warning", told)

    # -- the end

    async def _end(self, followers: dict[TaskRun, asyncio.Task[Outcome]]) -> None:
        """End the remaining commands: gracefully if the run was stopped, else by force."""
        if self.ctx.stop_event.is_set() and self.ctx.stop_mode != "abort":
            await self._stop([self.head], followers, "stop", STOP_PATIENCE_S)
        elif not self.cause.code and not self.ctx.stop_event.is_set():
            await asyncio.wait(followers.values(), timeout=ENDING_S)
        await self._stop(self.runs, followers, "abort", ABORT_PATIENCE_S)
        for task in followers.values():
            task.cancel()
        await asyncio.gather(*followers.values(), return_exceptions=True)
        await self.ctx.telemetry.end(self.step.index)  # the sweep ends it too
        await self._sweep()

    async def _stop(
        self,
        runs: list[TaskRun],
        followers: dict[TaskRun, asyncio.Task[Outcome]],
        mode: StopMode,
        patience_s: float,
    ) -> None:
        busy = [run for run in runs if not run.ended and not followers[run].done()]
        if busy:
            overtaken = self.ctx.abort_event if mode == "stop" else None
            await end_runs(busy, mode, {followers[run] for run in busy}, patience_s, overtaken)

    async def _sweep(self) -> None:
        """End all remaining processes of the program on all reachable hosts."""
        alive = [session for session in self.sessions.values() if not session.failed]
        await on_hosts(self.ctx, CLEAN_UP, alive, _end_ranks, self._not_ended)
        if self.cluster.family != "mpich":
            await remove_scratch(self.ctx, alive)

    def _not_ended(self, session: HostSession, error: HostError) -> None:
        told = clause("ranks-unconfirmed", quote=error.told)
        session.problem(self.phase, error.code, told, fatal=False)

    def killed_proxies(self) -> list[Cause]:
        """Return a cause for each proxy that was killed; mpiexec does not report which one it
        was.
        """
        return [
            Cause("mpi-proxy-died", clause("proxy-killed", exit_code=outcome.exit_code), host)
            for host, outcome in self.outcomes.items()
            if outcome.exit_code is not None
            and outcome.exit_code > SIGNALS
            and outcome.reason == "exit"
        ]

    def keep(self) -> list[Artefact]:
        """Close the raw output files of all commands and return them for the record."""
        return [artefact for run in self.runs for artefact in run.output.close()]
