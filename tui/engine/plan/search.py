"""Steps of a search and of a counter-experiment: slots, offered load, one changed parameter.

Pure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal

from msgspec import Struct, field
from msgspec.structs import replace

from tui import workloads
from tui.capacity.budget import fits, lacking, lead_s
from tui.engine.plan.choices import OPTIONS, Words
from tui.engine.plan.steps import person_text, randseed
from tui.metrics.registry import MIXED
from tui.model.address import HostAddress
from tui.model.extras import expect_statistics
from tui.model.operands import Clause, clause
from tui.model.plan import Plan, ProfileRef, Step
from tui.model.problem import Problem, UsageError
from tui.model.profile import Param, ParamValue, Profile, parse_limit, parse_param
from tui.model.profile_check import knob_problem
from tui.model.profile_load import Base, load_profile, recorded_profile
from tui.model.profile_parts import MOST_POINTS, CapacitySpec, CurveSpec, knobs_of
from tui.model.profile_parts import parse_limit as limit_of
from tui.model.quantities import parse_duration, short_duration
from tui.model.search import (
    HOSTS,
    RATE,
    SAID,
    Knob,
    LoadChange,
    Offer,
    Proof,
    ProofQuestion,
    Search,
    SearchKind,
)
from tui.model.tool import SUITE
from tui.workloads.base import Paced

if TYPE_CHECKING:
    from tui.engine.inputs.profiles import LoadedProfile

AXIS = "load"
MOST_S, LEAST_S = 15.0, 5.0  # of each of the two steps


def proof_plan(plan: Plan, question: ProofQuestion, seconds: float | None = None) -> Plan:
    """Return the plan of the first feasible counter-experiment.

    `seconds` is the length of each of its two steps; the default is the runtime of the run's step,
    limited to 5 to 15 s. Raises UsageError with the reason if none is feasible.
    """
    refused: list[str] = []
    for experiment in question.experiments:
        try:
            return _planned(plan, question, experiment, seconds)
        except UsageError as error:
            refused.append(
                f"{SAID[experiment.change]}: {'; '.join(each.message for each in error.problems)}"
            )
    raise UsageError(f"{question.run_id}: no counter-experiment possible: {'; '.join(refused)}")


def _planned(
    plan: Plan, question: ProofQuestion, experiment: LoadChange, seconds: float | None
) -> Plan:
    step = plan.steps[question.step]
    ref = next((member for member in plan.members if member.tag == step.profile), plan.profile)
    profile, tool = kept_profile(ref), workloads.of(step)
    length = seconds or min(MOST_S, max(LEAST_S, step.runtime_s or MOST_S))
    as_it_was = tool.warm(profile, length)
    changed = as_it_was
    if experiment.change != "half-hosts":
        changed = tool.vary(as_it_was, step.params, experiment.change)
    steps = [
        _one(plan, step, as_it_was, question.run_id, "unchanged", 0),
        _one(plan, step, changed, question.run_id, SAID[experiment.change], 1),
    ]
    if experiment.change == "half-hosts":
        steps[1] = _fewer_hosts(steps[1])
    return replace(
        plan,
        profile=ref,
        params=dict(step.params),
        texts={name: person_text(profile, name, value) for name, value in step.params.items()},
        hosts=_hosts(plan, step),
        steps=steps,
        headline=plan.headline_of(step),
        latency_kind=plan.latency_kind_of(step),
        drop_caches=plan.drop_caches_before(step),
        destroy=(),  # must be confirmed again at launch
        take_locks=False,
        wait_s=0.0,
        telemetry=True,
        axes=[AXIS],
        until=None,
        members=[],
        caveats=refused_today(ref),
        left_out=[],
        note=f"counter-experiment: {question.run_id}",
        proves=Proof(
            question.run_id,
            question.step,
            question.kind,
            question.bottleneck,
            experiment,
            question.before.get(experiment.prediction.figure),
        ),
    )


def kept_profile(ref: ProfileRef) -> Profile:
    """Return the profile saved in a plan. Raises UsageError."""
    return recorded_profile(ref.text, ref.tag, _bases_of(ref))


def refused_today(ref: ProfileRef) -> list[Clause | str]:
    """Return why the run's profile would be rejected now, by checks added since."""
    try:
        load_profile(ref.text, ref.tag, _bases_of(ref))
    except UsageError as error:
        return [clause("profile-rejected", quote=str(problem)) for problem in error.problems]
    return []


