"""Group runs into sides of repetitions, and find what differs between sides on purpose."""

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

CLIENTS = "number of clients"  # its name in the comparison
HOSTS = "hosts"  # its name in --across


class Sides(Struct, frozen=True):
    """Runs grouped side by side, by index.

    `by` is what they were grouped by, empty if each is on its own.
    """

    places: tuple[tuple[int, ...], ...]
    by: str = ""

    @property
    def meant(self) -> bool:
        """Whether the sides were declared before the runs."""
        return self.by == BY_AB

    def turned(self, times: int) -> Sides:
        """Return the sides with another one first."""
        first = times % len(self.places)
        return replace(self, places=self.places[first:] + self.places[:first])


BY_AB = "benchtui ab"


def apart(records: Sequence[RunRecord]) -> Sides:
    """Return each run as a side of its own."""
    return Sides(tuple((place,) for place in range(len(records))))


def joined(records: Sequence[RunRecord]) -> Sides:
    """Group runs that repeat each other, in order of first appearance.

    By the sides of `ab` if declared, else by configuration (profile, parameters, target, hosts),
    else by the first tag that gives several sides, but fewer than runs. Otherwise each run is on
    its own.
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
    """Return a run's side in its experiment; a run without one is on its own."""
    side = record.tags.get(AB_SIDE_TAG)
    return record.run_id if side is None else (record.tags.get(AB_TAG), side)


def _configuration(record: RunRecord) -> object:
    """Return the configuration that repetitions share.

    The points that a search chose do not count.
    """
    if record.search is None:
        return configuration(record).key
    return configuration(record.model_copy(update={"steps": []})).key, limits_text(
        record.search.limits
    )


def differing(found: Sequence[Comparison]) -> tuple[str, ...]:
    """Return the parameters that differ and so prevent a comparison, unless intended.

    `hosts`: their number.
    """
    names: set[str] = set()
    for each in found:
        what = {obstacle.what for obstacle in each.obstacles}
        names |= (what & _params((*each.a, *each.b))) | ({HOSTS} if CLIENTS in what else set())
    return tuple(sorted(names))


def check_across(names: Iterable[str], records: Iterable[RunRecord]) -> None:
    """Raise UsageError for an unknown parameter in --across."""
    known = [*sorted(_params(records)), HOSTS]
    for name in names:
        if name not in known:
            hint = did_you_mean(name, known)
            raise UsageError(
                f"--across: unknown parameter '{name}'{hint}; these runs have: {', '.join(known)}"
            )


def _params(records: Iterable[RunRecord]) -> set[str]:
    return {name for record in records for step in record.steps for name in step.params}
