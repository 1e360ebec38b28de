"""Plan the step that runs IO500 over all hosts, and generate its ini file. Pure."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Mapping, Sequence

from tui.metrics import units
from tui.model.address import HostAddress
from tui.model.plan import HostTask, MpiLaunch, Step
from tui.model.problem import Problem, UsageError, did_you_mean
from tui.model.profile import (
    WORDS_FALSE,
    WORDS_TRUE,
    ParamValue,
    Profile,
    expand,
    scalar_text,
)
from tui.model.quantities import parse_duration
from tui.workloads.io500.body import Io500
from tui.workloads.io500.output import PHASES, directions
from tui.workloads.mpi import REPORTS
from tui.workloads.mpi_plan import (
    MOST_RANKS,
    OWN_DIRECTORY,
    launch_of,
    launch_problems,
    launcher_text,
    step_of,
)

VALID_S = 300
LONGEST_S = 86400

TEXTS = ("directory", "ranks_per_host", "program", "addresses", "stonewall", "skip", "drop_caches")
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


def build_steps(
    profile: Profile,
    params: Mapping[str, ParamValue],
    hosts: Sequence[HostAddress],
    seeds: Mapping[str, int],
) -> list[Step]:
    """Return the step of an IO500 profile on these hosts. Raises UsageError."""
    if not isinstance(profile.body, Io500):
        raise UsageError(f"{profile.profile} has no io500: section")
    launch = resolve(profile.profile, profile.body, params)
    text = launch_text(launch, len(hosts))
    own = posixpath.join(launch.directory, OWN_DIRECTORY)
    argv = [launch.program, posixpath.join(own, REPORTS, FILE)]
    tasks = [
        HostTask(
            host.name,
            seeds[host.name],
            text,
            argv,
            writes_bytes=None,
            required_dir=launch.directory,
        )
        for host in hosts
    ]
    return [
        step_of(profile, params, launch, tasks, directions(skipped(settings_of(launch.options))))
    ]


def resolve(tag: str, spec: Io500, params: Mapping[str, ParamValue]) -> MpiLaunch:
    """Return the launch with all parameters resolved.

    Raises UsageError with all problems at once.
    """
    values = {name: scalar_text(value) for name, value in params.items()}
    texts = {name: expand(getattr(spec, name), values).strip() for name in TEXTS}
    settings = {name: expand(value, values).strip() for name, value in spec.settings.items()}
    if found := [*_problems(tag, texts, settings)]:
        raise UsageError(found)
    seconds = int(parse_duration(texts["stonewall"]))
    own = {"global.drop-caches": "TRUE"} if texts["drop_caches"].lower() in WORDS_TRUE else {}
    own |= {"debug.stonewall-time": str(seconds)}
    skip = {f"{name}.run": "FALSE" for name in _names(texts["skip"])}
    options = tuple(f"{name}={value}" for name, value in (own | settings | skip).items())
    return launch_of(spec, texts, values, items=0, iterations=1, stride="", options=options)


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip() not in ("", "none")]


def _problems(tag: str, texts: Mapping[str, str], settings: Mapping[str, str]) -> Iterator[Problem]:
    yield from launch_problems(tag, "io500", texts, {"ranks_per_host": MOST_RANKS})
    try:
        seconds = parse_duration(texts["stonewall"])
    except ValueError:
        seconds = 0.0
    if not (seconds.is_integer() and 1 <= seconds <= LONGEST_S):
        found = texts["stonewall"]
        yield Problem(
            f"{tag}: io500.stonewall: '{found}' is not a whole number of seconds from 1 to"
            f" {LONGEST_S}"
        )
    if texts["drop_caches"].lower() not in (*WORDS_TRUE, *WORDS_FALSE):
        yield Problem(
            f"{tag}: io500.drop_caches: '{texts['drop_caches']}' is neither true nor false"
        )
    for name in _names(texts["skip"]):
        if name not in PHASES:
            meant, known = did_you_mean(name, PHASES), ", ".join(PHASES)
            yield Problem(f"{tag}: io500.skip: '{name}' is not a phase{meant}; allowed: {known}")
    for name, value in settings.items():
        if not value.isprintable():
            yield Problem(
                f"{tag}: io500.settings: {name}: {value[:60]!r} is not one printable line"
            )


def launch_text(launch: MpiLaunch, hosts: int) -> str:
    """Return the launch as text: ranks, phases, reasons why it cannot be submitted, ini file."""
    ranks, settings = launch.ranks(hosts), settings_of(launch.options)
    own = posixpath.join(launch.directory, OWN_DIRECTORY)
    lines = [
        "[io500]",
        f"ranks={units.plural(hosts, 'host')} x {launch.ranks_per_host} = {ranks}",
        f"phases={', '.join(directions(skipped(settings)))}",
        f"stonewall={settings['debug.stonewall-time']} s for each write phase",
        f"launcher={launcher_text(launch, 'IO500')}",
        f"addresses={launch.addresses}",
        *(f"; {text}" for text in not_submittable(settings)),
        f"; ini file, in {posixpath.join(own, REPORTS)}:",
        *ini_text(launch, own).splitlines(),
    ]
    return "\n".join(lines) + "\n"


def not_submittable(settings: Mapping[str, str]) -> list[str]:
    """Return why IO500 will call any result with these settings invalid; empty if it may be
    valid.
    """
    found = []
    if settings["debug.stonewall-time"] != str(VALID_S):
        found.append(
            f"not submittable: the stonewall is {settings['debug.stonewall-time']} s, not"
            f" {VALID_S} s"
        )
    if lost := [name for name in skipped(settings) if name != PHASES[-1]]:
        found.append(f"not submittable: skips {', '.join(lost)}")
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
