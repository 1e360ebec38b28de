"""Build a plan from profile, hosts and choices: its steps, and the slots of a search. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal

from msgspec import Struct, field
from msgspec.structs import replace

from tui import workloads
from tui.engine.plan.choices import OPTIONS, Words, attested
from tui.engine.plan.fills import with_fill
from tui.engine.plan.search import (
    SearchChoice,
    check_limits,
    check_time_for_point,
    knob_values,
    paced_step,
    search_of,
    with_knobs,
    within_bounds,
)
from tui.engine.plan.steps import (
    MatrixChoice,
    Overrides,
    build_steps,
    check_act,
    person_text,
    planned_profiles,
    rounds_at,
    target_of,
    unprepared,
    vain_options,
)
from tui.model.address import HostAddress
from tui.model.alike import vain_axes
from tui.model.operands import Clause, by_generator, clause
from tui.model.plain import SECRET_PATTERN
from tui.model.plan import Headline, Plan, ProfileRef, SourceUse, Step, Until
from tui.model.problem import UsageError
from tui.model.profile import ParamValue, Profile, parse_param, resolve_params
from tui.model.profile_parts import axes, knobs_of
from tui.model.roles import chosen_roles
from tui.model.search import (
    HOSTS,
    Knob,
    Offer,
    Search,
)
from tui.workloads.base import Paced

if TYPE_CHECKING:
    from tui.engine.inputs.profiles import LoadedProfile

MIN_LEASE_S = 10.0


class Choices(Struct, frozen=True):
    """Choices at launch.

    `overrides` are parameters as typed. None means the profile's value.
    """

    hosts: Sequence[HostAddress]
    overrides: Mapping[str, str] = field(default_factory=dict)
    repeat: int | None = None
    # values as typed, by parameter
    sweep: Mapping[str, Sequence[str]] = field(default_factory=dict)
    note: str | None = None
    tags: Mapping[str, str] = field(default_factory=dict)
    lease_s: float = 60.0
    cleanup: bool | None = None
    on_host_loss: Literal["continue", "stop"] | None = None
    take_locks: bool = False
    wait_s: float = 0.0
    telemetry: bool = True
    servers: Sequence[HostAddress] = ()
    # False: preconditioning is skipped, and the run says so
    precondition: bool = True
    roles: Mapping[str, str] = field(default_factory=dict)  # hosts by role of a suite, as typed
    # yes, no or unknown, by id of the condition
    attest: Mapping[str, str] = field(default_factory=dict)
    sources: Sequence[SourceUse] = ()  # origins of hosts and servers
    # in addition to the profile's own search
    search: SearchChoice = field(default_factory=SearchChoice)
    words: Words = OPTIONS  # names for messages


def build_plan(loaded: LoadedProfile, choices: Choices) -> Plan:
    """Return the plan of one run.

    Raises UsageError with the problems of the choices.
    """
    check_choices(choices)
    profile = loaded.profile
    wanted = MatrixChoice(
        choices.repeat, choices.sweep, choices.precondition, choices.words, choices.roles
    )
    hosts = list(choices.hosts)
    search = search_of(loaded, choices.search, len(hosts), choices.words)
    caveats: list[Clause | str] = []
    if search is None:
        steps = build_steps(loaded, choices.overrides, wanted, hosts)
    else:
        check_searched(choices, search)
        slotted = build_slots(
            loaded,
            choices.overrides,
            search,
            hosts,
            prepare=choices.precondition,
            words=choices.words,
        )
        search, steps, caveats = slotted.search, slotted.steps, slotted.caveats
    params = resolve_params(
        profile, {k: v for k, v in choices.overrides.items() if k in profile.params}
    )
    members = list(loaded.members.values())
    names = swept(loaded, choices.overrides, wanted) if search is None else []
    reaching = {
        name: text for name, text in choices.overrides.items() if name not in profile.params
    }
    reached = {name: reached_text(loaded, name, text) for name, text in reaching.items()}
    return Plan(
        profile=suite_ref(loaded, params, reaching) if members else profile_ref(loaded, params),
        params=dict(params),
        texts={name: person_text(profile, name, value) for name, value in params.items()} | reached,
        caveats=[told for name, text in reached.items() if (told := uneven(loaded, name, text))]
        + loads_on_servers(hosts)
        + caveats
        + [
            clause("profile-hint", quote=str(hint))
            for each in (loaded, *members)
            for hint in each.unreached
        ]
        + vain_options(steps, names),
        hosts=hosts,
        steps=steps,
        headline=profile_headline(profile),
        latency_kind=profile.latency,
        target=target_of(profile, params) or next(filter(None, (s.target for s in steps)), None),
        cleanup=profile.prepare.cleanup if choices.cleanup is None else choices.cleanup,
        allow_device=profile.allow_device or any(member.profile.allow_device for member in members),
        lease_s=choices.lease_s,
        telemetry=choices.telemetry,
        servers=[
            server for server in choices.servers if server.name not in {host.name for host in hosts}
        ],
        on_host_loss=choices.on_host_loss or profile.on_host_loss,
        take_locks=choices.take_locks,
        wait_s=choices.wait_s,
        drop_caches=profile.drop_caches,
        axes=names,
        until=until_of(profile, choices) if search is None else None,
        members=[profile_ref(member, params_given(member.profile, reaching)) for member in members],
        secrets=secret_names(loaded, steps),
        no_precondition=not choices.precondition and asks_for_precondition(loaded),
        thresholds=dict(profile.findings),
        criteria=list(profile.thresholds),
        roles=chosen_roles(profile.roles, choices.roles),
        attested=attested(loaded, choices.attest, choices.words),
        note=choices.note,
        tags=dict(choices.tags),
        search=search,
        sources=list(choices.sources),
    )


def asks_for_precondition(loaded: LoadedProfile) -> bool:
    """Return whether a profile, or any profile of a suite, is preconditioned."""
    profiles = [loaded.profile, *(member.profile for member in loaded.members.values())]
    return any(profile.prepare.precondition is not None for profile in profiles)


def params_given(profile: Profile, given: Mapping[str, str]) -> dict[str, ParamValue]:
    """Return the resolved values of the profile's parameters that `given` sets; other names are
    ignored.
    """
    return resolve_params(
        profile, {name: text for name, text in given.items() if name in profile.params}
    )


def suite_ref(
    loaded: LoadedProfile, params: Mapping[str, ParamValue], reaching: Mapping[str, str]
) -> ProfileRef:
    """Return a suite's profile, with the parameters changed in it and in its members."""
    own = profile_ref(loaded, params)
    for member in loaded.members.values():
        own.changed.update(profile_ref(member, params_given(member.profile, reaching)).changed)
    return own


