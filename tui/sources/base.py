"""The interface of host sources, and the registry that finds them by entry point.

A source is a class in the entry point group `benchtui.sources`. It turns the part of a SPEC after
``NAME:`` into hosts. It may read files and run commands, within the limits of `SourceContext`. It
never logs in to a host.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from tui.model.address import HostAddress
from tui.model.operands import Clause
from tui.model.problem import UsageError
from tui.model.tool import EntryPoint, installed_in, load_from

TIME_LIMIT_S = 60.0  # per source; waiting for a scheduler is not counted
MOST_OUTPUT = 16 << 20  # bytes of a command's output
GROUP = "benchtui.sources"


def ignore_message(_text: str) -> None:
    """Ignore a progress message."""


class SourceContext(NamedTuple):
    """What a source may use: environment, directory and limits.

    `tell` shows a line about what the source is waiting for. `may_allocate`: the source may
    allocate hosts, because they are for a run or a check. `pretends`: the source allocates nothing;
    it returns made-up names for the hosts that it would request, and `left_s` as requested.
    """

    environ: Mapping[str, str]
    directory: Path  # base of relative paths
    tell: Callable[[str], None] = ignore_message
    may_allocate: bool = False
    pretends: bool = False
    time_limit_s: float = TIME_LIMIT_S

    @classmethod
    def here(cls) -> SourceContext:
        """Return a context with the environment and working directory of this process."""
        return cls(dict(os.environ), Path.cwd())


class FoundHosts(NamedTuple):
    """The hosts that a source found, in its order.

    `hosts` have addresses from the source; a field that is None is left to the inventory or
    ~/.ssh/config. `specs` are SPECs, resolved as if they were typed. `how` names the tool:
    ``ansible-inventory 2.19.1``.
    """

    hosts: tuple[HostAddress, ...] = ()
    specs: tuple[str, ...] = ()
    how: str = ""
    left_s: float | None = None  # seconds until the allocation ends
    # worth knowing before a run; a code of tui/text/plan_texts.py, or a text of another package
    notes: tuple[Clause | str, ...] = ()


class HostSource:
    """The interface of a source of hosts.

    `form`: its syntax, ``ansible:FILE[:GROUP]``. `title`: what it provides, in one line.
    """

    form: str = ""
    title: str = ""
    takes_files: bool = False  # the text after the colon is completed as a path

    def find(self, text: str, context: SourceContext) -> FoundHosts:
        """Return the hosts for the text after ``NAME:``.

        Raises UsageError: one line that says what is wrong and what is allowed.
        """
        raise NotImplementedError

    def allocates(self, text: str) -> bool:
        """Return whether `find` allocates hosts for this text.

        If so, `find` is called after all other hosts of the command line have been found.
        """
        return False

    def complete(self, text: str, context: SourceContext) -> Iterable[str]:
        """Return completions of the text after ``NAME:``.

        Called at every Tab, so it must not run a command.
        """
        return ()

    def state(self, context: SourceContext) -> str:
        """Return the state of the tool that the source needs, for `doctor`: its path, or a note
        such as ``kubectl is not installed``.

        Empty if the source needs no tool.
        """
        return ""


def wrong(form: str, why: str) -> UsageError:
    """Return the error for a text that a source does not accept."""
    return UsageError(f"{why}; allowed: {form}")


def installed_sources() -> dict[str, EntryPoint]:
    """Return the entry points of all sources by name, without importing them."""
    return installed_in(GROUP)


def load_source(name: str) -> HostSource:
    """Load a source by name.

    Raises UsageError if the name is unknown or the import fails.
    """
    error = (f"unknown source '{name}'", "only a port may follow a host name, HOST:22; sources")
    found: HostSource = load_from(GROUP, name, "source", error, made=True)
    return found
