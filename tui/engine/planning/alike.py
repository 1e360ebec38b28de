"""What would be measured twice under two names: parameters that change nothing, points whose loads are the same."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from tui.model.alike import same_over, vain_axes
from tui.model.matrix import HOSTS_AXIS
from tui.model.plan import Step
from tui.model.problem import Problem, UsageError
from tui.model.profile import ParamValue, Profile, resolve_params
from tui.model.profile_hints import idle_params


def check_act(profile: Profile, params: Mapping[str, ParamValue], given: Iterable[str], varied: Iterable[str]) -> None:
    """Raise UsageError for parameters that were given another value, or are varied, and change nothing."""
    idle = idle_params(profile)
    if not idle:
        return
    defaults = resolve_params(profile, {})
    wrong = [name for name in given if name in idle and params.get(name) != defaults.get(name)]
    wrong += [name for name in varied if name in idle]
    if wrong:
        told = [f"{profile.profile}: parameter '{each}' has no effect: {idle[each]}" for each in dict.fromkeys(wrong)]
        raise UsageError(list(map(Problem, told)))


def check_points(profile: Profile, steps: Sequence[Step], names: Iterable[str]) -> None:
    """Raise UsageError when a sweep varies something that changes nothing of the load: its table would be noise."""
    for name in names:
        if name != HOSTS_AXIS and same_over(steps, name):
            raise UsageError(f"{profile.profile}: sweep over '{name}': the load is the same with all of its values")


def vain_texts(steps: Sequence[Step], names: Iterable[str]) -> list[str]:
    """Return what the jobs of these steps ask for in vain, and which names of a sweep vary nothing but that."""
    told = dict.fromkeys(job.in_vain for step in steps for job in step.jobs if job.in_vain)
    same = vain_axes(steps, names)
    return [*told, *(f"sweep over {name}: all of its points are the same load, so the best is chance" for name in same)]
