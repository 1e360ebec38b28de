"""What a profile must obey beyond its schema: parameters, placeholders, fio's options and how they go together."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tui.model.fio_options import canonical, is_external, name_problem, option_problem
from tui.model.matrix import HOSTS_AXIS
from tui.model.matrix_check import matrix_problems
from tui.model.problem import Problem, did_you_mean
from tui.model.profile import (
    HOST_PLACEHOLDERS,
    PLACEHOLDER,
    Param,
    Profile,
    as_option,
    expand,
    fio_text,
    parse_limit,
    parse_param,
    placeholders,
)
from tui.model.quantities import parse_duration, shown
from tui.model.yaml_text import Document

Path = tuple[str | int, ...]

PARAMETERISED = ("fio", "mdtest", "suite", "prepare", "warmup", "pause")  # where a parameter may be named
NUMERIC_KINDS = ("size", "duration", "count", "number")
# Engines that read and write files by path; of others it is not said here where their data lies.
FILE_ENGINES = (
    "sync", "psync", "vsync", "pvsync", "pvsync2", "libaio", "aio", "linuxaio", "io_uring", "posixaio", "mmap",
    "splice", "falloc", "ftruncate", "e4defrag", "filecreate", "filestat", "filedelete",
)  # fmt: skip
DIRECTIONS = ("read", "write", "trim", "sync", "mixed")
READS = ("read", "randread", "rw", "readwrite", "randrw")
TRIMS = ("trim", "randtrim", "trimwrite", "randtrimwrite")
SYNC_OPTIONS = ("fsync", "fdatasync", "sync_file_range")  # what fio reports the latency of, apart from the writes
WRITES = ("write", "randwrite", "rw", "readwrite", "randrw", "trimwrite", "randtrimwrite")


@dataclass(frozen=True, slots=True)
class Setting:
    """One option that holds for a job: where it stands, and its value with the parameters' defaults."""

    path: Path
    text: str


Job = Mapping[str, Setting]  # by fio's own option names


def name_problems(document: Document) -> Iterator[Problem]:
    """Check job and option names on the bare data, so that they are reported however broken the rest is."""
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
            if name not in passed_on and (found := name_problem(name, external=external)):
                yield document.problem((*path, name), found, key=True)
        yield from _double_problems(path, options, document)


def _raw_sections(fio: Mapping[str, Any]) -> Iterator[tuple[Path, dict[str, Any]]]:
    if isinstance(fio.get("global"), dict):
        yield ("fio", "global"), fio["global"]
    jobs = fio.get("jobs")
    for name, options in jobs.items() if isinstance(jobs, dict) else ():
        if isinstance(options, dict):
            yield ("fio", "jobs", name), options


def _is_unknown_engine(engine: object) -> bool:
    return isinstance(engine, str) and (is_external(engine) or bool(placeholders(engine)))


def _job_name_problems(path: Path, document: Document) -> Iterator[Problem]:
    name = str(path[-1])
    if len(path) == 2:
        return
    if not name or name != name.strip() or not name.isprintable() or set(name) & set("[];#/:") or name == "global":
        message = f"found {shown(name)}; a job's name is printable, without [ ] ; # / : and is not 'global'"
        yield document.problem(path, message, key=True)


def _double_problems(path: Path, options: Mapping[str, Any], document: Document) -> Iterator[Problem]:
    first: dict[str, str] = {}
    for name in options:
        other = first.setdefault(canonical(name), name)
        if other != name:
            yield document.problem((*path, name), f"'{name}' and '{other}' are one option of fio; give one", key=True)


def problems(profile: Profile, document: Document, known: Collection[str]) -> Iterator[Problem]:
    """Yield what is wrong with a profile that its schema takes. `known`: names of parameters, broken ones too."""
    if not profile.title.isprintable():
        yield document.problem(("title",), "title: one printable line is allowed")
    texts: dict[str, str] = {}
    for name, param in profile.params.items():
        yield from _param_problems(profile, name, param, document, texts)
    used = set(_used({key: document.data.get(key) for key in PARAMETERISED}))
    for name in known:
        if name not in used:
            message = f"parameter '{name}' is never used: no option holds {{{name}}}"
            yield document.problem(("params", name), message, key=True)
    yield from _layout_problems(profile, document)
    yield from matrix_problems(profile, document, known)
    if profile.tool != "fio":
        return
    texts |= {"host": "host", "host_index": "1"}
    for path, options in _sections(profile):
        yield from _option_problems(profile, path, options, texts, known, document)
    jobs = [_effective(profile, name, texts) for name in profile.fio.jobs]
    for job in jobs:
        yield from _time_problems(job, document)
        yield from _place_problems(profile, job, document)
    yield from _headline_problems(profile, jobs, document)


