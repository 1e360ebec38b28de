"""The ini file for IO500, generated from a launch."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Mapping, Sequence

from tui.model.plan import MpiLaunch
from tui.workloads.mpi import REPORTS

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


def settings_of(options: Sequence[str]) -> dict[str, str]:
    """Return the settings of a launch by section and key."""
    return dict(option.split("=", 1) for option in options)


def skipped(settings: Mapping[str, str]) -> list[str]:
    """Return the phases that settings leave out."""
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
