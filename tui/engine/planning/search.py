"""The steps of a search: slots beforehand, each the heaviest load that may come; then what is offered in them. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal

from msgspec import Struct, field
from msgspec.structs import replace

from tui import workloads
from tui.engine.planning.matrix import (
    Overrides,
    Wanted,
    planned_profiles,
    randseed,
    rounds_at,
    unprepared,
)
from tui.engine.planning.precondition import with_fill
from tui.engine.planning.prove import kept_profile
from tui.metrics.registry import MIXED
from tui.model.plan import HostAddress, Plan, Step
from tui.model.problem import Problem, UsageError
from tui.model.profile import Param, ParamValue, Profile, parse_limit, parse_param
from tui.model.quantities import parse_duration
from tui.model.search import HOSTS, RATE, Knob, Offer, Search, SearchKind
from tui.model.search_check import knob_problem
from tui.model.search_spec import CapacitySpec, CurveSpec, knobs_of
from tui.model.search_spec import parse_limit as limit_of
from tui.model.tool import SUITE
from tui.workloads.base import Paced

if TYPE_CHECKING:
    from tui.engine.profiles.catalogue import LoadedProfile

SPARE = 2  # measurements beyond those that a curve needs, for such as have to be made again
AROUND = (0.25, 0.5, 1, 2, 4)  # times the default, where nobody says what values a parameter shall have


class Wish(Struct, frozen=True):
    """What was asked for at launch; what is None or empty is as the profile says. "none": to measure, not to search."""

    kind: SearchKind | Literal["none"] | None = None
    limits: Sequence[str] = ()
    over: Mapping[str, Sequence[int]] = field(default_factory=dict)  # values by name; none: chosen here
    points: int | None = None
    within_s: float | None = None


def search_of(loaded: LoadedProfile, wish: Wish, hosts: int) -> Search | None:
    """Return what a run is to find; None: nothing, it measures. Raises UsageError with every problem."""
    profile = loaded.profile
    kind = wish.kind or ("capacity" if profile.capacity else "curve" if profile.curve else None)
    if kind is None or kind == "none":
        return None
    if profile.tool == SUITE:
        raise UsageError(f"{profile.profile} is a suite: search with one of its profiles")
    search = {"capacity": _capacity, "curve": _curve, "scaling": _scaling}[kind](profile, wish, hosts)
    points = search.points if wish.points is None else wish.points
    if points < 1:
        raise UsageError(f"--points {points}: allowed are whole numbers from 1")
    return replace(search, points=points, within_s=wish.within_s or search.within_s)


def _capacity(profile: Profile, wish: Wish, hosts: int) -> Search:
    texts = wish.limits or (profile.capacity.limits if profile.capacity else [])
    if not texts:
        advice = "--slo 'p99.9<2ms', or in the profile capacity: {limits: ['p99.9 < 2ms']}"
        raise UsageError(f"{profile.profile}: how much load is sustained depends on a limit: {advice}")
    spec = profile.capacity or CapacitySpec(limits=list(texts))
    over = {name: list(values) for name, values in wish.over.items()} or knobs_of(spec.over)
    if problems := [Problem(text) for name, values in over.items() if (text := knob_problem(profile, name, values))]:
        raise UsageError(problems)
    return Search(
        "capacity",
        spec.objective,
        tuple(map(limit_of, texts)),
        tuple(Knob(name, _values(profile, name, values, hosts)) for name, values in over.items()),
        points=spec.points,
        within_s=None if spec.within is None else parse_duration(spec.within),
        point_s=parse_duration(spec.point),
        most_point_s=parse_duration(spec.most),
        tolerance=spec.tolerance,
    )


def _curve(profile: Profile, wish: Wish, _: int) -> Search:
    spec = profile.curve or CurveSpec()
    texts = wish.limits or spec.limits or (profile.capacity.limits if profile.capacity else [])
    return Search(
        "curve",
        limits=tuple(map(limit_of, texts)),
        points=len(spec.shares) + 1 + SPARE,
        within_s=None if spec.within is None else parse_duration(spec.within),
        point_s=parse_duration(spec.point),
        most_point_s=parse_duration(spec.most),
        shares=tuple(map(float, spec.shares)),
        order=spec.order,
    )


def _scaling(profile: Profile, wish: Wish, hosts: int) -> Search:
    if hosts < 2:
        raise UsageError("scaling is over numbers of hosts: one host was chosen; name more with --hosts")
    counts = _values(profile, HOSTS, wish.over.get(HOSTS, ()), hosts)
    limits = tuple(map(limit_of, wish.limits))
    return Search("scaling", limits=limits, over=(Knob(HOSTS, counts),), points=2 * len(counts) + SPARE)


def _values(profile: Profile, name: str, given: Sequence[int], hosts: int) -> tuple[int, ...]:
    """Return the values of a knob, ascending: those given, those that the profile sweeps over, or some around it."""
    if name == RATE:
        return ()
    if name == HOSTS:
        doubled = [2**power for power in range(hosts.bit_length()) if 2**power < hosts]
        return tuple(sorted({each for each in (given or doubled) if each <= hosts} | {hosts}))
    swept = profile.sweep.grid.get(name, []) if profile.sweep else []
    param = profile.params[name]
    around = [max(1, round(int(parse_param(param, param.default)) * times)) for times in AROUND]
    found = given or [int(each) for each in swept if not isinstance(each, bool)] or _allowed(param, around)
    return tuple(sorted(set(found)))


def _allowed(param: Param, values: Sequence[int]) -> list[int]:
    """Return the values within a parameter's bounds."""
    least = 1 if param.min is None else parse_limit(param.kind, param.min)
    most = float("inf") if param.max is None else parse_limit(param.kind, param.max)
    return [each for each in values if least <= each <= most]


