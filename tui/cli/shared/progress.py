"""Follow a run from the command line: progress lines, Ctrl+C, exit code, result."""

from __future__ import annotations

import shutil
import signal
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, TextIO

import msgspec

from tui.capacity.budget import points_planned
from tui.cli.shared.common import say
from tui.engine.control import NotRunning, request
from tui.journal.fold import fold
from tui.journal.reader import JournalEvent, JournalTail
from tui.journal.rundir import is_running, readable_plan
from tui.journal.state import RunState, silent_hosts_text, waiting_text
from tui.journal.views import DirectionView
from tui.metrics import units
from tui.metrics.buckets import CURVE_PERCENTILES, label
from tui.metrics.registry import direction, in_order
from tui.model.bounded import NO_JSON, read_file
from tui.model.event import (
    HostProblem,
    Message,
    PhaseStarted,
    PointDecided,
    PointOffered,
    RunResumed,
    Sample,
    StepEnded,
    StepStarted,
    TelemetrySample,
)
from tui.model.operands import Clause
from tui.model.plan import Plan
from tui.model.rundir import RECORD_FILE
from tui.model.search import Search
from tui.record.progress import (
    MatrixProgress,
    allocation_left_s,
    can_be_judged,
    live_text,
    matrix_progress,
    step_name,
)
from tui.text.run_texts import run_text
from tui.text.search_texts import offer_text, point_text, search_text
from tui.view.live_wait import allocation_text, cells_text, left_text
from tui.view.operation_tables import progress_text

if TYPE_CHECKING:
    from tui.judge.live import LiveFinding, LiveFindings

POLL_S = 0.2
LOG_EVERY_S = 10.0
# a dead engine without output: give its last lines time to reach the disk
GONE_AFTER_S = 3.0
PERCENTILES = tuple(map(label, CURVE_PERCENTILES))
# the screens have a key for it instead
ADVICE = {"host-locked": "stop the other run, or use --wait or --take-locks"}
# phases of every step: no line of their own in runs of many steps
BETWEEN = ("barrier", "measure", "collect")


