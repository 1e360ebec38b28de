"""Review without hosts or a profile: the keys that lead on."""

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
"""A key, its name in the footer, and what it leads to."""
RECENT = 20  # runs that are looked at for one whose hosts are all known


def missing_keys(shell: AppShell) -> list[Way]:
    """Return how to go on, what comes first before what takes a shorter way."""
    selection = shell.selection
    if selection.ticked:
        return [("2", "profiles", "choose a profile first")]
    first = "choose hosts first"
    if selection.servers:
        first = f"choose a host that generates load; only looked at: {some(selection.servers)}"
    ways = [("1", "hosts", first), way("review.local", "run on this machine")]
    if names := last_hosts(shell):
        ways.append(way("review.last-hosts", f"run on the hosts of the last run: {some(names)}"))
    return ways


def way(action_id: str, says: str) -> Way:
    """Return a way that is an action of this screen."""
    action = next(each for each in actions.in_scope("review") if each.id == action_id)
    return key_name(action.keys[0]), action.label, says


def missing_content(ways: Sequence[Way]) -> Content:
    """Return the ways under each other."""
    return Content("\n").join(
        [Content.assemble((key, "bold $accent"), f" {says}") for key, _, says in ways]
    )


def last_hosts(shell: AppShell) -> list[str]:
    """Return the hosts of the newest run whose hosts are all known; nothing when there is none."""
    try:
        for run in shell.store.list(RECENT):
            names, gone = known_hosts(run.hosts, shell.fleet)
            if names and not gone:
                return names
    except BenchtuiError:
        pass  # Runs and Hosts say why
    return []
