"""Steps of a search, as slots that get their loads during the run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from tui import workloads
from tui.engine.plan.choices import OPTIONS, Words
from tui.engine.plan.fills import with_fill
from tui.engine.plan.steps import (
    MatrixChoice,
    Overrides,
    check_act,
    planned_profiles,
    rounds_at,
    unprepared,
)
from tui.model.address import HostAddress
from tui.model.alike import vain_axes
from tui.model.plan import Step
from tui.model.problem import UsageError
from tui.model.profile import ParamValue, Profile
from tui.model.profile_parts import knobs_of
from tui.model.search import (
    HOSTS,
    Knob,
    Offer,
    Search,
)
from tui.workloads.base import Paced

if TYPE_CHECKING:
    from tui.engine.inputs.profiles import LoadedProfile
from tui.engine.plan.search import (
    _allowed,
    _check_fits,
    _offered,
    _values,
    check_limits,
    with_knobs,
)


class Slotted(Struct, frozen=True):
    """A search resolved for its profile, the steps for its points, and notes on them."""

    search: Search
    steps: list[Step]
    remarks: list[str]


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

    Raises UsageError for a search that cannot measure one point.
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
        _offered(profile, params, hosts, Offer(None, search.point_s), at)
        for at in range(1, search.points + 1)
    ]
    search = _led(search, slots[0])
    check_limits(search, profile, slots[0].step)
    _check_fits(search, words)
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
    own = workloads.get(profile.tool).set_by_search(profile, planned.params)
    vain = [
        f"search over {knob.name}: all of its values are the same load"
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
        _offered(profile, with_knobs(profile, params, at), hosts, Offer(None, 1.0, at), 1).step
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
    """Return what to vary for more load than the heaviest slot: each parameter that adds I/Os in
    flight.
    """
    if search.kind != "capacity":
        return ()
    found = []
    for name in (name for name, param in profile.params.items() if param.kind == "count"):
        twice = 2 * int(str(params[name]))
        try:
            more = _offered(
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
    """Return a search's knobs with heavier values of one parameter, others at their maximum."""
    known = any(knob.name == name for knob in search.over)
    usual = () if known else _values(profile, name, (), hosts)
    values = (
        [] if twice <= max(usual, default=0) else _allowed(profile.params[name], [twice, 2 * twice])
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
    """Return a search with the length of the ramp before each point.

    Raises UsageError if no point can be paced.
    """
    if slot.unpaced and search.offers_rates:
        raise UsageError(slot.unpaced)
    step = slot.step
    own = step.startdelay_s + (step.ramp_s if slot.own_ramp else 0.0)
    return replace(search, lead_s=own, own_ramp=slot.own_ramp)


def _hosts_left_out(profile: Profile, search: Search, hosts: int) -> list[str]:
    """Return the numbers of hosts in the profile that exceed the number chosen."""
    asked = (
        knobs_of(profile.capacity.over).get(HOSTS, [])
        if profile.capacity and search.kind == "capacity"
        else []
    )
    if not (above := [str(each) for each in asked if each > hosts]):
        return []
    return [
        f"hosts {', '.join(above)} of the profile: left out,"
        f" {hosts} {'is' if hosts == 1 else 'are'} chosen"
    ]
