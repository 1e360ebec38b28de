"""Hosts: add hosts to the inventory, and remove them again."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from tui.app.dialogs.confirm import Confirm
from tui.app.frame.step_screen import StepScreen
from tui.app.services.preflight import add_to_inventory
from tui.model import hostspec
from tui.model.problem import UsageError
from tui.text.host_texts import NOT_IN_INVENTORY, REMOVE_ENTRY, REMOVE_NONE, removal

if TYPE_CHECKING:
    from tui.app.dialogs.forms import NewHosts
    from tui.app.screens.hosts_list import KnownHost


def add(screen: StepScreen, known: frozenset[str], then: Callable[[str], object]) -> None:
    """Ask for new hosts, add them to the inventory and tick them; `then` gets the first one's name.

    `known`: names that are taken.
    """
    from tui.app.dialogs.forms import AddHost

    async def accept(hosts: NewHosts | None) -> None:
        if hosts is not None:
            add_to_inventory(screen.shell.inventory_file, hosts)

    def take(hosts: NewHosts | None) -> None:
        if hosts is None:
            return
        screen.shell.forget_fleet()
        names = [name for spec in hosts.specs for name in hostspec.expand(spec)]
        for name in names:
            screen.shell.selection.put(name, server=False)
        then(names[0])

    screen.app.push_screen(AddHost(known).accepting(accept), take)


def remove(screen: StepScreen, host: KnownHost | None, then: Callable[[], object]) -> None:
    """Ask, then remove the inventory's entry of a host and untick its hosts; call `then`."""
    from tui.engine.inputs.hosts import entry_of, remove_entry

    path, selection = screen.shell.inventory_file, screen.shell.selection
    if host is None or host.origin != "inventory":
        why = NOT_IN_INVENTORY.format(host=host.name, origin=host.origin) if host else REMOVE_NONE
        screen.notify(why, severity="warning")
        return
    try:
        entry = entry_of(path, host.name)
    except UsageError as error:
        screen.notify(str(error), severity="error")
        return
    names = hostspec.expand(entry)

    def answered(answer: str | None) -> None:
        if answer != "yes":
            return
        try:
            remove_entry(path, entry)
        except UsageError as error:
            screen.notify(str(error), severity="error")
            return
        for name in names:
            selection.put(name, server=None)
            selection.checks.pop(name, None)
        screen.shell.forget_fleet()
        then()

    title = REMOVE_ENTRY.format(entry=entry)
    screen.app.push_screen(Confirm(title, removal(names, str(path)), warns=True), answered)