def _param_problems(
    profile: Profile, name: str, param: Param, document: Document, texts: dict[str, str]
) -> Iterator[Problem]:
    path: Path = ("params", name)
    if name == HOSTS_AXIS:
        yield document.problem(path, "parameter 'hosts': the name is taken, sweeps vary the number of hosts", True)
    if name in HOST_PLACEHOLDERS:
        yield document.problem(path, f"parameter '{name}': the name is taken, every host has its own {{{name}}}", True)
    if param.kind == "device" and not profile.allow_device:
        yield document.problem((*path, "kind"), "kind device needs 'allow_device: true': a device loses its data")
    if (param.kind == "choice") != bool(param.choices):
        yield document.problem(path, f"parameter '{name}': 'choices' and kind choice need each other", True)
        return
    if bad_limits := list(_limit_problems(name, param, document)):
        yield from bad_limits
        return
    try:
        texts[name] = fio_text(param.kind, parse_param(param, param.default))
    except ValueError as error:
        yield document.problem((*path, "default"), f"parameter '{name}': {error}")


def _limit_problems(name: str, param: Param, document: Document) -> Iterator[Problem]:
    for key, limit in (("min", param.min), ("max", param.max)):
        if limit is None:
            continue
        if param.kind not in NUMERIC_KINDS:
            message = f"'{key}' is for the kinds {', '.join(NUMERIC_KINDS)}, not for {param.kind}"
            yield document.problem(("params", name, key), message, key=True)
            continue
        try:
            parse_limit(param.kind, limit)
        except ValueError as error:
            yield document.problem(("params", name, key), f"parameter '{name}': {key}: {error}")


def _used(data: object) -> Iterator[str]:
    if isinstance(data, (dict, list)):
        for value in data.values() if isinstance(data, dict) else data:
            yield from _used(value)
    yield from placeholders(data)


def _layout_problems(profile: Profile, document: Document) -> Iterator[Problem]:
    layout = profile.prepare.layout
    if isinstance(layout, bool):
        return
    names = placeholders(layout)
    param = profile.params.get(names[0]) if names and layout == f"{{{names[0]}}}" else None
    if param is None or param.kind != "flag":
        message = f"layout: found {shown(layout)}; allowed are true, false, or the name of a flag parameter in braces"
        yield document.problem(("prepare", "layout"), message)


def _sections(profile: Profile) -> Iterator[tuple[Path, Mapping[str, Any]]]:
    yield ("fio", "global"), profile.fio.shared
    for name, options in profile.fio.jobs.items():
        yield ("fio", "jobs", name), options


def _option_problems(
    profile: Profile,
    path: Path,
    options: Mapping[str, Any],
    texts: Mapping[str, str],
    known: Collection[str],
    document: Document,
) -> Iterator[Problem]:
    for name, value in options.items():
        at = (*path, name)
        if wrong := list(_brace_problems(name, value, known)):
            yield from (document.problem(at, message) for message in wrong)
        elif name not in profile.fio.extra_options and all(found in texts for found in placeholders(value)):
            text = expand(value, as_option(name, profile, texts))
            if found_problem := option_problem(name, text):
                yield document.problem(at, f"{name}: {found_problem}")


def _brace_problems(name: str, value: object, known: Collection[str]) -> Iterator[str]:
    if not isinstance(value, str):
        return
    allowed = (*known, *HOST_PLACEHOLDERS)
    for found in placeholders(value):
        if found not in allowed:
            yield f"unknown placeholder {{{found}}}{did_you_mean(found, allowed)}; known are {', '.join(allowed)}"
    if re.search("[{}]", PLACEHOLDER.sub("", value)):
        yield f"{name}: found {shown(value)}; a brace stands alone, write {{{{ or }}}} for the character itself"


