"""A plan as lines: what will happen, what it costs, what to be warned of. Pure."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from tui.engine.safety.destroy import written_devices
from tui.metrics import units
from tui.model.plain import some, some_in
from tui.model.plan import HostTask, Plan
from tui.model.sharing import sharing_note
from tui.results.text.plan_sums import (
    STEPS_IN_FULL,
    added_text,
    after_text,
    layout_bytes,
    parts_of,
    precondition_texts,
    search_texts,
    steps_text,
    targets_of,
    time_bounds,
    time_note,
    time_told,
    values_text,
    writes_at_all,
    written_bytes,
)
from tui.sizing.lacking import points_planned
from tui.text.line import ACCENT, BRIGHT, LABEL, TEXT, Line, Run, heading, indented, labelled

BIG_LAYOUT_BYTES = 100 * 2**30
INDENT = 10
FILES_SHOWN = 3
LOOKED_AT = " (looked at, no load)"
POINTS_SHOWN = 24
CACHES = {"no": "left as they are", "try": "dropped where that is allowed", "require": "dropped, or the run ends"}


def nothing_written(plan: Plan) -> str:
    """Return what a measurement does that writes no bytes: a metadata benchmark makes files all the same."""
    made = sum(step.mpi.ranks(len(step.tasks)) * step.mpi.items for step in plan.steps[:1] if step.mpi is not None)
    return f"makes and removes {made} empty files" if made else "reads only"


def launch_line(plan: Plan) -> str:
    """Return the run in one line: hosts, time, steps."""
    hosts = plan.hosts[0].name if len(plan.hosts) == 1 else f"{len(plan.hosts)} hosts"
    if plan.servers:
        hosts += f", looks at {plan.servers[0].name if len(plan.servers) == 1 else f'{len(plan.servers)} servers'}"
    if plan.search is not None:
        bounds = time_bounds(plan)
        most = f", up to {time_text(bounds[1])}" if bounds is not None else ""
        return f"searches on {hosts}, at most {points_planned(plan.search)} points{most}"
    steps = "" if len(plan.steps) == 1 else f", {len(plan.steps)} steps"
    return f"runs on {hosts}, {time_text(plan.expected_s)}{steps}"


def time_text(seconds: float | None) -> str:
    """Return how long something is planned to take."""
    return "as long as it takes" if seconds is None else units.duration(seconds)


def warnings(plan: Plan) -> list[str]:
    """Return what somebody should have read before the run starts."""
    found: list[str] = []
    total = sum(layout_bytes(plan).values())
    if plan.allow_device and any(writes_at_all(step) for step in plan.steps):
        found.append(f"writes to {some(written_devices(plan) or targets_of(plan))}: what is there is lost")
    if total > BIG_LAYOUT_BYTES:
        found.append(f"lays out {units.size(total)} of test files in all before it measures")
    overwrites = any(writes_at_all(step) for step in plan.steps if any(task.files for task in step.tasks))
    if overwrites and not plan.allow_device:
        found.append(f"overwrites its test files in {plan.target or 'the target directory'}")
    if note := sharing_note(plan):
        found.append(note)
    return [*found, *plan.remarks, *(f"left out: {left.text()}" for left in plan.left_out)]


def plan_lines(plan: Plan, width: int) -> list[Line]:
    """Return the whole plan, most important first, for a pane of `width` columns."""
    told = summary(plan, width - INDENT)
    facts = [line for name, runs in told for line in labelled([(name, LABEL)], runs, width, INDENT)]
    return [*facts, Line(), *steps(plan, width), Line(), *commands(plan, width), Line(), *files(plan, width)]


def summary(plan: Plan, width: int) -> Iterator[tuple[str, list[Run]]]:
    """Yield label and value of what answers what, where, how long, how much; `width` cells make a line of a value."""
    yield pair("profile", plan.profile.title, f"  v{plan.profile.version}")
    count = f"{len(plan.hosts)}: " if len(plan.hosts) > 1 else ""
    yield "hosts", [(count, BRIGHT), (some_in((host.name for host in plan.hosts), width - len(count)), TEXT)]
    if plan.servers:
        servers = some_in((server.name for server in plan.servers), width - len(LOOKED_AT))
        yield "servers", [(servers, TEXT), (LOOKED_AT, LABEL)]
    yield pair("target", some(targets_of(plan)) or units.UNKNOWN)
    yield pair("time", time_told(plan, time_text) or time_text(None), time_note(plan) if plan.expected_s else "")
    yield pair("layout", *each_and_all(layout_bytes(plan), "nothing is laid out", "where missing"))
    yield pair("writes", *each_and_all(written_bytes(plan), nothing_written(plan), "while it measures"))
    for name, text in search_texts(plan):
        yield pair(name, text)
    for text in precondition_texts(plan):
        yield pair("prepares", text)
    yield pair("after", after_text(plan))
    yield pair("caches", CACHES[plan.drop_caches])
    for each in plan.attested:
        yield pair("attested", each.answer, f"  {each.question}")


def each_and_all(by_host: dict[str, int] | dict[str, int | None], none: str, when: str) -> tuple[str, str]:
    """Return bytes a host and in all as (bright, dim) text."""
    values = list(by_host.values())
    if any(value is None for value in values):
        return "without a bound", f" {when}"
    known = [value or 0 for value in values]
    if not any(known):
        return none, ""
    low, high = min(known), max(known)
    each = units.size(high) if low == high else f"{units.size(low)} to {units.size(high)}"
    return (each, f" {when}") if len(known) == 1 else (f"{each} a host", f", {units.size(sum(known))} in all, {when}")


def steps(plan: Plan, width: int) -> Iterator[Line]:
    """Yield one line a step: name, direction, in flight, time."""
    if len(plan.steps) > STEPS_IN_FULL:
        yield from matrix(plan, width)
        return
    yield heading(f"{len(plan.steps)} steps" if len(plan.steps) > 1 else "1 step")
    repeated = any(step.repetition > 1 for step in plan.steps)
    for step in plan.steps:
        again = f"repetition {step.repetition}" if repeated else ""
        flight = f"{step.in_flight} in flight" if step.in_flight else ""
        about = "  ".join(part for part in ("/".join(step.directions), flight, again) if part)
        line = [(step.name, BRIGHT), (f"  {about}", LABEL), (f"  {time_text(step.expected_s)}", TEXT)]
        yield from labelled([(f"{step.index + 1:>3}", LABEL)], line, width, 4)


def matrix(plan: Plan, width: int) -> Iterator[Line]:
    """Yield what is swept, profile by profile: the values of each axis, and what they come to."""
    yield heading("steps")
    yield from indented([(steps_text(plan), BRIGHT)], width)
    parts = parts_of(plan)
    for part in parts:
        if len(parts) > 1:
            count = f"  {part.steps} step{'' if part.steps == 1 else 's'}, {time_text(part.seconds)}"
            yield from indented([(part.profile, BRIGHT), (count, LABEL)], width)
        size = max((len(name) for name in part.axes), default=0) + 4
        for name, values in part.axes.items():
            yield from labelled([(f"  {name}", LABEL)], [(values_text(values), BRIGHT)], width, max(size, INDENT))
        if part.share_text:
            yield from indented([(part.share_text, LABEL)], width)


def commands(plan: Plan, width: int) -> Iterator[Line]:
    """Yield the command of each distinct step; hosts differ in their job file's seed only."""
    yield heading("command on each host")
    for argv in dict.fromkeys(tuple(task.argv) for step in plan.steps for task in step.tasks):
        yield from indented([(shlex.join(argv), TEXT)], width)
    if added := added_text(plan):
        yield from indented([("added to the profile's options: ", LABEL), (added, TEXT)], width)


