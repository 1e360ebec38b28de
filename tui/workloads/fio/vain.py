"""What a profile asks of fio in vain: options of [global] that every job sets itself, depths that no engine keeps."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tui.model.matrix import grid_points
from tui.model.plain import some
from tui.model.profile import Profile, parse_param, scalar_text, value_text
from tui.model.yaml_text import KeyPath
from tui.workloads.fio.body import job_of
from tui.workloads.fio.check import effective
from tui.workloads.fio.option_table import canonical
from tui.workloads.fio.options import JobOptions, depth_in_vain


def unreached(profile: Profile) -> Mapping[KeyPath, str]:
    """Return the options of [global] that every job sets itself, by their place, each with what the jobs say."""
    jobs = {name: {canonical(own): own for own in options} for name, options in job_of(profile).jobs.items()}
    found: dict[KeyPath, str] = {}
    for option in job_of(profile).shared:
        names = [(job, own.get(canonical(option))) for job, own in jobs.items()]
        said = [f"[{job}] {name}={_text(profile, job, name)}" for job, name in names if name is not None]
        if said and len(said) == len(names):
            found["fio", "global", option] = f"every job sets its own: {some(said, 3)}"
    return found


def _text(profile: Profile, job: str, option: str) -> str:
    return scalar_text(job_of(profile).jobs[job][option]) or "1"


def hints(profile: Profile, texts: Mapping[str, str]) -> Iterator[tuple[KeyPath, str]]:
    """Yield each queue depth that the profile asks for, by default or in its sweep, and the engine does not keep."""
    for job in job_of(profile).jobs:
        for values in _points(profile):
            options = effective(profile, job, {**texts, **values})
            if told := depth_in_vain(JobOptions(job, {}, {name: each.text for name, each in options.items()})):
                yield options["iodepth"].path, told
                break


def _points(profile: Profile) -> Iterator[dict[str, str]]:
    """Yield what the profile is measured with by itself: its defaults, then the points of its sweep."""
    yield {}
    for point in grid_points(profile.sweep) if profile.sweep else ():
        params = {name: profile.params[name] for name in point if name in profile.params}
        yield {name: value_text(param.kind, parse_param(param, point[name])) for name, param in params.items()}
