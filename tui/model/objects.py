"""Objects in a store, outside any host's file system: overlaps and leftovers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Literal

from msgspec import Struct

from tui.model.problem import UsageError

# what directions are called on objects
REQUESTS: Mapping[str, str] = {"read": "GET", "write": "PUT", "trim": "DELETE", "head": "HEAD"}
NUMBER = "*"  # stands for a number in object names


class ObjectSet(Struct, frozen=True, omit_defaults=True):
    """Objects in a store that a task uses.

    `store` is host and bucket, which the user confirms before data is lost. `names` is a key
    pattern in which `*` stands for a number; if empty, the bucket itself is created or removed.
    """

    store: str
    names: str
    count: int
    size_bytes: int
    does: tuple[Literal["put", "get", "head", "delete"], ...]

    @property
    def key(self) -> tuple[str, str]:
        """Store and key pattern, which identify these objects."""
        return self.store, self.names

    @property
    def changes(self) -> bool:
        """Whether the task overwrites or deletes the objects."""
        return not set(self.does) <= {"get", "head"}

    def overlaps(self, other: ObjectSet) -> bool:
        """Return whether an object can be in both sets; a bucket overlaps all of its objects."""
        if self.store != other.store:
            return False
        return not (self.names and other.names) or have_common_name(self.names, other.names)


def have_common_name(one: str, other: str) -> bool:
    """Return whether a name can match both patterns, in which each `*` stands for a number."""
    if one == other:
        return True
    if not _begins(_start(one), _start(other)) or not _begins(_end(one)[::-1], _end(other)[::-1]):
        return False
    seen, left = {(0, 0)}, [(0, 0)]
    while left:
        new = set(_next_places(one, other, *left.pop())) - seen
        seen |= new
        left += new
    return (len(one), len(other)) in seen


def _next_places(one: str, other: str, at: int, other_at: int) -> Iterator[tuple[int, int]]:
    """Yield the positions in both patterns after one more character of a common name.

    A number may have several digits.
    """
    mine, its = one[at : at + 1], other[other_at : other_at + 1]
    if not mine or not its or (mine != its and not _is_digit_of_number(mine, its)):
        return
    yield at + 1, other_at + 1
    if mine == NUMBER:
        yield at, other_at + 1
    if its == NUMBER:
        yield at + 1, other_at


def _is_digit_of_number(mine: str, its: str) -> bool:
    return (mine == NUMBER and its.isdecimal()) or (its == NUMBER and mine.isdecimal())


def _start(names: str) -> str:
    return names.partition(NUMBER)[0]


def _end(names: str) -> str:
    return names.rpartition(NUMBER)[2]


def _begins(one: str, other: str) -> bool:
    return one.startswith(other) or other.startswith(one)


def check_apart(used: Iterable[tuple[str, ObjectSet]]) -> None:
    """Raise UsageError if two hosts, or two jobs of a host, overwrite or delete each other's
    objects.

    `used`: (host, objects) in use at the same time.
    """
    first: dict[tuple[str, str], tuple[str, ObjectSet]] = {}
    for host, each in used:
        known = first.setdefault(each.key, (host, each))
        if known[1] is not each:
            _check_two(known, (host, each))
    # sorted by literal prefix: only adjacent ones can overlap
    nested: list[tuple[str, ObjectSet]] = []
    for pair in sorted(first.values(), key=lambda pair: (pair[1].store, _start(pair[1].names))):
        while nested and not _may_overlap(nested[-1][1], pair[1]):
            nested.pop()
        for other in nested:
            _check_two(other, pair)
        nested.append(pair)


def _may_overlap(earlier: ObjectSet, each: ObjectSet) -> bool:
    return earlier.store == each.store and _start(each.names).startswith(_start(earlier.names))


def _check_two(one: tuple[str, ObjectSet], other: tuple[str, ObjectSet]) -> None:
    (host, mine), (other_host, its) = one, other
    if not (mine.changes or its.changes) or not mine.overlaps(its):
        return
    same = host == other_host
    who = f"two jobs of {host}" if same else f"{host} and {other_host}"
    names = " and ".join(dict.fromkeys((mine.names, its.names)))
    advice = "give each job its own names" if same else "put {host} into the object names"
    raise UsageError(f"{who} use the same objects {names} in {mine.store}: {advice}")


def objects_after(sets: Iterable[ObjectSet]) -> list[ObjectSet]:
    """Return the objects that remain after these sets were put, read and deleted in order.

    If fewer objects are deleted than were put, all are returned: which ones remain is unknown.
    """
    left: dict[tuple[str, str], ObjectSet] = {}
    for each in sets:
        known = left.get(each.key)
        if "put" in each.does:
            left[each.key] = each if known is None or each.count > known.count else known
        elif "delete" in each.does and known is not None and each.count >= known.count:
            del left[each.key]
    return list(left.values())


def stores_of(sets: Iterable[ObjectSet]) -> list[str]:
    """Return the stores of these objects, without duplicates."""
    return list(dict.fromkeys(each.store for each in sets))