class ProgressDisplay:
    """Prints the progress of a run to `out` (stderr), from its journal.

    If the run has several steps, the current one is named.
    """

    def __init__(self, out: TextIO | None = None, plan: Plan | None = None) -> None:
        self.out = out or sys.stderr
        self.plan = plan if plan is not None and len(plan.steps) > 1 else None
        self.begin_t = float("-inf")
        self.not_needed: Clause | str = ""  # why the last step was skipped
        self.rewrites = self.out.isatty()
        self.drawn = False
        self.decided = 0  # points of a search
        self.logged_at = -LOG_EVERY_S

    def begin(self, events: list[JournalEvent]) -> None:
        """Print the number of steps already done, instead of a line for each step."""
        begun = [event for event in events if isinstance(event, StepStarted | RunResumed)]
        if self.plan is not None and len(begun) > 1:
            self.begin_t = begun[-1].t
            last = {event.step: event for event in events if isinstance(event, StepEnded)}
            again = (
                isinstance(begun[-1], RunResumed)
                and begun[-1].going_on
                and self.plan.proves is not None
            )
            done = 0 if again else sum(not event.cut for event in last.values())
            self.line(f"{clock(events[-1].t)} {done} of {len(self.plan.steps)} steps already done")

    def events(self, events: list[JournalEvent]) -> None:
        """Print the events that deserve a line."""
        for event in events:
            if event.t < self.begin_t and isinstance(event, StepStarted | StepEnded | PhaseStarted):
                continue  # before watching began: repeat only errors
            if isinstance(event, StepStarted | StepEnded):
                self.step(event)
            elif isinstance(event, PhaseStarted):
                if self.plan is None or event.phase not in BETWEEN:
                    self.line(f"{clock(event.t)} {phase_text(event)}")
            elif isinstance(event, HostProblem):
                advice = f"; {ADVICE[event.code]}" if event.code in ADVICE else ""
                self.line(f"{clock(event.t)} {event.host}: {run_text(event.message)}{advice}")
            elif isinstance(event, PointOffered | PointDecided):
                self.point(event)
            elif isinstance(event, Message) and event.severity != "info":
                host = f"{event.host}: " if event.host else ""
                self.line(f"{clock(event.t)} {host}{run_text(event.text)}")

    def point(self, event: PointOffered | PointDecided) -> None:
        """Print the next point of a search, or the result of a point."""
        search = self.plan.search if self.plan is not None else None
        if search is None:
            return
        if isinstance(event, PointDecided):
            self.decided += 1
            self.line(
                f"{clock(event.t)} "
                f"{point_text(search, event.point, self._place(search, self.decided))}"
            )
        else:
            text = f"point {self._place(search, self.decided + 1)}: {offer_text(event.offer)}"
            self.line(
                f"{clock(event.t)} {text} for {units.span(event.offer.seconds)},"
                f" {search_text(event.offer.why)}"
            )

    @staticmethod
    def _place(search: Search, number: int) -> str:
        """Return a point's number and the total, which grows if points are repeated."""
        return f"{number}/{max(number, points_planned(search))}"

    def step(self, event: StepStarted | StepEnded) -> None:
        """Print a step that starts, was skipped, or failed."""
        if self.plan is None or event.step >= len(self.plan.steps):
            return
        place = f"step {event.step + 1}/{len(self.plan.steps)}"
        name = step_name(self.plan.steps[event.step])
        if isinstance(event, StepStarted):
            if self.plan.search is not None and not self.plan.steps[event.step].warmup:
                return  # printed as a point
            again = f", attempt {event.attempt}" if event.attempt > 1 else ""
            self.line(f"{clock(event.t)} {place}  {name}{again}")
        elif event.skipped and event.reason == self.not_needed:
            return  # printed once for all remaining rounds
        elif event.skipped:
            self.not_needed = event.reason
            self.line(f"{clock(event.t)} {place}  {name}: not needed, {run_text(event.reason)}")
        elif not event.ok:
            why = "stopped" if event.cut else run_text(event.reason) or "ended with errors"
            self.line(f"{clock(event.t)} {place}  {name}: {why}")

    def finding(self, t: float, found: LiveFinding) -> None:
        """Print a new error or warning; notes are only in the final result."""
        if found.severity != "info":
            from tui.judge.wording import message_of  # few runs have findings
            from tui.view.live_health import of_role

            text = of_role(found.role, message_of(found.finding))
            self.line(f"{clock(t)} {found.severity} {found.finding.id}: {text}")

    def line(self, text: str) -> None:
        """Print one line, above the status line if there is one."""
        self.clear()
        print(text, file=self.out, flush=True)

    def status(self, state: RunState, now_t: float) -> None:
        """Print the current figures: in place on a terminal, otherwise every ten seconds."""
        roles = (
            {step.index: step.role for step in self.plan.steps if step.role}
            if self.plan is not None
            else {}
        )
        requests = (
            {step.index: step.requests for step in self.plan.steps if step.requests}
            if self.plan is not None
            else {}
        )
        far = matrix_progress(self.plan, state, now_t)
        text = status_text(state, now_t, far, live_text(self.plan, state), roles, requests)
        if not self.rewrites:
            if state.phase in ("measure", "layout") and now_t - self.logged_at >= LOG_EVERY_S:
                self.logged_at = now_t
                print(text, file=self.out, flush=True)
            return
        width = shutil.get_terminal_size().columns - 1
        print(f"\r\x1b[K{text[:width]}", end="", file=self.out, flush=True)
        self.drawn = True

    def clear(self) -> None:
        """Remove the status line."""
        if self.drawn:
            print("\r\x1b[K", end="", file=self.out, flush=True)
            self.drawn = False


def clock(t: float) -> str:
    """Return seconds since the start of a run as a fixed-width time."""
    return f"{int(t) // 60:3d}:{int(t) % 60:02d}"


def phase_text(event: PhaseStarted) -> str:
    """Return the name of a phase, with its size if known."""
    if event.total_bytes:
        more = "to write" if event.phase == "layout" else "in total"
        return f"{event.phase}: {units.size(event.total_bytes)} {more}"
    return f"{event.phase}: {units.span(event.expected_s)}" if event.expected_s else event.phase


