"""One command on one host: started under the agent, streamed, kept, read.

Resumed when the connection breaks.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from pathlib import Path

from msgspec import Struct

from tui import workloads
from tui.engine.session.host_session import FIRST_PAUSE_S, NO_SECRET, HostSession
from tui.journal.raw import RawFile
from tui.model.event import Artefact, HostStateName, PhaseName, Sample, TaskEnded, TaskStarted
from tui.model.plan import HostTask, Step
from tui.remote.agent import AgentError, AgentStream, TaskStatus
from tui.remote.stream import FLOODED, OutputBudget, flood_text
from tui.remote.transport import HostError
from tui.workloads.base import Item, Reader

GRACE_S = 6.0
RENEWALS_PER_LEASE = 6
LONGEST_RENEWAL_S = 10.0
# without a word from the host: is it the load that is silent, or the stream that stands still?
SILENCE_S = 15.0
LOOK_S = 10.0
LONGEST_AWAY_S = 86400.0  # for which a run that another engine takes over may have been printing


class Outcome(Struct, frozen=True):
    """How a command ended. `exit_code` None is unknown.

    `collected`: every byte the host spooled has arrived.
    """

    exit_code: int | None
    reason: str
    collected: bool


def after_sample(samples: list[Sample], sampled_ms: int) -> list[Sample]:
    """Return what follows the sample of this time: by place, for a host's clock may have been set
    back.
    """
    places = [place for place, sample in enumerate(samples) if sample.host_time_ms == sampled_ms]
    return (
        samples[places[-1] + 1 :]
        if places
        else [each for each in samples if each.host_time_ms > sampled_ms]
    )


@asynccontextmanager
async def in_turn(lock: asyncio.Lock) -> AsyncIterator[None]:
    """Let one host after the other do its work, and the loop look round between them.

    All hosts began together, so their output arrives together: taken in one go, that of 64 hosts
    holds up GO, stop and keepalives for a third of a second.
    """
    async with lock:
        yield
        await asyncio.sleep(0)


class TaskLoad(Struct, frozen=True):
    """The task of one host in one phase of a step, and the reader of its output."""

    step: Step
    phase: PhaseName
    task: HostTask
    reader: Reader
    # set if it is not the host's only command of the phase, such as an MPI proxy beside mpiexec
    role: str = ""


class TaskRun:
    """One command of a step on one host."""

    def __init__(
        self,
        session: HostSession,
        load: TaskLoad,
        run_dir: Path,
        lease_s: float,
        *,
        resume: bool = False,
    ) -> None:
        step, role = load.step, load.role
        self.session = session
        self.step = step
        self.phase = load.phase
        self.task = load.task
        self.reader = load.reader
        self.lease_s = lease_s
        self.role = role
        again = f".{step.attempt}" if step.attempt > 1 else ""
        self.task_id = f"{step.index}.{role or load.phase}{again}"
        self.ended = False
        self.hear: Callable[[Sample], None] = lambda _: None  # told of each sample
        self.stopped_alone = False  # somebody ended this host's load but not the run
        self.alive = False  # whether its load still ran when it was reopened
        self.released = False  # GO was said, whether it arrived or not
        self.ended_by_us = False  # its point had said enough: that its tool ends early is no news
        name = f"{self.task_id}.{session.name}"
        self._files = {
            kind: RawFile(
                run_dir, f"{name}.{kind}", session.name, keep=resume, journal=session.journal
            )
            for kind in ("out", "err")
        }
        self._masks = {kind: session.secrets.mask(load.task) for kind in ("out", "err")}
        self._stream: AgentStream | None = None
        self._heard = time.monotonic()
        self._budget = OutputBudget(session.name, f"{step.tool} ({load.phase})")
        self._orphaned = ""  # why the load has no supervisor any more, when it has none

    async def start(self, *, armed: bool) -> None:
        """Start the command (armed: it waits for `go`) and open its stream. Raises HostError."""
        if missing := self.session.secrets.missing:
            raise HostError(
                "secret-missing", self.session.name, NO_SECRET.format(", ".join(missing))
            )
        remote_dir = await self.session.ask(
            lambda agent: agent.start(
                self.task_id,
                self.task.argv,
                self.files(),
                lease_s=self.lease_s,
                grace_s=GRACE_S,
                armed=armed,
                environ=self.session.secrets.values,
            )
        )
        self.session.journal.append(
            TaskStarted(
                t=0.0,
                host=self.session.name,
                step=self.step.index,
                phase=self.phase,
                argv=self.task.argv,
                job_file=self.task.job_file,
                remote_dir=remote_dir,
                role=self.role,
            )
        )
        await self.session.ask(lambda _: self._open_stream())

    async def stand_by(self) -> None:
        """Open the stream of an armed command again when its connection broke meanwhile.

        Raises HostError.
        """
        if self._stream is None or self._stream.broken:
            await self.session.ask(lambda _: self._open_stream())

    def files(self) -> dict[str, str]:
        """Return the files that the command finds in its directory."""
        return {workloads.of(self.step).job_file: self.task.job_file}

    async def go(self) -> None:
        """Let an armed command begin: one small write on a channel that is already open.

        Raises HostError; a command whose stream is opened again hears it then.
        """
        self.released = True
        if self._stream is None:
            raise HostError("lost", self.session.name, "no stream to say GO on")
        await self._stream.go()

    async def reopen(self, sampled_ms: int) -> None:
        """Go on with a command that another engine started. Raises HostError when its spool is
        gone.

        What had been collected is read again; samples up to that of `sampled_ms` (host clock) are
        in the journal.
        """
        found: list[Sample] = []
        self._budget.grant(
            max(0.0, time.time() - sampled_ms / 1000) if sampled_ms else LONGEST_AWAY_S
        )
        for kind, file in self._files.items():
            for piece in file.restore():
                items = self.reader.feed(piece) if kind == "out" else self.reader.feed_stderr(piece)
                found += [item for item in items if isinstance(item, Sample)]
        self._journal_items(after_sample(found, sampled_ms))
        self.alive = (await self.session.ask(lambda agent: agent.status(self.task_id))).alive
        await self.session.ask(lambda _: self._open_stream())

    def lost(self, reason: str = "lost") -> Outcome:
        """Return the outcome of a command whose spool is gone, or that nobody follows any more,
        journalled.
        """
        outcome = Outcome(None, reason, collected=False)
        self._journal_end(outcome)
        return outcome

    async def stop(self, *, abort: bool) -> None:
        """Ask the agent to end the command; its output goes on to arrive through `follow`.

        Raises HostError.
        """
        if self._stream is not None:
            with contextlib.suppress(HostError):
                await self._stream.stop(abort=abort)
        await self.session.agent.stop(self.task_id, abort=abort)

    async def follow(self, state: HostStateName) -> Outcome:
        """Take output until the command has ended and everything has arrived, or the host is lost
        for good.
        """
        renewing = asyncio.create_task(self._renew())
        try:
            complete = await self._drain(state)
            if complete:
                self._take_rest()
            self._journal_items(self.reader.flush())
            outcome = (
                await self._outcome(state) if complete else Outcome(None, "lost", collected=False)
            )
        except HostError:
            await self._let_go()
            raise
        finally:
            renewing.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await renewing
        self._journal_end(outcome)
        return outcome

    def keep(self) -> list[Artefact]:
        """Close the raw files and return them for the record."""
        return [self.session.journal.append(file.close()) for file in self._files.values()]

    async def _open_stream(self) -> None:
        for mask in filter(None, self._masks.values()):
            mask.drop()
        offsets = (self._files["out"].offset, self._files["err"].offset)
        self._stream = await self.session.agent.stream(self.task_id, *offsets)
        # the word may have been lost with the connection; said twice it does no harm
        if self.released:
            with contextlib.suppress(HostError):  # a load that is over has nobody who listens
                await self._stream.go()

    async def _drain(self, state: HostStateName) -> bool:
        while True:
            try:
                if await self._take_all() or self._orphaned:
                    return True
                await self._look_after()
                await asyncio.sleep(FIRST_PAUSE_S)
            except HostError as error:
                if error.code == FLOODED:
                    raise
                if not await self._resume(state, error.message):
                    return False

    def _flooded(self, status: TaskStatus) -> HostError:
        return HostError(
            FLOODED, self.session.name, flood_text(f"{self.step.tool} ({self.phase})", status.flood)
        )

    async def _let_go(self) -> None:
        """Take no more of a host that floods."""
        if self._stream is not None:
            await self._stream.close()

    async def _take_all(self) -> bool:
        """Take pieces until the stream ends; True when the agent says that this was everything."""
        stream = self._stream
        if stream is None:
            return False
        behind = False
        while True:
            try:
                async with asyncio.timeout(SILENCE_S):
                    piece = await stream.next()
            except TimeoutError:
                behind = await self._is_behind(stream, behind)
                continue
            if piece is None:
                return stream.complete
            async with in_turn(self.session.connections.turn):
                self._take(*piece)
            behind = False

    async def _is_behind(self, stream: AgentStream, was_behind: bool) -> bool:
        """Whether a host that is silent has more than has arrived.

        Raises HostError when that stays so.
        """
        try:
            async with asyncio.timeout(LOOK_S):
                status = await self.session.agent.status(self.task_id)
        except TimeoutError:
            return False
        except HostError as error:
            if error.code == "lost":
                raise
            return False  # the connection lives, and so may the stream
        behind = (
            status.done
            or status.out_bytes > stream.out_offset
            or status.err_bytes > stream.err_offset
        )
        if behind and was_behind:
            raise HostError("lost", self.session.name, "the stream stands still")
        return behind

    async def _look_after(self) -> None:
        """After a stream that ended early: end what has no supervisor any more, and open the stream
        again.
        """
        status = await self.session.agent.status(self.task_id)
        if status.flood:
            raise self._flooded(status)
        if status.rebooted:
            self._orphaned = "host-rebooted"
        elif not status.alive and not status.done:
            await self.session.agent.sweep(kill=True)
            self._orphaned = "supervisor-died"
        await self._open_stream()

    async def _resume(self, state: HostStateName, detail: str) -> bool:
        self.session.lose(detail)
        detail = detail.removeprefix("connection lost: ")
        self.session.say(
            "warning", f"connection lost ({detail}); the load keeps running; reconnecting"
        )
        deadline = asyncio.get_running_loop().time() + self.lease_s
        while (left := deadline - asyncio.get_running_loop().time()) > 0:
            if not await self.session.reconnect(left):
                break
            self._budget.grant(self.lease_s)
            try:
                await self._open_stream()
            except AgentError as error:
                self.session.enter("lost", f"what it spooled is gone: {error.message}")
                return False
            except HostError:
                await asyncio.sleep(FIRST_PAUSE_S)
                continue
            self.session.enter(state, "reconnected")
            self.session.say("info", "reconnected; nothing was lost")
            return True
        away = f"given up after {self.lease_s:g}s: {self.session.refusal or detail}"
        self.session.enter("lost", self.session.gone or away)
        return False

    @property
    def streaming(self) -> bool:
        """Whether it was started, and its output is being taken."""
        return self._stream is not None

    @property
    def silent_s(self) -> float:
        """Seconds since the tool last said anything."""
        return time.monotonic() - self._heard

    def _take(self, kind: str, data: bytes) -> None:
        self._heard = time.monotonic()
        mask = self._masks[kind]
        began = time.thread_time()
        self._keep(kind, mask.feed(data) if mask else data)
        self._budget.take(kind, len(data), time.thread_time() - began)

    def _take_rest(self) -> None:
        for kind, mask in self._masks.items():
            if mask:
                self._keep(kind, mask.flush())

    def _keep(self, kind: str, data: bytes) -> None:
        self._files[kind].write(data)
        self._journal_items(
            self.reader.feed(data) if kind == "out" else self.reader.feed_stderr(data)
        )

    def _journal_items(self, items: Iterable[Item]) -> None:
        for item in items:
            if isinstance(item, tuple):
                if not (self.ended_by_us and item[0] == "info"):
                    self.session.say(*item)
            else:
                self.session.journal.append(item)
                if isinstance(item, Sample):
                    self.hear(item)

    async def _renew(self) -> None:
        while True:
            await asyncio.sleep(min(self.lease_s / RENEWALS_PER_LEASE, LONGEST_RENEWAL_S))
            if self._stream is not None:
                with contextlib.suppress(HostError, OSError):
                    await self._stream.renew()

    async def _outcome(self, state: HostStateName) -> Outcome:
        try:
            status = await self._status(state)
        except HostError as error:
            self.session.say("warning", f"how the command ended is unknown: {error.message}")
            return Outcome(None, "unknown", collected=True)
        if status.flood:
            raise self._flooded(status)
        return Outcome(
            status.exit_code, self._orphaned or status.reason or "unknown", collected=True
        )

    async def _status(self, state: HostStateName) -> TaskStatus:
        """Ask how the command ended, once more when the connection breaks just then."""
        try:
            return await self.session.agent.status(self.task_id)
        except AgentError:
            raise
        except HostError as error:
            if not await self._resume(state, error.message):
                raise
            return await self.session.agent.status(self.task_id)

    def _journal_end(self, outcome: Outcome) -> None:
        self.ended = True
        self.session.journal.append(
            TaskEnded(
                t=0.0,
                host=self.session.name,
                step=self.step.index,
                phase=self.phase,
                exit_code=outcome.exit_code,
                reason=outcome.reason,
                stdout_bytes=self._files["out"].offset,
                stderr_bytes=self._files["err"].offset,
                collected=outcome.collected,
                role=self.role,
            )
        )
