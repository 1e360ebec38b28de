"""Findings of a live run: the live checks, repeated every few seconds on the live state."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from tui.judge.bottleneck import bottleneck_of
from tui.judge.catalogue import CHECKS
from tui.judge.check import WITHOUT_IO, RunEvidence, StepEvidence, UnknownError
from tui.judge.severity import WEIGHTS
from tui.model.host_record import HostRecord
from tui.model.record import Finding
from tui.model.step_record import BottleneckRecord, StepRecord
from tui.record.progress import can_be_judged
from tui.record.running_step import RunningStep, Sliced, exhaust
from tui.record.sections import host_record
from tui.record.timeline import JournalData

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from tui.journal.state import RunState
    from tui.model.plan import Plan

EVERY_S = 5.0
SETTLED_S = 30.0  # a finding over this much measured time is reported at once
SHARE = 0.005  # share of this process's time for the checks


@dataclass(slots=True)
class LiveFinding:
    """A finding that applied from `since_t` to `ended_t` of run time (None: it still applies).

    `step`: the step it is about; `role`: role of its hosts in a suite.
    """

    finding: Finding
    since_t: float
    step: int | None = None
    role: str = ""
    ended_t: float | None = None
    reported: bool = False  # returned as new once; before that it is not shown
    in_a_row: int = 1  # consecutive rounds of checks with it; negative: without it
    points: int = 1  # points of a search at which it was found
    may_be_older: bool = False  # no look came before the one that found it
    _last: Finding | None = None  # of the last look with it

    @property
    def severity(self) -> str:
        """Severity of the finding."""
        return self.finding.severity

    @property
    def hosts(self) -> list[str]:
        """Hosts that the finding is about."""
        scope = self.finding.scope
        return str(scope.get("hosts") or scope.get("host") or "").split()

    def see(self, finding: Finding, now_t: float) -> None:
        """Record that the checks found this finding again; keep the milder of the last two."""
        self.in_a_row = max(self.in_a_row, 0) + 1
        before = self._last if self._last is not None and self.in_a_row > 1 else finding
        self.finding = before if _order(finding) < _order(before) else finding
        self._last = finding
        if self.ended_t is not None and self.in_a_row > 1:
            self.ended_t = None
        elif not self.reported and self.in_a_row == 1:
            self.since_t = now_t

    def miss(self, now_t: float, *, sure: bool) -> None:
        """Record that the checks did not find this finding.

        It ends after the second miss in a row, or at once with `sure`.
        """
        self.in_a_row = min(self.in_a_row, 0) - 1
        if self.ended_t is None and (sure or self.in_a_row < -1):
            self.ended_t = now_t


Key = tuple[object, ...]
CheckCall = Callable[[], list[Finding] | Sliced[list[Finding]]]
Made = dict[str, list[Finding]]
"""Findings by check, without checks that could not run."""


class LiveStep:
    """One attempt of a running step, as seen by the checks: its record so far and its
    bottleneck.
    """

    def __init__(self, plan: Plan, index: int, attempt: int) -> None:
        self.attempt = attempt
        self.running = RunningStep(plan, plan.steps[index])
        self.record: StepRecord | None = None
        self.bottleneck: BottleneckRecord | None = None
        self._other = ""  # the kind that was found last, if that is another one

    def update_bottleneck(self, found: BottleneckRecord | None) -> None:
        """Set the bottleneck; a different one must be found twice in a row before it replaces the
        current one.
        """
        kind = found.kind if found is not None else ""
        if self.bottleneck is None or kind in (self.bottleneck.kind, self._other):
            self.bottleneck = found
        self._other = kind


class LiveFindings:
    """One run's live findings, for the running step or for all roles that run at the same time."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.made: set[str] = set()
        self.settled = False  # these are the findings of the record
        self.broken: dict[str, str] = {}  # internal errors of checks
        self.cost_s = 0.0  # CPU time of the last round of checks
        self._known: dict[Key, LiveFinding] = {}
        self.steps: dict[int, LiveStep] = {}
        self._next_t = float("-inf")
        self._at_once = False  # the next round reports findings without waiting for another one
        self._others = [
            StepRecord(index=step.index, name=step.name, state="missing") for step in plan.steps
        ]
        self._hosts: list[HostRecord] = []
        self._hosts_seen: object = None

    @property
    def now(self) -> list[LiveFinding]:
        """Current findings, the worst first."""
        return sorted((each for each in self._reported() if each.ended_t is None), key=_weight)

    @property
    def was(self) -> list[LiveFinding]:
        """Findings that no longer apply, the latest first."""
        return sorted(
            (each for each in self._reported() if each.ended_t),
            key=lambda each: -(each.ended_t or 0.0),
        )

    def role_of(self, step: int | None) -> str:
        """Return the role of a step's hosts in a suite; empty if there is none."""
        return self.plan.steps[step].role if step is not None else ""

    @property
    def bottlenecks(self) -> dict[int, BottleneckRecord]:
        """Known bottlenecks of the running steps, by step."""
        return {
            index: live.bottleneck
            for index, live in sorted(self.steps.items())
            if live.bottleneck is not None
        }

    def _reported(self) -> Iterator[LiveFinding]:
        return (each for each in self._known.values() if each.reported)

    def by_host(self) -> dict[str, list[LiveFinding]]:
        """Return current errors and warnings by the hosts they name, the worst first; notes are
        left out.
        """
        found: dict[str, list[LiveFinding]] = {}
        for each in self.now:
            for host in each.hosts if each.severity != "info" else ():
                found.setdefault(host, []).append(each)
        return found

    def settle(self, findings: Iterable[Finding], now_t: float) -> None:
        """Replace the current findings with those in an ended run's record; end all others."""
        self.settled, self._next_t = True, float("inf")
        held = [each for each in self._known.values() if each.ended_t is None]
        for each in held:
            each.ended_t = now_t
        for number, finding in enumerate(findings):
            same = (
                each
                for each in held
                if _kind(each.finding) == _kind(finding) and each.ended_t == now_t
            )
            known = next(same, None) or self._known.setdefault(
                ("kept", number), LiveFinding(finding, now_t)
            )
            known.finding, known.ended_t, known.reported = finding, None, True

    def look_at_once(self) -> None:
        """Make the next round of checks due now.

        Like the first round of a step, it reports findings over `SETTLED_S` or more immediately.
        """
        if not self.settled:
            self._next_t, self._at_once = float("-inf"), True

    def update(self, state: RunState, now_t: float) -> list[LiveFinding]:
        """Run the checks if they are due; return findings that are new or have become worse."""
        return exhaust(self.update_in_slices(state, now_t))

    def update_in_slices(self, state: RunState, now_t: float) -> Sliced[list[LiveFinding]]:
        """Run the checks in slices, because many hosts take long; the generator must be exhausted.

        Checks of the whole run are repeated only after host facts changed or a step began; their
        findings are reported at once.
        """
        self._leave(state, now_t)
        if now_t < self._next_t or not can_be_judged(state, now_t):
            return []
        usual = self._next_t > float("-inf")  # the first one loads the modules all need
        new: list[LiveFinding] = []
        cost_s, began = 0.0, time.thread_time()
        for _ in self._judge(state, now_t, new):
            cost_s += time.thread_time() - began
            yield
            began = time.thread_time()
        self.cost_s = cost_s + time.thread_time() - began
        self._next_t = now_t + max(EVERY_S, self.cost_s / SHARE if usual else 0.0)
        return sorted(new, key=_weight)

    def _judge(self, state: RunState, now_t: float, new: list[LiveFinding]) -> Sliced[None]:
        changed = self._see_hosts(state)
        yield
        entered, measured = yield from self._see_steps(state)
        evidence = self._evidence(state)
        if changed or entered:
            made = yield from self._run(
                {
                    each.id: partial(each.examine, evidence)
                    for each in CHECKS
                    if each.live and each.of_run
                }
            )
            new += self._update(made, now_t, step=None, sure=True)
        for index in measured:
            live = self.steps[index]
            step, record = live.running.step, evidence.steps[index]
            recent = live.running.recent(state, record)
            yield
            live.update_bottleneck(bottleneck_of(StepEvidence(evidence, step, recent)))
            yield
            at = StepEvidence(evidence, step, record)
            made = yield from self._run(
                {
                    each.id: partial(each.examine_step, at)
                    for each in CHECKS
                    if each.live and each.of_step
                }
            )
            sure = (index in entered or self._at_once) and (record.measured_s or 0.0) >= SETTLED_S
            new += self._update(made, now_t, step=index, sure=sure)
        self._at_once = False

    def _evidence(self, state: RunState) -> RunEvidence:
        steps = list(self._others)
        for index, live in self.steps.items():
            steps[index] = live.record or steps[index]
        return RunEvidence(
            self.plan,
            self._hosts,
            steps,
            JournalData(state, state.clocks.steps()),
            from_begin=all(live.running.series.from_begin for live in self.steps.values()),
        )

    def _see_hosts(self, state: RunState) -> bool:
        """Update the host records if facts, problems or clocks changed; return whether they did."""
        facts = [len(view.facts) for view in state.hosts.values()]
        seen = (facts, len(state.problems), dict(state.clocks.compared), state.clocks.steps())
        changed = seen != self._hosts_seen
        if changed:
            self._hosts_seen = seen
            self._hosts = [host_record(self.plan, state, host) for host in self.plan.hosts]
        return changed

    def _see_steps(self, state: RunState) -> Sliced[tuple[set[int], list[int]]]:
        """Update the records of all measuring steps.

        Returns the steps seen for the first time, and all measuring steps. A role that has ended
        keeps its record, with which the others are compared.
        """
        measured = [
            index
            for index in at_work(state)
            if index < len(self.plan.steps)
            and state.measures(index)
            and state.at_step(index).ended_t is None
        ]
        entered = set(measured) - self.steps.keys()
        for index in measured:
            if index in entered:
                attempt = state.at_step(index).attempt
                self.steps[index] = LiveStep(self.plan, index, attempt)
            live = self.steps[index]
            live.record = yield from live.running.record(state)
        return entered, measured

    def _leave(self, state: RunState, now_t: float) -> None:
        """End the findings of steps that are over; forget findings from an earlier attempt."""
        now = at_work(state)
        if not now:
            return
        for index, live in list(self.steps.items()):
            again = index in now and state.at_step(index).attempt != live.attempt
            if index in now and not again:
                continue
            del self.steps[index]
            for key, each in list(self._known.items()):
                if each.step == index and each.ended_t is None:
                    each.ended_t = now_t
                if again and each.step == index:
                    del self._known[key]

    # -- findings that come and go

    def _run(self, calls: Mapping[str, CheckCall]) -> Sliced[Made]:
        """Run these checks; checks without evidence are missing from the result."""
        made: Made = {}
        for name, call in calls.items():
            yield
            try:
                found = call()
                made[name] = found if isinstance(found, list) else (yield from found)
            except UnknownError:
                continue
            # a defect in a check: keep watching, the checks after the run will show it
            except Exception as error:
                self.broken[name] = f"internal error: {error!r}"
        self.made |= made.keys()
        return made

    def _update(
        self, made: Made, now_t: float, *, step: int | None, sure: bool
    ) -> list[LiveFinding]:
        found = {
            key: finding for findings in made.values() for key, finding in _keyed(findings, step)
        }
        for key, each in self._known.items():
            if each.step == step and each.finding.id in made and key not in found:
                each.miss(now_t, sure=step is None)
        new, role = [], self.role_of(step)
        for key, finding in found.items():
            one = LiveFinding(finding, now_t, step, role, in_a_row=0, may_be_older=sure)
            each = self._known.setdefault(key, one)
            was = _order(each.finding)
            each.see(finding, now_t)
            # one look at figures is not enough for an error
            figures = step is not None and finding.id not in WITHOUT_IO
            once = sure and not (figures and each.severity == "error")
            worse = _order(each.finding) < was
            if (not each.reported and (once or each.in_a_row > 1)) or (each.reported and worse):
                again = not each.reported and self._was_at_another_point(key, each)
                each.reported = True
                new += [] if again else [each]
        return new

    def _was_at_another_point(self, key: Key, found: LiveFinding) -> bool:
        """Return whether an earlier point of a search had the same finding; if so, continue it."""
        if self.plan.search is None or found.step is None:
            return False
        others = [
            other for other in self._known if other != key and _but_step(other) == _but_step(key)
        ]
        earlier = [self._known.pop(other) for other in others]
        found.points += sum(each.points for each in earlier if each.reported)
        return found.points > 1


def at_work(state: RunState) -> list[int]:
    """Return the running steps: one, or one per role; empty before the first step."""
    return state.beside.steps or [index for index in (state.step,) if index in state.steps]


def _keyed(findings: Iterable[Finding], step: int | None) -> Iterator[tuple[Key, Finding]]:
    """Yield the findings of one check with a key that stays equal while figures and hosts
    change.
    """
    count: dict[Key, int] = {}
    for finding in findings:
        key = (finding.id, step, finding.scope.get("direction"), finding.threshold)
        count[key] = count.get(key, 0) + 1
        yield (*key, count[key]), finding


def _kind(finding: Finding) -> tuple[object, ...]:
    return finding.id, finding.scope.get("direction"), finding.severity


def _but_step(key: Key) -> Key:
    return key[0], *key[2:]


def _order(finding: Finding) -> int:
    return WEIGHTS.index(finding.severity)


def _weight(each: LiveFinding) -> tuple[int, bool, float]:
    return _order(each.finding), each.step is None, each.since_t