def _latencies(view: DirectionView) -> str:
    """Return percentiles of the last interval, or the mean if there are no percentiles."""
    found, mean = view.interval_percentiles, view.lat_mean_ns
    if all(found.get(p) is None for p in PERCENTILES) and mean is not None:
        return f"mean {units.latency(mean)}"
    return " ".join(f"p{p} {units.latency(found.get(p))}" for p in PERCENTILES)


def _rates(
    cluster: Mapping[str, DirectionView], requests: Mapping[str, str] = MappingProxyType({})
) -> list[str]:
    """Return the current rate and latencies of each direction, by the names of its requests."""
    parts = []
    for name in in_order(cluster):
        view, known = cluster[name], direction(name)
        if view.iops is None:
            continue
        rate = f"{requests.get(name, name)} {units.iops(view.iops)} {known.counted}"
        parts.append(f"{rate} {units.bandwidth(view.bw_bytes_per_s)}" if known.moves_data else rate)
        parts.append(_latencies(view))
    return parts


def status_text(
    state: RunState,
    now_t: float,
    matrix: MatrixProgress | None = None,
    conditioning: str = "",
    roles: Mapping[int, str] = MappingProxyType({}),
    requests: Mapping[int, Mapping[str, str]] = MappingProxyType({}),
) -> str:
    """Return the current figures over all hosts in one line.

    `conditioning`: progress of preconditioning. `roles`: roles of concurrent steps, by step.
    `requests`: names of an object store's requests, by step and direction.
    """
    progress = state.progress(now_t)
    far = [
        cells_text(matrix) if matrix is not None else "",
        conditioning,
        state.phase or state.state,
    ]
    parts = [clock(now_t), *(part for part in far if part)]
    if progress.fraction is not None:
        parts.append(f"{units.share(progress.fraction):>5}")
    if progress.remaining_s is not None:
        parts.append(left_text(progress.remaining_s))
    if (left_s := allocation_left_s(state, now_t)) is not None:
        parts.append(allocation_text(left_s))
    if not state.measuring:
        parts += _rates(state.cluster, requests.get(state.step or 0, {}))
    for step, measurement in state.measuring.items():
        rates = _rates(measurement.cluster, requests.get(step, {}))
        parts += [f"{roles.get(step, f'step {step + 1}')}:", *rates] if rates else []
    metadata = (
        state.at_step(state.step).metadata
        if state.step is not None and state.phase == "measure"
        else None
    )
    if metadata is not None:
        parts.append(progress_text(metadata, now_t))
    hosts = state.hosts.values()
    parts.append(waiting_text(hosts, now_t) or silent_hosts_text(hosts, now_t))
    return "  ".join(filter(None, parts))


class Checks:
    """The checks of a run that is being followed; their modules are loaded on first use."""

    def __init__(self, run_dir: Path) -> None:
        self.run_dir = run_dir
        self.findings: LiveFindings | None = None
        self.possible = True

    def new_findings(self, state: RunState, now_t: float) -> list[LiveFinding]:
        """Return findings that are new since the last call."""
        if self.possible and self.findings is None and can_be_judged(state, now_t):
            self._load()
        return self.findings.update(state, now_t) if self.findings is not None else []

    def _load(self) -> None:
        from tui.judge.live import LiveFindings

        plan = readable_plan(self.run_dir)
        self.possible = plan is not None
        self.findings = LiveFindings(plan) if plan is not None else None


def _fold_new(tail: JournalTail, state: RunState) -> list[JournalEvent]:
    """Fold the journal's new events into `state`; return them without samples, which would fill
    the memory.
    """
    events = list[JournalEvent]()
    for event in tail:
        fold(state, event)
        if not isinstance(event, Sample | TelemetrySample):
            events.append(event)
    return events


def follow(run_dir: Path, display: ProgressDisplay) -> RunState:
    """Print a run's progress until it ends or its engine is gone; return its final state."""
    tail = JournalTail(run_dir / "journal.jsonl")
    state, checks = RunState(), Checks(run_dir)
    started = silent_since = time.monotonic()
    first = True
    while True:
        before = tail.offset
        events = _fold_new(tail, state)
        if first and events:
            display.begin(events)
            first = False
        display.events(events)
        now = time.monotonic()
        if tail.offset != before:
            silent_since, started = now, now - state.t
        if state.exit_code is not None or (
            now - silent_since > GONE_AFTER_S and not is_running(run_dir)
        ):
            display.clear()
            return state
        for found in checks.new_findings(state, now - started):
            display.finding(now - started, found)
        display.status(state, now - started)
        time.sleep(POLL_S)


