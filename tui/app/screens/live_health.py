"""Live: the health of a run in one line, the details of one host, the keys in the footer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct

from tui.app.screens.hosts_facts import fact_lines
from tui.app.widgets.host_rows import BROKEN
from tui.app.widgets.run_panels import SEVERITY_KEYS
from tui.journal.host import silent_hosts_text, waiting_text
from tui.metrics import units
from tui.metrics.figures import HostSpread, behind_text
from tui.metrics.registry import in_order
from tui.metrics.steady import ROUND_S, ROUNDS, SteadyWindow, window_across
from tui.metrics.units import clock, plural
from tui.model.plain import some
from tui.record.progress import FIRST_S
from tui.text.line import (
    BAD,
    BRIGHT,
    GOOD,
    LABEL,
    TEXT,
    VALUE,
    WARN,
    Line,
    Run,
    clip,
    heading,
    indented,
    labelled,
    spread,
    width_of_runs,
)
from tui.view.findings import of_role
from tui.view.live_series import OF_HOST, HostsOverTime
from tui.view.step_notes import found_text, now_text

if TYPE_CHECKING:
    from tui.journal.state import RunState
    from tui.judge.live import LiveFinding, LiveFindings
    from tui.model.plan import Plan
    from tui.text.plot import TimeAxis
    from tui.text.sparkline import Symbols

ROLES = {"error": "bad", "warning": "warn", "info": LABEL}
SIGNS = {"error": "✗", "warning": "!", "info": "·"}
GAP: Run = ("  ·  ", LABEL)
NARROW: Run = (" · ", LABEL)
STRAGGLERS = "straggler"
MOST_MARKED = 0.75  # of the hosts
LEAST_TREND = 0.005  # less is shown as none
LEAST_FINDING = 24  # cells, before all else gives way to it
BOTTLENECKS = {  # by kind, where there is no room for the evidence
    "rate": "offered rate",
    "client-cpu": "client CPU",
    "network": "network",
    "client-device": "client's device",
    "server-cpu": "server CPU",
    "concurrency": "concurrency",
    "storage": "storage?",  # as far as the clients can tell
}


class Said(NamedTuple):
    """Something that is said whole, or in short where there is less room."""

    whole: list[Run]
    brief: list[Run]


def health(
    found: LiveFindings | None,
    state: RunState,
    plan: Plan | None,
    hosts: HostSpread,
    width: int,
    *,
    lines: int = 2,
) -> list[Line]:
    """Return what matters most, then steadiness and bottleneck: in one line, else in as many as
    `lines`.
    """
    told = found is not None and (found.now or found.was)
    if not (is_loaded(state) or told or (state.ended and hosts.laggards)):
        return []
    first, counts = worst(found, state, hosts, planned_of(state, plan)), counts_of(found)
    steady, bottleneck = steadiness(state, plan), bottleneck_runs(found, state, plan)
    if _waiting(state):  # the load of all hosts together is over
        steady = bottleneck = Said([], [])
    rest = _after(steady.whole, bottleneck.whole)
    if width_of_runs([*first, *rest, *counts]) + 2 <= width:
        return [_line([*first, *rest], counts, width)]
    if lines < 2:
        return [_in_short(first, steady, bottleneck, counts, width)]
    return [_line(first, counts, width), *([_line(rest[1:], [], width)] if rest else [])]


def _in_short(
    first: list[Run], steady: Said, bottleneck: Said, counts: list[Run], width: int
) -> Line:
    """Return all of it in one line: evidence and counts give way, then the finding is cut as far as
    it can be.
    """
    key = counts[-2:]
    for right in (counts, key):
        for each in (steady.whole, steady.brief):
            rest = _after(each, bottleneck.brief)
            if width_of_runs([*first, *rest, *right]) + 2 <= width:
                return _line([*first, *rest], right, width)
    least = min(width_of_runs(first), LEAST_FINDING)
    shorter = (
        _after(steady.brief, bottleneck.brief, gap=NARROW),
        _after(bottleneck.brief, gap=NARROW),
    )
    rest = next((each for each in shorter if width_of_runs([*each, *key]) + 2 + least <= width), [])
    return _line([*_cut(first, width - width_of_runs([*rest, *key]) - 2), *rest], key, width)


def _after(*parts: list[Run], gap: Run = GAP) -> list[Run]:
    """Return the parts that say something, each after a gap."""
    return [run for each in parts if each for run in (gap, *each)]


def is_loaded(state: RunState) -> bool:
    """Tell whether there is a load that can be judged: not yet, or it is a metadata benchmark."""
    measured = state.phase == "measure" and state.current.is_of("measure", state.step)
    return measured and not state.ended and bool(state.cluster)


def planned_of(state: RunState, plan: Plan | None) -> float | None:
    """Return how long the load of now is planned to take; None: it has no such time."""
    step = plan.steps[state.step] if plan is not None and state.step is not None else None
    return step.expected_s if step is not None else None


def worst(
    found: LiveFindings | None, state: RunState, hosts: HostSpread, planned_s: float | None = None
) -> list[Run]:
    """Return what is worst now: hosts that are gone, errors, laggards, silent hosts, warnings; else
    that it is well.

    At the end of a load that is which hosts it waits for.
    """
    now = found.now if found is not None else []
    errors = [each for each in now if each.severity == "error"]
    waiting = _waiting(state)
    first = waiting if silent_hosts_text(state.hosts.values(), state.clock.now) else []
    for said in (
        first,
        _gone(state),
        _finding(errors),
        _lagging(now, hosts),
        _silent(state),
        _finding(now),
        waiting,
    ):
        if said:
            return said
    if found is not None and found.was:
        each = found.was[0]
        return [
            ("was  ", LABEL),
            (f"{each.finding.id}  {of_role(each.role, each.finding.message)}", LABEL),
        ]
    count = len(found.made) if found is not None else 0
    if count:
        return [("✓ ", GOOD), (f"nothing found, {plural(count, 'check')}", LABEL)]
    if planned_s is not None and planned_s <= FIRST_S:
        return [("too short for checks", LABEL)]
    return [(f"checks begin {FIRST_S:.0f} s into the load", LABEL)]


def _gone(state: RunState) -> list[Run]:
    gone = [host.name for host in state.hosts.values() if host.state in BROKEN]
    if not gone or state.ended:
        return []
    lost = f"✗ {len(gone)} of {plural(len(state.hosts), 'host')} lost"
    return [(lost, BAD), (f": {some(gone, 3)}", BRIGHT)]


def _lagging(now: list[LiveFinding], hosts: HostSpread) -> list[Run]:
    slow = hosts.laggards
    if not slow:
        return []
    known = [each.finding.id for each in now if each.finding.id == STRAGGLERS][:1]
    what = f"{slow[0]} lags: {behind_text(hosts.shares[slow[0]] or 0.0)}"
    others = f", {len(slow) - 1} more lag" if len(slow) > 1 else ""
    return [("▼ ", BAD), *((f"{each}  ", BAD) for each in known), (what + others, BRIGHT)]


def _silent(state: RunState) -> list[Run]:
    text = silent_hosts_text(state.hosts.values(), state.clock.now)
    return [("! ", WARN), (text, BRIGHT)] if text else []


def _waiting(state: RunState) -> list[Run]:
    text = waiting_text(state.hosts.values(), state.clock.now)
    return [("! ", WARN), (text, BRIGHT)] if text and not state.ended else []


def _finding(found: list[LiveFinding]) -> list[Run]:
    if not found:
        return []
    role = ROLES[found[0].severity]
    return [
        (f"{SIGNS[found[0].severity]} {found[0].finding.id}  ", role),
        (of_role(found[0].role, found[0].finding.message), BRIGHT),
    ]


def steadiness(state: RunState, plan: Plan | None) -> Said:
    """Return whether the rate of all hosts is steady by SNIA's rule so far.

    Nothing without a load.
    """
    if not is_loaded(state):
        return Said([], [])
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
            return Said([("steady? too short to tell", LABEL)], [("steady? too short", LABEL)])
        return Said([(f"steady? known in {left} s", LABEL)], [("steady?", LABEL)])
    if window.steady:
        steady: Run = ("steady", GOOD)
        return Said([steady, (f" within {units.share(max(0.01, window.range))}", TEXT)], [steady])
    unsteady: Run = ("not steady", WARN)
    return Said([unsteady, (f": {apart_text(window)}", TEXT)], [unsteady])


def apart_text(window: SteadyWindow) -> str:
    """Return how unsteady it is: ``14 % apart, falling 15 %``.

    Where it goes up and down, that it has no trend.
    """
    way = "falling" if window.means[-1] < window.means[0] else "rising"
    trend = f"{way} {units.share(window.slope)}" if window.slope >= LEAST_TREND else "no trend"
    return f"{units.share(window.range)} apart, {trend}"


def bottleneck_runs(found: LiveFindings | None, state: RunState, plan: Plan | None) -> Said:
    """Return what limits the step of now; nothing where there is no load to limit."""
    if not is_loaded(state):
        return Said([], [])
    label: Run = ("limited by  ", LABEL)
    limiter = found.limiters.get(state.step or 0) if found is not None else None
    if limiter is not None:
        what, colon, evidence = limiter.text.partition(":")
        brief: list[Run] = [("limited by ", LABEL), (BOTTLENECKS[limiter.kind], VALUE)]
        return Said([label, (what, VALUE), (colon + evidence, TEXT)], brief)
    looked = any(host.end_t for host in state.at_step(state.step or 0).telemetry.values())
    why = "not known yet" if looked else "unknown: there is no telemetry"
    whole: Run = (why if plan is not None else "unknown: there is no plan", LABEL)
    return Said([label, whole], [("limited by ?", LABEL)])


def counts_of(found: LiveFindings | None) -> list[Run]:
    """Return how much was found, with the key that shows it; nothing where there is nothing."""
    if found is None or not (found.now or found.was):
        return []
    runs: list[Run] = []
    if len(found.now) > 1:
        runs.append((found_text([each.severity for each in found.now]), TEXT))
    if found.was:
        runs.append((f"{', ' if runs else ''}{len(found.was)} was", LABEL))
    return [*runs, ("  " if runs else "", TEXT), ("f", "accent"), (" all", LABEL)]


def _line(left: list[Run], right: list[Run], width: int) -> Line:
    """Return a line whose left side is cut, and whose right side is not."""
    room = width - width_of_runs(right) - (2 if right else 0)
    return Line.of(*spread(_cut(left, room), right, width))


def _cut(runs: list[Run], width: int) -> list[Run]:
    """Return the runs cut to at most `width` cells, the last of them after a whole word where it
    has several.
    """
    if width_of_runs(runs) <= width:
        return runs
    *kept, (text, role) = clip(runs, width)
    words = text.rstrip().removesuffix("…").rpartition(" ")[0].rstrip(" ,;:·")
    return [*kept, (f"{words}…" if words else text, role)]


def marks(found: LiveFindings | None, count: int) -> Mapping[str, Run]:
    """Return the checks that found something of a host now, with the role of the worst.

    What nearly all of the `count` hosts share marks none of them: it is the run's.
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
        host: (" ".join(ids[host]), ROLES[findings[0].severity])
        for host, findings in by_host.items()
    }


