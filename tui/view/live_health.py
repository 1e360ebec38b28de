"""The health of a live run in one or two lines: worst finding, steadiness, bottleneck."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, NamedTuple

from tui.journal.state import RunState, silent_hosts_text, waiting_text
from tui.judge.chance import steady_limits
from tui.judge.severity import OUTSIDE_STORAGE
from tui.judge.wording import bottleneck_text, message_of, name_of
from tui.metrics import units
from tui.metrics.figures import HostSpread, behind_text
from tui.metrics.steady import ROUND_S, ROUNDS, SteadyWindow, window_across
from tui.metrics.units import plural
from tui.model.plain import some
from tui.model.plan import OVERTIME_S
from tui.record.progress import FIRST_S
from tui.text.line import (
    BAD,
    BRIGHT,
    GOOD,
    LABEL,
    SEVERITY_MARKS,
    TEXT,
    VALUE,
    WARN,
    Line,
    Run,
    clip,
    spread,
    width_of_runs,
)
from tui.view.live_hosts import BROKEN
from tui.view.plan_steps import step_names
from tui.view.step_notes import MPI_WAITS, found_text

if TYPE_CHECKING:
    from tui.judge.live import LiveFinding, LiveFindings
    from tui.model.plan import Plan
    from tui.model.step_record import BottleneckRecord

GAP: Run = ("  ·  ", LABEL)
NARROW: Run = (" · ", LABEL)
STRAGGLERS, LOST, UNSTEADY = "straggler", "host-loss", "steady-state"
MOST_MARKED = 0.75  # of the hosts
LEAST_TREND = 0.005  # less is shown as none
CLAUSES = ("; ", " (")  # where a finding is shortened first: advice, then details
BOTTLENECKS = {  # by kind, where there is no room for the evidence
    "rate": "offered rate",
    "client-cpu": "client CPU",
    "network": "network",
    "client-device": "client device",
    "server-cpu": "server CPU",
    "concurrency": "concurrency",
    "storage": "storage or queue depth",
}
# by kind of bottleneck: check and code of the finding with the same evidence
FOUND_AS = {
    "client-cpu": ("client-cpu", "bound"),
    "network": ("network", "full"),
    "client-device": ("io-limit", "reached"),
}


class HealthText(NamedTuple):
    """A text in full, short for narrow screens, and shorter next to a finding."""

    whole: list[Run]
    brief: list[Run]
    briefest: list[Run]


NO_TEXT = HealthText([], [], [])


def _unknown(whole: str, brief: str) -> HealthText:
    """Return a text for something that is not known yet."""
    return HealthText([(whole, LABEL)], [(brief, LABEL)], [(brief, LABEL)])


TOO_SHORT: Run = ("load too short for live checks", LABEL)
NEVER_STEADY = _unknown("too short to judge steadiness", "too short for steadiness")
UNKNOWN: Run = ("bottleneck unknown", LABEL)
WITH_MPI = HealthText(
    [
        ("bottleneck ", LABEL),
        ("not judged", TEXT),
        (f": {MPI_WAITS}", LABEL),
    ],
    [("bottleneck ", LABEL), ("not judged (MPI)", TEXT)],
    [("bottleneck ", LABEL), ("not judged (MPI)", TEXT)],
)


class Worst(NamedTuple):
    """The worst problem as text, the checks that it covers, and its finding if it is one."""

    runs: list[Run]
    checks: tuple[str, ...] = ()
    finding: LiveFinding | None = None


def health(
    found: LiveFindings | None,
    state: RunState,
    plan: Plan | None,
    hosts: HostSpread,
    width: int,
    *,
    lines: int = 2,
) -> list[Line]:
    """Return the worst finding, then steadiness and bottleneck.

    They are on one line if they fit, otherwise on up to `lines`. A finding that is the bottleneck
    is shown once. Empty if there is no load to judge and nothing was found.
    """
    told = found is not None and (found.now or found.was)
    judged = is_loaded(state) or is_mpi_load(state, plan)
    if not (judged or told or (state.ended and hosts.stragglers)):
        return []
    waiting = _waiting(state)
    problem = worst(found, state, hosts, planned_of(state, plan), waiting)
    if problem.runs[0][1] in (LABEL, GOOD) and (failed := _failed_points(state, plan)):
        problem = Worst(failed)
    steady, bottleneck = steadiness(state, plan), bottleneck_runs(found, state, plan)
    several = plan is not None and len(plan.steps) > 1
    if waiting or _is_too_short(planned_of(state, plan)):
        # the load of all hosts together is over, or ends before there is anything to judge
        steady = bottleneck = NO_TEXT
    elif several and not told:
        steady, bottleneck = _of_steps(steady, bottleneck)
    if several and not told and problem.runs == [TOO_SHORT]:
        return []  # so do the other steps
    limit = _limiting(found, state) if bottleneck is not NO_TEXT else None
    first, covered = problem.runs, {*problem.checks}
    covered |= {UNSTEADY} if steady is not NO_TEXT and steady.brief[0][1] == WARN else set()
    if limit is not None:
        covered.add(limit.finding.id)
        if limit is problem.finding and not limit.role:
            first, bottleneck = [("! ", WARN), *bottleneck.whole], NO_TEXT
    others = [*other_names(found, covered), *_quiet(state, problem)]
    counts = counts_of(found, all_named=not others)
    rest = _after(steady.whole, bottleneck.whole)
    spare = width - 2 - width_of_runs([*first, *counts])
    more = named(others, spare - width_of_runs(rest))
    # a line of their own for steadiness and bottleneck leaves room for the names of findings
    if width_of_runs(rest) <= spare and (more or not others or lines < 2):
        return [_line([*first, *more, *rest], counts, width)]
    if lines < 2:
        return [_in_short(first, others, steady, bottleneck, counts, width)]
    top = _line(with_others(first, others, spare + width_of_runs(first)), counts, width)
    return [top, *([_line(rest[1:], [], width)] if rest else [])]


def _of_steps(steady: HealthText, bottleneck: HealthText) -> tuple[HealthText, HealthText]:
    """Return what is known about short steps; leave out what will never be known."""
    return (
        NO_TEXT if steady == NEVER_STEADY else steady,
        NO_TEXT if bottleneck.brief == [UNKNOWN] else bottleneck,
    )


def _quiet(state: RunState, problem: Worst) -> list[str]:
    """Return which hosts are silent; empty if the worst problem says so."""
    now = state.clock.now
    names = [host.name for host in state.hosts.values() if host.activity(now) == "silent"]
    told = any(name in text for name in names[:1] for text, _ in problem.runs)
    return [f"{some(names, 1)} silent"] if names and not told else []


def _limiting(found: LiveFindings | None, state: RunState) -> LiveFinding | None:
    """Return the finding with the evidence of the current step's bottleneck, if there is one."""
    bottleneck = found.bottlenecks.get(state.step or 0) if found is not None else None
    if found is None or bottleneck is None:
        return None
    return finding_of(bottleneck, found, state.step)


