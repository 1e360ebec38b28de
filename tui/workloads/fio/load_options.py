"""Options that affect the figures of an imported load, in one notation; options of a fio command
line.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence

from tui.model.quantities import parse_duration, parse_size, plain_duration, plain_size
from tui.workloads.base import LoadOptions
from tui.workloads.fio.option_table import (
    ACCESS,
    OWN,
    PLACES,
    SECRETS,
    TARGETS,
    by_name,
    canonical,
    canonical_names,
    is_log,
)
from tui.workloads.fio.options import JobOptions

DEFAULTS = {
    "rw": "read",
    "ioengine": "psync",
    "bs": "4k",
    "iodepth": "1",
    "numjobs": "1",
    "direct": "0",
    "rwmixread": "50",
    "random_distribution": "random",
    "randrepeat": "1",
    "invalidate": "1",
    "nrfiles": "1",
    "loops": "1",
    "scramble_buffers": "1",
    "stats": "1",
}
"""fio's own defaults (options.c), which an output need not name. All others are 0 or none."""
SHOWN = ("rw", "ioengine", "bs", "iodepth", "numjobs", "direct")  # with their defaults, too
REPORTING = frozenset((
    *(name for name in OWN if name.startswith("write_")), "description", "per_job_logs",
    "log_entries", "log_avg_msec", "log_hist_msec", "log_hist_coarseness",
    "log_window_value", "log_offset", "log_prio", "log_issue_time", "log_compression",
    "log_compression_cpus", "log_store_compressed", "log_alternate_epoch", "log_unix_epoch",
    "log_alternate_epoch_clock_id", "log_max_value", "bwavgtime", "iopsavgtime",
    "group_reporting",
    "block_error_percentiles", "clat_percentiles", "lat_percentiles", "slat_percentiles",
    "percentile_list", "significant_figures", "disk_util", "unified_rw_reporting", "error_dump",
    "kb_base", "unit_base", "job_start_clock_id",
    "output", "output-format", "eta", "eta-newline", "eta-interval", "status-interval", "minimal",
    "append-terse", "terse-version", "bandwidth-log", "aux-path", "max-jobs",
))  # fmt: skip
"""Options that only affect how fio reports."""
NOT_OF_THE_LOAD = REPORTING | frozenset((
    *PLACES, *ACCESS, *OWN, *SECRETS, *(name for names in TARGETS.values() for name in names),
    "name", "comm", "randseed", "unique_filename", "allow_file_create",
    "allow_mounted_write", "create_serialize", "create_only", "wait_for", "stonewall", "new_group",
    "stats", "exitall", "exit_what", "exitall_on_error", "client", "server",
))  # fmt: skip
"""Names, places, and options that only affect how fio reports."""
SAME = {
    "rw": {"readwrite": "rw"},
    "ioengine": {"aio": "libaio", "linuxaio": "libaio"},
}
"""Values with several names."""
SIZES = ("bs", "ba", "zoneskip", "buffer_compress_chunk")  # of type int in fio's table
UNPRINTED = "set"  # type of options such as time_based, which JSON omits if they have no value
_PARTS = re.compile(r"([-,:])")
FALSE = ("", "0", "false", "no")


def load_options(jobs: Sequence[JobOptions], *, complete: bool = True) -> LoadOptions | None:
    """Return the options of jobs that affect their figures; None without jobs.

    An option that jobs set differently has one value per job, in their order. `complete`: options
    that are not set have fio's defaults.
    """
    if not jobs:
        return None
    each = [_values(job) for job in jobs]
    names = dict.fromkeys(name for one in each for name in one)
    shown = [name for name in SHOWN if complete or all(job.get(name) for job in jobs)]
    values = {name: _joined(name, each) for name in (*shown, *names)}
    return LoadOptions(dict(sorted(values.items())), complete)


def _joined(name: str, each: Sequence[Mapping[str, str]]) -> str:
    values = [one.get(name, DEFAULTS.get(name, "0")) for one in each]
    return values[0] if len(set(values)) == 1 else ", ".join(values)


