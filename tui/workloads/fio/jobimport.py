"""Convert a fio job file to profiles that render the same jobs.

A profile is one step, so every stonewall begins another profile, and a suite runs them in order.
Options of a [global] section apply to later jobs only (fio's init.c).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import PurePath

from tui.model.plan import HARMLESS, is_device
from tui.model.problem import Problem, UsageError
from tui.model.quantities import plain_size, shown
from tui.workloads.base import Imported, checked_tag
from tui.workloads.fio.jobimport_yaml import Import, ImportedJob, JobPhase, write_phase, write_suite
from tui.workloads.fio.option_table import (
    by_name,
    canonical,
    is_external,
    name_problem,
    option_problem,
    target_problem,
)
from tui.workloads.fio.options import (
    JobFileOption,
    JobFileSection,
    first_comment,
    read_sections,
)

# Left out, by fio's own name: they decide what fio prints, which benchtui does for itself.
PRINTING = {
    "percentile_list": "benchtui records a fixed list of percentiles",
    "name": "the section name is the job name",
}
# Left out when their values differ from benchtui's.
REPORTING = {
    "group_reporting": "benchtui always reports by group",
    "stats": "benchtui records the figures",
    "gtod_reduce": "benchtui records latencies",
    "disable_lat": "benchtui records latencies",
    "disable_clat": "benchtui records latencies",
    "clat_percentiles": "benchtui records latencies",
    "lat_percentiles": "benchtui records latencies",
}
PLACES = ("directory", "filename", "filename_format")
_KEYWORD = re.compile(r"\$(mb_memory|ncpus|pagesize)")
_VARIABLE = re.compile(r"\$\{([^}]*)\}")
_KIB = re.compile(r"(\d{1,18})([kmgtp])ib", re.IGNORECASE | re.ASCII)
_SECRET = re.compile(r"key|secret|pass|token|auth|cred|chap|keyring|user")
_BAD_IN_NAMES = re.compile(r"[][;#/:]|[^\x20-\U0010ffff]")


@dataclass(slots=True)
class _Reading:
    """State of one import: variables, problems and messages found so far."""

    file: str
    environ: Mapping[str, str]
    secrets: set[str] = field(default_factory=set)  # variables whose values are not stored
    problems: list[Problem] = field(default_factory=list)
    messages: list[Problem] = field(default_factory=list)

    def wrong(self, line: int, message: str) -> None:
        self.problems.append(Problem(message, self.file, line))

    def say(self, line: int, message: str) -> None:
        problem = Problem(message, self.file, line)
        if problem not in self.messages:
            self.messages.append(problem)


def import_job(
    text: str, file: str, tag: str | None = None, environ: Mapping[str, str] | None = None
) -> Imported:
    """Return the profiles of a job file.

    `file` names it in messages and, without a `tag`, names the profile. `environ` has the values of
    ``${NAME}``. Raises UsageError with every line that a profile cannot express.
    """
    tag = checked_tag(tag, file)
    reading = _Reading(file, environ or {})
    sections = read_sections(text, file)
    phases = list(_phases([_checked(section, reading) for section in sections], reading))
    if reading.problems:
        raise UsageError(sorted(reading.problems, key=lambda problem: problem.line or 0))
    reading.environ = {**reading.environ, **{name: f"${{{name}}}" for name in reading.secrets}}
    about = Import(
        tag,
        first_comment(text)[:100] or f"Imported from {PurePath(file).name}",
        PurePath(file).name,
    )
    phases = [_with_places(phase, reading) for phase in phases]
    written = _written(about, phases, reading)
    for phase, (_, profile) in zip(phases, written[-len(phases) :], strict=True):
        check_planned(profile, phase, file)
    reading.messages.sort(key=lambda problem: problem.line or 0)
    return Imported(written, reading.messages)


def check_planned(text: str, phase: JobPhase, file: str) -> None:
    """Raise UsageError, with the line of the job, for a profile that cannot be planned."""
    from tui.model.address import HostAddress
    from tui.model.profile import resolve_params
    from tui.model.profile_load import load_profile
    from tui.workloads.fio.plan import build_steps

    try:
        profile = load_profile(text, file)
        build_steps(
            profile, resolve_params(profile, {}), [HostAddress("local", "local")], {"local": 1}
        )
    except UsageError as error:
        messages = [each.message for each in error.problems]
        lines = {f"job {job.name}:": job.line for job in phase.jobs}
        at = {
            each: next((line for job, line in lines.items() if each.startswith(job)), phase.line)
            for each in messages
        }
        raise UsageError([Problem(each, file, at[each]) for each in messages]) from error


def _written(about: Import, phases: list[JobPhase], reading: _Reading) -> list[tuple[str, str]]:
    if len(phases) == 1:
        return [(about.tag, write_phase(about, phases[0], reading.environ, reading.file))]
    members = []
    for number, phase in enumerate(phases, 1):
        names = ", ".join(job.name for job in phase.jobs)
        member = replace(
            about, tag=f"{about.tag}-{number}", title=f"{about.title}: {names}"[:120].rstrip()
        )
        members.append((member.tag, write_phase(member, phase, reading.environ, reading.file)))
    message = (
        f"stonewall: {len(phases)} consecutive steps, one profile each; {about.tag} runs them in "
        f"order"
    )
    reading.say(next(phase.line for phase in phases[1:]), message)
    return [(about.tag, write_suite(about, [tag for tag, _ in members])), *members]


# -- options


def is_secret(option: JobFileOption, variable: str) -> bool:
    """Return whether a variable is a secret, judging by its name or the option that uses it."""
    return any(map(_SECRET.search, (canonical(option.name), variable.lower())))


def _checked(section: JobFileSection, reading: _Reading) -> JobFileSection:
    """Return a section without duplicate options, and without options that only affect output."""
    kept: dict[str, JobFileOption] = {}
    for option in section.options:
        name = canonical(option.name)
        if name in kept:
            reading.say(
                option.line, f"duplicate {option.name} in [{section.name}]; the last one counts"
            )
            kept.pop(name)
        if not _left_out(option, reading):
            kept[name] = _readable(option, reading)
    external = any(
        is_external(option.value or "") for name, option in kept.items() if name == "ioengine"
    )
    for option in kept.values():
        _check_name(option, external, reading)
    return replace(section, options=tuple(kept.values()))


def _left_out(option: JobFileOption, reading: _Reading) -> bool:
    name = canonical(option.name)
    known = by_name().get(option.name, {"type": ""})
    reason = PRINTING.get(name) or ("removed from fio" if known["type"] == "removed" else "")
    if name in REPORTING and option_problem(name, option.value or "1"):
        reason = REPORTING[name]
    if reason:
        reading.say(option.line, f"{option.name} is dropped: {reason}")
    return bool(reason)


def _readable(option: JobFileOption, reading: _Reading) -> JobFileOption:
    """Return an option in a form that people and fio read the same way."""
    value = option.value or ""
    found = _KIB.fullmatch(value)
    if found and "misreads" in (option_problem(option.name, value) or ""):
        size = int(found[1]) * 1000 ** ("kmgtp".index(found[2].lower()) + 1)
        message = (
            f"{option.name}={value} stays {size} bytes, as in fio; write"
            f" {found[1]}{found[2]} for powers of 1024"
        )
        reading.say(option.line, message)
        return replace(option, value=plain_size(size))
    return option


def _check_name(option: JobFileOption, external: bool, reading: _Reading) -> None:
    name, value = option.name, option.value or ""
    if canonical(name) == "stonewall":
        return
    found = name_problem(name, external=external)
    if found and (name.startswith("-") or not found.startswith("unknown")):
        reading.wrong(option.line, found)
        return
    if found:
        passed = "list it in 'extra_options' of a profile to pass it on"
        reading.wrong(option.line, f"{found}; {passed}")
        return
    if (text := _expanded(option, value, reading)) is not None:
        _check_value(option, text, reading)


def _expanded(option: JobFileOption, value: str, reading: _Reading) -> str | None:
    """Return a value with its variables replaced; None if a variable is a secret or not set."""
    for variable in _VARIABLE.findall(value):
        if is_secret(option, variable):
            reading.secrets.add(variable)
            reading.say(
                option.line,
                (
                    f"${{{variable}}} is kept: each launch reads it from the environment or asks"
                    " for it"
                ),
            )
        elif not reading.environ.get(variable):
            message = (
                f"${{{variable}}} is not set in the environment; set it for the import, as for fio"
            )
            reading.wrong(option.line, message)
            return None
    if reading.secrets.intersection(_VARIABLE.findall(value)):
        return None
    return _VARIABLE.sub(lambda match: reading.environ.get(match[1], match[0]), value)


def _check_value(option: JobFileOption, text: str, reading: _Reading) -> None:
    name = option.name
    if found := option_problem(name, text):
        keyword = _KEYWORD.search(text)
        hint = f": {keyword[0]} differs between hosts; write a number" if keyword else f": {found}"
        reading.wrong(option.line, f"{name}{hint}")
    elif name == "ioengine" and is_external(text):
        reading.say(
            option.line, f"ioengine: every host of a run loads {shown(text)} and executes its code"
        )
    elif canonical(name) == "kb_base" and text != "1024":
        reading.wrong(option.line, "kb_base: only 1024 is supported")


# -- jobs


def _phases(sections: Sequence[JobFileSection], reading: _Reading) -> Iterator[JobPhase]:
    """Yield groups of jobs that run at the same time; a stonewall begins a new group."""
    shared: dict[str, JobFileOption] = {}
    jobs: list[tuple[JobFileSection, dict[str, JobFileOption], dict[str, JobFileOption]]] = []
    for section in sections:
        options = {canonical(option.name): option for option in section.options}
        if section.shared:
            shared = {**shared, **options}
            continue
        own = dict(options)
        wall = {**shared, **own}.get("stonewall")
        if jobs and wall is not None and wall.value != "0":
            yield _phase(jobs, reading)
            jobs = []
        jobs.append((section, shared, own))
    if jobs:
        yield _phase(jobs, reading)
    if sections[-1].shared:
        reading.say(sections[-1].line, f"[{sections[-1].name}] is ignored: no job follows")


def _phase(
    jobs: list[tuple[JobFileSection, dict[str, JobFileOption], dict[str, JobFileOption]]],
    reading: _Reading,
) -> JobPhase:
    common = {
        name: option
        for name, option in jobs[0][1].items()
        if all(name in shared and shared[name].value == option.value for _, shared, _ in jobs)
    }
    made: list[ImportedJob] = []
    for section, shared, own in jobs:
        rest = {name: option for name, option in shared.items() if name not in common}
        made.append(_job(section, {**rest, **own}, common, [job.name for job in made], reading))
    phase = JobPhase({k: v for k, v in common.items() if k != "stonewall"}, made, jobs[0][0].line)
    return _with_objects(_with_time(phase, reading), reading)


def _job(
    section: JobFileSection,
    own: dict[str, JobFileOption],
    common: Mapping[str, JobFileOption],
    taken: Sequence[str],
    reading: _Reading,
) -> ImportedJob:
    """Return a job under a name valid in profiles.

    File names that fio derives from the job's name stay the same.
    """
    options = {name: option for name, option in own.items() if name != "stonewall"}
    if section.name.startswith("/dev/") and "filename" not in {**common, **options}:
        options["filename"] = JobFileOption(
            "filename", section.name.replace(":", "\\:"), section.line
        )
    name = plain = _BAD_IN_NAMES.sub("-", section.name).strip().strip("-") or "job"
    while name in taken or name == "global":
        name = f"{plain}-{len(taken) + 1}" if name == plain else f"{name}x"
    if name != section.name:
        reading.say(section.line, f"job [{section.name}] is renamed to '{name}'")
        _keep_file_names(section, options, common)
    return ImportedJob(name, options, section.line)


def _keep_file_names(
    section: JobFileSection, options: dict[str, JobFileOption], common: Mapping[str, JobFileOption]
) -> None:
    every = {**common, **options}
    if "filename" not in every and "filename_format" not in every:
        options["filename_format"] = JobFileOption(
            "filename_format", f"{section.name}.$jobnum.$filenum", section.line
        )
    elif "filename" not in every and "$jobname" in (every["filename_format"].value or ""):
        pattern = every["filename_format"]
        options["filename_format"] = replace(
            pattern, value=(pattern.value or "").replace("$jobname", section.name)
        )


def _with_time(phase: JobPhase, reading: _Reading) -> JobPhase:
    """Drop time options that fio ignores: a runtime of 0, and time_based without a runtime."""

    def drop(options: dict[str, JobFileOption], name: str, why: str) -> None:
        if option := options.pop(name, None):
            reading.say(option.line, f"{option.name} is dropped: {why}")

    for job in phase.jobs:
        if _zero_time({**phase.shared, **job.options}.get("runtime")):
            _own_options(phase, ("runtime", "time_based"))
            drop(job.options, "runtime", "in fio, 0 means no limit")
    for job in phase.jobs:
        every = {**phase.shared, **job.options}
        if "time_based" in every and "runtime" not in every:
            _own_options(phase, ("time_based",))
            drop(job.options, "time_based", "there is no runtime, so fio ignores it")
    return phase


def _with_objects(phase: JobPhase, reading: _Reading) -> JobPhase:
    """Drop file options if all jobs are on objects, and add a fill if one reads or deletes
    objects.
    """
    from tui.workloads.fio.objects import OF_FILES

    jobs = [
        job for job in phase.jobs if _value({**phase.shared, **job.options}, "ioengine") == "http"
    ]
    if not jobs or len(jobs) < len(phase.jobs):
        return phase
    for name in OF_FILES:
        for options in (phase.shared, *(job.options for job in jobs)):
            if option := options.pop(name, None):
                reading.say(
                    option.line,
                    f"{name} is dropped: it applies to files, and the job uses objects",
                )
    modes = [
        _value({**phase.shared, **job.options}, "rw", "read").partition(":")[0] for job in jobs
    ]
    phase.fill = any(mode not in ("write", "randwrite") for mode in modes)
    if phase.fill:
        reading.say(
            phase.line,
            "'prepare: precondition' is set, so that objects exist before they are read or deleted",
        )
    return phase


def _value(options: Mapping[str, JobFileOption], name: str, default: str = "") -> str:
    return (options[name].value or "") if name in options else default


def _own_options(phase: JobPhase, names: Sequence[str]) -> None:
    """Give every job its own copy of shared options, so that they can be removed individually."""
    for name in names:
        if option := phase.shared.pop(name, None):
            for each in phase.jobs:
                each.options.setdefault(name, option)


def _zero_time(option: JobFileOption | None) -> bool:
    return bool(
        option and option.value and re.fullmatch(r"0+(us|usec|ms|msec|s|m|h|d)?", option.value)
    )


# -- where files and devices are


def _with_places(phase: JobPhase, reading: _Reading) -> JobPhase:
    """Add a directory parameter for jobs without one, and allow devices if there are any."""
    for job in phase.jobs:
        every = {**phase.shared, **job.options}
        filename = every.get("filename")
        names = re.split(r"(?<!\\):", filename.value or "") if filename else []
        if devices := list(filter(is_device, names)):
            phase.device = True
            assert filename
            lost = [name for name in devices if name not in HARMLESS]
            what = f"{', '.join(devices)} {'is a device' if len(devices) == 1 else 'are devices'}"
            more = f"; the data on {', '.join(lost)} will be overwritten" if lost else ""
            reading.say(filename.line, f"{what}: 'allow_device: true' is set{more}")
        _check_target(every, reading)
        if _needs_directory(every, names):
            phase.homeless.append(job)
    if phase.homeless:
        message = "no directory: fio uses its working directory; set the parameter 'directory'"
        reading.say(phase.homeless[0].line, message)
    return phase


def _check_target(options: Mapping[str, JobFileOption], reading: _Reading) -> None:
    """Reject a job that writes to a target that none of its options names."""
    from tui.workloads.fio.body import TRIMS, WRITES

    engine, mode = options.get("ioengine"), options.get("rw")
    if engine is None or mode is None:
        return
    text, writes = engine.value or "", (mode.value or "").partition(":")[0] in (*WRITES, *TRIMS)
    if found := target_problem(text, external=is_external(text), writes=writes, names=options):
        reading.wrong(engine.line, f"ioengine: {found}")


def _needs_directory(options: Mapping[str, JobFileOption], names: Sequence[str]) -> bool:
    from tui.workloads.fio.body import FILE_ENGINES

    engine = options["ioengine"].value if "ioengine" in options else "psync"
    relative = any(not name.startswith("/") for name in names) if names else engine in FILE_ENGINES
    return "directory" not in options and relative
