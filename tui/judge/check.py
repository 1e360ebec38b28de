"""Definition of a check: a function on the evidence of a run, with threshold, meaning and
advice.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Generator, Iterable, Mapping, Sequence
from inspect import cleandoc
from typing import TYPE_CHECKING, Any, Literal

from msgspec import Struct, field
from msgspec.structs import replace

from tui.judge.severity import Moot, UnknownError, did_no_io
from tui.metrics.so_far import passed_share
from tui.model import host_tables
from tui.model.criteria import default
from tui.model.operands import Operands, likeness, listed

if TYPE_CHECKING:
    from tui.model.figure_record import DirectionRecord
    from tui.model.host_record import HostRecord
    from tui.model.plan import JobLoad, Plan, Step
    from tui.model.record import CopyRecord, Finding
    from tui.model.step_record import Scalar, StepRecord
    from tui.record.timeline import JournalData

Severity = Literal["info", "warning", "error"]
When = Literal["live", "ended", "files"]
"""When a check runs: during and after a run; only after it; or as live, but not for loads on
objects.
"""
# checks that also judge steps of which no I/O completed
WITHOUT_IO = frozenset({"tool-errors", "host-loss", "short"})
__all__ = [
    "Check",
    "CheckResult",
    "Moot",
    "RunEvidence",
    "Severity",
    "StepEvidence",
    "UnknownError",
    "Unread",
    "of_hosts",
    "of_hosts_in_step",
    "run_check",
    "step_check",
    "two_hosts",
]


def two_hosts(hosts: int, lacking: str) -> UnknownError:
    """Return the error for a host comparison that cannot run: too few hosts or, with enough hosts,
    data that they did not report (`lacking`).
    """
    return UnknownError("few-hosts", least=2) if hosts < 2 else UnknownError(lacking)


class CheckResult(Struct, frozen=True):
    """One result of a check. `scope` says what it applies to within the step: hosts, direction,
    ...
    """

    severity: Severity
    code: str
    measured: Scalar = None
    threshold: Scalar = None
    scope: dict[str, Scalar] = field(default_factory=dict)
    operands: Operands = field(default_factory=dict)


class Unread(Struct, frozen=True):
    """Steps or hosts for which a check has no data, although it has data for others.

    Without `hosts`: all hosts of these steps. Without `steps`: not about steps.
    """

    why: UnknownError
    steps: Sequence[int] = ()
    hosts: Sequence[str] = ()


class RunEvidence(Struct, frozen=True):
    """Evidence of a run, from its record.

    `from_begin`: series include the first second of their steps. `rounding`: relative error of
    printed figures. `foreign`: an imported run, whose plan describes the load but not what benchtui
    adds (seeds).
    """

    plan: Plan
    hosts: Sequence[HostRecord]
    steps: Sequence[StepRecord]
    seen: JournalData
    from_begin: bool = True
    rounding: float = 0.0
    foreign: bool = False
    copies: Sequence[CopyRecord] = ()  # of results in other runs of an import
    imported_s: float | None = None  # time of the import, since the run began
    # by step: what several checks use, with what it was computed from
    kept: dict[int, tuple[tuple[object, ...], Any]] = field(default_factory=dict)

    def limit(self, name: str) -> float:
        """Return a threshold, as set by the profile or by default."""
        return self.plan.thresholds.get(name, default(name))


class StepEvidence(Struct, frozen=True):
    """Evidence of one step."""

    run: RunEvidence
    step: Step
    record: StepRecord

    def limit(self, name: str) -> float:
        """Return a threshold, as set by the profile or by default."""
        return self.run.limit(name)

    @property
    def passed(self) -> float:
        """Share of the measurement that has passed; 1 if the step is not running.

        Checks that judge the whole time use it so as not to report on Live what the result would
        withdraw.
        """
        if self.record.state != "running" or not self.record.measured_s:
            return 1.0
        return passed_share(self.record.measured_s, self.step.runtime_s)

    @property
    def left_s(self) -> int:
        """Whole seconds of the measurement that remain; 0 if the step is not running."""
        measured_s = self.record.measured_s or 0.0
        return round(measured_s / self.passed - measured_s)

    def at_end(self, mean: float, rest: float) -> float:
        """Return the mean over the whole time, given the mean so far and the mean of the remaining
        time.
        """
        passed = self.passed
        return mean if passed == 1.0 else passed * mean + (1 - passed) * rest

    @property
    def beside(self) -> list[StepEvidence]:
        """Steps that ran at the same time on other hosts."""
        others = [
            (step, record)
            for step, record in _pairs(self.run)
            if step.together and step is not self.step
        ]
        return [
            StepEvidence(self.run, *each)
            for each in others
            if each[0].together == self.step.together
        ]


OnRun = Callable[[RunEvidence], Iterable[CheckResult | Unread]]
# why there is no data for a host, as a code; empty if there is
NoData = Callable[["HostRecord"], str]
NoDataInStep = Callable[[StepEvidence, "HostRecord"], str]
# None: a place to interrupt a check of many hosts
OnStep = Callable[[StepEvidence], Iterable[CheckResult | None]]


class Check(Struct, frozen=True):
    """A check.

    `means` is the docstring of its function, shown to users: why the finding matters. `for_mpi`:
    the last part of the rule, if it applies to MPI programs only. `no_data`, `no_data_in_step`: why
    it has no data for a host, for checks that judge each host.
    """

    id: str
    title: str
    rule: str
    means: str
    advice: str
    source: str
    of_run: OnRun | None = None
    of_step: OnStep | None = None
    when: When = "live"
    for_mpi: str = ""
    no_data: NoData | None = None
    no_data_in_step: NoDataInStep | None = None

    def rule_of(self, *, mpi: bool) -> str:
        """Return the rule for a run with or without an MPI program."""
        return self.rule if mpi else self.rule.removesuffix(f"; {self.for_mpi}")

    @property
    def live(self) -> bool:
        """Whether the check also runs during a run."""
        return self.when != "ended"

    @property
    def of_files(self) -> bool:
        """Whether the check is about files, devices or page caches, which loads on objects do not
        use.
        """
        return self.when == "files"

    def examine(self, evidence: RunEvidence) -> list[Finding]:
        """Return the findings for a run. Raises UnknownError without evidence."""
        return self.examine_all(evidence)[0]

    def examine_all(self, evidence: RunEvidence) -> tuple[list[Finding], list[Unread]]:
        """Return the findings for a run, and the steps and hosts without evidence with the reasons.

        Raises UnknownError if no step has evidence.
        """
        if self.of_run is not None:
            if self.of_files and all(map(on_objects, evidence.plan.steps)):
                raise UnknownError(Moot.OBJECTS)
            told = list(self.of_run(evidence))
            gaps = [one for one in told if isinstance(one, Unread) and (one.steps or one.hosts)]
            if self.no_data is not None:
                gaps += _lacking(_clients(evidence), self.no_data)
            return [self._finding(one, {}) for one in told if isinstance(one, CheckResult)], gaps
        seen: dict[tuple[object, ...], list[tuple[int, CheckResult]]] = {}
        unknown: list[Unread] = []
        in_steps: list[Unread] = []
        counted = [(step, record) for step, record in _pairs(evidence) if _counts(record)]
        for step, record in counted:
            at = StepEvidence(evidence, step, record)
            try:
                found = self._results_of(at)
            except UnknownError as reason:
                unknown.append(Unread(reason, [record.index]))
                continue
            in_steps += self._lacking_in(at)
            for key, each in _keyed(found, by_kind=evidence.plan.search is not None):
                seen.setdefault(key, []).append((record.index, each))
        if len(unknown) == len(counted):
            raise unknown[0].why if unknown else UnknownError("nothing-measured")
        findings = [
            self._finding(_together(each), _steps([index for index, _ in each]))
            for each in seen.values()
        ]
        return findings, [*unknown, *in_steps]

    def _lacking_in(self, at: StepEvidence) -> list[Unread]:
        """Return the hosts of a step for which the check has no data."""
        no_data = self.no_data_in_step
        if no_data is None:
            return []
        names = {task.host for task in at.step.tasks}
        hosts = [host for host in _clients(at.run) if host.name in names]
        return _lacking(hosts, lambda host: no_data(at, host), [at.record.index])

    def examine_step(self, at: StepEvidence) -> Generator[None, None, list[Finding]]:
        """Return the findings for one step, in slices: a check of many hosts takes long.

        Raises UnknownError without evidence.
        """
        if not _counts(at.record):
            raise UnknownError("nothing-measured")
        found: list[Finding] = []
        for each in self._results(at):
            if each is None:
                yield
            else:
                found.append(self._finding(each, _steps([at.record.index])))
        return found

    def _results_of(self, at: StepEvidence) -> list[CheckResult]:
        return [each for each in self._results(at) if each is not None]

    def _results(self, at: StepEvidence) -> Iterable[CheckResult | None]:
        if self.of_files and on_objects(at.step):
            raise UnknownError(Moot.OBJECTS)
        if self.id not in WITHOUT_IO and did_no_io(at.record):
            raise UnknownError("no-completed-io")
        return self.of_step(at) if self.of_step else ()

    def _finding(self, found: CheckResult, scope: dict[str, Scalar]) -> Finding:
        from tui.model.record import Finding  # loaded only when there is a run

        return Finding(
            id=self.id,
            severity=found.severity,
            scope=scope | found.scope,
            measured=found.measured,
            threshold=found.threshold,
            code=found.code,
            operands=listed(found.operands),
        )


def why_unknown(at: StepEvidence, fact: str) -> str:
    """Return the first host's reason why a fact is unknown; empty if no host has one."""
    reasons = (host_tables.why_unknown(host.facts, fact) for host in at.run.hosts)
    return next(filter(None, reasons), "")


