"""The plan as text: what `--dry-run` prints before anything is done."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping

from tui.metrics import units
from tui.model.plan import HostTask, Plan, Step
from tui.model.proof import SAID
from tui.model.sharing import sharing_note
from tui.results.matrix.progress import kind_text
from tui.results.text.plan_sums import (
    Part,
    added_text,
    after_text,
    layout_bytes,
    parts_of,
    precondition_texts,
    search_texts,
    steps_in_full,
    steps_text,
    time_note,
    time_told,
    values_text,
    written_bytes,
)

FILES_SHOWN = 4


def review_text(plan: Plan) -> str:
    """Return everything that a run of this plan will do, for people."""
    return "\n".join(_lines(plan))


def _lines(plan: Plan) -> Iterator[str]:
    yield f"profile   {plan.profile.tag} v{plan.profile.version}: {plan.profile.title}"
    yield f"hosts     {', '.join(host.name for host in plan.hosts)}"
    if plan.servers:
        yield f"servers   {', '.join(server.name for server in plan.servers)} (looked at, no load)"
    yield f"params    {', '.join(f'{name}={value}' for name, value in {**plan.params, **plan.texts}.items())}"
    yield from (f"note      {remark}" for remark in plan.remarks)
    bounded = f"{time_told(plan, units.duration)}{time_note(plan)}" if plan.expected_s else "not bounded by time"
    yield f"time      {bounded}"
    yield from (f"{name:<10}{text}" for name, text in search_texts(plan))
    yield from (f"prepares  {text}" for text in precondition_texts(plan))
    yield f"after     {after_text(plan)}"
    yield from (f"attested  {each.answer}: {each.question} ({each.id})" for each in plan.attested)
    if plan.proves is not None:
        experiment = plan.proves.experiment
        yield f"proves    {plan.proves.kind} as the limiter of {plan.proves.run_id}, {plan.proves.limiter}"
        yield f"          predicted with {SAID[experiment.change]}: {experiment.prediction.text}"
    yield from (f"left out  {left.text()}" for left in plan.left_out)
    if note := sharing_note(plan):
        yield f"note      {note}"
    if added := added_text(plan):
        yield f"adds      {added} (to the profile's options; see the job file)"
    yield from _destroyed(plan)
    if len(plan.steps) > 1:
        yield f"steps     {steps_text(plan)}"
        yield from _matrix_lines(plan)
    shown = steps_in_full(plan)
    for step in shown:
        yield from _step_lines(step)
    if len(shown) < len(plan.steps):
        yield f"\nand {len(plan.steps) - len(shown)} steps more; all of them: --dry-run --json"


def _matrix_lines(plan: Plan) -> Iterator[str]:
    """Yield what is swept, and what it comes to in all."""
    parts = parts_of(plan)
    width = max(len(part.profile) for part in parts)
    for part in parts:
        if len(parts) > 1:
            yield f"          {part.profile:<{width}}  {_part_text(part)}"
        yield from _axis_lines(part, "            " if len(parts) > 1 else "          ")
    yield f"layout    {_bytes_text(layout_bytes(plan), 'nothing')}"
    yield f"writes    {_bytes_text(written_bytes(plan), 'nothing: reads only')}"


def _part_text(part: Part) -> str:
    steps = f"{part.steps} {'step' if part.steps == 1 else 'steps'}"
    return f"{steps}, {units.duration(part.seconds)}" if part.seconds is not None else steps


def _axis_lines(part: Part, indent: str) -> Iterator[str]:
    width = max((len(name) for name in part.axes), default=0)
    for name, values in part.axes.items():
        yield f"{indent}{name:<{width}}  {values_text(values)}"
    if part.share_text:
        yield f"{indent}{part.share_text}"


def _bytes_text(by_host: Mapping[str, int | None], none: str) -> str:
    """Return bytes of all hosts, and of each when there are several."""
    values = list(by_host.values())
    known = [value for value in values if value is not None]
    if len(known) < len(values):
        return "without a bound"
    if not any(known):
        return none
    each = f", up to {units.size(max(known))} a host" if len(known) > 1 else ""
    return f"{units.size(sum(known))} in all{each}"


def _destroyed(plan: Plan) -> Iterator[str]:
    from tui.engine.safety.destroy import written_devices

    for name in written_devices(plan):
        yield f"destroys  what is on {name}; to run it: --destroy {name}"


def _step_lines(step: Step) -> Iterator[str]:
    yield ""
    kind = f"{kind_text(step)}, not counted" if step.warmup else f"repetition {step.repetition}"
    pause = f", after {units.duration(step.pause_s)} without load" if step.pause_s else ""
    yield f"step {step.index + 1}: {step.name}, {'/'.join(step.directions)}, {kind}{pause}"
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
