"""The fio section of a profile: its options, their rules, and options without effect."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from msgspec import Struct
from pydantic import ConfigDict, Field

from tui.model.plain import some
from tui.model.plan import is_device
from tui.model.problem import NEEDS_OPTION, Problem, UsageError
from tui.model.profile import (
    PATH_KINDS,
    ParamValue,
    Profile,
    Scalar,
    Strict,
    expand,
    host_params,
    parse_param,
    placeholders,
    safe_host,
    scalar_text,
    value_text,
)
from tui.model.profile_check import brace_problems
from tui.model.profile_parts import grid_points
from tui.model.quantities import parse_duration, shown
from tui.model.yaml_text import KeyPath, YamlDocument
from tui.text.form import worded_from
from tui.workloads.fio.blocks import block_problem
from tui.workloads.fio.objects import object_problems
from tui.workloads.fio.option_table import (
    OWN_OPTIONS,
    canonical,
    is_external,
    name_problem,
    option_problem,
    reach_problem,
    target_problem,
)
from tui.workloads.fio.options import SYNC_OPTIONS, JobOptions, depth_in_vain
from tui.workloads.fio.texts import CAVEATS

Options = dict[str, str]
# options that take several names with ':' between them
NAME_LISTS = ("filename", "directory", "opendir")


class Fio(Strict):
    """Options under fio's own names, with fio's own values."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)

    shared: dict[str, Scalar | None] = Field(
        default_factory=dict,
        alias="global",
        description="Options for all jobs: the [global] section",
    )
    jobs: dict[str, dict[str, Scalar | None]] = Field(
        description="Job sections: options by job name", min_length=1
    )
    extra_options: list[str] = Field(
        default_factory=list,
        description="Names of options that benchtui does not know and passes on to fio",
    )


NO_JOB = Fio.model_construct(shared={}, jobs={}, extra_options=[])


def job_of(profile: Profile) -> Fio:
    """Return the fio job of a profile; an empty one if the profile uses another tool."""
    return profile.body if isinstance(profile.body, Fio) else NO_JOB


def resolve_options(
    profile: Profile, params: Mapping[str, ParamValue], host: str, host_index: int, hosts: int = 1
) -> tuple[Options, dict[str, Options]]:
    """Return ([global] options, options by job) in fio's syntax, with all placeholders replaced.

    `host_index` counts from 1 to `hosts`. Raises UsageError for a value that fio would misread.
    """
    own, job = host_params(profile, params, host_index, hosts), job_of(profile)
    values = {name: value_text(profile.params[name].kind, value) for name, value in own.items()}
    values.update(
        host=safe_host(host), host_index=str(host_index), next_index=str(host_index % hosts + 1)
    )
    shared = {
        name: expand(value, as_option(name, profile, values)) for name, value in job.shared.items()
    }
    jobs = {
        section: {
            name: expand(value, as_option(name, profile, values)) for name, value in options.items()
        }
        for section, options in job.jobs.items()
    }
    _check_resolved(profile, shared, jobs)
    return shared, jobs


def as_option(option: str, profile: Profile, values: Mapping[str, str]) -> Mapping[str, str]:
    """Return parameter values for use in one option: in lists of names, colons in paths are
    escaped.
    """
    if option not in NAME_LISTS:
        return values
    paths = [
        name
        for name, param in profile.params.items()
        if param.kind in PATH_KINDS and name in values
    ]
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
                problems.append(
                    Problem(f"{profile.profile}: fio option {section}.{name}{by}: {found}")
                )
    if problems:
        raise UsageError(problems)


def warm(profile: Profile, seconds: float) -> Profile:
    """Return a profile whose jobs put the same load on the hosts for this long, bounded by time
    only.
    """
    timed: dict[str, Scalar | None] = {"runtime": f"{max(1, round(seconds))}s", "time_based": 1}
    own = job_of(profile)
    jobs = {
        name: {key: value for key, value in options.items() if key not in (*timed, "ramp_time")}
        for name, options in own.jobs.items()
    }
    shared = {key: value for key, value in own.shared.items() if key != "ramp_time"} | timed
    return profile.model_copy(
        update={profile.tool: own.model_copy(update={"shared": shared, "jobs": jobs})}
    )