def reached_text(loaded: LoadedProfile, name: str, text: str) -> str:
    """Format a parameter value by its type in the first profile of a suite that has it."""
    profile = next(
        member.profile for member in loaded.members.values() if name in member.profile.params
    )
    return person_text(profile, name, parse_param(profile.params[name], text))


def uneven(loaded: LoadedProfile, name: str, text: str) -> Clause | None:
    """Return a note if one value is set for a parameter that differs among the profiles of a
    suite.
    """
    kept: dict[str, list[str]] = {}
    for tag, member in loaded.members.items():
        if name in member.profile.params:
            kept.setdefault(
                person_text(member.profile, name, resolve_params(member.profile, {})[name]), []
            ).append(tag)
    if len(kept) < 2:
        return None
    others = [[value, tags] for value, tags in kept.items() if value != text]
    return clause("one-value-for-suite", name=name, value=text, others=others)


def secret_names(loaded: LoadedProfile, steps: Sequence[Step]) -> list[str]:
    """Return the environment variables that parameters of kind secret refer to."""
    profiles = [loaded.profile, *(member.profile for member in loaded.members.values())]
    kinds = {
        name
        for profile in profiles
        for name, param in profile.params.items()
        if param.kind == "secret"
    }
    values = (
        str(step.params[name]) for step in steps for name in sorted(kinds) if name in step.params
    )
    return list(
        dict.fromkeys(value[2:-1] for value in values if re.fullmatch(SECRET_PATTERN, value))
    )


def loads_on_servers(hosts: Sequence[HostAddress]) -> list[Clause | str]:
    """Return a note on hosts that generate load although the inventory lists them as storage
    nodes.
    """
    names = [host.name for host in hosts if host.role == "server"]
    return [clause("loads-on-servers", hosts=names)] if names else []


