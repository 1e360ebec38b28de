"""Context that all phases of a run share: plan, hosts, journal, stop requests, seconds measured."""

from __future__ import annotations

import asyncio
import traceback
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import msgspec
from msgspec import Struct

from tui.engine.preflight.made_files import MadeFiles
from tui.engine.session.host_session import HostSession
from tui.engine.session.telemetry import Telemetry
from tui.journal.measured import any_measured
from tui.journal.progress import SearchState, plan_as_run
from tui.journal.writer import Journal
from tui.metrics.histogram import Histogram
from tui.metrics.series import ClusterSecond
from tui.model.dense import listed
from tui.model.event import (
    Buckets,
    DirectionSample,
    HostResult,
    Message,
    PhaseEnded,
    PhaseName,
    PhaseStarted,
    PointOffered,
    RunStateName,
    Sample,
    Severity,
    StopRequested,
)
from tui.model.operands import Clause, Told, clause, several, unique
from tui.model.plan import HostTask, Plan, Step
from tui.model.plugin import PLUGIN_FAILED
from tui.remote.fan_out import INTERNAL_ERROR, host_error
from tui.remote.transport import HostError
from tui.text.run_texts import run_text

if TYPE_CHECKING:
    from tui.engine.session.task import TaskRun

LATE_S = 0.2  # how incomplete a second may be to count as whole
_unpack = msgspec.msgpack.Decoder(dict[str, DirectionSample]).decode
_pack = msgspec.msgpack.Encoder().encode


class _Sum(msgspec.Struct):
    """I/Os and latencies of one direction in one second, summed over all hosts."""

    ios: int = 0
    lat: Histogram = msgspec.field(default_factory=Histogram)

    def add(self, part: DirectionSample) -> None:
        self.ios += part.ios
        self.lat.add(listed(part.lat))

    def take_back(self, part: DirectionSample) -> None:
        self.ios -= part.ios
        lat = listed(part.lat)
        self.lat.add(Buckets(idx=lat.idx, n=[-count for count in lat.n]))


class Seconds:
    """Per-second sums of one step over all hosts, counted from each host's first sample, since
    hosts start together.

    Each sample is added once, and kept packed so that it can be removed if its host restarts: 256
    hosts send 15,000 samples a minute.
    """

    def __init__(self, step: int = -1, hosts: int = 0) -> None:
        self.step = step
        self.hosts = hosts
        self._lengths: dict[str, float] = {}  # complete seconds so far, by host
        self._parts: dict[str, list[tuple[int, bytes]]] = {}  # contributions of a host by second
        self._sums: dict[int, dict[str, _Sum]] = {}

    def add(self, sample: Sample) -> bool:
        """Add a sample; return whether one more second is now complete on all hosts."""
        if sample.step != self.step or sample.phase != "measure" or sample.ramp:
            return False
        if sample.restart:
            self._take_back(sample.host)
        before = self.whole
        begin = self._lengths.get(sample.host, 0.0)
        self._lengths[sample.host] = begin + sample.interval_s
        second = self._sums.setdefault(round(begin), {})
        for name, part in sample.dirs.items():
            second.setdefault(name, _Sum()).add(part)
        self._parts.setdefault(sample.host, []).append((round(begin), _pack(sample.dirs)))
        return self.whole > before

    def _take_back(self, host: str) -> None:
        """Remove a host's contributions made before its restart."""
        self._lengths.pop(host, None)
        for at, packed in self._parts.pop(host, []):
            for name, part in _unpack(packed).items():
                self._sums[at][name].take_back(part)

    @property
    def whole(self) -> int:
        """Number of seconds that all hosts have reported completely."""
        if len(self._lengths) < self.hosts or not self._lengths:
            return 0
        return int(min(self._lengths.values()) + LATE_S)

    def totals(self) -> list[ClusterSecond]:
        """Return the complete seconds, each summed over all hosts."""
        return [_second(self._sums.get(at, {})) for at in range(self.whole)]


def _second(sums: dict[str, _Sum]) -> ClusterSecond:
    ios = {name: each.ios for name, each in sums.items()}
    return ClusterSecond(ios, {name: each.lat.buckets for name, each in sums.items()})


T = TypeVar("T")
StopMode = Literal["stop", "abort"]


