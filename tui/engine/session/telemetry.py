"""Telemetry of a run's hosts: a task on each host streams samples to the journal during a step.

Telemetry is optional: its problems never fail the run or delay a load, and are reported once per
host and step.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal

from tui.engine.session.host_session import BROKEN, HostSession
from tui.engine.session.task import renew
from tui.model.event import Event, TelemetryColumns, TelemetrySample
from tui.model.operands import Told, clause
from tui.model.plan import Plan, Step
from tui.remote.agent import Agent, AgentError, AgentStream, Lease
from tui.remote.answers import last_line
from tui.remote.fan_out import host_error
from tui.remote.stream import FLOODED, OutputBudget, flooded
from tui.remote.telemetry import (
    Columns,
    Device,
    MissingTelemetry,
    Stamp,
    TelemetryLines,
    Values,
    telemetry_command,
    telemetry_files,
)
from tui.remote.transport import HostError

Role = Literal["client", "server"]
TASK = "telemetry"
LOADS = ("measure", "proxy", "layout")  # tasks of a step whose processes are the load
POLL_S = 1.0  # how often a host looks for a new line: seldom, for each look costs it two processes
GRACE_S = 1.0
BACK_S = 1.0  # between looks whether a connection that broke is back
STARTED_S = 3.0  # how long a load waits for the telemetry of its hosts
LEFT_S = 2.5  # how long the end of a run waits for the last lines
QUIET_S = 5.0
LATE_S = 3.0  # a quiet second may arrive this much later
SHORTEST_QUIET_S = 1.0  # less holds no whole second
QUIET_SHARE = 0.1  # of the time that the run is planned to measure


def is_telemetry(task: str) -> bool:
    """Return whether an agent task is telemetry, judging by its name."""
    return task.split(".")[1:2] == [TASK]


async def _all_set(events: Sequence[asyncio.Event], within_s: float) -> None:
    """Wait up to `within_s` seconds for all events to be set."""
    waiting = [asyncio.create_task(event.wait()) for event in events]
    if waiting:
        await asyncio.wait(waiting, timeout=within_s)
    for task in waiting:
        task.cancel()


def quiet_s(plan: Plan) -> float:
    """Return the seconds to observe hosts before the first load: QUIET_S, limited to a tenth of
    the planned load; 0 if that is less than SHORTEST_QUIET_S, or without telemetry.
    """
    expected = plan.expected_s
    seconds = QUIET_S if expected is None else min(QUIET_S, QUIET_SHARE * expected)
    return seconds if plan.telemetry and seconds >= SHORTEST_QUIET_S else 0.0


def targets_of(plan: Plan, step: Step, host: str) -> list[str]:
    """Return the paths to monitor on a host in a step: its directories, else up to four of its
    devices and files, else the plan's target; none if it takes no part.
    """
    tasks = [task for task in step.tasks if task.host == host]
    if not tasks:
        return []
    named = [task.required_dir for task in tasks if task.required_dir]
    files = [spec.path for task in tasks for spec in task.files][:4]
    return list(
        dict.fromkeys(
            named or files or [path for path in [plan.target] if path and path.startswith("/")]
        )
    )


class TelemetryReader:
    """Turns a host's telemetry output into events of one step."""

    def __init__(self, host: str, step: int, role: Role = "client") -> None:
        self.host = host
        self.step = step
        self.role: Role = role
        self.quiet = False
        self.quiet_seen = asyncio.Event()
        self.after_ms = 0  # what another engine has journalled up to then is not journalled again
        self._lines = TelemetryLines()
        self._stamp: Stamp | None = None
        self._devices: dict[str, str] = {}
        self._unknown: dict[str, str] = {}

    def feed(self, data: bytes) -> Iterator[Event]:
        """Yield the events completed by this data."""
        for line in self._lines.feed(data):
            match line:
                case Stamp():
                    self._stamp = line
                case Device(name, place):
                    self._devices[name] = place
                case MissingTelemetry(name, reason):
                    self._unknown[name] = reason
                case Columns(names):
                    yield self._columns(names)
                case Values() if self._stamp is not None:
                    sample = self._sample(line, self._stamp)
                    if sample.host_time_ms > self.after_ms:
                        yield sample

    @property
    def unknown(self) -> dict[str, str]:
        """Values that the host cannot report, with the reason."""
        return dict(self._unknown)

    def _columns(self, names: tuple[str, ...]) -> TelemetryColumns:
        return TelemetryColumns(
            t=0.0,
            host=self.host,
            step=self.step,
            columns=list(names),
            devices=dict(self._devices),
            unknown=dict(self._unknown),
            role=self.role,
        )

    def _sample(self, line: Values, stamp: Stamp) -> TelemetrySample:
        if self.quiet:
            self.quiet_seen.set()
        return TelemetrySample(
            t=0.0,
            host=self.host,
            step=self.step,
            host_time_ms=round(stamp.epoch_ms + 1000 * (line.uptime_s - stamp.uptime_s)),
            interval_s=line.interval_s,
            values=[
                int(value) if value is not None and value.is_integer() else value
                for value in line.values
            ],
            quiet=self.quiet,
        )


