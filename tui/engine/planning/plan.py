"""From profile, hosts and choices to a plan. Pure: nothing is read, asked or run here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from tui.engine.planning.matrix import Wanted, build_steps, jobs_of
from tui.model.matrix import axes
from tui.model.plan import Headline, HostAddress, Plan, ProfileRef, Until
from tui.model.problem import UsageError
from tui.model.profile import ParamValue, Profile, resolve_params

if TYPE_CHECKING:
    from tui.engine.profiles.catalogue import LoadedProfile

MIN_LEASE_S = 10.0


@dataclass(frozen=True, slots=True)
class Choices:
    """What is chosen at launch. `overrides` are parameters as typed; None means: as the profile says."""

    hosts: Sequence[HostAddress]
    overrides: Mapping[str, str] = field(default_factory=dict)
    repeat: int | None = None
    sweep: Mapping[str, Sequence[str]] = field(default_factory=dict)  # values as typed, by parameter
    note: str | None = None
    tags: Mapping[str, str] = field(default_factory=dict)
    lease_s: float = 60.0
    cleanup: bool | None = None
    on_host_loss: Literal["continue", "stop"] | None = None
    take_locks: bool = False


def build_plan(loaded: LoadedProfile, choices: Choices) -> Plan:
    """Return the plan of one run. Raises UsageError with every problem of parameters and hosts at once."""
    check_choices(choices)
    profile = loaded.profile
    wanted = Wanted(choices.repeat, choices.sweep)
    hosts = list(choices.hosts)
    steps = build_steps(loaded, choices.overrides, wanted, hosts)
    params = resolve_params(profile, {k: v for k, v in choices.overrides.items() if k in profile.params})
    members = list(loaded.members.values())
    return Plan(
        profile=profile_ref(loaded, params),
        params=dict(params),
        hosts=hosts,
        steps=steps,
        headline=headline_of(profile),
        latency_kind=profile.latency,
        target=target_of(profile, params) or first_target(members),
        cleanup=profile.prepare.cleanup if choices.cleanup is None else choices.cleanup,
        allow_device=profile.allow_device or any(member.profile.allow_device for member in members),
        lease_s=choices.lease_s,
        on_host_loss=choices.on_host_loss or profile.on_host_loss,
        take_locks=choices.take_locks,
        drop_caches=profile.drop_caches,
        axes=swept(loaded, choices.overrides, wanted),
        until=until_of(profile, choices),
        members=[profile_ref(member, resolve_params(member.profile, {})) for member in members],
        note=choices.note,
        tags=dict(choices.tags),
    )


def first_target(members: Sequence[LoadedProfile]) -> str | None:
    """Return what the first profile of a suite is about."""
    found = (target_of(member.profile, resolve_params(member.profile, {})) for member in members)
    return next((target for target in found if target), None)


def headline_of(profile: Profile) -> Headline | None:
    """Return the figure that a profile is about; None for a suite."""
    spec = profile.headline_spec
    return Headline(metric=spec.metric, direction=spec.direction, percentile=spec.percentile) if spec else None


def swept(loaded: LoadedProfile, overrides: Mapping[str, str], wanted: Wanted) -> list[str]:
    """Return the names that the steps differ by, the slowest first."""
    sweeps = [job.sweep for job in jobs_of(loaded, overrides, wanted) if job.sweep is not None]
    return list(dict.fromkeys(name for sweep in sweeps for name in axes(sweep)))


def until_of(profile: Profile, choices: Choices) -> Until | None:
    """Return when repetitions end by themselves; None when their number is fixed."""
    repeat = profile.repeat
    if isinstance(repeat, int) or choices.repeat is not None:
        return None
    return Until(width=repeat.until, least=repeat.min, most=repeat.max)


def check_choices(choices: Choices) -> None:
    """Raise UsageError when the choices cannot make a run of any profile."""
    if not choices.hosts:
        raise UsageError("no host chosen; name hosts, @groups, ranges like h[1-4], or 'local'")
    if choices.repeat is not None and choices.repeat < 1:
        raise UsageError(f"repeat {choices.repeat}: allowed are whole numbers from 1")
    if choices.lease_s < MIN_LEASE_S:
        raise UsageError(f"lease {choices.lease_s:g}s: allowed are {MIN_LEASE_S:g}s and more")


def profile_ref(loaded: LoadedProfile, params: Mapping[str, ParamValue]) -> ProfileRef:
    """Return the profile whole, with the parameters that differ from its defaults."""
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
        changed={name: str(value) for name, value in params.items() if value != defaults.get(name)},
        preset=loaded.preset,
        extends=[tag for tag, _ in loaded.bases],
        bases=[text for _, text in loaded.bases],
    )


def target_of(profile: Profile, params: Mapping[str, ParamValue]) -> str | None:
    """Return the directory or device the profile is about: its first parameter of such a kind."""
    for name, param in profile.params.items():
        if param.kind in ("directory", "path", "device"):
            return str(params[name])
    return None
