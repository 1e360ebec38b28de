"""What all phases of one run share: its plan, its journal, its hosts, and whether somebody asked to stop."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from tui.engine.safety.made_files import MadeFiles
from tui.engine.session.seconds import Seconds
from tui.engine.session.session import HostSession
from tui.engine.session.telemetry import Telemetry
from tui.journal.search import SearchState, plan_as_run
from tui.journal.writer import Journal
from tui.model.event import (
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
from tui.model.plan import HostTask, Plan, Step

if TYPE_CHECKING:
    from tui.engine.session.task import TaskRun

T = TypeVar("T")
StopMode = Literal["stop", "abort"]


class RunStopped(Exception):  # noqa: N818  (it ends a run early, nothing went wrong)
    """Raised between phases when somebody asked to stop."""


class RunRefused(Exception):  # noqa: N818  (it ends a run early with a state of its own)
    """Ends a run before or between measurements with this state and exit code."""

    def __init__(self, state: RunStateName, exit_code: int, reason: str) -> None:
        super().__init__(reason)
        self.state: RunStateName = state
        self.exit_code = exit_code
        self.reason = reason


@dataclass
class RunContext:
    """One run while it goes on."""

    run_dir: Path
    plan: Plan
    journal: Journal
    sessions: list[HostSession]
    servers: list[HostSession] = field(default_factory=list)  # hosts that are looked at and generate no load
    stop_mode: StopMode | None = None
    stop_reason: str = ""  # why, when nobody asked for it
    sampled: bool = False  # whether a dead engine had samples of a measurement
    stop_event: asyncio.Event = field(default_factory=asyncio.Event)
    abort_event: asyncio.Event = field(default_factory=asyncio.Event)  # it overtakes a stop
    telemetry: Telemetry = field(init=False)
    made_files: MadeFiles = field(init=False)  # the files that runs of this user have made
    active: dict[str, TaskRun] = field(default_factory=dict)  # loads that go on, by host
    tasks: set[asyncio.Task[None]] = field(default_factory=set)  # held, or asyncio would drop them
    on_connected: Callable[[], None] = lambda: None  # called once all hosts are connected or refused
    on_stop: Callable[[], None] = lambda: None  # called when somebody asks this engine to stop, also once more
    results: dict[tuple[int, str], HostResult | None] = field(default_factory=dict)  # by step and host; None: no fio's
    ahead: dict[str, Any] = field(default_factory=dict)  # what courses found out in the preflight, by keys of theirs
    given_up: str = ""  # why no further step is begun
    skipped: set[int] = field(default_factory=set)  # steps that need not be run
    search: SearchState = field(default_factory=SearchState)  # what was offered and decided, where the run searches
    seconds: Seconds = field(default_factory=Seconds)  # of the measurement that goes on
    on_second: Callable[[], None] = lambda: None  # called when all hosts have told another second of it
    ended_early: dict[int, str] = field(default_factory=dict)  # points that were clearly over, and why

    def __post_init__(self) -> None:
        self.made_files = MadeFiles.beside(self.run_dir)
        self.telemetry = Telemetry(self.plan, self.journal)

    @property
    def run_id(self) -> str:
        """The run's id, which is also the mark of its processes on the hosts."""
        return self.run_dir.name

    @property
    def alive(self) -> list[HostSession]:
        """Hosts that still take part."""
        return [session for session in self.sessions if not session.failed]

    def taking_part(self, step: Step) -> list[HostSession]:
        """Hosts of a step that are not lost."""
        names = set(step.hosts)
        return [session for session in self.alive if session.name in names]

    @property
    def measured_hosts(self) -> int:
        """Host results that were taken, over all steps but warm-ups."""
        warmups = {step.index for step in self.plan.steps if step.warmup}
        return sum(step not in warmups for step, _ in self.results)

    def is_whole(self, step: Step) -> bool:
        """Tell whether every host of a step came to its own end with a result."""
        found = [self.results.get((step.index, host)) for host in step.hosts]
        return all(result is not None and result.final for result in found)

    def forget(self, steps: Iterable[int]) -> None:
        """Leave out the results of steps that are made again."""
        gone = set(steps)
        self.results = {key: result for key, result in self.results.items() if key[0] not in gone}
        self.skipped -= gone

    def task_of(self, step: Step, session: HostSession) -> HostTask:
        """What a host does in a step."""
        return next(task for task in step.tasks if task.host == session.name)

    def offer(self, event: PointOffered) -> Step:
        """Journal what a step of a search offers; from here on the plan has it so. Returns the step."""
        self.search.offer(self.journal.append(event))
        self.plan = plan_as_run(self.plan, self.search)
        return event.planned

    def hear(self, sample: Sample) -> None:
        """Take a sample of a host that measures."""
        if self.seconds.add(sample):
            self.on_second()

    def say(self, severity: Severity, text: str) -> None:
        """Tell the operator something about the run as a whole."""
        self.journal.append(Message(t=0.0, severity=severity, text=text))

    def request_stop(self, mode: StopMode, by: str = "", reason: str = "") -> None:
        """Remember that the run shall end; abort wins over stop. `reason`: why, when nobody asked for it."""
        if self.stop_mode not in ("abort", mode):
            self.stop_mode, self.stop_reason = mode, reason
            self.journal.append(StopRequested(t=0.0, mode=mode, by=by, reason=reason))
            self.stop_event.set()
            if mode == "abort":
                self.abort_event.set()
        self.on_stop()

    def check_stop(self) -> None:
        """Raise RunStopped when somebody asked to stop."""
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
        """Journal the start and the end of a phase."""
        started = PhaseStarted(t=0.0, phase=name, step=step, expected_s=expected_s, total_bytes=total_bytes)
        self.journal.append(started)
        ok = False
        try:
            yield
            ok = True
        finally:
            self.journal.append(PhaseEnded(t=0.0, phase=name, step=step, ok=ok))
            self.journal.sync()

    async def unless_stopped(self, work: Awaitable[T]) -> T:
        """Wait for work that may simply be dropped when somebody asks to stop. Raises RunStopped then."""
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
