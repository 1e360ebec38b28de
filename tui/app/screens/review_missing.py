"""Review without hosts or without a profile: the keys to continue."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from textual.content import Content

from tui.app.services.resuming import known_hosts
from tui.app.terminal import actions
from tui.app.terminal.action import key_name
from tui.model.plain import some
from tui.model.problem import BenchtuiError

if TYPE_CHECKING:
    from tui.app.frame.shell import AppShell

Way = tuple[str, str, str]
"""A key, its label in the footer, and its description."""
RECENT = 20  # newest runs searched for one whose hosts all exist


def missing_keys(shell: AppShell) -> list[Way]:
    """Return the ways to continue, the usual one first."""
    selection = shell.selection
    if selection.ticked:
        return [("2", "profiles", "choose a profile first")]
    first = "choose hosts first"
    if selection.servers:
        first = f"choose a host that generates load; only monitored: {some(selection.servers)}"
    ways = [("1", "hosts", first), way("review.local", "run on this machine")]
    if names := last_hosts(shell):
        ways.append(way("review.last-hosts", f"run on the last run's hosts: {some(names)}"))
    return ways


def way(action_id: str, says: str) -> Way:
    """Return an action of this screen as a way to continue; `says` describes it."""
    action = next(each for each in actions.in_scope("review") if each.id == action_id)
    return key_name(action.keys[0]), action.label, says


def missing_content(ways: Sequence[Way]) -> Content:
    """Return the ways to continue, one per line."""
    return Content("\n").join(
        [Content.assemble((key, "bold $accent"), f" {says}") for key, _, says in ways]
    )


def last_hosts(shell: AppShell) -> list[str]:
    """Return the hosts of the newest run whose hosts all still exist.

    Empty if there is none.
    """
    try:
        for run in shell.store.list(RECENT):
            names, gone = known_hosts(run.hosts, shell.fleet)
            if names and not gone:
                return names
    except BenchtuiError:
        pass  # Runs and Hosts say why
    return []
