"""What a profile says of fio, and what its options resolve to on a host."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import ConfigDict, Field

from tui.model.problem import Problem, UsageError
from tui.model.profile import (
    PATH_KINDS,
    ParamValue,
    Profile,
    Scalar,
    Strict,
    expand,
    host_params,
    placeholders,
    safe_host,
    value_text,
)
from tui.workloads.fio.option_table import canonical, option_problem
from tui.workloads.fio.reach import reach_problem

Options = dict[str, str]
NAME_LISTS = ("filename", "directory", "opendir")  # options that take several names with ':' between them


class Fio(Strict):
    """fio's own option names and values; nothing is renamed."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)

    shared: dict[str, Scalar | None] = Field(
        default_factory=dict, alias="global", description="Options of all jobs: the [global] section"
    )
    jobs: dict[str, dict[str, Scalar | None]] = Field(
        description="Job sections by name, each with its options", min_length=1
    )
    extra_options: list[str] = Field(
        default_factory=list, description="Option names that benchtui does not know and shall pass on"
    )


NO_JOB = Fio.model_construct(shared={}, jobs={}, extra_options=[])


def job_of(profile: Profile) -> Fio:
    """Return the fio job of a profile; one without any option when the tool is another."""
    return profile.body if isinstance(profile.body, Fio) else NO_JOB


def resolve_options(
    profile: Profile, params: Mapping[str, ParamValue], host: str, host_index: int, hosts: int = 1
) -> tuple[Options, dict[str, Options]]:
    """Return ([global] options, options by job) as fio reads them, every placeholder replaced.

    `host_index` counts from 1 to `hosts`. Raises UsageError for a value that fio would misread.
    """
    own, job = host_params(profile, params, host_index, hosts), job_of(profile)
    values = {name: value_text(profile.params[name].kind, value) for name, value in own.items()}
    values.update(host=safe_host(host), host_index=str(host_index))
    shared = {name: expand(value, as_option(name, profile, values)) for name, value in job.shared.items()}
    jobs = {
        section: {name: expand(value, as_option(name, profile, values)) for name, value in options.items()}
        for section, options in job.jobs.items()
    }
    _check_resolved(profile, shared, jobs)
    return shared, jobs


def as_option(option: str, profile: Profile, values: Mapping[str, str]) -> Mapping[str, str]:
    """Return the values as they stand in one option: in a list of names ``:`` separates, unless it is escaped."""
    if option not in NAME_LISTS:
        return values
    paths = [name for name, param in profile.params.items() if param.kind in PATH_KINDS and name in values]
    return {**values, **{name: values[name].replace(":", "\\:") for name in paths}}


def _check_resolved(profile: Profile, shared: Options, jobs: dict[str, Options]) -> None:
    job = job_of(profile)
    written: dict[str, Mapping[str, Scalar | None]] = {"global": job.shared, **job.jobs}
    problems = []
    for section, options in {"global": shared, **jobs}.items():
        for name, text in options.items():
            problem = reach_problem if name in job.extra_options else option_problem
            if found := problem(canonical(name), text):
                used = [f"'{inner}'" for inner in placeholders(written[section][name])]
                by = f" (from parameter {', '.join(used)})" if used else ""
                problems.append(Problem(f"{profile.profile}: fio option {section}.{name}{by}: {found}"))
    if problems:
        raise UsageError(problems)


def warm(profile: Profile, seconds: float) -> Profile:
    """Return a profile whose jobs run the same load for so long, bound by nothing but time."""
    timed: dict[str, Scalar | None] = {"runtime": f"{max(1, round(seconds))}s", "time_based": 1}
    own = job_of(profile)
    jobs = {
        name: {key: value for key, value in options.items() if key not in (*timed, "ramp_time")}
        for name, options in own.jobs.items()
    }
    shared = {key: value for key, value in own.shared.items() if key != "ramp_time"} | timed
    return profile.model_copy(update={profile.tool: own.model_copy(update={"shared": shared, "jobs": jobs})})