def finding_of(
    bottleneck: BottleneckRecord, found: LiveFindings, step: int | None
) -> LiveFinding | None:
    """Return the current finding with the evidence of a step's bottleneck, if there is one."""
    same = FOUND_AS.get(bottleneck.kind)
    return next(
        (
            each
            for each in found.now
            if (each.finding.id, each.finding.code) == same and each.step in (None, step)
        ),
        None,
    )


def other_names(found: LiveFindings | None, covered: Collection[str]) -> list[str]:
    """Return in words the current findings of checks that are not `covered`, with the host if they
    are about a single one.
    """
    hosts: dict[str, set[str]] = {}
    for each in found.now if found is not None else ():
        hosts.setdefault(each.finding.id, set()).update(each.hosts or ("",))
    return [
        " ".join(filter(None, (name_of(check), *(names if len(names) == 1 else ()))))
        for check, names in hosts.items()
        if check not in covered
    ]


def named(names: list[str], room: int) -> list[Run]:
    """Return as many names as fit, and the number left out: ``+ stall, 2 more``."""
    for count in range(len(names), 0, -1):
        left = len(names) - count
        text = ", ".join([*names[:count], *([f"{left} more"] if left else [])])
        if len(text) + 4 <= room:
            return [("  + ", LABEL), (text, TEXT)]
    return []


def with_others(first: list[Run], others: list[str], room: int) -> list[Run]:
    """Return a finding followed by the names of other findings.

    Drops the finding's last clauses to make room for the names; without room for any name, returns
    the longest version of the finding that fits.
    """
    versions = _versions(first)
    for each in versions:
        if more := named(others, room - width_of_runs(each)):
            return [*each, *more]
    return next((each for each in versions if width_of_runs(each) <= room), first)


def _versions(first: list[Run]) -> list[list[Run]]:
    """Return a finding in full, then shorter and shorter, without its last clauses or evidence."""
    found = [first]
    for clause in CLAUSES:
        *kept, (text, role) = found[-1]
        for _ in range(text.count(clause)):
            text = text.rpartition(clause)[0]
            found.append([*kept, (text, role)])
    *kept, (text, _) = found[-1]
    return [*found, kept] if text.startswith(": ") else found