NAME, FIGURE = 12, 12  # cells of a lane's name, and of its newest figure
LANE_ROWS = 2
COMMAND_LINES = 2  # where the panels of the run have to have room
INDENT = 9


def over_time(state: RunState, host: str, before: HostsOverTime | None = None) -> HostsOverTime:
    """Return what telemetry saw of a host in the step of now.

    Of the same one `before` is taken on.
    """
    step = state.steps.get(state.step) if state.step is not None else None
    seen = step.telemetry.get(host) if step is not None else None
    found = before if before is not None and before.step is seen else HostsOverTime(seen, OF_HOST)
    found.take([seen] if seen is not None else [])
    return found


def command_of(state: RunState, host: str) -> str:
    """Return the command of the load that a host began last; empty before."""
    loads = [
        task for (_, name), task in state.at_step(state.step or 0).loads.items() if name == host
    ]
    return " ".join(loads[-1].argv) if loads else ""


def strip(
    state: RunState, host: str, over: HostsOverTime, axis: TimeAxis, width: int, symbols: Symbols
) -> list[Line]:
    """Return what stands under the facts of the host that all panels show: its telemetry, its
    command.
    """
    lines = [over.line(axis, width, symbols)] if over.known else []
    lines += printed(state, host, width)
    command = command_of(state, host)
    return (
        [*lines, *labelled([("command ", LABEL)], [(command, TEXT)], width)[:COMMAND_LINES]]
        if command
        else lines
    )