class TelemetryRun:
    """Telemetry of one host in one step: started, followed across broken connections, ended.

    A storage node has no load, so this class reconnects to it itself.
    """

    def __init__(self, session: HostSession, step: Step, plan: Plan, role: Role = "client") -> None:
        again = f".{step.attempt}" if step.attempt > 1 else ""
        self.session = session
        self.task_id = f"{step.index}.{TASK}{again}"
        self.reader = TelemetryReader(session.name, step.index, role)
        self.begun = asyncio.Event()  # it runs, or it never will
        self.over = False  # no longer needed
        self._role = role
        self._groups = dict(session.address.processes)
        self._loads = [f"{step.index}.{name}{again}" for name in LOADS] if role == "client" else []
        self._targets = targets_of(plan, step, session.name)
        self._lease_s = plan.lease_s
        self._offsets = {"out": 0, "err": 0}
        self._stream: AgentStream | None = None
        self._last_error = ""  # the last line of its stderr
        self._budget = OutputBudget(session.name, TASK)

    async def run(self) -> None:
        """Start telemetry and follow it to its end. Reports errors instead of raising them."""
        renewing = asyncio.create_task(renew(lambda: self._stream, self._lease_s))
        try:
            await self._start()
            self.begun.set()
            await self._follow()
        except Exception as fault:
            self._tell(host_error(self.session.name, fault).told)
        finally:
            self.begun.set()
            self.reader.quiet_seen.set()  # or it never will
            renewing.cancel()
            await asyncio.gather(renewing, return_exceptions=True)
            if self._stream is not None:
                await self._stream.close()

    async def end(self) -> None:
        """Tell the host to stop telemetry; its last lines still arrive through `run`."""
        self.over = True
        with contextlib.suppress(HostError):
            if self._stream is not None and not self._stream.broken:
                await self._stream.stop(abort=True)

    async def _start(self) -> None:
        command = telemetry_command(self._loads, list(self._groups), self._targets)
        files = telemetry_files(self._groups)

        async def begin(agent: Agent) -> None:
            lease = Lease(self._lease_s, GRACE_S)
            await agent.start(self.task_id, command, files, lease=lease, armed=False)
            await self._open()

        await (self.session.ask(begin) if self._role == "server" else begin(self.session.agent))

    async def _open(self) -> None:
        out, err = self._offsets["out"], self._offsets["err"]
        self._stream = await self.session.agent.stream(self.task_id, out, err, POLL_S)
        if self.over:  # the word may have been lost with the connection
            await self._stream.stop(abort=True)

    async def _follow(self) -> None:
        while True:
            try:
                if self._stream is not None and await self._take(self._stream):
                    break
                await asyncio.sleep(BACK_S)
                await self._open()
            except AgentError:
                raise  # its directory is gone
            except HostError as error:
                if error.code == FLOODED and self._stream is not None:
                    with contextlib.suppress(HostError):
                        await self._stream.stop(abort=True)
                if error.code not in BROKEN or self.over:
                    raise
                self._stream = None
                await self._await_connection()
        if not self.over and not self.reader.after_ms:  # that of a dead engine ends by its lease
            self._tell(await self._flood() or self._last_error or clause("telemetry-ended"))
        for name, reason in self.reader.unknown.items():
            self.session.say("info", clause("no-telemetry-of", name=name, quote=reason))

    async def _flood(self) -> Told:
        """Return which output exceeded its limit; empty if none did or the agent does not
        answer.
        """
        with contextlib.suppress(HostError):
            status = await self.session.agent.status(self.task_id)
            return flooded("it", status.flood) if status.flood else ""
        return ""

    async def _take(self, stream: AgentStream) -> bool:
        """Receive output until the stream ends; return whether the agent said that it is
        complete.
        """
        while (piece := await stream.next()) is not None:
            kind, data = piece
            self._offsets[kind] += len(data)
            began = time.thread_time()
            if kind == "err":
                self._last_error = last_line(data) or self._last_error
            else:
                for event in self.reader.feed(data):
                    self.session.journal.append(event)
            self._budget.take(kind, len(data), time.thread_time() - began)
            if self.session.failed and not self.over:  # it takes no further part
                self.over = True
                await stream.stop(abort=True)
        return stream.complete

    async def _await_connection(self) -> None:
        """Wait until the load has reconnected to its host; for a storage node, reconnect here."""
        if self._role == "server" and not await self.session.reconnect(self._lease_s):
            refusal = self.session.refusal or clause("connection-gone")
            raise HostError("lost", self.session.name, refusal)
        deadline = asyncio.get_running_loop().time() + self._lease_s
        while asyncio.get_running_loop().time() < deadline and not self.over:
            await asyncio.sleep(BACK_S)
            with contextlib.suppress(HostError):
                await self._open()
                return
        if not self.over:
            raise HostError("lost", self.session.name, clause("connection-gone"))

    def _tell(self, why: Told) -> None:
        if not self.over:
            self.session.say("warning", clause("telemetry-stopped", quote=why))


