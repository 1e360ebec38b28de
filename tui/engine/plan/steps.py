"""Expand the sweep, suite, repetitions and preconditioning of a plan to steps. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby, islice
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from tui import workloads
from tui.engine.plan.choices import OPTIONS, Words
from tui.model.address import HostAddress
from tui.model.alike import same_over, vain_axes
from tui.model.objects import check_apart
from tui.model.operands import Clause, clause, unique
from tui.model.plain import HOSTS_AXIS
from tui.model.plan import Headline, Step, Until, at_once
from tui.model.problem import Problem, UsageError, did_you_mean
from tui.model.profile import (
    ParamValue,
    Profile,
    Scalar,
    expand,
    parse_param,
    placeholders,
    resolve_params,
    value_text,
)
from tui.model.profile_check import duplicate_values
from tui.model.profile_model import idle_params
from tui.model.profile_parts import (
    MAX_STEPS,
    SweepSpec,
    axes,
    grid_points,
    host_counts,
    with_values,
    without,
)
from tui.model.quantities import parse_duration
from tui.model.roles import chosen_roles, hosts_by_role, in_role

if TYPE_CHECKING:
    from tui.engine.inputs.profiles import LoadedProfile
from tui.engine.plan.fills import round_rules, with_fill


def check_act(
    profile: Profile, params: Mapping[str, ParamValue], given: Iterable[str], varied: Iterable[str]
) -> None:
    """Raise UsageError for changed or varied parameters that have no effect."""
    idle = idle_params(profile)
    if not idle:
        return
    defaults = resolve_params(profile, {})
    wrong = [name for name in given if name in idle and params.get(name) != defaults.get(name)]
    wrong += [name for name in varied if name in idle]
    if wrong:
        raise UsageError(
            [
                Problem(f"{profile.profile}: parameter '{each}' has no effect: {idle[each]}")
                for each in dict.fromkeys(wrong)
            ]
        )


def check_points(profile: Profile, steps: Sequence[Step], names: Iterable[str]) -> None:
    """Raise UsageError for a swept parameter whose values all give the same load: its table would
    show only noise.
    """
    for name in names:
        if name != HOSTS_AXIS and same_over(steps, name):
            raise UsageError(
                f"{profile.profile}: sweep over '{name}': all values give the same load"
            )


def vain_options(steps: Sequence[Step], names: Iterable[str]) -> list[Clause | str]:
    """Return notes on options without effect, and on sweeps with the same load at all points."""
    vain = unique(job.in_vain for step in steps for job in step.jobs if job.in_vain)
    same = vain_axes(steps, names)
    return [*vain, *(clause("same-load-in-sweep", name=name) for name in same)]


Params = dict[str, ParamValue]
Overrides = Mapping[str, str]


class MatrixChoice(Struct, frozen=True):
    """Repetitions and sweep values requested at launch, as typed; None means the profile's.

    `precondition`: run the profile's preconditioning.
    """

    repeat: int | None = None
    sweep: Mapping[str, Sequence[str]] | None = None
    precondition: bool = True
    words: Words = OPTIONS
    roles: Mapping[str, str] | None = None  # hosts by role, as typed


class PlannedProfile(Struct, frozen=True):
    """One profile to measure, alone or as a member of a suite."""

    profile: Profile
    params: Params
    sweep: SweepSpec | None
    least: int
    most: int
    until: Until | None = None
    member: bool = False
    made: int = 0  # repetitions in earlier passes of the suite
    apart: tuple[
        str, ...
    ] = ()  # parameters that distinguish it from other members with the same profile
    role: str = ""
    beside: tuple[str, ...] = ()  # roles of concurrent members
    stage: int = 0  # of the suite; members of one stage run at the same time
    needs: tuple[str, ...] = ()  # tags of earlier members that must have succeeded


def build_steps(
    loaded: LoadedProfile, overrides: Overrides, wanted: MatrixChoice, hosts: Sequence[HostAddress]
) -> list[Step]:
    """Return all steps of a run. Raises UsageError."""
    assigned = roles_of(loaded.profile, wanted, hosts)
    steps: list[Step] = []
    for turn in range(suite_rounds(loaded.profile, wanted)):
        members = planned_profiles(loaded, overrides, wanted)
        for _, stage in groupby(members, key=lambda member: member.stage):
            found: list[Step] = []
            for planned in stage:
                found += _own_steps(
                    planned, turn, assigned.get(planned.role, hosts), wanted, [*steps, *found]
                )
                if len(steps) + len(found) > MAX_STEPS:
                    tag = loaded.profile.profile
                    raise UsageError(
                        f"{tag}: more than {MAX_STEPS} steps; use fewer values or repetitions"
                    )
            steps += _at_the_same_time(found, 1 + max((step.together for step in steps), default=0))
    _check_objects(steps)
    if not steps:
        tag = loaded.profile.profile
        raise UsageError(
            f"{tag}: nothing to measure: a parameter that is divided among the hosts"
            f" ({', '.join(_spread(loaded.profile))}) is smaller than every number of hosts; raise"
            " it or use fewer hosts"
        )
    return [
        replace(step, index=index, pause_s=step.pause_s if index else 0.0)
        for index, step in enumerate(steps)
    ]


def _check_objects(steps: Sequence[Step]) -> None:
    """Raise UsageError if concurrent steps overwrite or delete each other's objects."""
    for group in at_once(steps):
        check_apart(
            (task.host, each) for step in group for task in step.tasks for each in task.objects
        )


