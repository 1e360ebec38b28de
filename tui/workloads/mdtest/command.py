"""The mdtest command, and what its options say."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from tui.model.plan import MpiLaunch
from tui.workloads.mdtest.output import ITEM_PHASES

KEEP_FIGURES = ("--saveRankPerformanceDetails", "--savePerOpDataCSV")
ONLY = {"-C": "create", "-T": "stat", "-E": "read", "-r": "remove"}


def arguments(launch: MpiLaunch, stride: str, directory: str) -> list[str]:
    """Return mdtest's arguments: -v for the phases, then as published, the run's own directory last."""
    numbers = ["-v", "-N", stride, "-i", str(launch.iterations), "-n", str(launch.items)]
    return [*numbers, *option_words(launch.options), "-d", directory]


def trial_options(launch: MpiLaunch) -> tuple[str, ...]:
    """Return the options that a trial is launched with: all but those that keep figures in files."""
    return tuple(option for option in launch.options if not option.startswith(KEEP_FIGURES))


def option_words(options: Sequence[str]) -> list[str]:
    """Return options as words: "-w 3901" are two."""
    return [word for option in options for word in shlex.split(option)]


def item_phases(options: Sequence[str]) -> tuple[str, ...]:
    """Return the phases that the command runs over its files, in order."""
    words = option_words(options)
    chosen = [phase for option, phase in ONLY.items() if option in words]
    return tuple(phase for phase in ITEM_PHASES if not chosen or phase in chosen)


def bytes_per_file(options: Sequence[str]) -> int:
    """Return how many bytes each file gets (-w)."""
    words = option_words(options)
    at = words.index("-w") + 1 if "-w" in words else len(words)
    return int(words[at]) if at < len(words) and words[at].isdigit() else 0


def inodes_needed(launch: MpiLaunch, hosts: int) -> int:
    """Return how many files and directories exist at once: one iteration is removed before the next."""
    ranks = launch.ranks(hosts)
    return ranks * launch.items + ranks + 2
