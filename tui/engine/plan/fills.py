"""Steps that fill files or put objects before the measurement."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from tui import workloads
from tui.model.objects import ObjectSet
from tui.model.plan import Headline, HostTask, Precondition, Step
from tui.model.problem import UsageError
from tui.model.profile import Profile
from tui.model.quantities import parse_size

if TYPE_CHECKING:
    from tui.model.profile_parts import PreconditionSpec


def with_fill(profile: Profile, steps: Sequence[Step], before: Sequence[Step]) -> Iterator[Step]:
    """Yield the steps of a profile, preceded by a fill of their files unless the steps `before`
    already did that.

    Raises UsageError if it is unknown what to fill.
    """
    wanted = profile.prepare.precondition
    if wanted is None or not wanted.fill or not steps:
        yield from steps
        return
    made = list(before)
    for together in [[step] for step in steps] if any(map(deletes, steps)) else [steps]:
        own = [*_fill(profile, wanted, together, made), *together]
        made += own
        yield from own


def deletes(step: Step) -> bool:
    """Return whether a step deletes objects, so that later steps must put them again."""
    return any("delete" in each.does for task in step.tasks for each in task.objects)


def _fill(
    profile: Profile, wanted: PreconditionSpec, steps: Sequence[Step], before: Sequence[Step]
) -> Iterator[Step]:
    try:
        tasks = workloads.get(profile.tool).fill(steps, wanted.fill, parse_size(wanted.bs))
    except UsageError as error:
        raise UsageError(f"{profile.profile}: precondition: {error}") from None
    left = [task for task in tasks if not _is_filled(task, wanted.fill, before)]
    if left:
        yield replace(
            steps[0],
            name=profile.profile,
            cell=f"{profile.profile} fill",
            tasks=left,
            point={},
            runtime_s=None,
            ramp_s=0.0,
            startdelay_s=0.0,
            directions=["write"],
            in_flight=None,
            jobs=[],
            warmup=True,
            optional=False,
            precondition=Precondition("fill", wanted.fill),
            headline=Headline("bandwidth", "write"),
            drop_caches="no",
            added_options={},
        )


def _is_filled(task: HostTask, times: int, before: Sequence[Step]) -> bool:
    """Return whether earlier steps fill all files, images or objects of a task at least as often
    and as completely.
    """
    if task.objects:
        return all(_is_put(each, times, before) for each in task.objects)
    fills = [step for step in before if step.precondition is not None and step.is_fill]
    if task.images:
        return any(task.job_file == other.job_file for step in fills for other in step.tasks)
    filled = {
        spec.path: spec
        for step in fills
        for other in step.tasks
        if step.precondition is not None and step.precondition.times >= times
        if other.host == task.host
        for spec in other.files
    }
    return all(
        (known := filled.get(spec.path)) is not None
        and (not known.size_bytes or 0 < spec.size_bytes <= known.size_bytes)
        and (known.start_bytes or 0) <= (spec.start_bytes or 0)
        for spec in task.files
    )


def _is_put(wanted: ObjectSet, times: int, before: Sequence[Step]) -> bool:
    """Return whether a fill puts these objects at least as often, and no later step deletes
    them.
    """
    for step in reversed(before):
        used = [each for task in step.tasks for each in task.objects]
        if any("delete" in each.does and each.overlaps(wanted) for each in used):
            return False
        often = step.precondition.times if step.precondition is not None else 0
        put = any(each.key == wanted.key and each.count >= wanted.count for each in used)
        if step.is_fill and often >= times and put:
            return True
    return False


def round_rules(wanted: PreconditionSpec | None) -> Iterator[Precondition]:
    """Yield the description of each preconditioning round; nothing if the profile has none."""
    if wanted is None:
        return
    for number in range(1, wanted.rounds + 1):
        yield Precondition(
            "round", 0, number, wanted.rounds, wanted.window, wanted.range, wanted.slope
        )