def writers_of(at: StepEvidence) -> list[JobLoad]:
    """Return the jobs that write persistent data. Raises UnknownError if there are none."""
    writers = [job for job in at.step.jobs if "write" in job.directions and job.stores]
    if not writers:
        raise UnknownError(Moot.WRITES)
    return writers


def of_job(at: StepEvidence, host: str, job: JobLoad) -> Mapping[str, DirectionRecord]:
    """Return a host's results of one job by direction; empty if the jobs' results are only known
    together.
    """
    results = at.record.results
    if len([each for each in at.step.jobs if each.stores]) == 1:
        return results.per_host.get(host, {})
    return (results.per_job or {}).get(host, {}).get(job.name, {})


def on_objects(step: Step) -> bool:
    """Return whether a step uses only objects in a store."""
    return bool(step.jobs) and all(job.objects for job in step.jobs)


def unread_in_steps(
    evidence: RunEvidence, read: Mapping[str, set[int]], why: str, steps: Container[int]
) -> Iterable[Unread]:
    """Yield the steps in which no host was read, if a host was read in another step, and the hosts
    that were not read in steps in which other hosts were.

    `read`: the steps in which each host was read. `steps`: those that matter.
    """
    for step, record in _pairs(evidence):
        if not _counts(record) or record.index not in steps:
            continue
        hosts = [task.host for task in step.tasks]
        lacking = [host for host in hosts if step.index not in read.get(host, ())]
        if 0 < len(lacking) < len(hosts):
            yield Unread(UnknownError(why), [record.index], lacking)
        elif any(read.get(host) for host in lacking):
            yield Unread(UnknownError(why), [record.index])


