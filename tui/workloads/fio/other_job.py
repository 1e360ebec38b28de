"""Check that fio ran the planned job: compare the options it printed with the plan's job file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import msgspec
from msgspec import Struct, field

from tui.model.quantities import parse_duration, parse_size
from tui.workloads.fio.option_table import by_name

GLOBAL = "global"


class _Job(Struct):
    name: str = field(name="jobname", default="")
    options: dict[str, str] = field(name="job options", default_factory=dict)


class _Output(Struct):
    shared: dict[str, str] = field(name="global options", default_factory=dict)
    jobs: list[_Job] = field(default_factory=list)


_DECODER = msgspec.json.Decoder(_Output)


def contradictions(job_file: str, printed: bytes) -> list[str]:
    """Return ``bs=1k (job file: 4k)`` for each option that fio printed differently from the job
    file.

    Skips options that only one side has, and those that fio expands (``$jobname``). `printed` is a
    status object.
    """
    try:
        output = _DECODER.decode(printed)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return []
    given = sections(job_file)
    names = [name for name, _ in given]
    told: list[str] = []
    for job in output.jobs:
        if names and job.name not in names and not any("$" in name for name in names):
            told.append(f"a job [{job.name}] that the job file does not have")
        # a group is reported by the name of its first job and the options of its last one
        as_given = sorted(
            ([*_differing(options, output.shared | job.options)] for _, options in given), key=len
        )
        told += as_given[0] if as_given else []
    return list(dict.fromkeys(told))


def sections(job_file: str) -> list[tuple[str, dict[str, str]]]:
    """Return name and options of each job of a job file as written, merged with [global]."""
    shared: dict[str, str] = {}
    found: list[tuple[str, dict[str, str]]] = []
    current = shared
    for line in map(str.strip, job_file.splitlines()):
        if line == f"[{GLOBAL}]":
            current = shared
        elif line.startswith("[") and line.endswith("]"):
            current = {**shared}
            found.append((line[1:-1], current))
        elif line and line[0] not in ";#":
            name, _, value = line.partition("=")
            current[name.strip()] = value.strip()
    return found


def _differing(given: Mapping[str, str], printed: Mapping[str, str]) -> Iterator[str]:
    for name, value in given.items():
        told = printed.get(name)
        if told is not None and "$" not in value and _meaning(name, told) != _meaning(name, value):
            yield f"{name}={told.strip()} (job file: {value})"


def _meaning(name: str, value: str) -> object:
    """Return the value as fio interprets it: 64M, 64m and 67108864 are equal, like 4s and 4."""
    option = by_name().get(name, {})
    kind = option.get("type", "text")
    value = value.strip()
    try:
        if kind == "time":
            return _seconds(value, per_unit=1.0 if option.get("seconds") else 1e-6)
        if kind in ("int", "size", "zone", "range"):
            return [[parse_size(part) for part in each.split("-")] for each in value.split(",")]
    except ValueError:  # a share of the file, a calculation, a list of zones
        pass
    if kind in ("bool", "set"):
        return value or "1"
    return value


def _seconds(value: str, per_unit: float) -> float:
    """Return seconds.

    A number without a unit is in the option's unit (options.c, .is_seconds).
    """
    return round(int(value) * per_unit if value.isdecimal() else parse_duration(value), 6)
