"""The plan as text: what `--dry-run` prints before anything is done."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from tui.metrics import units
from tui.model.plan import HostTask, Plan, Step

FILES_SHOWN = 4


def review_text(plan: Plan) -> str:
    """Return everything that a run of this plan will do, for people."""
    return "\n".join(_lines(plan))


def _lines(plan: Plan) -> Iterator[str]:
    yield f"profile   {plan.profile.tag} v{plan.profile.version}: {plan.profile.title}"
    yield f"hosts     {', '.join(host.name for host in plan.hosts)}"
    yield f"params    {', '.join(f'{name}={value}' for name, value in plan.params.items())}"
    span = units.duration(plan.expected_s) if plan.expected_s else "not bounded by time"
    yield f"time      {span} of load, plus layout"
    yield f"after     test files are {'removed' if plan.cleanup else 'left where they are'}"
    for step in plan.steps:
        yield from _step_lines(step)


def _step_lines(step: Step) -> Iterator[str]:
    yield ""
    yield f"step {step.index + 1}: {step.name}, {'/'.join(step.directions)}, repetition {step.repetition}"
    if step.in_flight:
        yield f"  in flight  {step.in_flight} I/Os over all hosts"
    for task in step.tasks:
        yield from _task_lines(task)


def _task_lines(task: HostTask) -> Iterator[str]:
    total = sum(spec.size_bytes for spec in task.files)
    yield f"  {task.host}: {shlex.join(task.argv)}"
    if task.layout:
        yield f"    layout   {len(task.files)} files, {units.size(total)} in all, where they are not there whole"
    if task.writes_bytes:
        yield f"    writes   up to {units.size(task.writes_bytes)} of files, again and again"
    for spec in task.files[:FILES_SHOWN]:
        yield f"    file     {spec.path}  {units.size(spec.size_bytes)}"
    if len(task.files) > FILES_SHOWN:
        yield f"    ...      and {len(task.files) - FILES_SHOWN} more"
    yield from (f"    | {line}" for line in task.job_file.splitlines())