class RunStopped(Exception):  # noqa: N818  (it ends a run early, nothing went wrong)
    """Raised between phases after a stop request."""


class RunRefused(Exception):  # noqa: N818  (it ends a run early with a state of its own)
    """Ends a run before or between measurements, with an exit code."""

    def __init__(self, exit_code: int, reason: Clause | str) -> None:
        super().__init__(run_text(reason))
        self.exit_code = exit_code
        self.reason = reason


@dataclass
class RunContext:
    """State of a run in the engine process."""

    run_dir: Path
    plan: Plan
    journal: Journal
    sessions: list[HostSession]
    # monitored hosts that generate no load
    servers: list[HostSession] = field(default_factory=list)
    stop_mode: StopMode | None = None
    stop_reason: Clause | str = ""  # the reason, if the engine decided it
    stop_event: asyncio.Event = field(default_factory=asyncio.Event)
    abort_event: asyncio.Event = field(default_factory=asyncio.Event)  # an abort overrides a stop
    telemetry: Telemetry = field(init=False)
    made_files: MadeFiles = field(init=False)  # files created by this user's runs
    active: dict[str, TaskRun] = field(default_factory=dict)  # running loads, by host
    tasks: set[asyncio.Task[None]] = field(
        default_factory=set
    )  # references, or asyncio would drop them
    # called once all hosts are connected or refused
    on_connected: Callable[[], None] = lambda: None
    # called at each request to stop
    on_stop: Callable[[], None] = lambda: None
    results: dict[tuple[int, str], HostResult] = field(default_factory=dict)  # by step and host
    # results of executors' preflight, by their own keys
    ahead: dict[str, Any] = field(default_factory=dict)
    given_up: Clause | str = ""  # why no further step is started
    skipped: set[int] = field(default_factory=set)  # steps that were not needed
    # offers and decisions of a search
    search: SearchState = field(default_factory=SearchState)
    seconds: Seconds = field(default_factory=Seconds)  # of the running measurement
    # called when all hosts have another second of it
    on_second: Callable[[], None] = lambda: None
    # points that were clearly over, with reasons
    ended_early: dict[int, Clause] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.made_files = MadeFiles.beside(self.run_dir)
        self.telemetry = Telemetry(self.plan)

    @property
    def run_id(self) -> str:
        """The run's id, which is also the mark of its processes on the hosts."""
        return self.run_dir.name

    @property
    def alive(self) -> list[HostSession]:
        """Hosts that are still part of the run."""
        return [session for session in self.sessions if not session.failed]

    def taking_part(self, step: Step) -> list[HostSession]:
        """Return the hosts of a step that are still connected or expected back."""
        names = set(step.hosts)
        return [session for session in self.alive if session.name in names]

    @property
    def measured_hosts(self) -> int:
        """Number of host results, over all steps except warm-ups."""
        warmups = {step.index for step in self.plan.steps if step.warmup}
        return sum(step not in warmups for step, _ in self.results)

    @property
    def state_unless_complete(self) -> RunStateName:
        """The state of a run that ends without being complete or aborted, as in its record."""
        return "partial" if any_measured(self.plan, self.journal.measured) else "failed"

    def is_whole(self, step: Step) -> bool:
        """Return whether every host of a step completed it with a result."""
        found = [self.results.get((step.index, host)) for host in step.hosts]
        return all(result is not None and result.final for result in found)

    def forget(self, steps: Iterable[int]) -> None:
        """Drop the results of steps that will be repeated."""
        gone = set(steps)
        self.results = {key: result for key, result in self.results.items() if key[0] not in gone}
        self.skipped -= gone

    def task_of(self, step: Step, session: HostSession) -> HostTask:
        """Return a host's task in a step."""
        return next(task for task in step.tasks if task.host == session.name)

    def offer(self, event: PointOffered) -> Step:
        """Journal the offered load of a search step, update the plan, and return the step."""
        self.search.offer(self.journal.append(event))
        self.plan = plan_as_run(self.plan, self.search)
        return event.planned

    def hear(self, sample: Sample) -> None:
        """Handle a sample from a measuring host."""
        if self.seconds.add(sample):
            self.on_second()

    def say(self, severity: Severity, told: Told) -> None:
        """Report a message about the run as a whole to the user."""
        self.journal.append(Message(t=0.0, severity=severity, text=told))

    def request_stop(
        self, mode: StopMode, by: str = "", reason: Clause | str = ""
    ) -> None:
        """Request the end of the run, and journal the request; abort overrides stop, a repeated
        request has no effect.

        `reason` is set if the engine itself decided to stop. Always calls `on_stop`.
        """
        if self.stop_mode not in ("abort", mode):
            self.stop_mode, self.stop_reason = mode, reason
            self.journal.append(StopRequested(t=0.0, mode=mode, by=by, reason=reason))
            self.stop_event.set()
            if mode == "abort":
                self.abort_event.set()
        self.on_stop()

    def check_stop(self) -> None:
        """Raise RunStopped after a request to stop."""
        if self.stop_mode is not None:
            raise RunStopped

    @contextmanager
    def phase(
        self,
        name: PhaseName,
        step: int | None = None,
        *,
        expected_s: float | None = None,
        total_bytes: int | None = None,
    ) -> Iterator[None]:
        """Journal the start and end of a phase around the with block."""
        started = PhaseStarted(
            t=0.0, phase=name, step=step, expected_s=expected_s, total_bytes=total_bytes
        )
        self.journal.append(started)
        ok = False
        try:
            yield
            ok = True
        finally:
            self.journal.append(PhaseEnded(t=0.0, phase=name, step=step, ok=ok))
            self.journal.sync()

    async def unless_stopped(self, work: Awaitable[T]) -> T:
        """Await work; on a stop request, cancel it and raise RunStopped."""
        working = asyncio.ensure_future(work)
        stopping = asyncio.ensure_future(self.stop_event.wait())
        try:
            await asyncio.wait({working, stopping}, return_when=asyncio.FIRST_COMPLETED)
            if working.done():
                return working.result()
            raise RunStopped
        finally:
            working.cancel()
            stopping.cancel()
            await asyncio.gather(working, stopping, return_exceptions=True)


