"""A plan as lines: steps, commands, files, cost, warnings. No I/O."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tui.capacity.budget import points_planned
from tui.metrics import units
from tui.model.plain import some_in
from tui.model.plan import HostTask, Plan
from tui.text.line import (
    ACCENT,
    BRIGHT,
    FAINT,
    HEADING,
    LABEL,
    TEXT,
    WARN,
    Line,
    Run,
    command_lines,
    heading,
    indented,
    labelled,
    width_of,
    width_of_runs,
)
from tui.text.objects import objects_text
from tui.view.plan import (
    ADDS,
    plan_facts,
    takes_text,
    time_bounds,
    time_text,
    warnings,
)
from tui.view.plan_layout import NOTHING_KNOWN, LayoutAhead, writing_s
from tui.view.plan_steps import (
    STEPS_IN_FULL,
    MarkTable,
    grid_rows,
    in_flight_text,
    parts_of,
    step_names,
    steps_text,
)

__all__ = ["job_files", "launch_line", "plan_lines", "summary", "time_text", "warnings"]

INDENT = 11
FILES_SHOWN = 3
POINTS_SHOWN = 24


def launch_line(plan: Plan, ahead: LayoutAhead = NOTHING_KNOWN) -> str:
    """Return the plan in one line: hosts and time, and the maximum number of points of a search."""
    hosts = plan.hosts[0].name if len(plan.hosts) == 1 else f"{len(plan.hosts)} hosts"
    if plan.servers:
        hosts += (
            ", monitors"
            f" {plan.servers[0].name if len(plan.servers) == 1 else f'{len(plan.servers)} servers'}"
        )
    if plan.search is not None:
        bounds = time_bounds(plan)
        before_s = writing_s(plan, ahead) or 0.0
        most = f" in up to {time_text(bounds[1] + before_s)}" if bounds is not None else ""
        points = units.plural(points_planned(plan.search), "point")
        return f"searches on {hosts}: up to {points}{most}"
    return f"runs on {hosts}, {takes_text(plan, ahead)}"


def plan_lines(plan: Plan, width: int, ahead: LayoutAhead = NOTHING_KNOWN) -> list[Line]:
    """Return the whole plan, the most important parts first.

    Of a large sweep, the points come before the facts that all of them share.
    """
    labels = list(summary(plan, width - INDENT, ahead))
    swept = len(plan.steps) > STEPS_IN_FULL
    first = [each for each in labels if not swept or each[0] in BEFORE_POINTS]
    return [
        *fact_lines(first, width),
        Line(),
        *steps(plan, width),
        Line(),
        *(
            [*fact_lines([each for each in labels if each not in first], width), Line()]
            if swept
            else []
        ),
        *commands(plan, width),
        Line(),
        *files(plan, width),
    ]


def fact_lines(labels: Iterable[tuple[str, list[Run]]], width: int) -> list[Line]:
    """Return each fact with its label."""
    return [
        line for name, runs in labels for line in labelled([(name, LABEL)], runs, width, INDENT)
    ]


BEFORE_POINTS = ("profile", "job", "target", "hosts", "time")
OF_A_TARGET = ("profile", "job", "target", "hosts", "after")


def draft_lines(plan: Plan, width: int) -> list[Line]:
    """Return a plan without a target as lines: load, steps, commands, job file."""
    labels = [each for each in summary(plan, width - INDENT) if each[0] not in OF_A_TARGET]
    facts = fact_lines(labels, width)
    jobs = [line for line in job_files(plan)[1:] if not line.plain.endswith("=/")]
    return [
        *facts,
        Line(),
        *steps(plan, width),
        Line(),
        *commands(plan, width),
        Line(),
        heading("job file"),
        *jobs,
    ]


def summary(
    plan: Plan, width: int, ahead: LayoutAhead = NOTHING_KNOWN
) -> Iterator[tuple[str, list[Run]]]:
    """Yield label and value of each fact; lists of names are shortened to fit `width` cells."""
    for fact in (each for each in plan_facts(plan, ahead) if each.label != ADDS):
        names = some_in(fact.names, width - len(fact.text) - len(fact.more)) if fact.names else ""
        more = fact.more
        if width_of(fact.text + names + more) > width:
            # a part of its own on a line of its own, rather than cut in two
            head, gap, last = more.rpartition("  ")
            more = f"{head}\n{last}" if gap else more
            more = f"\n{more.lstrip()}" if more.startswith(" ") else more
        role = WARN if fact.warns else BRIGHT
        yield fact.label, [(fact.text, role), (names, TEXT), (more, LABEL)]


def steps(plan: Plan, width: int) -> Iterator[Line]:
    """Yield one line per step: name, direction, I/Os in flight, time.

    For many steps, the sweep of each profile instead.
    """
    if len(plan.steps) > STEPS_IN_FULL:
        yield from matrix(plan, width)
        return
    yield heading(units.plural(len(plan.steps), "step"))
    names = [name if name != plan.profile.tag else "" for name in step_names(plan)]
    wide = min(max(map(width_of, names)), width // 2)
    repeated = any(step.repetition > 1 for step in plan.steps)
    for step, name in zip(plan.steps, names, strict=True):
        again = f"repetition {step.repetition}" if repeated else ""
        about = "  ".join(part for part in (step.does, in_flight_text(step), again) if part)
        own: Run = (f"{name:<{wide}}  " if wide else "", BRIGHT)
        details: Run = (about, LABEL)
        time = (f"  {time_text(step.expected_s)}", TEXT)
        fits = width_of_runs([own, details, time]) <= width - 4
        line = [own, details, time] if fits else [own, time, (f"\n{about}", LABEL)]
        number = f"{step.index + 1:>3}" if len(plan.steps) > 1 else ""
        yield from labelled([(number, LABEL)], line, width, 4 if number else 2)


def matrix(plan: Plan, width: int) -> Iterator[Line]:
    """Yield the sweep of each profile: the measured values of each axis, steps and time."""
    parts = parts_of(plan)
    share = parts[0].share_text if len(parts) == 1 else ""
    head: list[Run] = [(steps_text(plan), HEADING)]
    more: Run = (f"  ({share})", LABEL)
    # the marks below say it too
    is_told = share and width_of_runs([*head, more]) <= width
    yield from labelled([], [*head, more] if is_told else head, width)
    for part in parts:
        if len(parts) > 1:
            count = f"  {units.plural(part.steps, 'step')}, {time_text(part.seconds)}"
            yield from indented([(part.profile, BRIGHT), (count, LABEL)], width)
        if part.share_text and not share:
            yield from indented([(part.share_text, LABEL)], width)
        if (table := part.marks(width - 2)) is not None:
            yield from mark_lines(table)
            continue
        rows = grid_rows(part)
        size = max((width_of(label) for label, _ in rows), default=0) + 4
        for label, values in rows:
            yield from labelled(
                [(f"  {label}", LABEL)], [(values, BRIGHT)], width, max(size, INDENT)
            )


def mark_lines(table: MarkTable) -> Iterator[Line]:
    """Yield a table with a mark for each combination that is measured."""
    yield Line.of((f"  {table.heading()}", LABEL))
    for label, cells in table.rows("●", "·"):
        yield Line.of(
            (f"  {label}", LABEL), *((text, BRIGHT if on else FAINT) for text, on in cells)
        )


def commands(plan: Plan, width: int) -> Iterator[Line]:
    """Yield each distinct command line, and the options that benchtui adds.

    Job files are not compared.
    """
    yield heading("command on each host")
    for argv in dict.fromkeys(tuple(task.argv) for step in plan.steps for task in step.tasks):
        yield from command_lines(argv, width)
    for fact in (each for each in plan_facts(plan) if each.label == ADDS):
        yield from indented(
            [(f"{fact.label} ", LABEL), (fact.text, TEXT), (fact.more, LABEL)], width
        )


def files(plan: Plan, width: int) -> Iterator[Line]:
    """Yield one host's test files or objects."""
    if sets := dict.fromkeys(
        each for step in plan.steps for task in step.tasks[:1] for each in task.objects
    ):
        yield heading(f"objects of {plan.hosts[0].name}")
        for each in sets:
            yield from indented([(objects_text(each), TEXT), (f"  in {each.store}", LABEL)], width)
        return
    task = next((task for step in plan.steps for task in step.tasks if task.files), None)
    if task is None:
        return
    yield heading(f"test files on {task.host}")
    # "1 more" takes as many lines as the file itself
    shown = FILES_SHOWN if len(task.files) > FILES_SHOWN + 1 else len(task.files)
    for spec in task.files[:shown]:
        many = f"  {spec.count} files," if spec.count else ""
        yield from indented(
            [(spec.path, TEXT), (f"{many}  {units.size(spec.size_bytes)}", LABEL)], width
        )
    if len(task.files) > shown:
        yield Line.of((f"  and {len(task.files) - shown} more", LABEL))