def _clients(evidence: RunEvidence) -> list[HostRecord]:
    return [host for host in evidence.hosts if host.role == "client"]


def _lacking(
    hosts: Sequence[HostRecord], no_data: NoData, steps: Sequence[int] = ()
) -> list[Unread]:
    """Return the hosts without data, by reason."""
    found: dict[str, list[str]] = {}
    for host in hosts:
        if why := no_data(host):
            found.setdefault(why, []).append(host.name)
    return [Unread(UnknownError(why), steps, names) for why, names in found.items()]


def _counts(record: StepRecord) -> bool:
    """Return whether a step ran and counts; warm-ups do not."""
    return record.state not in ("missing", "skipped") and not record.warmup


def _keyed(
    found: Iterable[CheckResult], *, by_kind: bool
) -> Iterable[tuple[tuple[object, ...], CheckResult]]:
    """Yield the results of a step with a key that is equal for the same result in other steps.

    `by_kind`: use only severity, threshold and direction, because points of a search differ on
    purpose.
    """
    count: dict[tuple[object, ...], int] = {}
    alike: dict[tuple[object, ...], list[Operands]] = {}
    kind: tuple[object, ...]
    for each in found:
        if not by_kind:
            kind = (each.severity, each.code, likeness(each.operands), *each.scope.items())
            here = alike.setdefault(kind, [])
            if each.operands not in here:
                here.append(each.operands)
            yield (*kind, here.index(each.operands)), each
            continue
        kind = each.severity, each.threshold, each.scope.get("direction")
        count[kind] = count.get(kind, 0) + 1
        yield (*kind, count[kind]), each


