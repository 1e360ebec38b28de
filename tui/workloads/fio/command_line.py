"""Read the options on a fio command line."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence

from tui.workloads.fio.options import JobOptions


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