def files(plan: Plan, width: int) -> Iterator[Line]:
    """Yield the test files of one host."""
    task = next((task for step in plan.steps for task in step.tasks if task.files), None)
    if task is None:
        return
    yield heading(f"test files on {task.host}")
    shown = FILES_SHOWN if len(task.files) > FILES_SHOWN + 1 else len(task.files)  # a line for one more is its own line
    for spec in task.files[:shown]:
        yield from indented([(spec.path, TEXT), (f"  {units.size(spec.size_bytes)}", LABEL)], width)
    if len(task.files) > shown:
        yield Line.of((f"  and {len(task.files) - shown} more", LABEL))


def job_files(plan: Plan, room: int | None = None) -> list[Line]:
    """Return the job file of each point as the first host gets it; of many points, or in little `room`, the first ones.

    Where there is room for none, there are no lines.
    """
    lines: list[Line] = []
    shown = [step for step in plan.steps if step.is_fill or not step.warmup]
    points = list({step.cell or step.index: step for step in reversed(shown)}.values())[::-1]
    for number, step in enumerate(points[:POINTS_SHOWN]):
        task = step.tasks[0]
        others = f", {len(step.tasks) - 1} more with other seeds" if len(step.tasks) > 1 else ""
        one = [heading(f"step {step.index + 1}: {step.name} on {task.host}{others}"), *job_lines(task), Line()]
        last = number == len(points) - 1  # before others, a line is left for how many more there are
        if room is not None and len(lines) + len(one) - int(last) > room - int(not last):
            return [*lines, _more(len(points) - number, "v has them")] if lines else []
        lines += one
    if len(points) > POINTS_SHOWN:
        lines.append(_more(len(points) - POINTS_SHOWN, "benchtui run ... --dry-run --json has them all"))
    return lines


def _more(count: int, where: str) -> Line:
    return Line.of((f"and {count} {'point' if count == 1 else 'points'} more: {where}", LABEL))


def job_lines(task: HostTask) -> list[Line]:
    """Return a job file with its section names bright and its option names dim."""
    return [job_line(line) for line in task.job_file.rstrip().splitlines()]


def job_line(line: str) -> Line:
    """Colour one line of a job file."""
    if line.startswith("["):
        return Line.of((line, ACCENT))
    if line.startswith((";", "#")):
        return Line.of((line, LABEL))
    name, equals, value = line.partition("=")
    return Line.of((name + equals, LABEL), (value, BRIGHT))


def pair(label: str, bright: str, dim: str = "") -> tuple[str, list[Run]]:
    """Return a label, and a value with what is less important about it."""
    return label, [(bright, BRIGHT), (dim, LABEL)]
