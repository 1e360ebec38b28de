"""The interface of a source of hosts: an entry point of the group `benchtui.sources` is a class of
it.

A source turns a text, what is behind ``NAME:`` of a SPEC, into hosts. It may read files and run
commands, within the limits of `SourceContext`. It never logs in to a host."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from tui.model.address import HostAddress
from tui.model.problem import UsageError

TIME_LIMIT_S = 60.0  # of one source; what a scheduler makes us wait for is not counted
MOST_OUTPUT = 16 << 20  # bytes of what a command prints


def unheard(_text: str) -> None:
    """Nobody wants to know."""


class SourceContext(NamedTuple):
    """What a source may use.

    `tell` takes a line about what it is waiting for; `may_allocate`: for a run or a check.
    """

    environ: Mapping[str, str]
    directory: Path  # relative names are below it
    tell: Callable[[str], None] = unheard
    may_allocate: bool = False
    time_limit_s: float = TIME_LIMIT_S

    @classmethod
    def here(cls) -> SourceContext:
        """Return the environment and the directory of this process."""
        return cls(dict(os.environ), Path.cwd())


class FoundHosts(NamedTuple):
    """What a source resolved to, in its order.

    `hosts` are known because the source says so; None in an address means: as the inventory or
    ~/.ssh/config says. `specs` are SPECs, resolved as if they were typed. `how` says by
    what: ``ansible-inventory 2.19.1``.
    """

    hosts: tuple[HostAddress, ...] = ()
    specs: tuple[str, ...] = ()
    how: str = ""
    left_s: float | None = None  # seconds until its hosts are taken away
    notes: tuple[str, ...] = ()  # what to know before a run


class HostSource:
    """A source of hosts.

    `form`: how it is typed, ``ansible:FILE[:GROUP]``; `title`: what it gives, in a line.
    """

    form: str = ""
    title: str = ""
    takes_files: bool = False  # a path is typed behind the colon: completed as one

    def find(self, text: str, context: SourceContext) -> FoundHosts:
        """Return the hosts of what is behind ``NAME:``.

        Raises UsageError, a line with what is wrong and allowed.
        """
        raise NotImplementedError

    def complete(self, text: str, context: SourceContext) -> Iterable[str]:
        """Return completions of what is typed behind ``NAME:``.

        Runs no command: this runs at every Tab.
        """
        return ()

    def state(self, context: SourceContext) -> str:
        """Return what it works with here, for `doctor`.

        Empty when it needs nothing: ``not installed: kubectl``.
        """
        return ""


def wrong(form: str, why: str) -> UsageError:
    """Return what to say of a text that a source does not take."""
    return UsageError(f"{why}; allowed is {form}")
