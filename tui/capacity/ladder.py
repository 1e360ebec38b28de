"""The next rung of a ladder: a search over settings such as jobs and depth, without a rate."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from math import prod

from msgspec import Struct

from tui.capacity.budget import seconds_for, settle_after
from tui.capacity.hold import held
from tui.model.operands import Clause, clause
from tui.model.search import RATE, Offer, Search, SearchPoint

Rung = tuple[tuple[str, int], ...]


class Standing(Struct, frozen=True):
    """Which settings met the limits, which exceeded them (`broken`), ascending by load.

    `unsure`: measured, but the verdict is unclear. `left`: neither measured nor implied.
    """

    met: tuple[Rung, ...] = ()
    broken: tuple[Rung, ...] = ()
    unsure: Rung | None = None
    left: tuple[Rung, ...] = ()


def rungs(search: Search) -> list[Rung]:
    """Return all settings, ascending by load: every combination of jobs, depth, hosts and so on."""
    knobs = [knob for knob in search.over if knob.name != RATE and knob.values]
    settings = [tuple((knob.name, value) for knob, value in zip(knobs, values, strict=True))
                for values in product(*(knob.values for knob in knobs))]  # fmt: skip
    return sorted(settings, key=lambda each: (_load(each), each))


def _load(rung: Rung) -> int:
    return prod(value for _, value in rung)


def lighter(one: Rung, other: Rung) -> bool:
    """Return whether no knob of `one` is higher than in `other`.

    True for equal settings.
    """
    return all(mine <= theirs for (_, mine), (_, theirs) in zip(one, other, strict=True))


def of_rung(points: Sequence[SearchPoint], rung: Rung) -> list[SearchPoint]:
    """Return the points measured at one setting."""
    return [each for each in points if each.offer.knobs == dict(rung)]


def next_of_ladder(search: Search, points: Sequence[SearchPoint]) -> Offer | None:
    """Return the next point: an unclear setting again, then the heaviest one, then by bisection.

    None if every setting is known.
    """
    known = standing(search, points)
    if known.unsure is not None:
        return _offer_rung(search, points, known.unsure, clause("longer"), 2.0)
    if not known.left:
        return None
    heaviest = rungs(search)[-1]
    if heaviest in known.left:
        return _offer_rung(search, points, heaviest, clause("heaviest"))
    why = clause("settings-left", settings=len(known.left))
    return _offer_rung(search, points, _middle(known.left), why)


def standing(search: Search, points: Sequence[SearchPoint]) -> Standing:
    """Return the state of every setting, measured or implied by others.

    A setting that is unclear twice counts as exceeding the limits. A setting that met them is not
    in `met` if a lighter one exceeded them.
    """
    steps = rungs(search)
    verdicts = {step: _verdict(search, of_rung(points, step)) for step in steps}
    broken = [step for step in steps if verdicts[step] == "breaks"]
    met = [
        step
        for step in steps
        if verdicts[step] == "meets" and not any(lighter(each, step) for each in broken)
    ]
    left = [
        step for step in steps
        if not verdicts[step]
        and not any(lighter(step, each) for each in met) and not any(lighter(each,
            step) for each in broken)
    ]  # fmt: skip
    unsure = next((step for step in steps if verdicts[step] == "unclear"), None)
    return Standing(tuple(met), tuple(broken), unsure, tuple(left))


def _verdict(search: Search, own: Sequence[SearchPoint]) -> str:
    """Return the joint verdict of the points of one setting; empty without points."""
    if not own:
        return ""
    if own[-1].offer.role == "hold" and held(search, own[-1]):
        return "meets"
    return "breaks" if own[-1].verdict == "unclear" and len(own) > 1 else own[-1].verdict


def _middle(left: Sequence[Rung]) -> Rung:
    """Return the setting in the middle by load.

    If several have that load, return the one whose verdict implies most others.
    """
    load = _load(left[len(left) // 2])

    def known_lighter(rung: Rung) -> int:
        return min(
            sum(lighter(each, rung) for each in left), sum(lighter(rung, each) for each in left)
        )

    return max((each for each in left if _load(each) == load), key=known_lighter)


def above(known: Standing, rung: Rung) -> list[Rung]:
    """Return the lightest settings above `rung` that exceeded the limits.

    Settings in which no knob is more than 1 higher are left out: nothing is between them and
    `rung`.
    """
    heavier = [each for each in known.broken if lighter(rung, each)]
    nearest = [
        each
        for each in heavier
        if not any(other != each and lighter(other, each) for other in heavier)
    ]
    return [
        each
        for each in nearest
        if any(far - near > 1 for (_, near), (_, far) in zip(rung, each, strict=True))
    ]


def _offer_rung(
    search: Search, points: Sequence[SearchPoint], step: Rung, why: Clause, longer: float = 1.0
) -> Offer:
    last = next((each.iops for each in reversed(points)), None)
    return Offer(
        None, seconds_for(search, last, longer), dict(step), "search", settle_after(points), why
    )
