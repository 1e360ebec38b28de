"""One command on one host: started under the agent and followed to its end.

Its stream is reopened if the connection breaks.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from tui import workloads
from tui.engine.session.host_session import FIRST_PAUSE_S, HostSession
from tui.journal.clock import ASKED_TO_END
from tui.journal.raw import RawFile
from tui.model.event import (
    ALLOCATION_ENDED,
    Artefact,
    HostStateName,
    PhaseName,
    Sample,
    TaskEnded,
    TaskStarted,
)
from tui.model.operands import clause, of_tool
from tui.model.plan import HostTask, Step
from tui.remote.agent import AgentError, AgentStream, Lease, TaskStatus
from tui.remote.stream import FLOODED, OutputBudget, flooded
from tui.remote.transport import HostError
from tui.workloads.base import Item, Reader

GRACE_S = 6.0
RENEWALS_PER_LEASE = 6
LONGEST_RENEWAL_S = 10.0
# after so long without output: is the load silent, or does the stream stall?
SILENCE_S = 15.0
STATUS_S = 10.0
LONGEST_AWAY_S = 86400.0  # the load of a resumed run may have printed for this long
KINDS = ("out", "err")


class Outcome(Struct, frozen=True):
    """Result of a command. `exit_code` is None if unknown.

    `collected`: all output that the host spooled has arrived.
    """

    exit_code: int | None
    reason: str
    collected: bool


@asynccontextmanager
async def in_turn(lock: asyncio.Lock) -> AsyncIterator[None]:
    """Do work on one host at a time, and let the event loop run other tasks in between.

    Hosts start together, so their output arrives together: reading from 64 hosts at once delays
    starts, stops and keepalives by a third of a second.
    """
    async with lock:
        yield
        await asyncio.sleep(0)


async def renew(stream: Callable[[], AgentStream | None], lease_s: float) -> None:
    """Renew the lease of a command through its current stream, if it has one, until cancelled."""
    while True:
        await asyncio.sleep(min(lease_s / RENEWALS_PER_LEASE, LONGEST_RENEWAL_S))
        if (current := stream()) is not None:
            with contextlib.suppress(HostError, OSError):
                await current.renew()


class TaskRun:
    """A command of a step on one host, and its stream."""

    def __init__(
        self,
        session: HostSession,
        load: TaskLoad,
        run_dir: Path,
        lease_s: float,
        *,
        resume: bool = False,
    ) -> None:
        self.session = session
        self.step = load.step
        self.phase = load.phase
        self.task = load.task
        self.reader = load.reader
        self.lease_s = lease_s
        self.role = load.role
        self.load_name = load.name
        self.task_id = load.id
        self.output = TaskOutput(session, load, run_dir, resume=resume)
        self.ended = False
        self.stopped_alone = False  # the operator stopped this host's load but not the run
        self.alive = False  # whether its load still ran when it was reopened
        self.released = False  # GO was sent, whether it arrived or not
        self._stream: AgentStream | None = None
        self._orphaned = ""  # why the load has no supervisor any more; empty: it has one

    async def start(self, *, armed: bool) -> None:
        """Start the command and open its stream; an armed one waits for `go`. Raises HostError."""
        if missing := self.session.secrets.missing:
            told = clause("secret-missing", names=missing)
            raise HostError("secret-missing", self.session.name, told)
        remote_dir = await self.session.ask(
            lambda agent: agent.start(
                self.task_id,
                self.task.argv,
                self.files(),
                lease=Lease(self.lease_s, GRACE_S),
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
        """Reopen the stream of an armed command if its connection broke. Raises HostError."""
        if self._stream is None or self._stream.broken:
            await self.session.ask(lambda _: self._open_stream())

    def files(self) -> dict[str, str]:
        """Return the files to place in the command's directory, by name."""
        workload = workloads.of(self.step)
        return {workload.job_file: workload.sent_job(self.task.job_file)}

    async def go(self) -> None:
        """Release an armed command with one small write on an open channel.

        Sent again whenever the stream is reopened. Raises HostError.
        """
        self.released = True
        if self._stream is None:
            raise HostError("lost", self.session.name, clause("stream-missing"))
        await self._stream.go()

    async def reopen(self, sampled_ms: int, away_s: float = LONGEST_AWAY_S) -> None:
        """Resume following a command that an earlier engine started.

        `sampled_ms`: host time of its last sample in the journal, which arrived `away_s` seconds
        ago by this machine's clock. Raises HostError if the spool on the host is gone.
        """
        self.output.expect(away_s)
        self.output.restore(sampled_ms)
        self.alive = (await self.session.ask(lambda agent: agent.status(self.task_id))).alive
        await self.session.ask(lambda _: self._open_stream())

    def lost(self, reason: str = "lost") -> Outcome:
        """Journal and return the outcome of a command that is no longer followed, or whose spool is
        gone.
        """
        outcome = Outcome(None, reason, collected=False)
        self._journal_end(outcome)
        return outcome

    async def stop(self, *, abort: bool) -> None:
        """Ask the agent to end the command; `follow` receives the rest of its output.

        Raises HostError.
        """
        if self._stream is not None:
            with contextlib.suppress(HostError):
                await self._stream.stop(abort=abort)
        await self.session.agent.stop(self.task_id, abort=abort)

    async def follow(self, state: HostStateName) -> Outcome:
        """Receive output until the command has ended and all output has arrived, or the host is
        lost; journal and return the outcome.

        Renews the lease meanwhile. Raises HostError if the host sends too much output.
        """
        renewing = asyncio.create_task(renew(lambda: self._stream, self.lease_s))
        try:
            complete = await self._drain(state)
            self.output.finish(complete=complete)
            outcome = await self._outcome(state) if complete else self._lost()
            outcome = await self._cut_by_allocation(outcome)
        except HostError:
            await self._let_go()
            raise
        finally:
            renewing.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await renewing
        self._journal_end(outcome)
        return outcome

    def _lost(self) -> Outcome:
        reason = ALLOCATION_ENDED if self.session.gone else "lost"
        return Outcome(None, reason, collected=False)

    async def _cut_by_allocation(self, outcome: Outcome) -> Outcome:
        """Return the outcome with the end of the allocation as its reason, if that ended the load.

        A scheduler first asks all processes of the job to end.
        """
        as_planned = outcome.reason == "exit" and outcome.exit_code == 0
        if as_planned or outcome.reason in ASKED_TO_END or not await self.session.why_gone():
            return outcome
        if not self.session.failed:
            self.session.leave_for_good()
        return replace(outcome, reason=ALLOCATION_ENDED)

    async def _open_stream(self) -> None:
        self.output.rewind()
        self._stream = await self.session.agent.stream(self.task_id, *self.output.offsets)
        # GO may have been lost with the connection; a second one does no harm
        if self.released:
            with contextlib.suppress(HostError):  # a load that has ended reads no GO
                await self._stream.go()

    async def _drain(self, state: HostStateName) -> bool:
        while True:
            try:
                if await self._receive_all() or self._orphaned:
                    return True
                await self._revive()
                await asyncio.sleep(FIRST_PAUSE_S)
            except HostError as error:
                if error.code == FLOODED:
                    raise
                if not await self._resume(state, error):
                    return False

    def _flooded(self, status: TaskStatus) -> HostError:
        return HostError(FLOODED, self.session.name, flooded(self.load_name, status.flood))

    async def _let_go(self) -> None:
        """Stop reading from a host that sends too much output."""
        if self._stream is not None:
            await self._stream.close()

    async def _receive_all(self) -> bool:
        """Receive output until the stream ends; return whether the agent said that it is
        complete.
        """
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
                self.output.take(*piece)
            behind = False

    async def _is_behind(self, stream: AgentStream, was_behind: bool) -> bool:
        """Return whether a silent host holds output that has not arrived.

        Raises HostError if it also did at the previous check.
        """
        try:
            async with asyncio.timeout(STATUS_S):
                status = await self.session.agent.status(self.task_id)
        except TimeoutError:
            return False
        except HostError as error:
            if error.code == "lost":
                raise
            return False  # the connection is up: the stream may be, too
        behind = (
            status.done
            or status.out_bytes > stream.out_offset
            or status.err_bytes > stream.err_offset
        )
        if behind and was_behind:
            raise HostError("lost", self.session.name, clause("stream-stalled"))
        return behind

    async def _revive(self) -> None:
        """Reopen a stream that ended early; kill a load whose supervisor has died."""
        status = await self.session.agent.status(self.task_id)
        if status.flood:
            raise self._flooded(status)
        if status.rebooted:
            self._orphaned = "host-rebooted"
        elif not status.alive and not status.done:
            await self.session.agent.sweep(kill=True)
            self._orphaned = "supervisor-died"
        await self._open_stream()

    async def _resume(self, state: HostStateName, lost: HostError) -> bool:
        self.session.lose(lost.told)
        if await self.session.why_gone():
            self.session.leave_for_good()
            return False
        self.session.say("warning", clause("reconnecting", quote=lost.told))
        deadline = asyncio.get_running_loop().time() + self.lease_s
        while (left := deadline - asyncio.get_running_loop().time()) > 0:
            if not await self.session.reconnect(left):
                break
            self.output.expect(self.lease_s)
            try:
                await self._open_stream()
            except AgentError as error:
                self.session.enter("lost", clause("spool-missing", quote=error.told))
                return False
            except HostError:
                await asyncio.sleep(FIRST_PAUSE_S)
                continue
            self.session.enter(state, clause("reconnected"))
            self.session.say("info", clause("nothing-lost"))
            return True
        if await self.session.why_gone():
            self.session.leave_for_good()
            return False
        why = self.session.refusal or lost.told
        self.session.enter("lost", clause("no-contact", quote=why, lease_s=self.lease_s))
        return False

    @property
    def streaming(self) -> bool:
        """Whether the command was started and has an open stream."""
        return self._stream is not None

    async def _outcome(self, state: HostStateName) -> Outcome:
        try:
            status = await self._status(state)
        except HostError as error:
            self.session.say("warning", clause("end-unasked", quote=error.told))
            return Outcome(None, "unknown", collected=True)
        if status.flood:
            raise self._flooded(status)
        return Outcome(
            status.exit_code, self._orphaned or status.reason or "unknown", collected=True
        )

    async def _status(self, state: HostStateName) -> TaskStatus:
        """Ask the agent how the command ended; ask again if the connection breaks."""
        try:
            return await self.session.agent.status(self.task_id)
        except AgentError:
            raise
        except HostError as error:
            if not await self._resume(state, error):
                raise
            return await self.session.agent.status(self.task_id)

    def _journal_end(self, outcome: Outcome) -> None:
        self.ended = True
        stdout_bytes, stderr_bytes = self.output.offsets
        self.session.journal.append(
            TaskEnded(
                t=0.0,
                host=self.session.name,
                step=self.step.index,
                phase=self.phase,
                exit_code=outcome.exit_code,
                reason=outcome.reason,
                stdout_bytes=stdout_bytes,
                stderr_bytes=stderr_bytes,
                collected=outcome.collected,
                role=self.role,
            )
        )


