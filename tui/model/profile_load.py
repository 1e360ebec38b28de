"""YAML text to a Profile, with everything that is wrong in it at once: file, line, column, what is allowed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import ValidationError

from tui.model.fio_options import is_external, name_problem, option_problem
from tui.model.problem import Problem, UsageError, did_you_mean
from tui.model.profile import (
    HOST_PLACEHOLDERS,
    Param,
    ParamValue,
    Profile,
    expand,
    fio_text,
    parse_param,
    placeholders,
    scalar_text,
)
from tui.model.quantities import parse_duration, shown
from tui.model.validation import problems_of
from tui.model.yaml_text import Document, load

Path = tuple[str | int, ...]
Section = tuple[str, Path, Mapping[str, Any]]


def load_profile(text: str, file: str) -> Profile:
    """Return the profile of a YAML text. Raises UsageError with every problem, in the order of the file."""
    document = load(text, file)
    try:
        profile = Profile.model_validate(document.data)
    except ValidationError as error:
        problems = problems_of(error, document, Profile)
        raise UsageError(in_order([*problems, *_raw_option_problems(document)])) from None
    if problems := list(_problems(profile, document)):
        raise UsageError(in_order(problems))
    return profile


def in_order(problems: list[Problem]) -> list[Problem]:
    """Return problems by line and column, each once."""
    return sorted(dict.fromkeys(problems), key=lambda problem: (problem.line or 0, problem.column or 0))


def _raw_option_problems(document: Document) -> Iterator[Problem]:
    """Check option names even where the profile is broken elsewhere, so that all problems come at once."""
    fio = document.data.get("fio")
    if not isinstance(fio, dict):
        return
    extra = fio.get("extra_options")
    known = set(extra) if isinstance(extra, list) and all(isinstance(name, str) for name in extra) else set()
    jobs = fio.get("jobs")
    sections: list[Section] = [("global", ("fio", "global"), fio.get("global") or {})]
    for name, options in jobs.items() if isinstance(jobs, dict) else ():
        sections.append((name, ("fio", "jobs", name), options))
    external = _uses_external(options for _, _, options in sections if isinstance(options, dict))
    for _, path, options in sections:
        for name in options if isinstance(options, dict) else ():
            if name not in known and (found := name_problem(name, external=external)):
                yield document.problem((*path, name), found, key=True)


def _problems(profile: Profile, document: Document) -> Iterator[Problem]:
    yield from _raw_option_problems(document)
    defaults: dict[str, ParamValue] = {}
    for name, param in profile.params.items():
        yield from _param_problems(name, param, document, defaults)
    yield from _unused(profile, document)
    yield from _layout_problems(profile, document)
    texts = {name: fio_text(profile.params[name].kind, value) for name, value in defaults.items()}
    for section in _sections(profile):
        yield from _section_problems(profile, section, texts, document)
    yield from _time_problems(profile, document)


def _param_problems(name: str, param: Param, document: Document, defaults: dict[str, ParamValue]) -> Iterator[Problem]:
    path: Path = ("params", name)
    if name in HOST_PLACEHOLDERS:
        yield document.problem(path, f"parameter '{name}': the name is taken, every host has its own {{{name}}}", True)
    if param.kind == "choice" and not param.choices:
        yield document.problem(path, f"parameter '{name}': kind choice needs 'choices'", True)
        return
    try:
        defaults[name] = parse_param(param, param.default)
    except ValueError as error:
        yield document.problem((*path, "default"), f"parameter '{name}': {error}")


def _unused(profile: Profile, document: Document) -> Iterator[Problem]:
    used = set(placeholders(profile.prepare.layout))
    for _, _, options in _sections(profile):
        used.update(name for value in options.values() for name in placeholders(value))
    for name in profile.params:
        if name not in used:
            message = f"parameter '{name}' is never used: no option holds {{{name}}}"
            yield document.problem(("params", name), message, True)


def _layout_problems(profile: Profile, document: Document) -> Iterator[Problem]:
    layout = profile.prepare.layout
    if isinstance(layout, bool):
        return
    names = placeholders(layout)
    if layout != f"{{{''.join(names)}}}" or names[0] not in profile.params or profile.params[names[0]].kind != "flag":
        message = f"found {shown(layout)}; allowed are true, false, or the name of a flag parameter in braces"
        yield document.problem(("prepare", "layout"), message)


def _sections(profile: Profile) -> Iterator[Section]:
    yield "global", ("fio", "global"), profile.fio.shared
    for name, options in profile.fio.jobs.items():
        yield name, ("fio", "jobs", name), options


def _section_problems(
    profile: Profile, section: Section, texts: Mapping[str, str], document: Document
) -> Iterator[Problem]:
    _, path, options = section
    values = {**texts, "host": "host", "host_index": "1"}
    for name, value in options.items():
        unknown = [found for found in placeholders(value) if found not in (*profile.params, *HOST_PLACEHOLDERS)]
        for found in unknown:
            known = (*profile.params, *HOST_PLACEHOLDERS)
            message = f"unknown placeholder {{{found}}}{did_you_mean(found, known)}; known are {', '.join(known)}"
            yield document.problem((*path, name), message)
        if unknown or value is None or name in profile.fio.extra_options:
            continue
        if any(found not in values for found in placeholders(value)):
            continue  # its default is wrong, and that has been said
        if found_problem := option_problem(name, expand(value, values)):
            yield document.problem((*path, name), f"{name}: {found_problem}")


def _time_problems(profile: Profile, document: Document) -> Iterator[Problem]:
    """A job that is bound to time must say how long; a runtime of 0 means for ever to fio."""
    for _, path, options in list(_sections(profile))[1:]:
        job = {**profile.fio.shared, **options}
        where: Path = path if "time_based" in options else ("fio", "global")
        if _is_on(job.get("time_based", "0")) and "runtime" not in job and "timeout" not in job:
            yield document.problem((*where, "time_based"), "time_based needs a runtime", True)
        for name in ("runtime", "timeout"):
            if name in job and not placeholders(job[name]) and _is_zero(job[name]):
                place: Path = path if name in options else ("fio", "global")
                yield document.problem((*place, name), f"{name}: 0 means without end; a time above 0 is needed")


def _is_on(value: object) -> bool:
    return value is None or (isinstance(value, bool | int | str | float) and scalar_text(value) not in ("0", ""))


def _is_zero(value: object) -> bool:
    try:
        return parse_duration(value) == 0
    except ValueError:
        return False


def _uses_external(sections: Iterator[Mapping[str, Any]]) -> bool:
    engines = [options.get("ioengine") for options in sections]
    return any(isinstance(engine, str) and (is_external(engine) or placeholders(engine)) for engine in engines)