def printed(state: RunState, host: str, width: int) -> list[Line]:
    """Return the percentiles that the tool printed for the last interval: of this host alone."""
    lines: list[Line] = []
    leaves = state.current.hosts.get(host, {})
    for name in in_order(leaves):
        if (last := leaves[name].last) is not None and (text := now_text(last.sample.printed_ns)):
            lines += labelled(
                [(f"{name} ", LABEL)],
                [(f"{text} (printed by the tool; not mergeable)", TEXT)],
                width,
            )
    return lines


def whole(
    state: RunState,
    host: str,
    said: Run,
    over: HostsOverTime,
    axis: TimeAxis,
    symbols: Symbols,
    width: int,
) -> list[Line]:
    """Return all there is of a host: how it is, telemetry over time, facts, command, messages."""
    view = state.hosts.get(host)
    facts = list(fact_lines(view.facts)) if view is not None else []
    command = command_of(state, host)
    parts: dict[str, Sequence[Line]] = {
        "percentiles": printed(state, host, width),
        "over time": over_lines(over, axis, symbols, width),
        "what it is": [
            line for name, runs in facts for line in labelled([(name, LABEL)], runs, width, INDENT)
        ],
        "command": indented([(command, TEXT)], width, 0) if command else (),
        "messages": list(message_lines(state, host, width)),
    }
    lines = [Line.of(said)] if said[0] else []
    for title, part in parts.items():
        if part:
            lines += [*([Line()] if lines else []), heading(title), *part]
    return lines