def profile_headline(profile: Profile) -> Headline | None:
    """Return the headline of a profile; None for a suite."""
    spec = profile.headline_spec
    return (
        Headline(metric=spec.metric, direction=spec.direction, percentile=spec.percentile)
        if spec
        else None
    )


def swept(loaded: LoadedProfile, overrides: Mapping[str, str], wanted: MatrixChoice) -> list[str]:
    """Return the names of the parameters that vary between steps, the slowest-changing first."""
    sweeps = [
        each.sweep for each in planned_profiles(loaded, overrides, wanted) if each.sweep is not None
    ]
    return list(dict.fromkeys(name for sweep in sweeps for name in axes(sweep)))


def until_of(profile: Profile, choices: Choices) -> Until | None:
    """Return when repetitions may end early; None if their number is fixed."""
    repeat = profile.repeat
    if isinstance(repeat, int) or choices.repeat is not None:
        return None
    return Until(width=repeat.until, least=repeat.min, most=repeat.max)


def check_choices(choices: Choices) -> None:
    """Raise UsageError for choices that are invalid whatever the profile."""
    if not choices.hosts:
        raise UsageError("no host chosen; name hosts, @groups, ranges like h[1-4], or 'local'")
    if choices.repeat is not None and choices.repeat < 1:
        raise UsageError(f"repeat {choices.repeat}: expected a whole number of 1 or more")
    if choices.lease_s < MIN_LEASE_S:
        raise UsageError(f"lease {choices.lease_s:g}s: expected {MIN_LEASE_S:g}s or more")


def check_searched(choices: Choices, search: Search) -> None:
    """Raise UsageError for choices that conflict with a search, which decides itself what to
    measure and how often.
    """
    words = choices.words
    if choices.repeat is not None:
        why = f"a search repeats points automatically; use {words.points} to limit it"
        raise UsageError(f"{words.repeat}: {why}")
    if choices.sweep:
        chosen = f"a search chooses values automatically: use {words.over}"
        own = {"capacity": chosen, "scaling": "scaling only varies hosts"}
        why = own.get(search.kind, "a curve has one setting: run it once per value")
        raise UsageError(f"{words.sweep} {', '.join(choices.sweep)}: {why}")


def profile_ref(loaded: LoadedProfile, params: Mapping[str, ParamValue]) -> ProfileRef:
    """Return the complete profile with the parameters changed from their defaults."""
    profile = loaded.profile
    defaults = resolve_params(profile, {})
    source = profile.source.model_dump(exclude_none=True, mode="json") if profile.source else {}
    return ProfileRef(
        tag=profile.profile,
        version=profile.version,
        title=profile.title,
        text=loaded.text,
        sha256=loaded.sha256,
        source={name: str(value) for name, value in source.items()},
        changed={
            name: person_text(profile, name, value)
            for name, value in params.items()
            if value != defaults.get(name)
        },
        preset=loaded.preset,
        extends=[tag for tag, _ in loaded.bases],
        bases=[text for _, text in loaded.bases],
    )


class Slotted(Struct, frozen=True):
    """A search resolved for its profile, the steps for its points, and notes about them."""

    search: Search
    steps: list[Step]
    caveats: list[Clause | str]


