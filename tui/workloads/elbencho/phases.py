"""elbencho's phases: the options that ask for them, and the directions that count their
operations. Phases on objects of a store have the names of their requests.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

PhaseName = Literal[
    "mkdirs", "write", "stat", "read", "rmfiles", "rmdirs", "mkbuckets", "rmobjects", "rmbuckets"
]
MIXED = "RWMIX"  # what a phase of reads and writes is called begins with it


class Phase(Struct, frozen=True):
    """One phase: its long and short option, what elbencho prints it as, and its direction.

    `files`: the direction of whole files or objects beside I/Os; empty: it has no I/Os.
    """

    name: PhaseName
    option: str
    short: str
    printed: str
    direction: str
    files: str = ""

    @property
    def makes_ios(self) -> bool:
        """Whether it has I/Os, or requests that move data."""
        return bool(self.files)


def _by_name(*phases: Phase) -> dict[str, Phase]:
    return {each.name: each for each in phases}


PHASES = _by_name(
    Phase("mkdirs", "mkdirs", "d", "MKDIRS", "mkdirs"),
    Phase("write", "write", "w", "WRITE", "write", "write-files"),
    Phase("stat", "stat", "", "STAT", "stat"),
    Phase("read", "read", "r", "READ", "read", "read-files"),
    Phase("rmfiles", "delfiles", "F", "RMFILES", "rmfiles"),
    Phase("rmdirs", "deldirs", "D", "RMDIRS", "rmdirs"),
)
"""All phases on files, in the order in which elbencho runs them."""

OBJECT_PHASES = _by_name(
    Phase("mkbuckets", "mkdirs", "d", "MKBUCKETS", "mkbuckets"),
    Phase("write", "write", "w", "WRITE", "write", "write-objects"),
    Phase("stat", "stat", "", "HEADOBJ", "head"),
    Phase("read", "read", "r", "READ", "read", "read-objects"),
    Phase("rmobjects", "delfiles", "F", "RMOBJECTS", "trim"),
    Phase("rmbuckets", "deldirs", "D", "RMBUCKETS", "rmbuckets"),
)
"""All phases on objects: DELETE is trim, as of other load generators."""

_PRINTED = {each.printed: each for each in (*OBJECT_PHASES.values(), *PHASES.values())}
_OF_OBJECTS = {**_PRINTED, **{each.printed: each for each in OBJECT_PHASES.values()}}


def phase_of(printed: str, *, objects: bool = False) -> Phase | None:
    """Return a phase by the name that elbencho prints, such as RMFILES or RWMIX70.

    WRITE and READ are of files unless `objects`. None: it measures nothing.
    """
    if printed.startswith(MIXED):
        return PHASES["write"]
    return (_OF_OBJECTS if objects else _PRINTED).get(printed)
