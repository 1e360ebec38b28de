"""Objects that a run leaves in object stores, from its plan and each step's counts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tui.model.host_record import ObjectsLeft
from tui.model.objects import ObjectSet, objects_after
from tui.model.plan import HostTask, Plan
from tui.model.step_record import StepRecord

NOT_RUN = ("missing", "skipped")


def objects_left(plan: Plan, steps: Sequence[StepRecord]) -> list[ObjectsLeft]:
    """Return the objects that were put and not all deleted.

    An interrupted step may have put fewer.
    """
    return [
        ObjectsLeft(
            store=each.store, names=each.names, count=each.count, bytes=each.count * each.size_bytes
        )
        for each in objects_after(_used(plan, steps))
    ]


def _used(plan: Plan, steps: Sequence[StepRecord]) -> Iterator[ObjectSet]:
    """Yield the objects that were put, read or deleted.

    A DELETE counts only if it is known to be complete.
    """
    for step, record in zip(plan.steps, steps, strict=True):
        for task in step.tasks if record.state not in NOT_RUN else ():
            if not _put_none(task, record):
                gone = _deleted_all(task, record)
                yield from (each for each in task.objects if gone or "delete" not in each.does)


def _put_none(task: HostTask, record: StepRecord) -> bool:
    """Return whether a host is known to have put nothing because its first requests failed."""
    found = record.results.per_host.get(task.host, {}).get("write")
    return found is not None and found.bytes == 0


def _deleted_all(task: HostTask, record: StepRecord) -> bool:
    """Return whether a host deleted as many objects as its task names, without an error."""
    deleted = [each for each in task.objects if each.does == ("delete",)]
    name = "trim" if any(each.names for each in deleted) else "rmbuckets"
    found = record.results.per_host.get(task.host, {}).get(name)
    wanted = sum(each.count for each in deleted)
    return record.state == "done" and found is not None and 0 < wanted <= (found.ios or 0)