class TaskLoad(Struct, frozen=True):
    """A host's task in one phase of a step, with the reader of its output."""

    step: Step
    phase: PhaseName
    task: HostTask
    reader: Reader
    # set if it is not the host's only command of the phase, such as an MPI proxy beside mpiexec
    role: str = ""

    @property
    def id(self) -> str:
        """Name of the task on its host, such as `3.measure`."""
        again = f".{self.step.attempt}" if self.step.attempt > 1 else ""
        return f"{self.step.index}.{self.role or self.phase}{again}"

    @property
    def name(self) -> str:
        """Name for messages, such as `fio (measure)`."""
        return f"{self.step.tool} ({self.phase})"


def after_sample(samples: list[Sample], sampled_ms: int) -> list[Sample]:
    """Return the samples that follow the one with this host time.

    Uses list order if that sample is present, because the host's clock may have been set back.
    """
    places = [place for place, sample in enumerate(samples) if sample.host_time_ms == sampled_ms]
    return (
        samples[places[-1] + 1 :]
        if places
        else [each for each in samples if each.host_time_ms > sampled_ms]
    )


class TaskOutput:
    """Standard output and error of one command."""

    def __init__(
        self, session: HostSession, load: TaskLoad, run_dir: Path, *, resume: bool
    ) -> None:
        self.session = session
        self.reader, self._tool = load.reader, load.step.tool
        self.hear: Callable[[Sample], None] = lambda _: None  # called with each sample
        self.ended_by_us = False  # ended early by a search, which needs no message
        self._heard = time.monotonic()
        self._budget = OutputBudget(session.name, load.name)
        self._masks = {kind: session.secrets.mask(load.task) for kind in KINDS}
        name = f"{load.id}.{session.name}"
        self._files = {
            kind: RawFile(
                run_dir, f"{name}.{kind}", session.name, keep=resume, journal=session.journal
            )
            for kind in KINDS
        }

    @property
    def offsets(self) -> tuple[int, int]:
        """Number of bytes of stdout and stderr received."""
        return self._files["out"].offset, self._files["err"].offset

    @property
    def silent_s(self) -> float:
        """Seconds since the tool last printed anything."""
        return time.monotonic() - self._heard

    def expect(self, seconds: float) -> None:
        """Raise the output limit by what the host may have spooled in this many seconds."""
        self._budget.grant(seconds)

    def restore(self, sampled_ms: int) -> None:
        """Read again the raw output that an earlier engine collected.

        Journals only samples after `sampled_ms` (host time), because earlier ones are in the
        journal.
        """
        found: list[Sample] = []
        for kind, file in self._files.items():
            for piece in file.restore():
                found += [item for item in self._read(kind, piece) if isinstance(item, Sample)]
        self.journal(after_sample(found, sampled_ms))

    def rewind(self) -> None:
        """Discard the lines held back by the masks, because the stream will be reopened at
        `offsets`.
        """
        for mask in filter(None, self._masks.values()):
            mask.drop()

    def take(self, kind: str, data: bytes) -> None:
        """Handle received output. Raises HostError if it exceeds the limits."""
        self._heard = time.monotonic()
        mask = self._masks[kind]
        began = time.thread_time()
        self._keep(kind, mask.feed(data) if mask else data)
        self._budget.take(kind, len(data), time.thread_time() - began)

    def finish(self, *, complete: bool) -> None:
        """Read the rest; with `complete`, also the lines held back by the masks."""
        if complete:
            for kind, mask in self._masks.items():
                if mask:
                    self._keep(kind, mask.flush())
        self.journal(self.reader.flush())

    def journal(self, items: Iterable[Item]) -> None:
        """Journal samples, and show text lines to the operator."""
        for item in items:
            if isinstance(item, tuple):
                if not (self.ended_by_us and item[0] == "info"):
                    severity, told = item
                    self.session.say(severity, of_tool(self._tool, told))
            else:
                self.session.journal.append(item)
                if isinstance(item, Sample):
                    self.hear(item)

    def close(self) -> list[Artefact]:
        """Close the raw files and return them for the record."""
        return [self.session.journal.append(file.close()) for file in self._files.values()]

    def _keep(self, kind: str, data: bytes) -> None:
        self._files[kind].write(data)
        self.journal(self._read(kind, data))

    def _read(self, kind: str, data: bytes) -> Iterable[Item]:
        return self.reader.feed(data) if kind == "out" else self.reader.feed_stderr(data)
