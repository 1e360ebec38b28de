"""The plan as text: what `--dry-run` prints before anything is done."""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path

from tui.metrics import units
from tui.model.hostspec import LOCAL
from tui.model.objects import stores_of
from tui.model.plan import HostTask, Plan, Step, written_devices
from tui.record.progress import kind_text
from tui.text.objects import objects_text
from tui.view.plan import plan_facts, time_text, warnings
from tui.view.plan_layout import NOTHING_KNOWN, LayoutAhead, layout_bytes, space_text, with_rate
from tui.view.plan_steps import (
    PlanPart,
    grid_rows,
    in_flight_text,
    parts_of,
    step_names,
    steps_in_full,
    steps_text,
)

FILES_SHOWN = 4
INDENT = 11  # of the values
WIDTH = 100  # most cells of a table


def review_text(plan: Plan, ahead: LayoutAhead = NOTHING_KNOWN) -> str:
    """Return everything that a run of this plan will do, as text."""
    return "\n".join(_lines(plan, ahead))


def layout_ahead(plan: Plan) -> LayoutAhead:
    """Return the layout rate of earlier runs, and the free space here if it is too small.

    Earlier runs are read only if the plan lays out files.
    """
    from tui.cli.shared.common import paths
    from tui.library.layout_rates import last_layout_rate
    from tui.library.runs import RunStore

    if not any(layout_bytes(plan).values()):
        return NOTHING_KNOWN
    return with_rate(too_little_here(plan), last_layout_rate(RunStore(paths().runs), plan))


def too_little_here(plan: Plan) -> LayoutAhead:
    """Return the free space on this machine if the plan's layout needs more than that here."""
    if plan.target is None or [host.name for host in plan.hosts] != [LOCAL]:
        return NOTHING_KNOWN
    place = Path(plan.target)
    at = next((each for each in (place, *place.parents) if each.is_dir()), None)
    if at is None:
        return NOTHING_KNOWN
    free = shutil.disk_usage(at).free
    needed = sum(layout_bytes(plan).values())
    return (
        LayoutAhead(free=f"{units.size(free)} free", free_bytes=free)
        if needed > free
        else (NOTHING_KNOWN)
    )


def _lines(plan: Plan, ahead: LayoutAhead) -> Iterator[str]:
    for fact in plan_facts(plan, ahead):
        yield f"{fact.label:<{INDENT}}{fact.text}{', '.join(fact.names)}{fact.more}"
    yield (
        f"{'params':<{INDENT}}"
        f"{', '.join(f'{name}={value}' for name, value in {**plan.params, **plan.texts}.items())}"
    )
    notes = (*filter(None, [space_text(plan, ahead)]), *warnings(plan))
    yield from (f"{'note':<{INDENT}}{text}" for text in notes)
    yield from _destroyed(plan)
    if len(plan.steps) > 1:
        parts = parts_of(plan)
        share = parts[0].share_text if len(parts) == 1 else ""
        more = f"  ({share})" if share else ""
        yield f"{'steps':<{INDENT}}{steps_text(plan)}{more}"
        yield from _matrix_lines(plan)
    shown, names = steps_in_full(plan), step_names(plan)
    for step in shown:
        yield from _step_lines(step, names[plan.steps.index(step)])
    if len(shown) < len(plan.steps):
        yield f"\nand {len(plan.steps) - len(shown)} more steps; to list all: --dry-run --json"


def _matrix_lines(plan: Plan) -> Iterator[str]:
    """Yield the swept values; for several profiles, also the number of steps and the time of
    each.
    """
    parts = parts_of(plan)
    width = max(len(part.profile) for part in parts)
    for part in parts:
        if len(parts) > 1:
            share = f", {part.share_text}" if part.share_text else ""
            yield f"{'':<{INDENT}}{part.profile:<{width}}  {_part_text(part)}{share}"
        yield from _axis_lines(part, " " * (INDENT + 2 * (len(parts) > 1)))


def _part_text(part: PlanPart) -> str:
    steps = f"{part.steps} {'step' if part.steps == 1 else 'steps'}"
    return f"{steps}, {units.span(part.seconds)}" if part.seconds is not None else steps


def _axis_lines(part: PlanPart, indent: str) -> Iterator[str]:
    if (table := part.marks(WIDTH - len(indent))) is not None:
        yield f"{indent}{table.heading()}"
        for label, cells in table.rows("x", "."):
            yield f"{indent}{label}{''.join(text for text, _ in cells)}"
        return
    rows = grid_rows(part)
    width = max((len(label) for label, _ in rows), default=0)
    yield from (f"{indent}{label:<{width}}  {values}" for label, values in rows)


def _destroyed(plan: Plan) -> Iterator[str]:
    stores = stores_of(plan.objects)
    for name in written_devices(plan):
        what = "objects in" if name in stores else "data on"
        yield f"overwrites {what} {name}; to confirm: --destroy {name}"


def _step_lines(step: Step, name: str) -> Iterator[str]:
    yield ""
    kind = f"{kind_text(step)}, not counted" if step.warmup else f"repetition {step.repetition}"
    takes = f", {time_text(step.expected_s)}"
    pause = f", after {units.span(step.pause_s)} without load" if step.pause_s else ""
    yield f"step {step.index + 1}: {name}, {step.does}, {kind}{takes}{pause}"
    if flight := in_flight_text(step):
        yield f"  {flight} over all hosts"
    shown: dict[str, str] = {}
    for task in step.tasks:
        yield from _task_lines(task, again=step.runtime_s is not None)
        first = shown.setdefault(task.job_file, task.host) if task.job_file else task.host
        if first == task.host:
            yield from (f"    | {line}" for line in task.job_file.splitlines())
        else:
            yield f"    | same as on {first}"


def _task_lines(task: HostTask, *, again: bool) -> Iterator[str]:
    """Yield one host's part of a step. `again`: it rewrites its files until the runtime ends."""
    total, count = (
        sum(spec.total_bytes for spec in task.files),
        sum(max(spec.count, 1) for spec in task.files),
    )
    yield f"  {task.host}: {shlex.join(task.argv)}"
    if task.layout:
        yield (
            f"    layout   {units.plural(count, 'file')}, {units.size(total)} in total; skips files"
            " that are already full size"
        )
    yield from (f"    objects  {objects_text(each)} in {each.store}" for each in task.objects)
    if task.writes_bytes and not task.objects:
        size = units.size(task.writes_bytes)
        yield f"    writes   up to {size} of files{', repeatedly' if again else ''}"
    for spec in task.files[:FILES_SHOWN]:
        many = f"{spec.count} files {spec.path}" if spec.count else spec.path
        yield f"    file     {many}  {units.size(spec.size_bytes)}"
    if len(task.files) > FILES_SHOWN:
        yield f"    ...      and {len(task.files) - FILES_SHOWN} more"