def _own_steps(
    planned: PlannedProfile,
    turn: int,
    hosts: Sequence[HostAddress],
    wanted: MatrixChoice,
    before: Sequence[Step],
) -> list[Step]:
    """Return the steps of one profile, after the fill of its files.

    At most MAX_STEPS + 1, so that the caller notices too many.
    """
    planned = planned if wanted.precondition else unprepared(planned)
    own = list(islice(_steps_of(replace(planned, made=turn * planned.most), hosts), MAX_STEPS + 1))
    check_points(planned.profile, own, axes(planned.sweep or SweepSpec()))
    return list(with_fill(planned.profile, own, before))


def _at_the_same_time(steps: Sequence[Step], number: int) -> list[Step]:
    """Return the steps of a suite stage: warm-ups in sequence, then all other steps concurrently.

    `number` identifies the concurrent group; unique for each stage and pass of the suite.
    """
    if not any(step.together for step in steps):
        return list(steps)
    before = [replace(step, together=0) for step in steps if step.warmup]
    return [*before, *(replace(step, together=number) for step in steps if not step.warmup)]


def roles_of(
    profile: Profile, wanted: MatrixChoice, hosts: Sequence[HostAddress]
) -> dict[str, list[HostAddress]]:
    """Return the hosts of each role of a suite.

    Raises UsageError naming the profile or option at fault.
    """
    given = wanted.roles or {}
    try:
        roles = chosen_roles(profile.roles, given)
    except UsageError as error:
        raise UsageError(
            [Problem(f"{wanted.words.role}{each.message}") for each in error.problems]
        ) from None
    try:
        return hosts_by_role(roles, hosts)
    except UsageError as error:
        raise UsageError(
            [Problem(f"{profile.profile}: {each.message}") for each in error.problems]
        ) from None


def unprepared(planned: PlannedProfile) -> PlannedProfile:
    """Return the profile without its preconditioning."""
    prepare = planned.profile.prepare.model_copy(update={"precondition": None})
    return replace(planned, profile=planned.profile.model_copy(update={"prepare": prepare}))


def suite_rounds(profile: Profile, wanted: MatrixChoice) -> int:
    """Return the number of passes through a whole suite; 1 for other profiles, which repeat each
    point.
    """
    own = profile.repeat if isinstance(profile.repeat, int) else 1
    return (wanted.repeat or own) if profile.tool == "suite" else 1


def planned_profiles(
    loaded: LoadedProfile, overrides: Overrides, wanted: MatrixChoice
) -> list[PlannedProfile]:
    """Return the profiles to measure, in order."""
    if loaded.profile.tool != "suite":
        return [_planned(loaded.profile, overrides, wanted)]
    return _planned_members(loaded, overrides, wanted)


def _planned(
    profile: Profile, overrides: Overrides, wanted: MatrixChoice, *, member: bool = False
) -> PlannedProfile:
    fixed = {name: value for name, value in overrides.items() if name not in (wanted.sweep or {})}
    params = resolve_params(profile, fixed)
    sweep = with_values(
        without(profile.sweep, fixed), known_axes(profile, wanted.sweep or {}, wanted.words)
    )
    if not member:
        check_act(profile, params, fixed, axes(sweep or SweepSpec()))
    repeat = profile.repeat
    if member or wanted.repeat is None:
        least, most = (repeat, repeat) if isinstance(repeat, int) else (repeat.min, repeat.max)
    else:
        least = most = wanted.repeat
    until = (
        Until(repeat.until, least, most) if not isinstance(repeat, int) and most > least else None
    )
    return PlannedProfile(profile, params, sweep, least, most, until, member)