def build_slots(
    loaded: LoadedProfile,
    overrides: Overrides,
    search: Search,
    hosts: Sequence[HostAddress],
    *,
    prepare: bool,
    words: Words = OPTIONS,
) -> Slotted:
    """Return the steps of a search: preconditioning, then one slot per point with its largest load.

    Raises UsageError for a search that cannot measure a single point.
    """
    (planned,) = planned_profiles(loaded, overrides, MatrixChoice())
    planned = planned if prepare else unprepared(planned)
    profile, knobs = (
        planned.profile,
        {knob.name: knob.values[-1] for knob in search.over if knob.values},
    )
    check_act(profile, planned.params, (), knobs)
    params = with_knobs(profile, planned.params, knobs)
    slots = [
        paced_step(profile, params, hosts, Offer(None, search.point_s), at)
        for at in range(1, search.points + 1)
    ]
    search = _led(search, slots[0])
    check_limits(search, profile, slots[0].step)
    check_time_for_point(search, words)
    search = replace(search, heavier=_heavier(profile, params, search, hosts, slots[0].step))
    steps = [
        *rounds_at(planned, params, {}, hosts, profile.profile),
        *(slot.step for slot in slots),
    ]
    steps = list(with_fill(profile, steps, []))
    steps = [
        replace(step, index=index, pause_s=step.pause_s if index else 0.0)
        for index, step in enumerate(steps)
    ]
    tool = workloads.get(profile.tool)
    own = [
        by_generator(profile.tool, told) for told in tool.set_by_search(profile, planned.params)
    ]
    vain = [
        clause("same-load-in-search", name=knob.name)
        for knob in search.over
        if any(job.in_vain for job in slots[0].step.jobs)
        and _is_vain(profile, planned.params, hosts, knob)
    ]
    return Slotted(search, steps, [*own, *_hosts_left_out(profile, search, len(hosts)), *vain])


def _is_vain(
    profile: Profile, params: Mapping[str, ParamValue], hosts: Sequence[HostAddress], knob: Knob
) -> bool:
    """Return whether the lowest and highest value of a knob give the same load."""
    ends = (
        [{knob.name: value} for value in dict.fromkeys((knob.values[0], knob.values[-1]))]
        if knob.values
        else []
    )
    steps = [
        paced_step(profile, with_knobs(profile, params, at), hosts, Offer(None, 1.0, at), 1).step
        for at in ends
    ]
    return bool(vain_axes(steps, [knob.name]))


def _heavier(
    profile: Profile,
    params: Mapping[str, ParamValue],
    search: Search,
    hosts: Sequence[HostAddress],
    slot: Step,
) -> tuple[str, ...]:
    """Return parameters that add I/Os in flight, to vary for more load than the heaviest slot.
    """
    if search.kind != "capacity":
        return ()
    found = []
    for name in (name for name, param in profile.params.items() if param.kind == "count"):
        twice = 2 * int(str(params[name]))
        try:
            more = paced_step(
                profile,
                with_knobs(profile, params, {name: twice}),
                hosts,
                Offer(None, search.point_s),
                1,
            )
        except UsageError:
            continue  # beyond its bounds
        if (more.step.in_flight or 0) > (slot.in_flight or 0):
            found.append(_over_with(profile, search, name, twice, len(hosts)))
    return tuple(found)


def _over_with(profile: Profile, search: Search, name: str, twice: int, hosts: int) -> str:
    """Return the `over` option of a search with larger values of one parameter, the others at their
    maximum.
    """
    known = any(knob.name == name for knob in search.over)
    usual = () if known else knob_values(profile, name, (), hosts)
    values = (
        []
        if twice <= max(usual, default=0)
        else within_bounds(profile.params[name], [twice, 2 * twice])
    )
    all_hosts = Knob(HOSTS, (hosts,))
    others = [replace(knob, values=knob.values[-1:]) for knob in search.over if knob.name != name]
    heaviest = [
        f"{each.name}={each.values[0]}" if each.values else each.name
        for each in others
        if each != all_hosts
    ]
    return " ".join([*heaviest, f"{name}={','.join(map(str, values))}" if values else name])


def _led(search: Search, slot: Paced) -> Search:
    """Return the search with the ramp time before each point.

    Raises UsageError if no point can be paced.
    """
    if slot.unpaced and search.offers_rates:
        raise UsageError(slot.unpaced)
    step = slot.step
    own = step.startdelay_s + (step.ramp_s if slot.own_ramp else 0.0)
    return replace(search, lead_s=own, own_ramp=slot.own_ramp)


def _hosts_left_out(profile: Profile, search: Search, hosts: int) -> list[Clause]:
    """Return a note on the profile's host counts that exceed the number of chosen hosts; empty if
    there are none.
    """
    asked = (
        knobs_of(profile.capacity.over).get(HOSTS, [])
        if profile.capacity and search.kind == "capacity"
        else []
    )
    above = [each for each in asked if each > hosts]
    return [clause("host-counts-skipped", counts=above, hosts=hosts)] if above else []