def _bases_of(ref: ProfileRef) -> Base:
    bases = dict(zip(ref.extends, ref.bases, strict=False))

    def base(tag: str) -> tuple[str, str]:
        if tag not in bases:
            raise UsageError(f"{ref.tag} extends {tag}, which is not in the plan")
        return bases[tag], tag

    return base


def _hosts(plan: Plan, step: Step) -> list[HostAddress]:
    """Return the hosts a step was planned for, including idle ones."""
    count = step.point.get("hosts")
    return plan.hosts[: int(count)] if count is not None else list(plan.hosts)


def _one(plan: Plan, step: Step, profile: Profile, run_id: str, name: str, index: int) -> Step:
    hosts = _hosts(plan, step)
    seeds = {host.name: randseed(f"{run_id} {name}", host.name, 1) for host in hosts}
    (made,) = workloads.of(step).build_steps(profile, step.params, hosts, seeds)
    title = f"{profile.profile} {name}"
    kind = plan.latency_kind_of(step)
    return replace(made, index=index, name=title, cell=title, point={AXIS: name}, latency_kind=kind)


def _fewer_hosts(step: Step) -> Step:
    """Return the step on half of its hosts; the work and share of each host stay the same.

    Raises UsageError for a single host.
    """
    if len(step.tasks) < 2:
        raise UsageError("there is only one host")
    tasks = step.tasks[: len(step.tasks) // 2]
    in_flight = None if step.in_flight is None else step.in_flight * len(tasks) // len(step.tasks)
    return replace(step, tasks=tasks, in_flight=in_flight)


# spare measurements of a curve or a scaling run, for repeats
SPARE = 2
# factors of the default, for a parameter without values
AROUND = (0.25, 0.5, 1, 2, 4)


Kind = SearchKind | Literal["none"]  # "none": measure, do not search


class SearchChoice(Struct, frozen=True):
    """The search requested at launch; None or empty means the profile's value."""

    kind: Kind | None = None
    limits: Sequence[str] = ()
    # values by name; none: default values
    over: Mapping[str, Sequence[int]] = field(default_factory=dict)
    points: int | None = None
    within_s: float | None = None
    point_s: float | None = None
    most_point_s: float | None = None
    hold_s: float | None = None

    def asked(self, words: Words = OPTIONS) -> list[str]:
        """Return the search options that were given, except the kind."""
        given = {
            words.limits: self.limits or None, words.over: self.over or None,
            words.points: self.points,
            words.within: self.within_s, words.point: self.point_s, words.most: self.most_point_s,
            words.hold: self.hold_s,
        }  # fmt: skip
        return [name for name, value in given.items() if value is not None]


def usual_kind(profile: Profile) -> Kind:
    """Return the kind of search that the profile defines."""
    return "capacity" if profile.capacity else "curve" if profile.curve else "none"


def search_of(
    loaded: LoadedProfile, wish: SearchChoice, hosts: int, words: Words = OPTIONS
) -> Search | None:
    """Return the search of a run; None if the run only measures.

    Raises UsageError, which names the choices by `words`.
    """
    profile = loaded.profile
    kind = wish.kind or usual_kind(profile)
    if profile.tool == SUITE and (kind != "none" or wish.asked()):
        raise UsageError(f"{profile.profile} is a suite: use one of its profiles")
    if kind == "none":
        _check_nothing_asked(profile, wish, words)
        return None
    expect_statistics(f"{profile.profile}: a {kind} search")
    search = {"capacity": _capacity, "curve": _curve, "scaling": _scaling}[kind](
        profile, wish, hosts, words
    )
    points = search.points if wish.points is None else wish.points
    if not 1 <= points <= MOST_POINTS:
        raise UsageError(
            f"{words.points} {points}: expected a whole number from 1 to {MOST_POINTS}"
        )
    found = replace(
        search,
        points=points,
        within_s=wish.within_s or search.within_s,
        **_lengths(wish, search, words),
    )
    return replace(found, hold_s=_hold_s(found, wish, words))


def _check_nothing_asked(profile: Profile, wish: SearchChoice, words: Words) -> None:
    """Raise UsageError for search options given without a search."""
    if not (asked := wish.asked(words)):
        return
    why = words.no_search if wish.kind else f"{profile.profile} defines no search"
    advice = "" if wish.kind else f"; {words.what_searches}"
    raise UsageError(f"{', '.join(asked)} requires a search: {why}{advice}")


HOLD_SHARE = 0.25  # share of a limited time that a default hold may take


def _hold_s(search: Search, wish: SearchChoice, words: Words) -> float:
    """Return the seconds for which to hold the answer; 0 if the search has no hold.

    Raises UsageError if a hold was requested for such a search.
    """
    if search.kind != "capacity":
        if wish.hold_s is not None:
            raise UsageError(f"{words.hold}: a {search.kind} has no capacity to hold")
        return 0.0
    if wish.hold_s is not None:
        return wish.hold_s
    if search.within_s is None:
        return search.hold_s
    return min(search.hold_s, float(round(search.within_s * HOLD_SHARE)))


def _lengths(wish: SearchChoice, search: Search, words: Words) -> dict[str, float]:
    """Return the minimum and maximum length of a point.

    Raises UsageError if the minimum exceeds the maximum.
    """
    least = wish.point_s or search.point_s
    if wish.most_point_s is not None and wish.most_point_s < least:
        why = f"a point lasts at least {short_duration(least)}; use {words.point} to shorten it"
        raise UsageError(f"{words.most} {short_duration(wish.most_point_s)}: {why}")
    return {"point_s": least, "most_point_s": wish.most_point_s or max(search.most_point_s, least)}


def _capacity(profile: Profile, wish: SearchChoice, hosts: int, words: Words) -> Search:
    texts = wish.limits or (profile.capacity.limits if profile.capacity else [])
    if not texts:
        advice = f"{words.name_limits}, or in the profile capacity: {{limits: ['p99.9 < 2ms']}}"
        raise UsageError(f"{profile.profile}: a capacity search requires a limit: {advice}")
    spec = profile.capacity or CapacitySpec(limits=list(texts))
    over = {name: list(values) for name, values in wish.over.items()}
    over = over or {name: [each for each in values if name != HOSTS or each <= hosts]
                    for name, values in knobs_of(spec.over).items()}  # fmt: skip
    if problems := [
        Problem(text)
        for name, values in over.items()
        if (text := knob_problem(profile, name, values))
    ]:
        raise UsageError(problems)
    return Search(
        "capacity",
        spec.objective,
        tuple(map(limit_of, texts)),
        tuple(
            Knob(name, knob_values(profile, name, values, hosts, words))
            for name, values in over.items()
        ),
        points=spec.points,
        within_s=None if spec.within is None else parse_duration(spec.within),
        point_s=parse_duration(spec.point),
        most_point_s=parse_duration(spec.most),
        hold_s=parse_duration(spec.hold),
        tolerance=spec.tolerance,
    )


def _curve(profile: Profile, wish: SearchChoice, _: int, words: Words) -> Search:
    if wish.over:
        raise UsageError(
            f"{words.over} {', '.join(wish.over)}: a curve only varies the share of full load"
        )
    spec = profile.curve or CurveSpec()
    texts = wish.limits or spec.limits or (profile.capacity.limits if profile.capacity else [])
    return Search(
        "curve",
        limits=tuple(map(limit_of, texts)),
        points=len(set(spec.shares)) + 1 + SPARE,
        within_s=None if spec.within is None else parse_duration(spec.within),
        point_s=parse_duration(spec.point),
        most_point_s=parse_duration(spec.most),
        shares=tuple(map(float, spec.shares)),
        order=spec.order,
    )


def _scaling(profile: Profile, wish: SearchChoice, hosts: int, words: Words) -> Search:
    if hosts < 2:
        raise UsageError(
            f"scaling varies the number of hosts, but only one was chosen; {words.name_hosts}"
        )
    if others := [name for name in wish.over if name != HOSTS]:
        raise UsageError(f"{words.over} {', '.join(others)}: scaling only varies hosts")
    if wish.most_point_s is not None:
        raise UsageError(
            f"{words.most} does not apply to scaling: {words.point} sets the time of every point"
        )
    counts = knob_values(profile, HOSTS, wish.over.get(HOSTS, ()), hosts, words)
    limits = tuple(map(limit_of, wish.limits))
    search = Search("scaling", limits=limits, over=(Knob(HOSTS, counts),))
    return replace(search, points=len(lacking(search, ())) + SPARE)


def knob_values(
    profile: Profile, name: str, given: Sequence[int], hosts: int, words: Words = OPTIONS
) -> tuple[int, ...]:
    """Return a knob's values in ascending order: the given ones, the profile's sweep, or values
    around the default; none for the offered rate.

    Raises UsageError for more hosts than were chosen.
    """
    if name == RATE:
        return ()
    if name == HOSTS:
        if above := [each for each in given if each > hosts]:
            few = f"only {hosts} {'host was' if hosts == 1 else 'hosts were'} chosen"
            raise UsageError(f"{words.over} hosts={','.join(map(str, above))}: {few}")
        return tuple(sorted(set(given or doubled(hosts))))
    swept = profile.sweep.grid.get(name, []) if profile.sweep else []
    param = profile.params[name]
    around = [max(1, round(int(parse_param(param, param.default)) * times)) for times in AROUND]
    found = (
        given
        or [int(each) for each in swept if not isinstance(each, bool)]
        or within_bounds(param, around)
    )
    return tuple(sorted(set(found)))


def doubled(hosts: int) -> tuple[int, ...]:
    """Return the default host counts to measure: 1, 2, 4 ... all."""
    return (*(2**power for power in range(hosts.bit_length()) if 2**power < hosts), hosts)


def within_bounds(param: Param, values: Sequence[int]) -> list[int]:
    """Return the values that are within a parameter's bounds."""
    least = 1 if param.min is None else parse_limit(param.kind, param.min)
    most = float("inf") if param.max is None else parse_limit(param.kind, param.max)
    return [each for each in values if least <= each <= most]


def check_time_for_point(search: Search, words: Words) -> None:
    """Raise UsageError if the time budget is too short for one point."""
    if fits(search, (), Offer(None, search.point_s)) is None:
        lead = lead_s(search, search.point_s)
        before = f", including {short_duration(lead)} before the measurement" if lead else ""
        takes = f"one point takes {short_duration(lead + search.point_s)}{before}"
        within = f"{words.within} {short_duration(search.within_s or 0.0)}"
        raise UsageError(f"{within} is too short: {takes}; use {words.point} to shorten points")


def check_limits(search: Search, profile: Profile, step: Step) -> None:
    """Raise UsageError for limits on a direction that the jobs do not use: no point could meet
    them.
    """
    done = [*step.directions, *([MIXED] if {"read", "write"} <= set(step.directions) else [])]
    wrong = [each for each in search.limits if each.direction and each.direction not in done]
    if wrong:
        text = f"does no {wrong[0].direction}; its jobs do {', '.join(done)}"
        raise UsageError(
            [Problem(f"limit '{each.text}': {profile.profile} {text}") for each in wrong]
        )


def with_knobs(
    profile: Profile, params: Mapping[str, ParamValue], knobs: Mapping[str, int]
) -> dict[str, ParamValue]:
    """Return the parameters with these knobs set. Raises UsageError."""
    found = dict(params)
    for name, value in knobs.items():
        if name in profile.params:
            try:
                found[name] = parse_param(profile.params[name], value)
            except ValueError as error:
                raise UsageError(f"parameter '{name}': {error}") from None
    return found


def offered_step(plan: Plan, slot: Step, offer: Offer) -> Paced:
    """Return the step of a search point with this offered load.

    Raises UsageError if the load cannot be offered.
    """
    profile = kept_profile(plan.profile)
    number = [step.index for step in plan.slots].index(slot.index) + 1
    params = with_knobs(profile, plan.params, offer.knobs)
    made = paced_step(profile, params, plan.hosts[: offer.knobs.get(HOSTS)], offer, number)
    step = replace(made.step, index=slot.index, attempt=slot.attempt, pause_s=offer.settle_s)
    return Paced(step, made.caveats)


def paced_step(
    profile: Profile,
    params: Mapping[str, ParamValue],
    hosts: Sequence[HostAddress],
    offer: Offer,
    number: int,
) -> Paced:
    """Return the step of a point at the offered load, with random seeds derived from its number."""
    name = f"{profile.profile} point {number}"
    seeds = {host.name: randseed(name, host.name, 1) for host in hosts}
    rate: dict[str, ParamValue] = {} if offer.rate_iops is None else {RATE: round(offer.rate_iops)}
    made = workloads.get(profile.tool).pace(profile, params, hosts, seeds, offer)
    return replace(
        made, step=replace(made.step, name=name, cell=name, point={**offer.knobs, **rate})
    )
