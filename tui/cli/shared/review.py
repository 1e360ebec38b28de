"""The plan as text: what `--dry-run` prints before anything is done."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from tui.metrics import units
from tui.model.objects import stores_of
from tui.model.plan import HostTask, Plan, Step, written_devices
from tui.record.progress import kind_text
from tui.text.objects import objects_text
from tui.view.plan import (
    PlanPart,
    parts_of,
    plan_facts,
    steps_in_full,
    steps_text,
    time_text,
    values_text,
    warnings,
)

FILES_SHOWN = 4


def review_text(plan: Plan) -> str:
    """Return everything that a run of this plan will do, as text."""
    return "\n".join(_lines(plan))


def _lines(plan: Plan) -> Iterator[str]:
    for fact in plan_facts(plan):
        yield f"{fact.label:<10}{fact.text}{', '.join(fact.names)}{fact.more}"
    yield (
        "params   "
        f" {', '.join(f'{name}={value}' for name, value in {**plan.params, **plan.texts}.items())}"
    )
    yield from (f"note      {text}" for text in warnings(plan))
    yield from _destroyed(plan)
    if len(plan.steps) > 1:
        yield f"steps     {steps_text(plan)}"
        yield from _matrix_lines(plan)
    shown = steps_in_full(plan)
    for step in shown:
        yield from _step_lines(step)
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
            yield f"          {part.profile:<{width}}  {_part_text(part)}"
        yield from _axis_lines(part, "            " if len(parts) > 1 else "          ")


def _part_text(part: PlanPart) -> str:
    steps = f"{part.steps} {'step' if part.steps == 1 else 'steps'}"
    return f"{steps}, {units.duration(part.seconds)}" if part.seconds is not None else steps


def _axis_lines(part: PlanPart, indent: str) -> Iterator[str]:
    width = max((len(name) for name in part.axes), default=0)
    for name, values in part.axes.items():
        yield f"{indent}{name:<{width}}  {values_text(values)}"
    if part.share_text:
        yield f"{indent}{part.share_text}"


def _destroyed(plan: Plan) -> Iterator[str]:
    stores = stores_of(plan.objects)
    for name in written_devices(plan):
        what = "objects in" if name in stores else "data on"
        yield f"overwrites {what} {name}; to confirm: --destroy {name}"


def _step_lines(step: Step) -> Iterator[str]:
    yield ""
    kind = f"{kind_text(step)}, not counted" if step.warmup else f"repetition {step.repetition}"
    takes = f", {time_text(step.expected_s)}"
    pause = f", after {units.duration(step.pause_s)} without load" if step.pause_s else ""
    yield f"step {step.index + 1}: {step.name}, {step.does}, {kind}{takes}{pause}"
    if step.in_flight:
        yield f"  in flight  {step.in_flight} I/Os over all hosts"
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
            f"    layout   {count} files, {units.size(total)} in total; skips files that are"
            " already full size"
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
