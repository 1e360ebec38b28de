"""Objects that a run leaves in stores, by its plan and what each step counted."""

from __future__ import annotations

from collections.abc import Sequence

from tui.model.objects import ObjectSet
from tui.model.plan import HostTask, Plan
from tui.model.record import ObjectsLeft
from tui.model.step_record import StepRecord

NOT_RUN = ("missing", "skipped")


def objects_left(plan: Plan, steps: Sequence[StepRecord]) -> list[ObjectsLeft]:
    """Return the objects that were put and not all deleted since: a step that was cut off may have put fewer."""
    left: dict[tuple[str, str], ObjectSet] = {}
    for step, record in zip(plan.steps, steps, strict=True):
        if record.state in NOT_RUN:
            continue
        for task in step.tasks:
            gone, none = _deleted_all(task, record), _put_none(task, record)
            for each in task.objects:
                known = left.get(each.key)
                if none:
                    continue
                if "put" in each.does:
                    left[each.key] = each if known is None or each.count > known.count else known
                elif gone and known is not None and each.count >= known.count:
                    del left[each.key]
    return [
        ObjectsLeft(store=each.store, names=each.names, count=each.count, bytes=each.count * each.size_bytes)
        for each in left.values()
    ]


def _put_none(task: HostTask, record: StepRecord) -> bool:
    """Tell whether a host is known to have put nothing: its first requests failed."""
    found = record.results.per_host.get(task.host, {}).get("write")
    return found is not None and found.bytes == 0


def _deleted_all(task: HostTask, record: StepRecord) -> bool:
    """Tell whether a host deleted as many objects as its task names, without an error."""
    found = record.results.per_host.get(task.host, {}).get("trim")
    wanted = sum(each.count for each in task.objects if each.does == ("delete",))
    return record.state == "done" and found is not None and 0 < wanted <= (found.ios or 0)
