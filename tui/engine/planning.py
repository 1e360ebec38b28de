"""From profile, hosts and choices to a plan. Pure: nothing is read, asked or run here."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from msgspec.structs import replace

from tui import workloads
from tui.model.plan import Headline, HostAddress, Plan, ProfileRef, Step
from tui.model.problem import UsageError
from tui.model.profile import ParamValue, Profile, resolve_params

if TYPE_CHECKING:
    from tui.engine.catalogue import LoadedProfile

MIN_LEASE_S = 10.0


@dataclass(frozen=True, slots=True)
class Choices:
    """What is chosen at launch. `overrides` are parameters as typed; None means: as the profile says."""

    hosts: Sequence[HostAddress]
    overrides: Mapping[str, str] = field(default_factory=dict)
    repeat: int = 1
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
    params = resolve_params(profile, choices.overrides)
    hosts = list(choices.hosts)
    return Plan(
        profile=profile_ref(loaded, params),
        params=dict(params),
        hosts=hosts,
        steps=build_steps(profile, params, hosts, choices.repeat),
        headline=Headline(
            metric=profile.headline.metric,
            direction=profile.headline.direction,
            percentile=profile.headline.percentile,
        ),
        latency_kind=profile.latency,
        target=target_of(profile, params),
        cleanup=profile.prepare.cleanup if choices.cleanup is None else choices.cleanup,
        allow_device=profile.allow_device,
        lease_s=choices.lease_s,
        on_host_loss=choices.on_host_loss or profile.on_host_loss,
        take_locks=choices.take_locks,
        drop_caches=profile.drop_caches,
        note=choices.note,
        tags=dict(choices.tags),
    )


def check_choices(choices: Choices) -> None:
    """Raise UsageError when the choices cannot make a run of any profile."""
    if not choices.hosts:
        raise UsageError("no host chosen; name hosts, @groups, ranges like h[1-4], or 'local'")
    if choices.repeat < 1:
        raise UsageError(f"repeat {choices.repeat}: allowed are whole numbers from 1")
    if choices.lease_s < MIN_LEASE_S:
        raise UsageError(f"lease {choices.lease_s:g}s: allowed are {MIN_LEASE_S:g}s and more")


def build_steps(
    profile: Profile, params: Mapping[str, ParamValue], hosts: list[HostAddress], repeat: int
) -> list[Step]:
    """Return the steps of all repetitions, numbered from 0, each with seeds of its own."""
    workload = workloads.get(profile.tool)
    steps: list[Step] = []
    for repetition in range(1, repeat + 1):
        seeds = {host.name: randseed(profile.profile, host.name, repetition) for host in hosts}
        for step in workload.build_steps(profile, params, hosts, seeds):
            steps.append(replace(step, index=len(steps), repetition=repetition))
    return steps


def randseed(tag: str, host: str, repetition: int) -> int:
    """Return a seed that differs by host and repetition and is the same again for the same plan.

    Reproducible on purpose: the same plan reads the same offsets, hosts never share a sequence.
    """
    digest = hashlib.sha256(f"{tag}\0{host}\0{repetition}".encode()).digest()
    return int.from_bytes(digest[:4], "big") or 1


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
    )


def target_of(profile: Profile, params: Mapping[str, ParamValue]) -> str | None:
    """Return the directory or device the profile is about: its first parameter of such a kind."""
    for name, param in profile.params.items():
        if param.kind in ("directory", "path", "device"):
            return str(params[name])
    return None