INTERRUPTED = 130
RECORD_PATIENCE_S = 30.0


def watch(run_dir: Path, *, as_json: bool) -> int:
    """Follow a run to its end, print its result, return its exit code."""
    code = followed(run_dir)
    print_result(run_dir, as_json=as_json)
    return code


def watch_streamed(run_dir: Path, specs: Sequence[str], *, as_json: bool) -> int:
    """Follow a run like `watch`, and stream it.

    If a stream goes to standard output, the summary goes to stderr.
    """
    from tui.export.stream import parse_spec, streaming

    taken = any(parse_spec(spec)[1] == "-" for spec in specs)
    with streaming(run_dir, specs, say):
        code = followed(run_dir)
    with redirect_stdout(sys.stderr if taken else sys.stdout):
        print_result(run_dir, as_json=as_json)
    return code


def followed(run_dir: Path) -> int:
    """Follow a run to its end; return its exit code, 130 after Ctrl+C.

    Ctrl+C stops the run, a second Ctrl+C aborts it.
    """
    with interrupts_stop(run_dir) as interrupts:
        state = follow(run_dir, ProgressDisplay(plan=readable_plan(run_dir)))
    if state.exit_code is None:
        say(
            f"the engine of {run_dir.name} died; to collect results still on the hosts, use:"
            " benchtui runs recover"
        )
    await_record(run_dir)
    return INTERRUPTED if interrupts else exit_code_of(state, run_dir)


class _RecordSeverity(msgspec.Struct):
    severity: str = ""


class _RecordFindings(msgspec.Struct):
    findings: list[_RecordSeverity] = []


_heads = msgspec.json.Decoder(_RecordFindings)


def exit_code_of(state: RunState, run_dir: Path) -> int:
    """Return the exit code of `run`.

    It is the engine's, 4 if the engine died, or 1 if a finding invalidates the run.
    """
    if state.exit_code != 0:
        return 4 if state.exit_code is None else state.exit_code
    try:
        head = _heads.decode(read_file(run_dir / RECORD_FILE))
    except (OSError, *NO_JSON):
        return 0
    return int(any(finding.severity == "error" for finding in head.findings))


@contextmanager
def interrupts_stop(run_dir: Path) -> Iterator[list[int]]:
    """Turn the first SIGINT into a stop of the run, the next into an abort.

    Yields a list that grows with each SIGINT. SIGTERM leaves the run running.
    """
    seen: list[int] = []

    def on_interrupt(number: int, _frame: object) -> None:
        seen.append(number)
        verb = "stop" if len(seen) == 1 else "abort"
        try:
            request(run_dir, {"verb": verb, "by": "Ctrl+C"})
            say(
                f"\n{verb} requested; "
                + ("press Ctrl+C again to abort" if verb == "stop" else "aborting")
            )
        except NotRunning:
            say(f"\nrun {run_dir.name} is no longer running; nothing to {verb}")

    before = signal.signal(signal.SIGINT, on_interrupt)
    try:
        yield seen
    finally:
        signal.signal(signal.SIGINT, before)


def await_record(run_dir: Path) -> None:
    """Wait up to 30 s until the engine has written the record and ended.

    After a crash of the engine, `runs recover` writes it.
    """
    deadline = time.monotonic() + RECORD_PATIENCE_S
    while is_running(run_dir) and time.monotonic() < deadline:
        time.sleep(0.05)


def print_result(run_dir: Path, *, as_json: bool) -> None:
    """Print the record as one JSON document, or its summary."""
    from tui.library.load import load_record, record_json
    from tui.view.run_summary import summary_text

    path = run_dir / RECORD_FILE
    if as_json:
        sys.stdout.write(record_json(run_dir))
    else:
        print(summary_text(load_record(run_dir), path if path.exists() else None), end="")