def _in_short(
    first: list[Run],
    others: list[str],
    steady: HealthText,
    bottleneck: HealthText,
    counts: list[Run],
    width: int,
) -> Line:
    """Return finding, other findings, steadiness and bottleneck on one line.

    If there is no room, evidence and counts are left out first, then steadiness, the last clauses
    of the finding, and the bottleneck. Names of other findings go before steadiness and bottleneck.
    """
    key = counts[-2:]
    rests = ((steady.brief, bottleneck.briefest), (bottleneck.briefest,), ())
    known = [(each, parts) for parts in rests for each in _versions(first)[:2]]
    if first[-1][0].startswith(": "):  # evidence is worth more than what comes after it
        known.sort(key=lambda pair: -len(pair[0]))
    for each, parts in known if others else ():
        rest = [*named(others, width), *_after(*parts, gap=NARROW)]
        if width_of_runs([*each, *rest, *key]) + 2 <= width:
            return _line([*each, *rest], key, width)
    for each, parts in known if others else ():
        rest = _after(*parts, gap=NARROW)
        if more := named(others, width - 2 - width_of_runs([*each, *rest, *key])):
            return _line([*each, *more, *rest], key, width)
    wide = (
        (steady.whole, bottleneck.brief),
        (steady.brief, bottleneck.brief),
        (steady.whole, bottleneck.briefest),
        (steady.brief, bottleneck.briefest),
    )
    whole = [(first, _after(*parts), right) for right in (counts, key) for parts in wide]
    narrow = ((steady.brief, bottleneck.briefest), (bottleneck.briefest,), (steady.brief,), ())
    shorter = [
        (each, _after(*parts, gap=NARROW), key) for parts in narrow for each in _versions(first)
    ]
    for each, rest, right in (*whole, *shorter):
        if width_of_runs([*each, *rest, *right]) + 2 <= width:
            return _line([*each, *rest], right, width)
    return _line(_versions(first)[-1], key, width)


def _after(*parts: list[Run], gap: Run = GAP) -> list[Run]:
    """Return the parts that are not empty, each preceded by a gap."""
    return [run for each in parts if each for run in (gap, *each)]


def is_loaded(state: RunState) -> bool:
    """Return whether an I/O load that can be judged is being measured.

    False for metadata benchmarks.
    """
    measured = state.phase == "measure" and state.current.is_of("measure", state.step)
    return measured and not state.ended and bool(state.cluster)


def is_mpi_load(state: RunState, plan: Plan | None) -> bool:
    """Return whether an MPI program without samples is being measured."""
    step = plan.steps[state.step] if plan is not None and state.step is not None else None
    return bool(
        step is not None
        and step.mpi is not None
        and state.phase == "measure"
        and not state.ended
        and not state.cluster
    )


def planned_of(state: RunState, plan: Plan | None) -> float | None:
    """Return the planned seconds of load of the current step.

    None without a plan or a step, or if the step is not bounded by time.
    """
    step = plan.steps[state.step] if plan is not None and state.step is not None else None
    return step.expected_s if step is not None else None


def worst(
    found: LiveFindings | None,
    state: RunState,
    hosts: HostSpread,
    planned_s: float | None,
    waiting: list[Run],
) -> Worst:
    """Return the worst current problem; without one, the latest past problem, or that none is
    known.

    Lost hosts are worst, then errors, stragglers, silent hosts, warnings. `waiting`: the hosts that
    the end of the load still waits for; they come first if a host is silent, otherwise last.
    """
    now = found.now if found is not None else []
    errors = [each for each in now if each.severity == "error"]
    silent = _silent(state)
    for said in (
        Worst(waiting if silent else []),
        Worst(_gone(state), (LOST,)),
        _finding(errors),
        Worst(_lagging(hosts), (STRAGGLERS,)),
        Worst(silent),
        _finding(now),
        Worst(waiting),
    ):
        if said.runs:
            return said
    if found is not None and found.was:
        each = found.was[0]
        return Worst([("was: ", LABEL), (of_role(each.role, message_of(each.finding)), LABEL)])
    return Worst(_nothing(found, planned_s))


def _nothing(found: LiveFindings | None, planned_s: float | None) -> list[Run]:
    """Return the text for no findings, or when the checks will start."""
    count = len(found.made) if found is not None else 0
    if count:
        return [("✓ ", GOOD), (f"no findings, {plural(count, 'check')}", LABEL)]
    if _is_too_short(planned_s):
        return [TOO_SHORT]
    return [(f"checks start {FIRST_S:.0f} s into the load", LABEL)]


