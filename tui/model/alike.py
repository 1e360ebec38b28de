"""Find points of a sweep with equal loads. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from msgspec.structs import replace

from tui.model.plain import HOSTS_AXIS
from tui.model.plan import HostTask, Step

Load = Callable[[Step], Step]


def vain_axes(steps: Sequence[Step], names: Iterable[str]) -> list[str]:
    """Return the swept parameters that change only options which the load generator ignores."""
    if not any(job.in_vain for step in steps for job in step.jobs):
        return []
    return [name for name in names if name != HOSTS_AXIS and same_over(steps, name, _acting)]


def same_over(steps: Sequence[Step], name: str, load: Load | None = None) -> bool:
    """Return whether some points differ only in this parameter, and all such points have equal
    loads.
    """
    groups: dict[object, dict[object, list[Step]]] = {}
    for step in steps:
        if name in step.point:
            others = (
                step.profile,
                *((key, value) for key, value in step.point.items() if key != name),
            )
            groups.setdefault(others, {}).setdefault(step.point[name], []).append(step)
    several = [list(points.values()) for points in groups.values() if len(points) > 1]
    return bool(several) and all(_all_alike(points, load or _load) for points in several)


def _all_alike(points: Sequence[Sequence[Step]], load: Load) -> bool:
    first = [load(step) for step in points[0]]
    return all([load(step) for step in other] == first for other in points[1:])


def _load(step: Step) -> Step:
    """Return a step reduced to its load: without number, name, swept values and seeds."""
    tasks = [_seedless(task) for task in step.tasks]
    return replace(step, index=0, name="", cell="", params={}, point={}, tasks=tasks)


def _seedless(task: HostTask) -> HostTask:
    return replace(task, randseed=0, job_file=task.job_file.replace(f"={task.randseed}\n", "=\n"))


def _acting(step: Step) -> Step:
    """Return a step reduced to its load, without job file lines that no job of the step uses."""
    idle = [set(job.idle) for job in step.jobs]
    lines = set.intersection(*idle) if idle else set()
    tasks = [
        replace(
            task,
            job_file="\n".join(line for line in task.job_file.splitlines() if line not in lines),
        )
        for task in _load(step).tasks
    ]
    jobs = [replace(job, idle=(), in_vain="") for job in step.jobs]
    return replace(_load(step), tasks=tasks, jobs=jobs, pause_s=0.0)