# Engines that read and write files by path. Where others keep their data is not listed here.
FILE_ENGINES = (
    "sync", "psync", "vsync", "pvsync", "pvsync2", "libaio", "aio", "linuxaio", "io_uring",
    "posixaio", "mmap",
    "splice", "falloc", "ftruncate", "e4defrag", "filecreate", "filestat", "filedelete",
)  # fmt: skip
TRIMS = ("trim", "randtrim", "trimwrite", "randtrimwrite")
READS = ("read", "randread", "rw", "readwrite", "randrw")
WRITES = ("write", "randwrite", "rw", "readwrite", "randrw", "trimwrite", "randtrimwrite")


class Setting(Struct, frozen=True):
    """An option that applies to a job: its place in the profile, and its value with default
    parameters.
    """

    path: KeyPath
    text: str


Effective = Mapping[str, Setting]  # by fio's own option names


def name_problems(document: YamlDocument) -> Iterator[Problem]:
    """Yield problems with job and option names, from raw data so that other errors do not hide
    them.
    """
    fio = document.data.get("fio")
    if not isinstance(fio, dict):
        return
    extra = fio.get("extra_options")
    passed_on = [name for name in extra if isinstance(name, str)] if isinstance(extra, list) else []
    raw = dict(_raw_sections(fio))
    external = any(_is_unknown_engine(options.get("ioengine")) for options in raw.values())
    for path, options in raw.items():
        yield from _job_name_problems(path, document)
        for name in options:
            if name in passed_on and canonical(name) not in OWN_OPTIONS:
                continue
            if found := name_problem(name, external=external):
                yield document.problem((*path, name), found, key=True)
        yield from _double_problems(path, options, document)


def _raw_sections(fio: Mapping[str, Any]) -> Iterator[tuple[KeyPath, dict[str, Any]]]:
    if isinstance(fio.get("global"), dict):
        yield ("fio", "global"), fio["global"]
    jobs = fio.get("jobs")
    for name, options in jobs.items() if isinstance(jobs, dict) else ():
        if isinstance(options, dict):
            yield ("fio", "jobs", name), options


def _is_unknown_engine(engine: object) -> bool:
    return isinstance(engine, str) and (is_external(engine) or bool(placeholders(engine)))


def _job_name_problems(path: KeyPath, document: YamlDocument) -> Iterator[Problem]:
    name = str(path[-1])
    if len(path) == 2:
        return
    if (
        not name
        or name != name.strip()
        or not name.isprintable()
        or set(name) & set("[];#/:")
        or name == "global"
    ):
        message = (
            f"found {shown(name)}; a job name must be printable, without [ ] ; # / :,"
            " and must not be 'global'"
        )
        yield document.problem(path, message, key=True)


def _double_problems(
    path: KeyPath, options: Mapping[str, Any], document: YamlDocument
) -> Iterator[Problem]:
    first: dict[str, str] = {}
    for name in options:
        other = first.setdefault(canonical(name), name)
        if other != name:
            yield document.problem(
                (*path, name),
                f"'{name}' and '{other}' are the same fio option; use one of them",
                key=True,
            )


def problems(
    profile: Profile, document: YamlDocument, texts: Mapping[str, str]
) -> Iterator[Problem]:
    """Yield problems in the jobs of a profile.

    `texts`: defaults of valid parameters.
    """
    for path, options in _sections(profile):
        yield from _option_problems(profile, path, options, texts, document)
    jobs = [effective(profile, name, texts) for name in job_of(profile).jobs]
    for job in jobs:
        yield from _time_problems(job, document)
        yield from _place_problems(profile, job, document)
        yield from _object_problems(job, document)
        yield from _block_problems(job, document)
    yield from _headline_problems(profile, jobs, document)


