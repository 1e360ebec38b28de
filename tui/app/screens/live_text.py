"""Texts of Live: header, banner and messages, from the state of a run."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from tui import workloads
from tui.app.screens.live_feed import PHASES, Feed, LiveFeed, ReplayFeed
from tui.app.services import remedies
from tui.app.widgets.graph_panels import Subject
from tui.app.widgets.run_panels import LogLine, RunHead, ending
from tui.journal.intervals import LATELY_S
from tui.journal.views import Group
from tui.metrics.figures import over_hosts
from tui.metrics.registry import OPERATIONS
from tui.metrics.units import plural
from tui.model.plan import Plan, Step
from tui.record.headline import ended_early
from tui.record.progress import allocation_left_s, matrix_progress
from tui.record.progress import live_text as conditioning_text
from tui.text.line import BAD, LABEL, TEXT, Line, Run
from tui.text.names import some_of
from tui.text.run_texts import run_text
from tui.view.live_end import ended_runs
from tui.view.live_hosts import BROKEN
from tui.view.plan_steps import step_names
from tui.view.step_notes import length_text, nothing_text

if TYPE_CHECKING:
    from tui.journal.measurement import Measurement
    from tui.journal.state import HostView, RunState
    from tui.journal.telemetry import HostTelemetry
    from tui.journal.views import DirectionView
    from tui.library.load import KeptVerdict
    from tui.record.search import SearchView

PREPARING = ("layout", "barrier")  # phases of a step before its load


def is_gone(feed: Feed) -> bool:
    """Return whether the engine died without ending the journal."""
    return isinstance(feed, LiveFeed) and feed.gone and not feed.state.ended


def is_over(feed: Feed) -> bool:
    """Return whether the run has ended, or its engine died."""
    return feed.state.ended or is_gone(feed)


def mode(feed: Feed, every_s: float, *, paused: bool) -> str:
    """Return the unusual mode of the display: replay, paused, or another refresh interval.

    `every_s`: seconds from one refresh to the next. Empty if nothing is unusual.
    """
    if isinstance(feed, ReplayFeed):
        speed = "max" if feed.speed > 100 else f"{feed.speed:g}x"
        return speed if feed.playing else "paused"
    if paused:
        return "DISPLAY PAUSED (p)"
    return (
        f"every {every_s:g} s" if every_s > 1.0 else f"{1 / every_s:g} Hz" if every_s < 1.0 else ""
    )


def job_choices(state: RunState) -> list[tuple[int | None, str | None]]:
    """Return the jobs that Live can show alone, as (step, job).

    These are the running steps (job None: all of the step's jobs), and each job of a step with
    several.
    """
    found: list[tuple[int | None, str | None]] = []
    alone: dict[int | None, Measurement] = {state.step: state.current}
    for step, measurement in (dict(state.measuring) or alone).items():
        jobs = measurement.jobs if len(measurement.jobs) > 1 else {}
        found += [(step, None), *((step, job) for job in jobs)]
    return found


def head(feed: Feed, plan: Plan | None, mode: str, search: SearchView | None = None) -> RunHead:
    """Return the content of the header.

    With several steps it has their total progress, in a search the time left. In a replay, clock
    and bar show the position in the recording.
    """
    found = _head(feed, plan, mode, search)
    if not isinstance(feed, ReplayFeed):
        left_s = None if is_gone(feed) else allocation_left_s(feed.state, feed.state.clock.now)
        return replace(found, allocation_left_s=left_s)
    zero = load_start_t(feed.state, plan)
    at, length = feed.position - zero, feed.length - zero
    played = at / length if length > 0 else None
    found = replace(found, elapsed_s=at, expected_s=None, recorded_s=length)
    return replace(found, state="replay", remaining_s=None, fraction=played)


def _head(feed: Feed, plan: Plan | None, mode: str, search: SearchView | None) -> RunHead:
    state = feed.state
    profile = state.profile or (plan.profile.tag if plan else feed.path.parent.name)
    facts = tuple(facts_of(state, plan))
    name = "gone" if is_gone(feed) else state.state
    trail = tuple(trail_of(feed))
    if state.ended or is_gone(feed):
        return RunHead(profile, name, facts, mode, trail, elapsed_s=state.t)
    progress = state.progress(state.clock.now)
    whole = matrix_progress(plan, state, state.clock.now)
    if whole is not None and search is not None:
        now, left = state.clock.now, search.left_s
        done = now / (now + left) if left else whole.fraction
        return RunHead(profile, name, facts, mode, trail, done, now, None, left, about=True)
    if whole is not None:
        return RunHead(
            profile,
            name,
            facts,
            mode,
            trail,
            whole.fraction,
            state.clock.now,
            None,
            whole.remaining_s,
            whole.at_most,
        )
    if (guessed := operations_progress(state, plan)) is not None:
        return RunHead(
            profile,
            name,
            facts,
            mode,
            trail,
            guessed[0],
            state.clock.now,
            None,
            guessed[1],
            about=True,
        )
    return RunHead(
        profile,
        name,
        facts,
        mode,
        trail,
        progress.fraction,
        progress.elapsed_s,
        state.phase_expected_s,
        progress.remaining_s,
    )


def load_start_t(state: RunState, plan: Plan | None) -> float:
    """Return the time in the run at which its only load began.

    0 before the load, and in a run of several steps or of a metadata benchmark.
    """
    several = plan is not None and len(plan.steps) > 1
    if several or state.current.phase != "measure" or metadata_step(state, plan) is not None:
        return 0.0
    return float(int(state.current.started_t))


def clock_zero_t(state: RunState, plan: Plan | None) -> float:
    """Return the time in the run from which times of findings and hosts count.

    It is the start of the only load or, before that load, the start of the current phase. It is 0,
    the start of the run, if the run has several steps, is a metadata benchmark, or ended before its
    load.
    """
    several = plan is not None and len(plan.steps) > 1
    if several or metadata_step(state, plan) is not None:
        return 0.0
    if state.current.phase == "measure":
        return state.current.started_t
    return 0.0 if state.ended else state.phase_started_t


def operations_progress(state: RunState, plan: Plan | None) -> tuple[float, float] | None:
    """Return the progress and the seconds left of a metadata benchmark.

    They are estimated from its iterations so far; None if that is impossible.
    """
    step = metadata_step(state, plan)
    view = state.at_step(step.index).metadata if step is not None else None
    return view.progress(state.clock.now) if view is not None else None


def is_between(state: RunState) -> bool:
    """Return whether a step has ended and the hosts prepare the next one.

    The figures then belong to the step that ended, and are not shown. They are still shown while
    that step's results are collected, in a pause, and during cleanup.
    """
    step, current = state.step, state.current.step
    prepared = state.phase in PREPARING and step is not None
    return not state.ended and current is not None and prepared and step != current


def metadata_step(state: RunState, plan: Plan | None) -> Step | None:
    """Return the current step if it is a metadata benchmark; before any step, the first one.

    None for other loads.
    """
    step = step_of(state, plan)
    return step if step is not None and workloads.reports_operations(step.tool) else None


def facts_of(state: RunState, plan: Plan | None) -> list[str]:
    """Return the current step if there are several, number of hosts and target, for the header.

    The points of a search have a panel of their own.
    """
    count = len(state.hosts) or (len(plan.hosts) if plan else 0)
    hosts = [plural(count, "host")] if count else []
    found = hosts
    searches = plan is not None and plan.search is not None  # its panel says the rest
    if plan and not searches and state.step is not None and state.step < len(plan.steps):
        step, several = plan.steps[state.step], len(plan.steps) > 1
        name = step.name.removeprefix(plan.profile.tag).strip()
        named = [name] if name else []
        at = f"step {state.step + 1}/{len(plan.steps)}"
        found = [at, *named, *hosts] if several else [*hosts, *named]
    if plan and plan.target:
        found.append(plan.target)
    return found


def trail_of(feed: Feed) -> list[tuple[str, str]]:
    """Return each phase with its mark; phases that were not needed are left out."""
    trail, state = feed.trail, feed.state
    over = state.ended or is_gone(feed)
    marks: list[tuple[str, str]] = []
    for phase in PHASES:
        mark = "failed" if phase in trail.failed else "done" if phase in trail.done else ""
        if phase == state.phase and not over and not mark:
            mark = "now"
        past = state.phase in PHASES[PHASES.index(phase) + 1 :]
        if mark or not past:
            marks.append((phase, mark))
    return marks


def step_of(state: RunState, plan: Plan | None) -> Step | None:
    """Return the current step; None without a plan.

    Between steps and at the end, it is the step whose figures are shown; before any step has
    started, it is the first step.
    """
    if plan is None or not plan.steps:
        return None
    index = state.step if state.step is not None else state.current.step
    return plan.steps[min(index or 0, len(plan.steps) - 1)]


def latency_kind_of(state: RunState, plan: Plan | None) -> str:
    """Return the latency kind that the current step shows, such as clat."""
    step = step_of(state, plan)
    return plan.latency_kind_of(step) if plan is not None and step is not None else "clat"


def operation_of(state: RunState, plan: Plan | None) -> str:
    """Return what the current step counts in place of I/Os: ``stats``; empty if it counts I/Os."""
    step = step_of(state, plan)
    headline = plan.headline_of(step) if plan is not None and step is not None else None
    return (
        OPERATIONS.get(headline.direction, "")
        if headline is not None and headline.metric == "ops"
        else ""
    )


def counted_of(state: RunState, plan: Plan | None) -> str:
    """Return the unit of the rate that hosts are compared by: IOPS, ``stats/s``.

    Empty without figures per host.
    """
    if metadata_step(state, plan) is not None or says_all(state):
        return ""
    return f"{operation}/s" if (operation := operation_of(state, plan)) else "IOPS"


def about(state: RunState, plan: Plan | None) -> str:
    """Return the direction of the current step's headline.

    Empty if unknown, or if it covers all directions.
    """
    step = step_of(state, plan)
    headline = plan.headline_of(step) if plan is not None and step is not None else None
    return headline.direction if headline is not None and headline.metric != "ops" else ""


def subject_of(
    state: RunState, view: HostView | None, job: str | None = None, plan: Plan | None = None
) -> Subject:
    """Return the figures to show, for one host or all hosts, and one job or all jobs.

    Includes the final results once all hosts have reported.
    """
    step = step_of(state, plan)
    shown = partial(
        Subject, about=about(state, plan), requests=step.requests if step is not None else {}
    )
    if is_between(state):
        return shown({}, Group(state.clock))
    if view is not None:
        own = view.figures(job)
        name = f"{view.name} {job}" if job else view.name
        return shown(own.dirs, own.total, name, results=own.results)
    busy = [host for host in state.hosts_shown.values() if host.figures(job).total.ios]
    told = [host.figures(job).results for host in busy if host.result is not None]
    results = over_hosts(told) if len(told) == len(busy) else {}
    seen = state.current.jobs[job] if job is not None else state.current
    total = state.total if job is None else seen.total
    return shown(seen.cluster, total, job or "", tails=seen.cluster_tails, results=results)


def latencies_of(state: RunState, subject: Subject) -> Subject:
    """Return the latencies to show.

    There are none during layout, whose writes are not the load.
    """
    return (
        replace(subject, dirs={}, total=Group(state.clock), tails=None)
        if state.phase == "layout"
        else subject
    )


def measured_text(state: RunState, plan: Plan | None) -> str:
    """Return how long a run measured; with several steps, how many ended early."""
    seconds: dict[int, float] = {}
    for index, step in state.steps.items():
        spans = [
            part.runtime_s for result in step.results.values() for part in result.dirs.values()
        ]
        seconds |= {index: max(spans)} if spans else {}
    planned = {step.index: step.runtime_s for step in plan.steps} if plan is not None else {}
    if len(planned) < 2:
        return next((length_text(each, planned.get(index)) for index, each in seconds.items()), "")
    early = sum(ended_early(each, planned.get(index)) for index, each in seconds.items())
    return f"{early} of {len(planned)} steps ended early" if early else ""


def banner(
    feed: Feed, plan: Plan | None, width: int, height: int, kept: KeptVerdict | None = None
) -> list[Line]:
    """Return the banner: preconditioning, or how the run ended; empty if there is neither.

    `kept`: the verdict in the record.
    """
    state = feed.state
    if not is_gone(feed) and (said := conditioning_text(plan, state)):
        return [Line.of(("preconditioning  ", LABEL), (said, TEXT))]
    if isinstance(feed, ReplayFeed):
        if not feed.finished or not state.ended:
            return []
        said = f"end of replay: run {state.state}"
        return ending([(said, TEXT)], "Space: play again", [], width)
    problems = problem_lines(state, max(1, height - 12 if says_all(state) else height // 4), width)
    if is_gone(feed):
        advice = [
            "The engine process died. R takes over the run while its load is running, or",
            "collects the results left on the hosts. Loads stop when their leases expire.",
        ]
        gone: Run = ("no engine", BAD)
        return ending([gone], "Enter: result so far", [*advice, *problems], width)
    if state.ended:
        reason = without_hosts(state) if says_all(state) else run_text(state.reason)
        remedy = remedies.of_state(state)
        if says_all(state):
            return refused_lines(reason, problems, remedy, width)
        hint = f"T: {remedy.words}" if remedy is not None else ""
        room = width - len(hint) - 2
        length, hosts = measured_text(state, plan), len(state.hosts)
        said_runs = ended_runs(kept, reason, length, hosts, room)
        hint = hint or ("" if said_runs else "Enter: result")  # the footer has this key too
        return ending(said_runs, hint, problems, width)
    return []


def refused_lines(
    reason: str, problems: Sequence[str], remedy: remedies.Remedy | None, width: int
) -> list[Line]:
    """Return the banner of a run that measured nothing: why, on which hosts, what to do."""
    first = ending([("✗ ", BAD), (nothing_text(reason), BAD)], "", problems, width)
    key: list[Run] = [(" T", "accent"), (f"  {remedy.words}", TEXT)] if remedy is not None else []
    return [*first, *([Line.of(*key)] if key else [])]


def says_all(state: RunState) -> bool:
    """Return whether a run ended before any measurement, so that only problems are shown."""
    return state.ended and bool(state.problems) and not state.cluster


def without_hosts(state: RunState) -> str:
    """Return why a run ended, without the hosts that its problems name."""
    hosts: dict[str, list[str]] = {}
    for problem in state.problems:
        hosts.setdefault(run_text(problem.message), []).append(problem.host)
    reason = run_text(state.reason)
    for names in hosts.values():
        reason = reason.removesuffix(f": {', '.join(names)}")
    return reason


def problem_lines(state: RunState, room: int, width: int) -> list[str]:
    """Return the problems of a run, fatal ones first, and the number of those that do not fit.

    Hosts with the same problem share a line. If nothing was measured, lines are wrapped.
    """
    hosts: dict[str, list[str]] = {}
    for problem in sorted(state.problems, key=lambda problem: not problem.fatal):
        hosts.setdefault(run_text(problem.message), []).append(problem.host)
    lines = [f"{some_of(names)}: {text}" for text, names in hosts.items()]
    if says_all(state):
        lines = [
            part
            for line in lines
            for part in textwrap.wrap(line, width - 2, subsequent_indent="  ")
        ]
    if len(lines) > room:
        more = len(lines) - room + 1
        return [*lines[: room - 1], f"and {more} more; L shows all messages"]
    return lines


def window_s(feed: Feed) -> float:
    """Return the seconds that all current figures cover: 1 in a paused replay, until its end."""
    stands = isinstance(feed, ReplayFeed) and not feed.playing and not feed.finished
    return 1.0 if stands else LATELY_S


def covered_s(total: DirectionView) -> float:
    """Return the seconds that current figures cover: fewer at the start of a load."""
    return max((each.interval_s for each in total.intervals()), default=LATELY_S)


def telemetry_of(
    state: RunState, second: int | None
) -> tuple[dict[str, HostTelemetry], list[HostTelemetry]]:
    """Return the current step's telemetry: clients by name, and servers in name order.

    `second`: second of the run; None for the means of the window of current figures.
    """
    step = state.steps.get(state.step) if state.step is not None else None
    seen = step.telemetry if step is not None else {}
    if second is not None:
        seen = {name: each.at(second) for name, each in seen.items()}
    else:
        seen = {name: each.lately(state.clock.window_s) for name, each in seen.items()}
    servers = sorted(
        (each for each in seen.values() if each.role == "server"), key=lambda each: each.host
    )
    return {name: each for name, each in seen.items() if each.role == "client"}, servers


def layout_bytes(state: RunState) -> float:
    """Return the bytes that each host writes in the current layout: an even share of the total.

    0 outside of a layout.
    """
    if state.phase != "layout" or not state.phase_total_bytes or not state.hosts:
        return 0.0
    return state.phase_total_bytes / len(state.hosts)


def messages(
    state: RunState, view: HostView | None, plan: Plan | None, *, whole: bool = True
) -> Sequence[LogLine]:
    """Return the messages for all hosts, or for the single host shown.

    Unless the log is shown as a `whole` or the run has ended, messages about broken hosts are left
    out: their rows say the same. In a run of several steps, a message about a step begins with the
    step's name.
    """
    # shown above, in full
    told = [problem.message for problem in state.problems] if says_all(state) else []
    in_rows = (
        set()
        if whole or state.ended
        else {host.name for host in state.hosts.values() if host.state in BROKEN}
    )
    several = plan is not None and len(plan.steps) > 1
    named = several and any(line.step is not None for line in state.messages.newest)
    names = step_names(plan) if plan is not None and named else []
    return [
        LogLine(
            line.t,
            line.severity,
            line.host or "",
            text_of_step(names, line.step, run_text(line.text)),
        )
        for line in state.messages.newest
        if (view is None or line.host in (None, view.name))
        and line.text not in told
        and line.host not in in_rows
    ]


def text_of_step(names: Sequence[str], step: int | None, text: str) -> str:
    """Return a text after the name of its step, if the steps have names."""
    return f"{names[step]}: {text}" if step is not None and step < len(names) else text
