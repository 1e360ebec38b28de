"""Plan the step that runs IO500 over all hosts, and generate its ini file. Pure."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Mapping, Sequence

from tui.model.operands import Clause, clause
from tui.model.plan import MpiLaunch
from tui.model.problem import did_you_mean
from tui.model.profile import WORDS_TRUE, expand
from tui.text.form import Text, worded_from
from tui.workloads.io500.body import Io500
from tui.workloads.io500.output import PHASES, directions
from tui.workloads.mpi import REPORTS
from tui.workloads.mpi_plan import (
    MOST_RANKS,
    OWN_DIRECTORY,
    MpiPlan,
    flag_problems,
    launch_of,
    launch_problems,
    refuse,
    seconds_given,
    seconds_problem,
    texts_of,
)

VALID_S = 300
FILE = "benchtui.ini"  # IO500 writes config.ini beside it
# one I/O and one file; phases of mdtest take a second each, and files go with their directory
TRIAL = {
    "ior-easy.transfersize": "64k",
    "ior-easy.blocksize": "64k",
    "ior-hard.segmentcount": "1",
    "mdtest-easy.n": "1",
    "mdtest-hard.n": "1",
    "debug.stonewall-time": "1",
}


def resolve(tag: str, spec: Io500, values: Mapping[str, str]) -> MpiLaunch:
    """Return the launch with all parameters resolved.

    Raises UsageError with all problems at once.
    """
    texts = texts_of(spec, ("stonewall", "skip", "drop_caches"), values)
    settings = {name: expand(value, values).strip() for name, value in spec.settings.items()}
    refuse(tag, "io500", _problems(texts, settings))
    seconds = seconds_given(texts["stonewall"])
    own = {"global.drop-caches": "TRUE"} if texts["drop_caches"].lower() in WORDS_TRUE else {}
    own |= {"debug.stonewall-time": str(seconds)}
    skip = {f"{name}.run": "FALSE" for name in _names(texts["skip"])}
    options = tuple(f"{name}={value}" for name, value in (own | settings | skip).items())
    return launch_of(spec, texts, values, items=0, stride="", options=options)


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip() not in ("", "none")]


def _problems(texts: Mapping[str, str], settings: Mapping[str, str]) -> Iterator[str]:
    yield from launch_problems("io500", texts, {"ranks_per_host": MOST_RANKS})
    yield from seconds_problem(texts, "stonewall", 1)
    yield from flag_problems(texts, ["drop_caches"])
    for name in _names(texts["skip"]):
        if name not in PHASES:
            meant, known = did_you_mean(name, PHASES), ", ".join(PHASES)
            yield f"skip: '{name}' is not a phase{meant}; allowed: {known}"
    for name, value in settings.items():
        if not value.isprintable():
            yield f"settings: {name}: {value[:60]!r} is not one printable line"


def _work(launch: MpiLaunch, _hosts: int) -> Iterator[str]:
    seconds = settings_of(launch.options)["debug.stonewall-time"]
    yield f"stonewall={seconds} s for each write phase"


def _notes(launch: MpiLaunch, _hosts: int) -> Iterator[str]:
    """Yield reasons why the result cannot be submitted, and the ini file."""
    own = posixpath.join(launch.directory, OWN_DIRECTORY)
    why = not_submittable(settings_of(launch.options))
    yield from (f"; {worded_from(NOT_SUBMITTABLE, told)}" for told in why)
    yield f"; ini file, in {posixpath.join(own, REPORTS)}:"
    yield from ini_text(launch, own).splitlines()


NOT_SUBMITTABLE: Mapping[str, Text] = {
    "other-stonewall": "not submittable: the stonewall is {seconds} s, not {valid_s} s",
    "skips": "not submittable: skips {phases:all}",
}


def not_submittable(settings: Mapping[str, str]) -> list[Clause]:
    """Return why IO500 will call any result with these settings invalid; empty if it may be
    valid.
    """
    found = []
    if (seconds := settings["debug.stonewall-time"]) != str(VALID_S):
        found.append(clause("other-stonewall", seconds=seconds, valid_s=VALID_S))
    if lost := [name for name in skipped(settings) if name != PHASES[-1]]:
        found.append(clause("skips", phases=lost))
    return found


def settings_of(options: Sequence[str]) -> dict[str, str]:
    """Return the settings of a launch by section and key."""
    return dict(option.split("=", 1) for option in options)


def skipped(settings: Mapping[str, str]) -> list[str]:
    """Return the phases that the settings disable."""
    return [
        name.removesuffix(".run")
        for name, value in settings.items()
        if name.endswith(".run") and value == "FALSE"
    ]


def ini_text(launch: MpiLaunch, directory: str) -> str:
    """Return the ini file of a launch that works in `directory`."""
    own = {
        "global.datadir": posixpath.join(directory, "data"),
        "global.resultdir": posixpath.join(directory, REPORTS),
        "global.timestamp-datadir": "FALSE",
        "global.timestamp-resultdir": "FALSE",
    }
    return "\n".join(_lines({**own, **settings_of(launch.options)})) + "\n"


def _lines(settings: Mapping[str, str]) -> Iterator[str]:
    sections: dict[str, list[str]] = {}
    for name, value in settings.items():
        section, _, key = name.partition(".")
        sections.setdefault(section, []).append(f"{key} = {value}")
    for section, lines in sections.items():
        yield f"[{section}]"
        yield from lines


PLAN = MpiPlan(
    resolve=resolve,
    phases=lambda launch: directions(skipped(settings_of(launch.options))),
    arguments=lambda _launch, directory: [posixpath.join(directory, REPORTS, FILE)],
    bytes_per_rank=lambda _launch: None,
    work=_work,
    notes=_notes,
)