def _sections(profile: Profile) -> Iterator[tuple[KeyPath, Mapping[str, Any]]]:
    yield ("fio", "global"), job_of(profile).shared
    for name, options in job_of(profile).jobs.items():
        yield ("fio", "jobs", name), options


def _option_problems(
    profile: Profile,
    path: KeyPath,
    options: Mapping[str, Any],
    texts: Mapping[str, str],
    document: YamlDocument,
) -> Iterator[Problem]:
    for name, value in options.items():
        if any(brace_problems(name, value, texts)):
            continue  # placeholders are reported elsewhere, once
        problem = reach_problem if name in job_of(profile).extra_options else option_problem
        if wrong := problem(canonical(name), expand(value, as_option(name, profile, texts))):
            yield document.problem((*path, name), f"{name}: {wrong}")


def effective(profile: Profile, job: str, texts: Mapping[str, str]) -> dict[str, Setting]:
    """Return the options that apply to a job, [global] included; "?" replaces a value that cannot
    be resolved.
    """
    found: dict[str, Setting] = {}
    for path, options in (
        (("fio", "global"), job_of(profile).shared),
        (("fio", "jobs", job), job_of(profile).jobs[job]),
    ):
        for name, value in options.items():
            if all(inner in texts for inner in placeholders(value)):
                text = expand(value, as_option(name, profile, texts))
                found[canonical(name)] = Setting((*path, name), text)
            else:
                found[canonical(name)] = Setting((*path, name), "?")
    return found


def _time_problems(job: Effective, document: YamlDocument) -> Iterator[Problem]:
    """Yield a problem if a job is bounded by time but has no runtime; to fio, a runtime of 0 means
    forever.
    """
    based, runtime = job.get("time_based"), job.get("runtime")
    if based and based.text != "0" and runtime is None:
        yield document.problem(
            based.path, "time_based requires runtime", key=True, code=NEEDS_OPTION
        )
    if runtime and _is_zero(runtime.text):
        yield document.problem(
            runtime.path, f"{runtime.path[-1]}: 0 means no limit; expected a time above 0"
        )


def _is_zero(text: str) -> bool:
    try:
        return parse_duration(text) == 0
    except ValueError:
        return False


def _place_problems(profile: Profile, job: Effective, document: YamlDocument) -> Iterator[Problem]:
    """Yield problems with a job's target: no target, relative paths, or devices that the profile
    does not allow.
    """
    directory, filename = job.get("directory"), job.get("filename")
    if directory and not directory.text.startswith(("/", "?")):
        message = f"directory: found {shown(directory.text)}; expected an absolute path"
        yield document.problem(directory.path, message)
    for name in re.split(r"(?<!\\):", filename.text) if filename else ():
        if is_device(name) and not profile.allow_device:
            assert filename
            message = (
                f"filename: {name} is a device; this requires 'allow_device: true',"
                " because the run overwrites the device"
            )
            yield document.problem(filename.path, message)
        elif filename and not directory and not name.startswith(("/", "?")):
            message = (
                f"filename: found {shown(name)}; expected an absolute path, or set 'directory'"
            )
            yield document.problem(filename.path, message)
    engine = job.get("ioengine", Setting((), "psync")).text
    if not (directory or filename) and engine in FILE_ENGINES:
        message = "fio: 'directory' or 'filename' is required"
        yield document.problem(("fio",), message, key=True, code=NEEDS_OPTION)
    writes = job.get("rw", Setting((), "read")).text.partition(":")[0] in (*WRITES, *TRIMS)
    if found := target_problem(engine, external=is_external(engine), writes=writes, names=job):
        yield document.problem(job["ioengine"].path, f"ioengine: {found}", code=NEEDS_OPTION)


