"""Write the YAML of an imported job: frequently changed options become parameters, others stay as
written.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from tui.model.plan import is_device
from tui.model.problem import Problem, UsageError
from tui.model.profile import HOST_PLACEHOLDERS, Param, ParamKind, parse_param
from tui.model.yaml_text import number_or_scalar, scalar
from tui.workloads.base import param_text
from tui.workloads.fio.option_table import by_name, canonical
from tui.workloads.fio.options import SYNC_OPTIONS, JobFileOption

# Options that become parameters when a profile has them with one value.
PARAMS: dict[str, tuple[ParamKind, str]] = {
    "directory": ("directory", "Directory for the test files"),
    "filename": ("path", "File or device under test"),
    "runtime": ("duration", "Measured time"),
    "size": ("size", "Bytes per job"),
    "filesize": ("size", "Size of each file"),
    "bs": ("size", "Block size"),
    "iodepth": ("count", "I/Os in flight per job"),
    "numjobs": ("count", "Jobs on each host"),
}
DEFAULT_DIRECTORY = "/var/tmp"
BIG_BLOCK = 128 * 1024
_VARIABLE = re.compile(r"\$\{([^}]*)\}")
_READ = ("read", "randread")
_TRIM = ("trim", "randtrim")
_WRITE = ("write", "randwrite", "trimwrite", "randtrimwrite")
_FILE_OPERATIONS = {"filecreate": "create", "filestat": "stat", "filedelete": "remove"}


@dataclass(frozen=True, slots=True)
class Import:
    """Data that all profiles of one import share."""

    tag: str
    title: str
    origin: str


@dataclass(slots=True)
class ImportedJob:
    """A job under its name in the profile, with options by fio's own names."""

    name: str
    options: dict[str, JobFileOption]
    line: int


@dataclass(slots=True)
class JobPhase:
    """Jobs that run at the same time. `homeless`: jobs without a directory for their files."""

    shared: dict[str, JobFileOption]
    jobs: list[ImportedJob]
    line: int
    device: bool = False
    fill: bool = False
    homeless: list[ImportedJob] = field(default_factory=list)


@dataclass(slots=True)
class _Sheet:
    """Parameters found so far, and the text of each option."""

    phase: JobPhase
    environ: Mapping[str, str]
    params: dict[str, Param] = field(default_factory=dict)
    variables: dict[str, str] = field(default_factory=dict)
    by_option: dict[str, str] = field(default_factory=dict)


def write_suite(about: Import, members: Sequence[str]) -> str:
    """Return the YAML of the suite that runs the profiles in order."""
    lines = [*_head(about, "suite"), "", "suite:", *(f"  - {member}" for member in members)]
    return "\n".join(lines) + "\n"


def write_phase(about: Import, phase: JobPhase, environ: Mapping[str, str], file: str) -> str:
    """Return the YAML profile of jobs that run at the same time.

    Raises UsageError with lines of the job file.
    """
    sheet = _Sheet(phase, environ)
    _name_variables(sheet, file)
    _name_params(sheet)
    body = [*_fio_lines(sheet), "", *_tail(phase)]
    lines = [
        *_head(about, "fio"),
        "",
        *_param_lines(sheet.params),
        *([""] if sheet.params else []),
        *body,
    ]
    text = "\n".join(lines) + "\n"
    _check(text, phase, file)
    return text


# -- parameters


def _every_option(phase: JobPhase) -> Iterator[JobFileOption]:
    for options in (phase.shared, *(job.options for job in phase.jobs)):
        yield from options.values()


def _name_variables(sheet: _Sheet, file: str) -> None:
    """Make each ``${NAME}`` a parameter; its kind comes from an option whose whole value it is."""
    problems = []
    for option in _every_option(sheet.phase):
        for variable in _VARIABLE.findall(option.value or ""):
            whole = option.value == f"${{{variable}}}"
            kinds: list[ParamKind] = (
                [PARAMS.get(canonical(option.name), ("text", ""))[0]] if whole else []
            )
            if variable in sheet.variables:
                if not whole:
                    _loosen(sheet, variable)
                continue
            if sheet.environ[variable] == f"${{{variable}}}":
                kinds = ["secret"]
            param = _first_param(
                [*kinds, "text"], sheet.environ[variable], f"${variable} in the job file"
            )
            if param is None:
                problems.append(
                    Problem(
                        f"profiles cannot contain the value of ${{{variable}}}", file, option.line
                    )
                )
            else:
                sheet.variables[variable] = _add(sheet, _param_name(variable), param)
    if problems:
        raise UsageError(problems)


