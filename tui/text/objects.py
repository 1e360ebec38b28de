"""Object sets of an object store as text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from tui.metrics import units
from tui.model.objects import ObjectSet
from tui.model.plain import some

if TYPE_CHECKING:
    from tui.model.host_record import ObjectsLeft

NAMES_SHOWN = 3


def objects_text(objects: ObjectSet) -> str:
    """Return what a load does to a set of objects.

    ``puts 64 objects benchtui/h1/*.*_0_1048576 of 1 MiB``
    """
    does = " and ".join(f"{each}s" for each in objects.does)
    if not objects.names:
        return f"{does} the bucket itself"
    count, size = units.plural(objects.count, "object"), units.size(objects.size_bytes)
    return f"{does} {count} {objects.names} of {size}"


def changed_texts(objects: Mapping[str, Sequence[ObjectSet]]) -> list[str]:
    """Return the objects that each host overwrites or deletes, one line each."""
    pairs = ((host, each) for host, sets in objects.items() for each in sets)
    return [
        f"{host}: bucket {each.store}: {objects_text(each)}: owner unknown" for host, each in pairs
    ]


def left_texts(left: Sequence[ObjectsLeft]) -> list[str]:
    """Return the objects that a run left behind, a line per store, with the first few names."""
    stores: dict[str, list[ObjectsLeft]] = {}
    for each in left:
        stores.setdefault(each.store, []).append(each)
    return [_left_text(store, sets) for store, sets in stores.items()]


def _left_text(store: str, sets: Sequence[ObjectsLeft]) -> str:
    kept = [each for each in sets if each.names]
    bucket = ["the bucket itself"] if len(kept) < len(sets) else []
    count, size = sum(each.count for each in kept), units.size(sum(each.bytes for each in kept))
    names = some([each.names for each in kept], NAMES_SHOWN)
    objects = [f"up to {units.plural(count, 'object')}, {size}: {names}"] if kept else []
    return f"{store}: {'; '.join([*bucket, *objects])}"


def count_text(sets: Iterable[ObjectSet]) -> str:
    """Return the number of objects and their total size."""
    kept = list(sets)
    count, total = (
        sum(each.count for each in kept),
        sum(each.count * each.size_bytes for each in kept),
    )
    return f"{units.plural(count, 'object')}, {units.size(total)} in total"