def build_slots(
    loaded: LoadedProfile, overrides: Overrides, search: Search, hosts: Sequence[HostAddress], *, prepare: bool
) -> list[Step]:
    """Return the steps of a search: preconditioning, then one for each point, with all of the load that may come."""
    (planned,) = planned_profiles(loaded, overrides, Wanted())
    planned = planned if prepare else unprepared(planned)
    profile, knobs = planned.profile, {knob.name: knob.values[-1] for knob in search.over if knob.values}
    params = with_knobs(profile, planned.params, knobs)
    slots = [_offered(profile, params, hosts, Offer(None, search.point_s), at) for at in range(1, search.points + 1)]
    check_limits(search, profile, slots[0].step)
    steps = [*rounds_at(planned, params, {}, hosts, profile.profile), *(slot.step for slot in slots)]
    steps = list(with_fill(profile, steps, []))
    return [replace(step, index=index, pause_s=step.pause_s if index else 0.0) for index, step in enumerate(steps)]


def check_limits(search: Search, profile: Profile, step: Step) -> None:
    """Raise UsageError for limits on what the jobs do not do: no point could ever keep them."""
    done = [*step.directions, *([MIXED] if {"read", "write"} <= set(step.directions) else [])]
    wrong = [each for each in search.limits if each.direction and each.direction not in done]
    if wrong:
        text = f"has no {wrong[0].direction}: its jobs do {', '.join(done)}"
        raise UsageError([Problem(f"limit '{each.text}': {profile.profile} {text}") for each in wrong])


def with_knobs(profile: Profile, params: Mapping[str, ParamValue], knobs: Mapping[str, int]) -> dict[str, ParamValue]:
    """Return parameters with those that are searched over at these values. Raises UsageError."""
    found = dict(params)
    for name, value in knobs.items():
        if name in profile.params:
            try:
                found[name] = parse_param(profile.params[name], value)
            except ValueError as error:
                raise UsageError(f"parameter '{name}': {error}") from None
    return found


def offered_step(plan: Plan, slot: Step, offer: Offer) -> Paced:
    """Return what a step of a search does when it offers this. Raises UsageError with why it cannot."""
    profile = kept_profile(plan.profile)
    number = [step.index for step in plan.slots].index(slot.index) + 1
    params = with_knobs(profile, plan.params, offer.knobs)
    made = _offered(profile, params, plan.hosts[: offer.knobs.get(HOSTS)], offer, number)
    step = replace(made.step, index=slot.index, attempt=slot.attempt, pause_s=offer.settle_s)
    return Paced(step, made.remarks)


def _offered(
    profile: Profile, params: Mapping[str, ParamValue], hosts: Sequence[HostAddress], offer: Offer, number: int
) -> Paced:
    name = f"{profile.profile} point {number}"
    seeds = {host.name: randseed(name, host.name, 1) for host in hosts}
    rate: dict[str, ParamValue] = {} if offer.rate_iops is None else {RATE: round(offer.rate_iops)}
    made = workloads.get(profile.tool).pace(profile, params, hosts, seeds, offer.rate_iops, offer.seconds, offer.shares)
    return Paced(replace(made.step, name=name, cell=name, point={**offer.knobs, **rate}), made.remarks)