def _values(job: JobOptions) -> dict[str, str]:
    """Return a job's options by fio's own names, except those that equal fio's defaults."""
    given = {canonical(name): str(value) for name, value in [*job.shared.items(), *job.own.items()]}
    if "buffered" in given:
        given.setdefault("direct", "0" if given.pop("buffered").lower() not in FALSE else "1")
    found = {
        name: _plain(name, value.strip())
        for name, value in given.items()
        if name not in NOT_OF_THE_LOAD and not is_log(name) and _kind(name) != UNPRINTED
    }
    return {
        name: value
        for name, value in found.items()
        if value != _plain(name, DEFAULTS.get(name, "0"))
    }


def _kind(name: str) -> str:
    return str(by_name().get(name, {}).get("type", ""))


def _plain(name: str, value: str) -> str:
    """Return a value in one notation: ``4k`` for 4096, ``60s`` for 1m, ``1`` for a flag."""
    kind = _kind(name)
    if kind == "bool":
        return "0" if value.lower() in FALSE[1:] else "1"
    if name in SAME:
        return SAME[name].get(value.lower(), value.lower())
    if value == "" or kind not in ("int", "size", "range", "zone", "time"):
        return value
    return "".join(
        each if _PARTS.fullmatch(each) else _number(name, kind, each)
        for each in _PARTS.split(value)
    )


def _number(name: str, kind: str, text: str) -> str:
    try:
        if kind == "time":
            in_seconds = by_name()[name].get("seconds") or not text.isdecimal()
            return plain_duration(parse_duration(text if in_seconds else f"{text}us"))
        number = parse_size(text)
    except ValueError:
        return text
    return str(number) if kind == "int" and name not in SIZES else plain_size(number)


# where the load runs, not what it does
PLACEMENT = frozenset((
    "cpus_allowed", "cpus_allowed_policy", "cpumask", "numa_cpu_nodes", "numa_mem_policy", "nice",
))  # fmt: skip
# options of fio itself that select other jobs, or none (init.c, l_opts)
OF_FIO = ("section", "client", "remote-config", "profile", "parse-only", "showcmd")
NO_VALUE = ("readonly", "minimal", "append-terse", "showcmd", "parse-only", "warnings-fatal")


def changing_words(words: Sequence[str]) -> list[str]:
    """Return the words on a command line that change the load: further job files, and options of
    jobs except those that only affect where they run or how fio reports.

    fio accepts one or two hyphens, and abbreviated names (getopt_long_only).
    """
    found: list[str] = []
    value_changes = True  # a word that is no option's value is a job file
    for word in words:
        if not word.startswith("-"):
            changes, value_changes = value_changes, True
        else:
            name, equals, _ = word.lstrip("-").partition("=")
            meant = _meant(name)
            changes = bool(meant - REPORTING - PLACEMENT)
            value_changes = changes or bool(equals) or _has_no_value(meant or {name})
        if changes:
            found.append(word)
    return found


def _meant(name: str) -> set[str]:
    """Return the options that a name or an abbreviation can mean; empty for fio's options that
    leave the jobs unchanged.
    """
    known = (*canonical_names(), *OF_FIO)
    found = [name] if name in known else [each for each in known if name and each.startswith(name)]
    return {canonical(each) for each in found}


def _has_no_value(names: Iterable[str]) -> bool:
    kinds = by_name()
    return all(
        name in NO_VALUE or kinds.get(name, {}).get("type") in ("set", "bool") for name in names
    )


def command_options(command: str) -> list[JobOptions]:
    """Return the jobs of a command line; options before the first --name are global.

    Empty if it names no job, or cannot be parsed.
    """
    try:
        words = shlex.split(command)
    except ValueError:
        return []
    shared: dict[str, str] = {}
    jobs: list[tuple[str, dict[str, str]]] = []
    for name, value in _words(words):
        if name == "name":
            jobs.append((value, {}))
        elif name.startswith(("output", "eta", "status-interval")):
            continue
        else:
            (jobs[-1][1] if jobs else shared)[name] = value
    return [JobOptions(name, shared, own) for name, own in jobs]


def _words(words: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield the options of a command line with their values: ``-bs=8k``, ``--bs=8k``, ``-iodepth
    1``, ``-thread``.
    """
    for place, word in enumerate(words):
        if not word.startswith("-"):
            continue
        name, equals, value = word.lstrip("-").partition("=")
        following = words[place + 1] if place + 1 < len(words) else "-"
        yield name, value if equals else "1" if following.startswith("-") else following