def _effective(profile: Profile, job: str, texts: Mapping[str, str]) -> dict[str, Setting]:
    """Return what holds for a job: its own options over the global ones, as far as they can be resolved."""
    found: dict[str, Setting] = {}
    for path, options in (("fio", "global"), profile.fio.shared), (("fio", "jobs", job), profile.fio.jobs[job]):
        for name, value in options.items():
            if all(inner in texts for inner in placeholders(value)):
                text = expand(value, as_option(name, profile, texts))
                found[canonical(name)] = Setting((*path, name), text)
            else:
                found[canonical(name)] = Setting((*path, name), "?")
    return found


def _time_problems(job: Job, document: Document) -> Iterator[Problem]:
    """A job that is bound to time must say how long; a runtime of 0 means for ever to fio."""
    based, runtime = job.get("time_based"), job.get("runtime")
    if based and based.text != "0" and runtime is None:
        yield document.problem(based.path, "time_based needs a runtime", key=True)
    if runtime and _is_zero(runtime.text):
        yield document.problem(runtime.path, f"{runtime.path[-1]}: 0 means without end; a time above 0 is needed")


def _is_zero(text: str) -> bool:
    try:
        return parse_duration(text) == 0
    except ValueError:
        return False


def _place_problems(profile: Profile, job: Job, document: Document) -> Iterator[Problem]:
    """Files go to places that the profile names, and to devices only when it says so."""
    directory, filename = job.get("directory"), job.get("filename")
    if directory and not directory.text.startswith(("/", "?")):
        message = f"directory: found {shown(directory.text)}; an absolute path is needed"
        yield document.problem(directory.path, message)
    for name in re.split(r"(?<!\\):", filename.text) if filename else ():
        if name.startswith("/dev/") and not name.startswith("/dev/shm/") and not profile.allow_device:
            assert filename
            message = f"filename: {name} is a device; that needs 'allow_device: true', a device loses its data"
            yield document.problem(filename.path, message)
        elif filename and not directory and not name.startswith(("/", "?")):
            message = f"filename: found {shown(name)}; an absolute path or a directory is needed"
            yield document.problem(filename.path, message)
    engine = job.get("ioengine", Setting((), "psync")).text
    if not (directory or filename) and engine in FILE_ENGINES:
        message = "fio: neither 'directory' nor 'filename' says where the files go"
        yield document.problem(("fio",), message, key=True)


def _headline_problems(profile: Profile, jobs: Collection[Job], document: Document) -> Iterator[Problem]:
    headline = profile.headline_spec
    if headline is None:
        return
    if headline.percentile is not None and headline.metric != "latency":
        message = f"a percentile is of a latency; the metric here is {headline.metric}"
        yield document.problem(("headline", "percentile"), message, key=True)
    wanted_of = ("create", "stat", "remove", "read") if headline.metric == "ops" else DIRECTIONS
    if headline.direction not in wanted_of:
        allowed = f"with metric {headline.metric} allowed are {', '.join(wanted_of)}"
        message = f"direction: found {headline.direction}; {allowed}"
        yield document.problem(("headline", "direction"), message)
        return
    modes = [job.get("rw", Setting((), "read")).text.partition(":")[0] for job in jobs]
    unified = any(job.get("unified_rw_reporting", Setting((), "0")).text in ("1", "mixed") for job in jobs)
    known = all(mode in (*READS, *WRITES, *TRIMS) for mode in modes) and jobs
    syncing = any(job.get(name, Setting((), "0")).text not in ("0", "") for job in jobs for name in SYNC_OPTIONS)
    if headline.direction == "sync" and not syncing:
        message = f"direction: found sync, but no job sets {', '.join(SYNC_OPTIONS)}"
        yield document.problem(("headline", "direction"), message)
    wanted = {"read": READS, "write": WRITES, "trim": TRIMS}.get(headline.direction)
    if known and wanted and not unified and not any(mode in wanted for mode in modes):
        message = f"direction: found {headline.direction}, but the jobs do {', '.join(dict.fromkeys(modes))}"
        yield document.problem(("headline", "direction"), message)
    if wanted and unified:
        message = "direction: found {}, but unified_rw_reporting leaves only mixed"
        yield document.problem(("headline", "direction"), message.format(headline.direction))
