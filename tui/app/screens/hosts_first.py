"""Hosts while nothing is chosen: what to do first, what each screen is for, and the presets."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from tui.engine.inputs.profile_texts import group_of, groups
from tui.model.paths import presets_dir
from tui.text.line import (
    ACCENT,
    BRIGHT,
    LABEL,
    TEXT,
    VALUE,
    Line,
    Run,
    labelled,
    rule,
    whole_names,
    width_of,
    width_of_runs,
)

WHAT_NOW = (  # the first one is what a new user does
    ("Enter", "benchmark this machine: ticks it and lists the profiles"),
    ("J", "describe a job: pattern, block size, jobs, queue depth, target"),
    ("n", "add a host; the inventory and ~/.ssh/config list none"),
    ("?", "show all keys"),
)
WITH_HOSTS = (
    ("Space", "tick the host or group under the cursor; press a to tick all"),
    ("J", "then describe a job: pattern, block size, jobs, queue depth, target"),
    ("Enter", "or choose one of the profiles, such as demo/quick"),
)
THE_WAY = (
    ("1", "Hosts", "choose the machines that generate load"),
    ("2", "Profiles", "choose what to run: a preset or a profile of your own"),
    ("3", "Review", "see its commands, files, bytes and time; Enter starts it"),
    ("4", "Live", "watch rates, latencies and slow hosts"),
    ("5", "Result", "figures, verdict and bottleneck"),
    ("6", "Runs", "all saved runs, to compare, report and export"),
)
GAP = 2
BASELINES = "baselines"  # a folder beside the families


def first_lines(width: int, room: int) -> list[Line]:
    """Return what to do first, what each screen is for and, in `room` lines, the presets.

    If not all presets fit, each group has one line; if the groups do not fit, none are shown.
    """
    now = start_lines(WHAT_NOW, width)
    lines = [rule("Start here", "", width), *now, Line(), *the_way(width)]
    for brief in (False, True):
        presets = [Line(), *preset_lines(width, brief=brief)]
        if len(lines) + len(presets) <= room:
            lines += presets
            break
    return [Line(), *lines] if len(lines) < room else lines


@cache
def preset_tags() -> list[str]:
    """Return the tags of all presets, which are the paths of their files.

    Leaves out published results.
    """
    folder = presets_dir()
    found = (path.relative_to(folder) for path in folder.glob("*/*.yaml"))
    return sorted(str(path.with_suffix("")) for path in found if path.parts[0] != BASELINES)


def preset_lines(width: int, *, brief: bool) -> list[Line]:
    """Return the presets by what they measure; `brief`: one line per group, truncated to fit."""
    tags = preset_tags()
    found: dict[str, list[str]] = {name: [] for name in groups()}
    for tag in tags:
        found.setdefault(group_of(tag, preset=True), []).append(tag)
    column = max(map(width_of, found)) + GAP
    lines = [rule("Presets", f"{len(tags)}", width)]
    for name, members in found.items():
        label = [(f"{name:<{column}}", BRIGHT), (f"{len(members):>3}  ", LABEL)]
        names: list[Run] = [("  ".join(members), LABEL)]
        if members and brief:
            room = width - width_of_runs(label)
            lines.append(Line.of(*label, (whole_names(members, room, "  "), LABEL)))
        elif members:
            lines += labelled(label, names, width)
    return lines


def start_lines(steps: Sequence[tuple[str, str]], width: int) -> list[Line]:
    """Return what the user can do now, by key, the usual step first."""
    return [
        line
        for place, (key, does) in enumerate(steps)
        for line in labelled([(key, ACCENT)], [(does, TEXT if place else VALUE)], width, 7)
    ]


def the_way(width: int) -> list[Line]:
    """Return what each screen is for."""
    return [
        line
        for key, screen, does in THE_WAY
        for line in labelled(
            [(f"{key:<7}", LABEL), (f"{screen:<8}", TEXT)], [(does, LABEL)], width, 17
        )
    ]