def known_axes(
    profile: Profile, sweep: Mapping[str, Sequence[str]], words: Words
) -> Mapping[str, Sequence[str]]:
    """Return the sweep unchanged.

    Raises UsageError for unknown names, and for invalid or repeated values.
    """
    again = f"use {words.repeat} to repeat points"
    problems = []
    for name, values in sweep.items():
        param = profile.params.get(name)
        if param is None:
            known = ", ".join(profile.params) or "none"
            message = (
                f"{words.sweep}: unknown parameter '{name}'{did_you_mean(name, profile.params)};"
                f" {profile.profile} has: {known}"
            )
            problems.append(Problem(message))
            continue
        for value in values:
            try:
                parse_param(param, value)
            except ValueError as error:
                problems.append(Problem(f"{words.sweep}: parameter '{name}': {error}"))
        twice = duplicate_values(param, values)
        problems += [
            Problem(f"{words.sweep}: parameter '{name}': {why}; {again}") for _, why in twice
        ]
    if problems:
        raise UsageError(problems)
    return sweep


def _planned_members(
    loaded: LoadedProfile, overrides: Overrides, wanted: MatrixChoice
) -> list[PlannedProfile]:
    """Return the members of a suite with their parameters resolved."""
    suite = loaded.profile
    if wanted.sweep:
        raise UsageError(
            f"{wanted.words.sweep}: {suite.profile} is a suite; sweep one of its profiles instead"
        )
    _check_names(loaded, overrides)
    own = {name: value for name, value in overrides.items() if name in suite.params}
    params = resolve_params(suite, own)
    texts = {name: value_text(suite.params[name].kind, value) for name, value in params.items()}
    every = []
    for number, stage in enumerate(suite.stages):
        for member in stage:
            profile = loaded.members[member.profile].profile
            given = {name: expand(value, texts) for name, value in member.set.items()}
            given |= {
                name: value
                for name, value in overrides.items()
                if name not in own and name in profile.params
            }
            beside = tuple(each.role or "" for each in stage if each is not member)
            place = (member.role or "", beside, number, tuple(member.needs))
            every.append((profile, given, *place))
    given_to = [(profile, given) for profile, given, *_ in every]
    return [
        replace(
            _planned(profile, given, MatrixChoice(), member=True),
            apart=distinct_params(profile, given_to),
            role=role,
            beside=beside,
            stage=number,
            needs=needs,
        )
        for profile, given, role, beside, number, needs in every
    ]


def distinct_params(
    profile: Profile, members: Sequence[tuple[Profile, Overrides]]
) -> tuple[str, ...]:
    """Return the parameters whose values differ among suite members with the same profile."""
    same = [given for other, given in members if other.profile == profile.profile]
    names = dict.fromkeys(name for given in same for name in given)
    return tuple(name for name in names if len({given.get(name) for given in same}) > 1)


def _check_names(loaded: LoadedProfile, overrides: Overrides) -> None:
    known = set(loaded.profile.params)
    for member in loaded.members.values():
        known |= set(member.profile.params)
    tag, have = loaded.profile.profile, ", ".join(sorted(known)) or "none"
    problems = [
        Problem(
            f"unknown parameter '{name}'{did_you_mean(name, known)}; {tag} and its profiles have:"
            f" {have}"
        )
        for name in overrides
        if name not in known
    ]
    if problems:
        raise UsageError(problems)


def _steps_of(planned: PlannedProfile, hosts: Sequence[HostAddress]) -> Iterator[Step]:
    """Yield the steps of one profile: each point with its rounds, warm-up and repetitions."""
    sweep = planned.sweep or SweepSpec()
    named = axes(sweep)
    for values in grid_points(sweep):
        for count in host_counts(sweep, len(hosts)):
            params = _at_point(planned, values)
            point: Params = {
                name: params[name] for name in (*planned.apart, *named) if name != HOSTS_AXIS
            }
            if HOSTS_AXIS in named:
                point[HOSTS_AXIS] = count
                if _some_idle(planned.profile, params, count):
                    continue  # it would measure fewer hosts than its name says
            yield from _cell_steps(planned, params, point, hosts[:count])


def _some_idle(profile: Profile, params: Params, count: int) -> bool:
    """Return whether a total spread over this many hosts leaves some without a share."""
    return any(int(params[name]) < count for name in _spread(profile))


def _spread(profile: Profile) -> list[str]:
    """Return the parameters whose value is divided among the hosts."""
    return [name for name, param in profile.params.items() if param.spread]


def _at_point(planned: PlannedProfile, values: Mapping[str, Scalar]) -> Params:
    params = dict(planned.params)
    for name, value in values.items():
        params[name] = parse_param(planned.profile.params[name], value)
    return params