def _object_problems(job: Effective, document: YamlDocument) -> Iterator[Problem]:
    known = {name: each.text for name, each in job.items() if each.text != "?"}
    if known.get("rw", "read").partition(":")[0] in (*READS, *WRITES, *TRIMS):
        for name, why in object_problems(JobOptions("", {}, known)):
            yield document.problem(job[name].path, f"{name}: {why}")


def _block_problems(job: Effective, document: YamlDocument) -> Iterator[Problem]:
    known = {name: each.text for name, each in job.items() if each.text != "?"}
    if found := block_problem(JobOptions("", {}, known)):
        name, why = found
        yield document.problem(
            job[name].path, f"{job[name].path[-1]}: found {job[name].text}; {why}"
        )


def _headline_problems(
    profile: Profile, jobs: Collection[Effective], document: YamlDocument
) -> Iterator[Problem]:
    """Yield a problem if no job reports the headline's direction."""
    headline = profile.headline_spec
    if headline is None:
        return
    modes = [job.get("rw", Setting((), "read")).text.partition(":")[0] for job in jobs]
    unified = any(
        job.get("unified_rw_reporting", Setting((), "0")).text in ("1", "mixed") for job in jobs
    )
    known = all(mode in (*READS, *WRITES, *TRIMS) for mode in modes) and jobs
    syncing = any(
        job.get(name, Setting((), "0")).text not in ("0", "")
        for job in jobs
        for name in SYNC_OPTIONS
    )
    if headline.direction == "sync" and not syncing:
        message = f"direction: found sync, but no job sets {', '.join(SYNC_OPTIONS)}"
        yield document.problem(("headline", "direction"), message)
    wanted = {"read": READS, "write": WRITES, "trim": TRIMS}.get(headline.direction)
    if known and wanted and not unified and not any(mode in wanted for mode in modes):
        message = (
            f"direction: found {headline.direction}, but the jobs do"
            f" {', '.join(dict.fromkeys(modes))}"
        )
        yield document.problem(("headline", "direction"), message, code=NEEDS_OPTION)
    if wanted and unified:
        message = "direction: found {}, but unified_rw_reporting leaves only mixed"
        yield document.problem(("headline", "direction"), message.format(headline.direction))


def unreached(profile: Profile) -> Mapping[KeyPath, str]:
    """Return options of [global] that every job overrides, by place, with the values used
    instead.
    """
    jobs = {
        name: {canonical(own): own for own in options}
        for name, options in job_of(profile).jobs.items()
    }
    found: dict[KeyPath, str] = {}
    for option in job_of(profile).shared:
        names = [(job, own.get(canonical(option))) for job, own in jobs.items()]
        own_values = [
            f"[{job}] {name}={_text(profile, job, name)}" for job, name in names if name is not None
        ]
        if own_values and len(own_values) == len(names):
            found["fio", "global", option] = f"every job sets its own: {some(own_values, 3)}"
    return found


def _text(profile: Profile, job: str, option: str) -> str:
    return scalar_text(job_of(profile).jobs[job][option]) or "1"


def hints(profile: Profile, texts: Mapping[str, str]) -> Iterator[tuple[KeyPath, str]]:
    """Yield a hint for each job whose queue depth, by default or in the sweep, has no effect with
    its I/O engine.
    """
    for job in job_of(profile).jobs:
        for values in _points(profile):
            options = effective(profile, job, {**texts, **values})
            if hint := depth_in_vain(
                JobOptions(job, {}, {name: each.text for name, each in options.items()})
            ):
                yield options["iodepth"].path, worded_from(CAVEATS, hint)
                break


def _points(profile: Profile) -> Iterator[dict[str, str]]:
    """Yield the profile's parameter sets: the defaults, then each point of the sweep."""
    yield {}
    for point in grid_points(profile.sweep) if profile.sweep else ():
        params = {name: profile.params[name] for name in point if name in profile.params}
        yield {
            name: value_text(param.kind, parse_param(param, point[name]))
            for name, param in params.items()
        }