def job_files(plan: Plan, room: int | None = None) -> list[Line]:
    """Return the first host's job file for each point; empty if none fits.

    If there are many points, or `room` is short, only the first ones are returned.
    """
    lines: list[Line] = []
    shown = [step for step in plan.steps if step.is_fill or not step.warmup]
    points = list({step.cell or step.index: step for step in reversed(shown)}.values())[::-1]
    for number, step in enumerate(points[:POINTS_SHOWN]):
        task = step.tasks[0]
        others = f", {len(step.tasks) - 1} more with other seeds" if len(step.tasks) > 1 else ""
        one = [
            heading(f"step {step.index + 1}: {step.name} on {task.host}{others}"),
            *job_lines(task),
            Line(),
        ]
        # leave a line for the count of the rest
        last = number == len(points) - 1
        if room is not None and len(lines) + len(one) - int(last) > room - int(not last):
            return [*lines, _more(len(points) - number, "v shows them")] if lines else []
        lines += one
    if len(points) > POINTS_SHOWN:
        lines.append(
            _more(len(points) - POINTS_SHOWN, "benchtui run ... --dry-run --json prints all")
        )
    return lines


def _more(count: int, where: str) -> Line:
    return Line.of((f"and {units.plural(count, 'more point')}: {where}", LABEL))


def job_lines(task: HostTask) -> list[Line]:
    """Return a job file in colour: section names accented, option names dim, values bright."""
    return [job_line(line) for line in task.job_file.rstrip().splitlines()]


def job_line(line: str) -> Line:
    """Return one line of a job file with its colours."""
    if line.startswith("["):
        return Line.of((line, ACCENT))
    if line.startswith((";", "#")):
        return Line.of((line, LABEL))
    name, equals, value = line.partition("=")
    return Line.of((name + equals, LABEL), (value, BRIGHT))