def _failed_points(state: RunState, plan: Plan | None) -> list[Run]:
    """Return how many points of several have failed, and their names; empty if none has."""
    failed = [index for index, step in state.steps.items() if step.state == "failed"]
    if plan is None or len(plan.steps) < 2 or not failed or max(failed) >= len(plan.steps):
        return []
    names = step_names(plan)
    told = some(dict.fromkeys(names[index] for index in failed), 2)
    return [(f"✗ {plural(len(failed), 'step')} failed  ", BAD), (told, BRIGHT)]


def _is_too_short(planned_s: float | None) -> bool:
    """Return whether a load ends before the first live checks."""
    return planned_s is not None and planned_s <= FIRST_S


def _gone(state: RunState) -> list[Run]:
    """Return which hosts are lost, since when, and how many remain; empty after the run."""
    gone = [host for host in state.hosts.values() if host.state in BROKEN]
    if not gone or state.ended:
        return []
    words = " or ".join(dict.fromkeys(host.state for host in gone))
    if len(gone) > 1:
        lost = f"✗ {len(gone)} of {plural(len(state.hosts), 'host')} {words}"
        return [(lost, BAD), (f": {some([host.name for host in gone], 3)}", BRIGHT)]
    (name,) = (host.name for host in gone)
    until_t = state.current.dropped.get(name)
    when = f" at {units.clock(until_t - state.current.started_t)}" if until_t is not None else ""
    left = f", {len(state.hosts) - 1} of {plural(len(state.hosts), 'host')} remain"
    return [(f"✗ {name} {words}", BAD), (when + left, BRIGHT)]


def _lagging(hosts: HostSpread) -> list[Run]:
    slow = hosts.stragglers
    if not slow:
        return []
    if len(slow) > 1:
        return [("▼ ", WARN), (f"{plural(len(slow), 'straggler')}: {some(slow, 3)}", BRIGHT)]
    share = hosts.shares[slow[0]] or 0.0
    return [("▼ ", WARN), (f"straggler: {slow[0]} at {behind_text(share)}", BRIGHT)]


def _silent(state: RunState) -> list[Run]:
    text = silent_hosts_text(state.hosts.values(), state.clock.now)
    return [("! ", WARN), (text, BRIGHT)] if text else []


def _waiting(state: RunState) -> list[Run]:
    """Return the hosts that the end of the load waits for, how long, and what happens then."""
    hosts, now = state.hosts.values(), state.clock.now
    left_s: float | None = None
    if state.phase == "measure" and state.phase_expected_s:
        end_t = state.phase_started_t + state.phase_expected_s + OVERTIME_S
        left_s = max(0.0, end_t - now)
    text = waiting_text(hosts, now, left_s)
    if not text or state.ended:
        return []
    if left_s is not None and any(host.activity(now) == "silent" for host in hosts):
        kept = sum(host.activity(now) not in ("silent", *BROKEN) for host in hosts)
        text += f"; then collects results of {kept} of {len(hosts)}"
    elif left_s is not None:
        text += "; then stops the load"
    return [("! ", WARN), (text, BRIGHT)]


def _finding(found: list[LiveFinding]) -> Worst:
    if not found:
        return Worst([])
    sign, role = SEVERITY_MARKS[found[0].severity]
    text = of_role(found[0].role, message_of(found[0].finding))
    return Worst([(f"{sign} ", role), (text, BRIGHT)], (found[0].finding.id,), found[0])


def steadiness(state: RunState, plan: Plan | None) -> HealthText:
    """Return whether the total rate is steady so far, by SNIA's rule, or when that will be known.

    Empty without a load.
    """
    if not is_loaded(state):
        return NO_TEXT
    step = plan.steps[state.step] if plan is not None and state.step is not None else None
    values = [value or 0.0 for value in state.total.series("iops")][
        int(step.ramp_s or 0) if step is not None else 0 :
    ]
    window = window_across(values)
    if window is None:
        left, planned_s = (
            ROUNDS * ROUND_S - len(values),
            step.runtime_s if step is not None else None,
        )
        short = planned_s is not None and planned_s < ROUNDS * ROUND_S
        if short:
            return NEVER_STEADY
        return _unknown(f"steadiness known in {left} s", f"steadiness in {left} s")
    jobs = step.jobs if step is not None else []
    means = f"{round(len(values) / ROUNDS)}-s averages"
    if window.within(*steady_limits(values, jobs)):
        steady: Run = ("steady", GOOD)
        within: Run = (f": {means} within {units.share(max(0.01, window.range))}", TEXT)
        return HealthText([steady, within], [steady], [steady])
    unsteady: Run = ("not steady", WARN)
    return HealthText([unsteady, (f": {means} {apart_text(window)}", TEXT)], [unsteady], [unsteady])