def _cell_steps(
    planned: PlannedProfile, params: Params, point: Params, hosts: Sequence[HostAddress]
) -> Iterator[Step]:
    profile = planned.profile
    cell = in_role(cell_key(profile, point), planned.role, planned.beside)
    pause = span_of(profile.pause, params)
    yield from rounds_at(planned, params, point, hosts, cell)
    if warmup := span_of(profile.warmup, params):
        step = _one(
            planned, workloads.get(profile.tool).warm(profile, warmup), params, hosts, cell, 0
        )
        yield replace(step, point=point, warmup=True, pause_s=pause)
    for number in range(1, planned.most + 1):
        repetition = planned.made + number
        step = _one(planned, profile, params, hosts, cell, repetition)
        yield replace(
            step, point=point, repetition=repetition, optional=number > planned.least, pause_s=pause
        )


def rounds_at(
    planned: PlannedProfile, params: Params, point: Params, hosts: Sequence[HostAddress], cell: str
) -> Iterator[Step]:
    """Yield a point's load as preconditioning rounds; rounds beyond the steadiness window are
    optional.
    """
    profile, wanted = planned.profile, planned.profile.prepare.precondition
    for rule in round_rules(wanted):
        load = workloads.get(profile.tool).warm(
            profile, span_of(wanted.round if wanted else None, params)
        )
        step = _one(planned, load, params, hosts, cell, -(planned.made * rule.rounds + rule.number))
        yield replace(
            step,
            point=point,
            warmup=True,
            precondition=rule,
            optional=rule.number > rule.window,
            drop_caches="no",
        )


def _one(
    planned: PlannedProfile,
    profile: Profile,
    params: Params,
    hosts: Sequence[HostAddress],
    cell: str,
    repetition: int,
) -> Step:
    seeds = {host.name: randseed(cell, host.name, repetition) for host in hosts}
    (step,) = workloads.get(profile.tool).build_steps(profile, params, list(hosts), seeds)
    spec = profile.headline
    return replace(
        step,
        name=cell,
        cell=cell,
        profile=profile.profile if planned.member else "",
        headline=(
            Headline(metric=spec.metric, direction=spec.direction, percentile=spec.percentile)
            if planned.member
            else None
        ),
        latency_kind=step.latency_kind or (profile.latency if planned.member else None),
        drop_caches=profile.drop_caches if planned.member else None,
        until=planned.until if planned.member else None,
        target=(target_of(profile, params) or "") if planned.member else "",
        role=planned.role,
        needs=list(planned.needs),
        beside=list(planned.beside),
        together=1 if planned.beside else 0,
    )


def target_of(profile: Profile, params: Mapping[str, ParamValue]) -> str | None:
    """Return the target directory or device: the first parameter of such a kind; None if there is
    none.
    """
    for name, param in profile.params.items():
        if param.kind in ("directory", "path", "device"):
            return str(params[name])
    return None


def cell_key(profile: Profile, point: Mapping[str, ParamValue]) -> str:
    """Return the key of a matrix cell: ``ceph/randread bs=4k numjobs=1``."""
    return " ".join(
        [
            profile.profile,
            *(f"{name}={param_text(profile, name, value)}" for name, value in point.items()),
        ]
    )


def param_text(profile: Profile, name: str, value: ParamValue) -> str:
    """Return a parameter value as text, with sizes and times as load generators read them."""
    param = profile.params.get(name)
    return str(value) if param is None else value_text(param.kind, value)


def person_text(profile: Profile, name: str, value: ParamValue) -> str:
    """Return a parameter value for display: ``32M``, ``2s``, ``yes``; secrets as asterisks."""
    if name in profile.params and profile.params[name].kind == "secret":
        return "***"
    return (
        ("yes" if value else "no") if isinstance(value, bool) else param_text(profile, name, value)
    )


def span_of(spec: Scalar | None, params: Mapping[str, ParamValue]) -> float:
    """Return the seconds of a warm-up, pause or round: a time, or a parameter's name in braces; 0
    if not set.
    """
    if spec is None:
        return 0.0
    names = placeholders(spec)
    return float(params[names[0]]) if names else parse_duration(spec)


def randseed(cell: str, host: str, repetition: int) -> int:
    """Return a seed unique to cell, host and repetition.

    Reproducible on purpose: the same plan reads the same offsets, and hosts never share a sequence.
    """
    digest = hashlib.sha256(f"{cell}\0{host}\0{repetition}".encode()).digest()
    return int.from_bytes(digest[:4], "big") or 1