def _loosen(sheet: _Sheet, variable: str) -> None:
    """Change a variable's parameter to kind text, because an option has it as only a part of its
    value.
    """
    name = sheet.variables[variable]
    if sheet.params[name].kind == "secret":
        return
    text = Param(default=sheet.environ[variable], kind="text", help=sheet.params[name].help)
    sheet.params[name] = text


def _param_name(variable: str) -> str:
    name = re.sub(r"[^a-z0-9_]", "_", variable.lower())
    return name if re.match("[a-z]", name) else f"v_{name}"


def _first_param(kinds: Sequence[ParamKind], value: str, about: str) -> Param | None:
    for kind in kinds:
        param = Param(default=value, kind=kind, help=about)
        try:
            parse_param(param, value)
        except ValueError:
            continue
        return param
    return None


def _add(sheet: _Sheet, name: str, param: Param) -> str:
    while name in sheet.params or name in HOST_PLACEHOLDERS:
        name += "_2"
    sheet.params[name] = param
    return name


def _name_params(sheet: _Sheet) -> None:
    """Turn frequently changed options into parameters if they have a single value."""
    phase = sheet.phase
    if phase.homeless:
        param = Param(
            default=DEFAULT_DIRECTORY,
            kind="directory",
            help="Directory for the test files (the job file used fio's working directory)",
        )
        sheet.by_option["@directory"] = _add(sheet, "directory", param)
    for name, (kind, about) in PARAMS.items():
        values = {option.value for option in _every_option(phase) if canonical(option.name) == name}
        value = next(iter(values)) if len(values) == 1 else None
        if (
            value is None
            or "$" in value
            or (kind in ("path", "directory") and set(value) & set(":\\{}"))
        ):
            continue
        kind = "device" if name == "filename" and is_device(value) else kind
        found = _first_param((kind,), value, about)
        if found is not None and _same_text(kind, value):
            sheet.by_option[name] = _add(sheet, name, found)


def _same_text(kind: ParamKind, value: str) -> bool:
    """Return whether a value stays the same when its kind of parameter is normalised for fio."""
    return (
        kind not in ("path", "directory", "device")
        or parse_param(Param(default=value, kind=kind), value) == value
    )


# -- text


def _head(about: Import, tool: str) -> list[str]:
    origin = f"# Imported from {about.origin}"
    return [origin, f"profile: {about.tag}", f"title: {scalar(about.title)}", f"tool: {tool}"]


def _param_lines(params: Mapping[str, Param]) -> list[str]:
    if not params:
        return []
    width = max(map(len, params)) + 1
    return [
        "params:",
        *(f"  {name + ':':<{width}} {param_text(param)}" for name, param in params.items()),
    ]


def _fio_lines(sheet: _Sheet) -> list[str]:
    phase = sheet.phase
    lines = ["fio:"]
    everywhere = len(phase.homeless) == len(phase.jobs)
    shared = [_option_text(sheet, option) for option in phase.shared.values()]
    shared += [_directory_text(sheet)] if everywhere and phase.homeless else []
    if shared:
        lines += ["  global:", *(f"    {text}" for text in shared)]
    lines.append("  jobs:")
    for job in phase.jobs:
        own = [_option_text(sheet, option) for option in job.options.values()]
        own += [_directory_text(sheet)] if job in phase.homeless and not everywhere else []
        lines += [
            f"    {scalar(job.name)}:{'' if own else ' {}'}",
            *(f"      {text}" for text in own),
        ]
    return lines


