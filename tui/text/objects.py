"""Objects of a store in words."""

from __future__ import annotations

from collections.abc import Iterable

from tui.metrics import units
from tui.model.plan import ObjectSet, Plan


def objects_text(objects: ObjectSet) -> str:
    """Return what becomes of objects: ``puts 64 objects benchtui/h1/*.*_0_1048576 of 1 MiB``."""
    does = " and ".join(f"{each}s" for each in objects.does)
    many = "object" if objects.count == 1 else "objects"
    return f"{does} {objects.count} {many} {objects.names} of {units.size(objects.size_bytes)}"


def stores_of(plan: Plan) -> list[str]:
    """Return the stores that a plan works on, each once."""
    return list(dict.fromkeys(each.store for each in _objects(plan)))


def stores_with_objects(plan: Plan) -> list[str]:
    """Return the stores in which objects stay, unless the last step that uses them deletes them all."""
    last = {each.key: each for each in _objects(plan)}
    return list(dict.fromkeys(each.store for each in last.values() if each.does != ("delete",)))


def _objects(plan: Plan) -> Iterable[ObjectSet]:
    return (each for step in plan.steps for task in step.tasks for each in task.objects)


def count_text(sets: Iterable[ObjectSet]) -> str:
    """Return how many objects there are, and of how many bytes in all."""
    kept = list(sets)
    count, total = sum(each.count for each in kept), sum(each.count * each.size_bytes for each in kept)
    return f"{count} {'object' if count == 1 else 'objects'}, {units.size(total)} in all"
