"""One command on one host: started under the agent, streamed, kept, read; resumed when the connection breaks."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from tui.engine.rawfile import RawFile
from tui.engine.session import HostSession
from tui.model.event import Artefact, HostStateName, PhaseName, Sample, TaskEnded, TaskStarted
from tui.model.plan import HostTask, Step
from tui.remote.agent import AgentError, AgentStream, TaskStatus
from tui.remote.transport import HostError
from tui.workloads.base import LogLine, Reader

GRACE_S = 6.0
RENEWALS_PER_LEASE = 6
LONGEST_RENEWAL_S = 10.0
JOB_FILE = "job.fio"


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a command ended. `exit_code` None is unknown. `collected`: every byte the host spooled has arrived."""

    exit_code: int | None
    reason: str
    collected: bool


class TaskRun:
    """Runs one command of a step on one host."""

    def __init__(
        self,
        session: HostSession,
        step: Step,
        phase: PhaseName,
        task: HostTask,
        reader: Reader,
        run_dir: Path,
        lease_s: float,
        *,
        resume: bool = False,
    ) -> None:
        self.session = session
        self.step = step
        self.phase = phase
        self.task = task
        self.reader = reader
        self.lease_s = lease_s
        self.task_id = f"{step.index}.{phase}"
        self.ended = False
        self.stopped_alone = False  # somebody ended this host's load but not the run
        self.alive = False  # whether its load still ran when it was reopened
        name = f"{step.index}.{phase}.{session.name}"
        self._files = {kind: RawFile(run_dir, f"{name}.{kind}", session.name, keep=resume) for kind in ("out", "err")}
        self._stream: AgentStream | None = None
        self._heard = time.monotonic()
        self._orphaned = ""  # why the load has no supervisor any more, when it has none

    async def start(self, *, armed: bool) -> None:
        """Start the command (armed: it waits for `go`) and open its stream. Raises HostError."""
        remote_dir = await self.session.agent.start(
            self.task_id,
            self.task.argv,
            {JOB_FILE: self.task.job_file},
            lease_s=self.lease_s,
            grace_s=GRACE_S,
            armed=armed,
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
            )
        )
        await self._open_stream()

    async def go(self) -> None:
        """Let an armed command begin: one small write on a channel that is already open."""
        if self._stream is None:
            raise HostError("lost", self.session.name, "no stream to say GO on")
        await self._stream.go()

    async def reopen(self, sampled_ms: int) -> None:
        """Go on with a command that another engine started. Raises HostError when its spool is gone.

        What had been collected is read again; samples up to `sampled_ms` (host clock) are in the journal already.
        """
        for kind, file in self._files.items():
            for piece in file.restore():
                items = self.reader.feed(piece) if kind == "out" else self.reader.feed_stderr(piece)
                self._journal_items(i for i in items if isinstance(i, Sample) and i.host_time_ms > sampled_ms)
        self.alive = (await self.session.agent.status(self.task_id)).alive
        await self._open_stream()

    def lost(self) -> Outcome:
        """Return the outcome of a command whose spool is gone, journalled."""
        outcome = Outcome(None, "lost", collected=False)
        self._journal_end(outcome)
        return outcome

    async def stop(self, *, abort: bool) -> None:
        """Ask the agent to end the command; its output goes on to arrive through `follow`."""
        await self.session.agent.stop(self.task_id, abort=abort)

    async def follow(self, state: HostStateName) -> Outcome:
        """Take output until the command has ended and everything has arrived, or the host is lost for good."""
        renewing = asyncio.create_task(self._renew())
        try:
            complete = await self._drain(state)
            self._journal_items(self.reader.flush())
            outcome = await self._outcome(state) if complete else Outcome(None, "lost", collected=False)
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
        offsets = (self._files["out"].offset, self._files["err"].offset)
        self._stream = await self.session.agent.stream(self.task_id, *offsets)

    async def _drain(self, state: HostStateName) -> bool:
        while True:
            try:
                if await self._take_all() or self._orphaned:
                    return True
                if await self._look_after():
                    continue
                detail = "the stream ended early"
            except HostError as error:
                detail = error.message
            if not await self._resume(state, detail):
                return False

    async def _take_all(self) -> bool:
        """Take pieces until the stream ends; True when the agent says that this was everything."""
        stream = self._stream
        if stream is None:
            return False
        while (piece := await stream.next()) is not None:
            self._take(*piece)
        return stream.complete

    async def _look_after(self) -> bool:
        """After a stream that ended early: end what has no supervisor any more; True when the stream is open again."""
        status = await self.session.agent.status(self.task_id)
        if status.rebooted:
            self._orphaned = "host-rebooted"
        elif not status.alive and not status.done:
            await self.session.agent.sweep(kill=True)
            self._orphaned = "supervisor-died"
        await self._open_stream()
        return True

    async def _resume(self, state: HostStateName, detail: str) -> bool:
        self.session.enter("connecting", f"connection lost: {detail}")
        self.session.say("warning", f"connection lost ({detail}); the load goes on, reconnecting")
        deadline = asyncio.get_running_loop().time() + self.lease_s
        while (left := deadline - asyncio.get_running_loop().time()) > 0:
            if not await self.session.reconnect(left):
                break
            try:
                await self._open_stream()
            except AgentError as error:
                detail = f"what it spooled is gone: {error.message}"
                break
            except HostError:
                continue
            self.session.enter(state, "reconnected")
            self.session.say("info", "reconnected; nothing was lost")
            return True
        self.session.enter("lost", f"given up after {self.lease_s:g}s: {detail}")
        return False

    @property
    def silent_s(self) -> float:
        """Seconds since the tool last said anything."""
        return time.monotonic() - self._heard

    def _take(self, kind: str, data: bytes) -> None:
        self._heard = time.monotonic()
        self._files[kind].write(data)
        self._journal_items(self.reader.feed(data) if kind == "out" else self.reader.feed_stderr(data))

    def _journal_items(self, items: Iterable[Sample | LogLine]) -> None:
        for item in items:
            if isinstance(item, Sample):
                self.session.journal.append(item)
            else:
                self.session.say(*item)

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
        return Outcome(status.exit_code, self._orphaned or status.reason or "unknown", collected=True)

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
            )
        )