def over_lines(over: HostsOverTime, axis: TimeAxis, symbols: Symbols, width: int) -> list[Line]:
    """Return a lane for each thing that telemetry tells."""
    if not over.known:
        return [Line.of(("no telemetry", LABEL))]
    room = LANE_ROWS * len(over.known) + 1
    return over.lines(axis, NAME, width - NAME - FIGURE, FIGURE, room, symbols)


def message_lines(state: RunState, host: str, width: int) -> Iterator[Line]:
    """Yield what was said of a host, with the time of the run."""
    for line in state.messages.newest:
        if line.host == host:
            said: list[Run] = [(line.text, SEVERITY_KEYS.get(line.severity, TEXT))]
            yield from labelled([(clock(line.t), LABEL)], said, width, INDENT)


Keys = tuple[tuple[str, str], ...]
GENERAL: Keys = (("?", "help"), ("q", "quit"))
LOOK_BACK: Keys = (("[]", "look back"),)
PLAY: Keys = (("Space", "play/hold"), ("←→", "10 s"))
SPEED, DIRECTION, HOST = ("+-", "speed"), ("t", "direction"), ("h", "host")


class FooterState(Struct, frozen=True):
    """What is shown of which run.

    `zoomed`: the panel that has all room; `log`: the messages have it.
    """

    replay: bool = False
    over: bool = False
    gone: bool = False  # the engine died without a word
    remedy: bool = False  # something helps a failed run
    jobs: bool = False  # there are several
    found: bool = False  # findings are at hand
    roomy: bool = False
    log: bool = False
    zoomed: str | None = None
    back: bool = False  # a cursor stands at an earlier second


def hint(shown: FooterState) -> Keys:
    """Return the keys in place of those that the registry has; none: these."""
    if shown.log:
        return (("↑↓", "scroll"), ("Esc", "hosts"), *GENERAL)
    if shown.zoomed is not None:
        own: Keys = (DIRECTION,) if shown.replay else (DIRECTION, HOST)
        first = PLAY if shown.replay else LOOK_BACK
        own = (
            own
            if shown.zoomed == "heat"
            else (("↑↓", "scroll"),)
            if shown.zoomed == "strip"
            else ()
        )
        return (*first, *own, ("z", "next panel"), ("Esc", "all"), *GENERAL)
    if shown.back and not shown.replay:
        now = ("Esc", "whole load" if shown.over else "now")
        return (*LOOK_BACK, now, ("s", "sort"), ("z", "zoom"), _job_or(shown, "L", "log"), *GENERAL)
    if shown.replay:
        before = (("v", "before"),) if shown.roomy else ()
        return (
            *PLAY,
            SPEED,
            ("Enter", "host"),
            ("s", "sort"),
            _job_or(shown, "L", "log"),
            *before,
            *GENERAL,
        )
    if shown.over:
        first = (("R", "recover"),) if shown.gone else (("T", "remedy"),) if shown.remedy else ()
        findings = (("f", "findings"),) if shown.found else ()
        own = (
            ("Enter", "result"),
            ("s", "sort"),
            *findings,
            ("L", "log"),
            _job_or(shown, "n", "note"),
        )
        return (*first, *own, *GENERAL)
    return ()


def _job_or(shown: FooterState, key: str, label: str) -> tuple[str, str]:
    return ("J", "job") if shown.jobs else (key, label)
