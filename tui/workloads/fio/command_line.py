"""Read the options on a fio command line."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Sequence

from tui.workloads.fio.load_options import REPORTING
from tui.workloads.fio.option_table import by_name, canonical, canonical_names
from tui.workloads.fio.options import JobOptions

# where the load runs, not what it does
PLACEMENT = frozenset((
    "cpus_allowed", "cpus_allowed_policy", "cpumask", "numa_cpu_nodes", "numa_mem_policy", "nice",
))  # fmt: skip
# of fio itself (init.c, l_opts): other jobs, or none
OF_FIO = ("section", "client", "remote-config", "profile", "parse-only", "showcmd")
NO_VALUE = ("readonly", "minimal", "append-terse", "showcmd", "parse-only", "warnings-fatal")


def changing_words(words: Sequence[str]) -> list[str]:
    """Return the words on a command line that change the load: options of jobs, without those that
    only affect where it runs or how fio reports, and further job files.

    fio accepts one or two hyphens, and the beginning of a name (getopt_long_only).
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
    """Return the options that a name or its beginning can mean; empty for those of fio that leave
    the jobs as they are.
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