def _together(found: Sequence[tuple[int, CheckResult]]) -> CheckResult:
    """Merge the results of several steps: the first if all are equal, else the worst with the hosts
    of all.
    """
    each = [one for _, one in found]
    if len({(one.code, likeness(one.operands)) for one in each}) == 1:
        return each[0]
    worst = max(each, key=_how_far)
    hosts = dict.fromkeys(
        host for one in each for host in str(one.scope.get("hosts") or "").split()
    )
    scope = worst.scope | ({"hosts": " ".join(hosts)} if hosts else {})
    return replace(worst, operands=worst.operands | {"points_merged": len(each)}, scope=scope)


def _how_far(found: CheckResult) -> float:
    """Return how far a figure is from its threshold; 0 if either is not a number."""
    numbers = [each for each in (found.measured, found.threshold) if isinstance(each, int | float)]
    return abs(numbers[0] - numbers[1]) if len(numbers) == 2 else 0.0


def _steps(indices: Sequence[int]) -> dict[str, Scalar]:
    """Return the steps of a finding as a scope: `step`, or several as `steps`."""
    return {"step": indices[0]} if len(indices) == 1 else {"steps": " ".join(map(str, indices))}


def run_check(
    name: str, title: str, *, rule: str, advice: str, source: str, when: When = "live"
) -> Callable[[OnRun], Check]:
    """Return a decorator that turns a function on a run into a check."""
    names = (name, title, rule)
    return lambda function: Check(
        *names, cleandoc(function.__doc__ or ""), advice, source, of_run=function, when=when
    )


def step_check(
    name: str,
    title: str,
    *,
    rule: str | tuple[str, str],
    advice: str,
    source: str,
    when: When = "live",
) -> Callable[[OnStep], Check]:
    """Return a decorator that turns a function on one step into a check, which runs for every
    step.

    `rule`: if it has two parts, the second applies to MPI programs only.
    """
    whole, for_mpi = (rule, "") if isinstance(rule, str) else ("; ".join(rule), rule[1])
    return lambda function: Check(
        name,
        title,
        whole,
        cleandoc(function.__doc__ or ""),
        advice,
        source,
        of_step=function,
        when=when,
        for_mpi=for_mpi,
    )


def of_hosts(no_data: NoData) -> Callable[[Check], Check]:
    """Return a decorator for a check of a run that judges each host, if it has data for it."""
    return lambda check: replace(check, no_data=no_data)


def of_hosts_in_step(no_data: NoDataInStep) -> Callable[[Check], Check]:
    """Return a decorator for a check of a step that judges each host, if it has data for it."""
    return lambda check: replace(check, no_data_in_step=no_data)


def _pairs(evidence: RunEvidence) -> Iterable[tuple[Step, StepRecord]]:
    return zip(evidence.plan.steps, evidence.steps, strict=True)
