"""elbencho's phases: the options that ask for them, and the directions that count their
operations.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

PhaseName = Literal["mkdirs", "write", "stat", "read", "rmfiles", "rmdirs"]
MIXED = "RWMIX"  # what a phase of reads and writes is called begins with it


class Phase(Struct, frozen=True):
    """One phase: its long and short option, and its direction.

    `files`: that of whole files beside I/Os.
    """

    name: PhaseName
    option: str
    short: str
    makes_ios: bool = False

    @property
    def files(self) -> str:
        """The direction of whole files, open to close; empty: the phase has no I/Os beside it."""
        return f"{self.name}-files" if self.makes_ios else ""


PHASES: dict[str, Phase] = {
    each.name: each
    for each in (
        Phase("mkdirs", "mkdirs", "d"),
        Phase("write", "write", "w", makes_ios=True),
        Phase("stat", "stat", ""),
        Phase("read", "read", "r", makes_ios=True),
        Phase("rmfiles", "delfiles", "F"),
        Phase("rmdirs", "deldirs", "D"),
    )
}
"""All phases, in the order in which elbencho runs them."""


def phase_of(printed: str) -> Phase | None:
    """Return a phase by the name that elbencho prints, such as RMFILES or RWMIX70.

    None: it measures nothing.
    """
    return PHASES["write"] if printed.startswith(MIXED) else PHASES.get(printed.lower())
