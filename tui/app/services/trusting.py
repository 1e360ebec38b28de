"""Pinning the keys of hosts, once somebody has compared their fingerprints."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from tui.app.dialogs.confirm import Confirm
from tui.model.problem import BenchtuiError

if TYPE_CHECKING:
    from tui.app.frame.base import StepScreen
    from tui.model.address import HostAddress
    from tui.model.paths import Paths
    from tui.remote.hostkeys import Presented
    from tui.remote.transport import HostError
    from tui.remote.vault import Asker

FRAME = 8  # cells of a dialog beside its text


async def presented_keys(
    addresses: Sequence[HostAddress], paths: Paths, ssh_config: Path | None, asker: Asker
) -> tuple[list[Presented], list[HostError]]:
    """Return the keys that hosts present, and what went wrong with others. `asker` is asked for bastions' passwords."""
    from tui.engine.hosts.fan_out import fan_out
    from tui.remote.connections import Connections

    async with Connections(ssh_config=ssh_config, known_hosts=[paths.known_hosts], asker=asker) as connections:
        keys, errors = await fan_out({each.name: connections.presented(each) for each in addresses})
    return list(keys.values()), list(errors.values())


async def ask_to_trust(screen: StepScreen, hosts: Sequence[HostAddress]) -> list[str]:
    """Show the fingerprints of hosts' keys, and pin them once agreed; return the names of those that were pinned."""
    from tui.app.dialogs import log_in
    from tui.engine.user_files import add_lines

    shell, asker = screen.shell, partial(log_in.ask, screen.app)
    keys, errors = await presented_keys(hosts, shell.paths, shell.options.ssh_config, asker)
    for error in errors:
        screen.notify(str(error), severity="error", markup=False)
    new = [key for key in keys if not key.known]
    if keys and not new:
        screen.notify(f"{', '.join(key.name for key in keys)}: trusted already", markup=False)
    if not new or await screen.app.push_screen_wait(trust_question(new)) != "yes":
        return []
    try:
        add_lines(shell.paths.known_hosts, dict.fromkeys(key.line for key in new))
    except BenchtuiError as error:
        screen.notify(str(error), severity="error", markup=False)
        return []
    return [key.name for key in new]


def trust_question(keys: Sequence[Presented]) -> Confirm:
    """Return the question whether to pin keys, with the fingerprint of each."""
    if len(keys) == 1:
        body = f"{keys[0].fingerprint}\n\nCompare it with what the host's console or its admin says."
        return Confirm(f"Trust the key of {keys[0].name}?", body)
    width = max(len(key.name) for key in keys)
    lines = "\n".join(f"{key.name:<{width}}  {key.fingerprint}" for key in keys)
    body = f"Compare each with what the host's console or its admin says.\n\n{lines}"
    return Confirm(f"Trust these {len(keys)} keys?", body, width=max(map(len, lines.splitlines())) + FRAME)