EXIT_COMPLETE, EXIT_PREFLIGHT, EXIT_PARTIAL, EXIT_NEVER_MET, EXIT_UNFINISHED = 0, 3, 4, 5, 6


class HostsAway(RunRefused):
    """Ends a search whose lost hosts do not come back: fewer hosts have a different capacity."""

    def __init__(self, hosts: Sequence[str], run_id: str) -> None:
        super().__init__(EXIT_PARTIAL, clause("hosts-away", hosts=[*hosts], run_id=run_id))


class Duty(Struct, frozen=True):
    """A call to be made on all hosts.

    If hosts fail, the run is refused with the code `refusal` and their names; with an empty
    `refusal`, the other hosts continue.
    """

    phase: PhaseName
    exit_code: int = EXIT_PARTIAL
    refusal: str = ""
    droppable: bool = True  # may be cancelled by a stop request


CONNECT = Duty("connect", EXIT_PREFLIGHT, "no-connection")
REACH = Duty("connect", droppable=False)  # by an engine that resumes a run
# all problems of all hosts are reported first
LOOK = Duty("preflight", EXIT_PREFLIGHT)
JUDGE = Duty("preflight", EXIT_PREFLIGHT, "preflight-refused")
TRY_LOCK = Duty("preflight")
UNLOCK = Duty("preflight", droppable=False)
LOCK = Duty("preflight", EXIT_PREFLIGHT, "hosts-in-use")
DEVICES = Duty("preflight", EXIT_PREFLIGHT, "devices-changed")
TARGETS = Duty("preflight", EXIT_PREFLIGHT, "targets-changed")
DIRECTORIES = Duty("preflight", EXIT_PARTIAL, "directories-not-created")
EXPECTED_FILES = Duty("preflight", EXIT_PARTIAL, "wrong-files")
MISSING_FILES = Duty("layout", EXIT_PARTIAL, "layout-not-checked")
LAYOUT_START = Duty("layout")  # those that began are followed to their end
LAYOUT = Duty("layout", EXIT_PARTIAL, "layout-failed")
WRITTEN = Duty("layout")
DROP_CACHES = Duty("layout")
BRING_BACK = Duty("connect")
ARM = Duty("barrier", EXIT_PARTIAL, "hosts-not-ready")
DISARM = Duty("barrier", droppable=False)
GO = Duty("barrier", droppable=False)
FREE_SPOOL = Duty("collect", droppable=False)
CLEAN_UP = Duty("cleanup", droppable=False)
LEAVE = Duty("cleanup", droppable=False)


