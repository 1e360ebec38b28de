"""Build a plan that repeats a run or reproduces a published result. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tui.engine.plan.plan import Choices, build_plan
from tui.engine.plan.search import SearchChoice, doubled, usual_kind
from tui.engine.plan.steps import MatrixChoice, build_steps, person_text
from tui.model.address import HostAddress
from tui.model.baseline import Baseline
from tui.model.plain import HOSTS_AXIS
from tui.model.plan import Plan, ProfileRef
from tui.model.problem import UsageError
from tui.model.profile import resolve_params
from tui.model.profile_parts import axes
from tui.model.search import HOSTS

if TYPE_CHECKING:
    from tui.engine.inputs.profiles import Catalogue, LoadedProfile
    from tui.model.plan import Step
    from tui.model.profile import ParamValue, Profile

STARS = "***"  # a secret as displayed


@dataclass(frozen=True, slots=True)
class Again:
    """Choices that repeat a run; `caveats` list the differences that cannot be avoided."""

    overrides: dict[str, str]
    repeat: int | None = None
    sweep: dict[str, list[str]] = field(default_factory=dict)
    cleanup: bool | None = None
    precondition: bool = True
    roles: dict[str, str] = field(default_factory=dict)
    search: SearchChoice | None = None  # None: the profile's value
    caveats: tuple[str, ...] = ()


def choices_again(plan: Plan, loaded: LoadedProfile) -> Again:
    """Return the choices that repeat a planned run with the current profile.

    Attested conditions are not among them: the user attests them again. Raises UsageError for runs
    that cannot be repeated this way.
    """
    if plan.proves is not None:
        raise UsageError(
            f"cannot repeat a counter-experiment; start it again from run {plan.proves.run_id}"
        )
    profile = loaded.profile
    overrides = {**_own(plan, profile), **_reaching(plan, loaded)}
    searches = plan.search is not None
    repeat = None if searches else _repeat(plan, loaded, overrides)
    sweep = {} if searches else _sweep(plan, loaded, overrides)
    return Again(
        overrides=overrides,
        repeat=repeat,
        sweep=sweep,
        roles=_roles(plan, profile),
        cleanup=None if plan.cleanup == profile.prepare.cleanup else plan.cleanup,
        precondition=not plan.no_precondition,
        search=_search(plan, profile),
        caveats=tuple(_caveats(plan, loaded, overrides)),
    )


def _search(plan: Plan, profile: Profile) -> SearchChoice | None:
    """Return the options that repeat a search.

    For a run without a search: none, whatever the profile says.
    """
    search = plan.search
    if search is None:
        return None if usual_kind(profile) == "none" else SearchChoice("none")
    usual = doubled(len(plan.hosts))
    over = {} if search.kind == "curve" else {
        knob.name: () if knob.name == HOSTS and knob.values == usual else knob.values
        for knob in search.over
    }  # fmt: skip
    limits = tuple(each.text for each in search.limits)
    most_s = None if search.kind == "scaling" else max(search.most_point_s, search.point_s)
    return SearchChoice(search.kind, limits, over, search.points, search.within_s, search.point_s,
        most_s,
                        search.hold_s if search.kind == "capacity" else None)  # fmt: skip


def _own(plan: Plan, profile: Profile) -> dict[str, str]:
    """Return the parameters that differ from the current profile, or that it would sweep but the
    run did not.
    """
    defaults = resolve_params(profile, {})
    fixed = set(axes(profile.sweep)) - set(plan.axes) if profile.sweep is not None else set()
    return {
        name: _text(profile, name, value)
        for name, value in plan.params.items()
        if name in defaults and name not in plan.axes and (value != defaults[name] or name in fixed)
    }


def _roles(plan: Plan, profile: Profile) -> dict[str, str]:
    """Return the hosts of roles that the profile still has, where they differ from it."""
    return {
        role: text
        for role, text in plan.roles.items()
        if profile.roles.get(role) not in (None, text)
    }


def _text(profile: Profile, name: str, value: ParamValue) -> str:
    return (
        str(value) if profile.params[name].kind == "secret" else person_text(profile, name, value)
    )


def _reaching(plan: Plan, loaded: LoadedProfile) -> dict[str, str]:
    """Return the parameters that the run set in the profiles of a suite."""
    known = {name for member in loaded.members.values() for name in member.profile.params}
    changed = {
        name: text
        for name, text in plan.profile.changed.items()
        if name not in loaded.profile.params
    }
    return {name: text for name, text in changed.items() if name in known and text != STARS}


def _repeat(plan: Plan, loaded: LoadedProfile, overrides: Mapping[str, str]) -> int | None:
    """Return the requested number of repetitions; None means the profile's."""
    if plan.until is not None:
        return None
    made = _most(plan.steps)
    if made == _most(_planned(plan, loaded, overrides, None)) and isinstance(
        loaded.profile.repeat, int
    ):
        return None
    return max(1, made // _most(_planned(plan, loaded, overrides, 1)))


def _sweep(plan: Plan, loaded: LoadedProfile, overrides: Mapping[str, str]) -> dict[str, list[str]]:
    """Return the values of each axis that differs from the profile's."""
    if loaded.members:
        return {}
    profile = loaded.profile
    now, then = _values(_planned(plan, loaded, overrides, 1)), _values(plan.steps)
    return {
        name: [person_text(profile, name, value) for value in then[name]]
        for name in plan.axes
        if name in then and name in profile.params and then[name] != now.get(name)
    }


def _planned(
    plan: Plan, loaded: LoadedProfile, overrides: Mapping[str, str], repeat: int | None
) -> list[Step]:
    wanted = MatrixChoice(repeat, {}, not plan.no_precondition, roles=_roles(plan, loaded.profile))
    return build_steps(loaded, overrides, wanted, plan.hosts)


def _most(steps: Sequence[Step]) -> int:
    return max((step.repetition for step in steps if not step.warmup), default=1)


def _values(steps: Sequence[Step]) -> dict[str, list[ParamValue]]:
    """Return the values of each axis, except the number of hosts, in the order measured."""
    found: dict[str, list[ParamValue]] = {}
    for step in steps:
        for name, value in step.point.items():
            known = found.setdefault(name, [])
            known += [value] if name != HOSTS_AXIS and value not in known else []
    return found


def _caveats(plan: Plan, loaded: LoadedProfile, overrides: Mapping[str, str]) -> Iterator[str]:
    if plan.profile.sha256 != loaded.sha256:
        yield f"{plan.profile.tag} has changed since that run"
    for name in sorted(set(plan.profile.changed) - set(overrides) - set(plan.axes)):
        yield f"{name} was {plan.profile.changed[name]} in that run"


def published_plan(baseline: Baseline, hosts: Sequence[str], catalogue: Catalogue) -> Plan:
    """Return the plan of a published result's profile at its point.

    The plan has no steps if the profile does not exist, or does not allow the published values.
    """
    addresses = [HostAddress(name) for name in hosts]
    try:
        loaded = catalogue.load(baseline.profile)
        given = {**baseline.params, **baseline.at}
        overrides = {
            name: str(value) for name, value in given.items() if name in loaded.profile.params
        }
        return build_plan(loaded, Choices(hosts=addresses, overrides=overrides))
    except UsageError:
        return Plan(
            ProfileRef(baseline.profile, 1, "", "", ""), dict(baseline.params), addresses, []
        )