@dataclass
class Telemetry:
    """Telemetry of all running steps of a run."""

    plan: Plan
    looked: bool = False  # whether hosts have been looked at while they were quiet
    runs: list[TelemetryRun] = field(default_factory=list)  # of the running steps
    tasks: set[asyncio.Task[None]] = field(default_factory=set)

    async def begin(
        self,
        step: Step,
        sessions: Iterable[HostSession],
        servers: Iterable[HostSession] = (),
        journalled_ms: Mapping[str, int] = MappingProxyType({}),
    ) -> None:
        """Start telemetry on the hosts of a step and on storage nodes; wait up to a few seconds.

        Does nothing if the plan has no telemetry. Also continues telemetry started by an earlier
        engine: `journalled_ms` is the host time up to which it is in the journal.
        """
        if not self.plan.telemetry:
            return
        begun = [TelemetryRun(session, step, self.plan) for session in sessions]
        begun += [
            TelemetryRun(each, step, self.plan, "server") for each in servers if not each.failed
        ]
        self.runs += begun
        for run in begun:
            run.reader.after_ms = journalled_ms.get(run.session.name, 0)
            self._keep(asyncio.create_task(run.run()))
        await _all_set([run.begun for run in begun], STARTED_S)

    async def seen_quiet(self) -> None:
        """Wait briefly until every host has reported a quiet second.

        A busy host reports late, and is the one that matters.
        """
        await _all_set([run.reader.quiet_seen for run in self.runs if not run.over], LATE_S)

    def quiet(self, *, now: bool) -> None:
        """Set whether the run currently loads no host; from then on, `looked` is True."""
        self.looked = True
        for run in self.runs:
            run.reader.quiet = now

    async def end(self, step: int | None = None) -> None:
        """End the telemetry of one step, or of all steps.

        The last lines may still arrive.
        """
        over = [run for run in self.runs if step in (None, run.reader.step)]
        self.runs = [run for run in self.runs if run not in over]
        for run in over:
            run.over = True
            self._keep(asyncio.create_task(run.end()))

    async def leave(self) -> None:
        """End telemetry, wait briefly for the last lines, then stop following."""
        await self.end()
        if self.tasks:
            await asyncio.wait(self.tasks, timeout=LEFT_S)
        for task in list(self.tasks):
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)

    def _keep(self, task: asyncio.Task[None]) -> None:
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)