async def on_hosts(
    ctx: RunContext,
    duty: Duty,
    sessions: Iterable[HostSession],
    work: Callable[[HostSession], Awaitable[T]],
    failed: Callable[[HostSession, HostError], object] | None = None,
) -> dict[str, T]:
    """Run a call on several hosts in parallel; return the answers by host, without hosts that
    failed.

    `failed` handles a host's error; by default the error becomes a problem and the host drops out.
    Raises RunStopped, and RunRefused if `duty` says so.
    """
    sessions = list(sessions)
    answers: dict[str, T] = {}

    async def one(session: HostSession) -> None:
        with faults_of(session, duty.phase, failed):
            try:
                answers[session.name] = await work(session)
            except (HostError, TimeoutError) as fault:
                raise await session.explained(host_error(session.name, fault)) from fault

    at_once = _all_at_once([one(session) for session in sessions])
    await (ctx.unless_stopped(at_once) if duty.droppable else at_once)
    refuse_failed(duty, sessions)
    return {session.name: answers[session.name] for session in sessions if session.name in answers}


def refuse_failed(duty: Duty, sessions: Iterable[HostSession]) -> None:
    """Raise RunRefused if a host failed and the duty needs every host (has a `refusal`)."""
    failed = [session for session in sessions if session.failed]
    names = [session.name for session in failed if not session.gone]
    if duty.refusal and failed:
        named = clause(duty.refusal, hosts=names) if names else None
        raise RunRefused(duty.exit_code, several(ended_allocations(failed), named))


def ended_allocations(sessions: Iterable[HostSession]) -> Clause | None:
    """Return how the allocations of hosts ended; None if none did."""
    ends = unique(session.gone for session in sessions if session.gone)
    return clause("allocation-ended", quote=several(*ends)) if ends else None


@contextmanager
def faults_of(
    session: HostSession,
    phase: PhaseName,
    failed: Callable[[HostSession, HostError], object] | None = None,
) -> Iterator[None]:
    """Turn an error in the with block into a problem of this host.

    Tracebacks of internal errors go to engine.log.
    """
    try:
        yield
    except (RunRefused, RunStopped):
        raise
    except Exception as fault:
        if failed is None:
            failed = _fail_in(phase)
        failed(session, as_host_error(session, fault))


def as_host_error(session: HostSession, fault: Exception) -> HostError:
    """Return any error as a HostError of this session.

    Tracebacks of internal and plug-in errors go to engine.log.
    """
    error = host_error(session.name, fault)
    if error.code in (INTERNAL_ERROR, PLUGIN_FAILED):
        traceback.print_exception(fault)
        told = clause("details-in-log", quote=error.told, log="engine.log")
        return HostError(error.code, error.host, told)
    return error


def _fail_in(phase: PhaseName) -> Callable[[HostSession, HostError], object]:
    return lambda session, error: session.problem(phase, error.code, error.told)


async def _all_at_once(work: list[Awaitable[None]]) -> None:
    """Await all work in parallel.

    An error that belongs to no host, such as an unwritable journal, cancels the rest.
    """
    tasks = [asyncio.ensure_future(each) for each in work]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


class Window:
    """Synchronizes concurrent steps: when prepared, when armed, and right before their release.

    A single step never waits.
    """

    def __init__(self, steps: int = 1) -> None:
        self._barrier = asyncio.Barrier(steps)
        self._refusal: Clause | str = ""

    async def meet(self, ctx: RunContext) -> None:
        """Wait until all steps have arrived.

        Raises RunRefused if a step has withdrawn, RunStopped.
        """
        try:
            await ctx.unless_stopped(self._barrier.wait())
        except asyncio.BrokenBarrierError:
            told = clause("not-started", why=self._refusal)
            raise RunRefused(EXIT_PARTIAL, told) from None
        ctx.check_stop()

    async def leave(self, why: Clause) -> None:
        """Withdraw a step, which refuses the steps waiting for it."""
        self._refusal = self._refusal or why
        await self._barrier.abort()