def _directory_text(sheet: _Sheet) -> str:
    return f'directory: "{{{sheet.by_option["@directory"]}}}"'


def _option_text(sheet: _Sheet, option: JobFileOption) -> str:
    name = scalar(option.name)
    if option.value is None:
        return f"{name}:"
    if param := sheet.by_option.get(canonical(option.name)):
        return f'{name}: "{{{param}}}"'
    if option.value == "" and by_name().get(option.name, {}).get("type") == "set":
        return f"{name}:"
    return f"{name}: {number_or_scalar(_escaped(sheet, option.value))}"


def _escaped(sheet: _Sheet, value: str) -> str:
    """Return a value with variables as placeholders and literal braces doubled."""
    parts = _VARIABLE.split(value)
    for index, part in enumerate(parts):
        doubled = part.replace("{", "{{").replace("}", "}}")
        parts[index] = f"{{{sheet.variables[part]}}}" if index % 2 else doubled
    return "".join(parts)


def _tail(phase: JobPhase) -> list[str]:
    put_first = ["prepare: {precondition: {fill: 1, rounds: 0}}"] if phase.fill else []
    return [
        *(["allow_device: true"] if phase.device else []),
        *put_first,
        f"headline: {_headline(phase)}",
    ]


# -- what the profile is about


def _values(phase: JobPhase, name: str, default: str) -> list[str]:
    found = [{**phase.shared, **job.options}.get(name) for job in phase.jobs]
    return [default if option is None else option.value or "" for option in found]


def _headline(phase: JobPhase) -> str:
    engines = {_FILE_OPERATIONS.get(engine) for engine in _values(phase, "ioengine", "psync")}
    if len(engines) == 1 and (operation := engines.pop()):
        return f"{{metric: ops, direction: {operation}}}"
    modes = {mode.partition(":")[0] for mode in _values(phase, "rw", "read")}
    syncs = any(
        value not in ("", "0") for name in SYNC_OPTIONS for value in _values(phase, name, "0")
    )
    if syncs and not modes <= set(_READ):
        return "{metric: latency, direction: sync, percentile: 99}"
    unified = any(value in ("1", "mixed") for value in _values(phase, "unified_rw_reporting", "0"))
    direction = "mixed"
    if not unified:
        kinds = {"read": _READ, "write": _WRITE, "trim": _TRIM}
        direction = next((name for name, known in kinds.items() if modes <= set(known)), "mixed")
    metric = "bandwidth" if all(map(_is_big, _values(phase, "bs", "4k"))) else "iops"
    return f"{{metric: {metric}, direction: {direction}}}"


def _is_big(block: str) -> bool:
    from tui.model.quantities import parse_size

    try:
        return parse_size(block) >= BIG_BLOCK
    except ValueError:
        return False


# -- check the result


def _check(text: str, phase: JobPhase, file: str) -> None:
    """Load the written profile; raise UsageError with the job file's lines if it is invalid."""
    from tui.model.profile_load import load_profile

    try:
        load_profile(text, file)
    except UsageError as error:
        place = _places(text, phase)
        found = {Problem(problem.message, file, place(problem)) for problem in error.problems}
        raise UsageError(sorted(found, key=lambda problem: problem.line or 0)) from None


def _places(text: str, phase: JobPhase) -> Callable[[Problem], int]:
    """Return a function that maps lines of the YAML to lines of the job file."""
    from tui.model.yaml_text import load

    try:
        document = load(text, "")
    except UsageError:
        return lambda _: phase.line
    lines: dict[int, int] = {}
    for path, (line, _) in document.keys.items():
        if path[:2] == ("fio", "global") and len(path) == 3:
            lines[line] = (
                phase.shared[canonical(str(path[2]))].line
                if canonical(str(path[2])) in phase.shared
                else 1
            )
        elif path[:2] == ("fio", "jobs") and len(path) >= 3:
            job = next(job for job in phase.jobs if job.name == path[2])
            option = job.options.get(canonical(str(path[3]))) if len(path) == 4 else None
            lines[line] = option.line if option else job.line
    return lambda problem: lines.get(problem.line or 0, phase.line)