def apart_text(window: SteadyWindow) -> str:
    """Return how far apart the means of an unsteady rate are, and their trend: ``14 % apart,
    falling``.

    ``no trend`` if they only go up and down.
    """
    way = "falling" if window.means[-1] < window.means[0] else "rising"
    trend = way if window.slope >= LEAST_TREND else "no trend"
    return f"{units.share(window.range)} apart, {trend}"


def bottleneck_runs(found: LiveFindings | None, state: RunState, plan: Plan | None) -> HealthText:
    """Return the bottleneck of the current step, or why it is not known.

    Empty without a load.
    """
    if is_mpi_load(state, plan):
        return WITH_MPI
    if not is_loaded(state):
        return NO_TEXT
    bottleneck = found.bottlenecks.get(state.step or 0) if found is not None else None
    if bottleneck is not None:
        return limited_by(bottleneck, len(state.hosts))
    looked = any(host.end_t for host in state.at_step(state.step or 0).telemetry.values())
    why = "not yet known" if looked else "unknown: no telemetry"
    why = why if plan is not None else "unknown: no plan"
    return _unknown(f"bottleneck {why}", UNKNOWN[0])


def limited_by(bottleneck: BottleneckRecord, hosts: int) -> HealthText:
    """Return a bottleneck; as a warning if it is outside the storage. `hosts`: number of hosts."""
    what, colon, evidence = bottleneck_text(bottleneck, hosts).partition(":")
    usual = TEXT if bottleneck.kind == "storage" else VALUE
    role = WARN if bottleneck.kind in OUTSIDE_STORAGE else usual
    brief: list[Run] = [("limited by ", LABEL), (BOTTLENECKS[bottleneck.kind], role)]
    over = " so far" if evidence and bottleneck.kind in FOUND_AS else ""
    whole: list[Run] = [("limited by ", LABEL), (what, role), (colon + evidence + over, TEXT)]
    return HealthText(whole, brief, brief)


def counts_of(found: LiveFindings | None, *, all_named: bool) -> list[Run]:
    """Return the number of findings, unless all are named beside it, and the key that shows them;
    empty without findings.
    """
    if found is None or not (found.now or found.was):
        return []
    runs: list[Run] = []
    if len(found.now) > 1 and not all_named:
        runs.append((found_text([each.severity for each in found.now]), TEXT))
    if found.was:
        runs.append((f"{', ' if runs else ''}{len(found.was)} earlier", LABEL))
    return [*runs, ("  " if runs else "", TEXT), ("f", "accent"), (" all", LABEL)]


def _line(left: list[Run], right: list[Run], width: int) -> Line:
    """Return a line with `left` truncated to the room that `right` leaves."""
    room = width - width_of_runs(right) - (2 if right else 0)
    return Line.of(*spread(_cut(left, room), right, width))


def _cut(runs: list[Run], width: int) -> list[Run]:
    """Return runs truncated to at most `width` cells, after a whole word if possible."""
    if width_of_runs(runs) <= width:
        return runs
    *kept, (text, role) = clip(runs, width)
    words = text.rstrip().removesuffix("…").rpartition(" ")[0].rstrip(" ,;:·")
    return [*kept, (f"{words}…" if words else text, role)]


def marks(found: LiveFindings | None, count: int) -> Mapping[str, Run]:
    """Return, by host, what the findings about it say in words, in the role of the worst one.

    Findings that nearly all of the `count` hosts share are left out: they are about the run.
    """
    known = found.by_host() if found is not None else {}
    of_run = [
        each
        for each in (found.now if found is not None else ())
        if len(each.hosts) > MOST_MARKED * count > 2
    ]
    by_host = {
        host: own
        for host, each in known.items()
        if (own := [one for one in each if one not in of_run])
    }
    ids = {
        host: dict.fromkeys(each.finding.id for each in findings)
        for host, findings in by_host.items()
    }
    return {
        host: (", ".join(map(name_of, ids[host])), SEVERITY_MARKS[findings[0].severity][1])
        for host, findings in by_host.items()
    }


def of_role(role: str, text: str) -> str:
    """Return a text with the role it is about in front, if several roles run: ``writers: ...``."""
    return ": ".join(filter(None, (role, text)))
