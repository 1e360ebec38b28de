"""Which of several runs are repetitions of each other, and what differs between sides on
purpose.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from tui.analysis.compare import Comparison
from tui.analysis.measured import configuration
from tui.model.plain import AB_SIDE_TAG, AB_TAG
from tui.model.problem import UsageError, did_you_mean
from tui.model.record import RunRecord
from tui.text.search import limits_text

CLIENTS = "number of clients"  # as the gate calls it
HOSTS = "hosts"  # as --across calls it


class Sides(Struct, frozen=True):
    """Runs by their places, side by side.

    `by` is what they were joined by, empty when each stands alone.
    """

    places: tuple[tuple[int, ...], ...]
    by: str = ""

    @property
    def meant(self) -> bool:
        """Whether somebody said before what the sides are."""
        return self.by == BY_AB

    def turned(self, times: int) -> Sides:
        """Return the sides with another one first."""
        first = times % len(self.places)
        return replace(self, places=self.places[first:] + self.places[:first])


BY_AB = "what benchtui ab ran"


def apart(records: Sequence[RunRecord]) -> Sides:
    """Return each run as a side of its own."""
    return Sides(tuple((place,) for place in range(len(records))))


def joined(records: Sequence[RunRecord]) -> Sides:
    """Return runs that are repetitions of each other together, in the order of their first.

    By what `ab` says, else by configuration (profile, parameters, target, hosts), else by their
    tags: the first of them by which there are several sides, and fewer than runs. Where there is
    none each run stands alone.
    """
    keys: tuple[tuple[str, Callable[[RunRecord], object]], ...] = (
        (BY_AB, _of_ab),
        ("parameters, target and hosts", _configuration),
        ("tags", lambda record: sorted(record.tags.items())),
    )
    for by, key in keys:
        groups: dict[str, list[int]] = {}
        for place, record in enumerate(records):
            groups.setdefault(repr(key(record)), []).append(place)
        if 1 < len(groups) < len(records):
            return Sides(tuple(map(tuple, groups.values())), by)
    return apart(records)


def _of_ab(record: RunRecord) -> object:
    """Return a run's side in its experiment; one that is in none stands alone."""
    side = record.tags.get(AB_SIDE_TAG)
    return record.run_id if side is None else (record.tags.get(AB_TAG), side)


def _configuration(record: RunRecord) -> object:
    """Return what makes runs repetitions of each other.

    Which points a search measured is its own affair.
    """
    if record.search is None:
        return configuration(record).key
    return configuration(record.model_copy(update={"steps": []})).key, limits_text(
        record.search.limits
    )


def differing(found: Sequence[Comparison]) -> tuple[str, ...]:
    """Return the parameters that keep runs from being compared, which may be meant to differ.

    `hosts`: their number.
    """
    names: set[str] = set()
    for each in found:
        what = {obstacle.what for obstacle in each.obstacles}
        names |= (what & _params((*each.a, *each.b))) | ({HOSTS} if CLIENTS in what else set())
    return tuple(sorted(names))


def check_across(names: Iterable[str], records: Iterable[RunRecord]) -> None:
    """Raise UsageError for a name of what is meant to differ that none of the runs has."""
    known = [*sorted(_params(records)), HOSTS]
    for name in names:
        if name not in known:
            hint = did_you_mean(name, known)
            raise UsageError(
                f"--across: unknown parameter '{name}'{hint}; these runs have: {', '.join(known)}"
            )


def _params(records: Iterable[RunRecord]) -> set[str]:
    return {name for record in records for step in record.steps for name in step.params}
