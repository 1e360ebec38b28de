"""Trusting host keys: what a host presents, compared with what is on file, and pinning it when somebody says so."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tui.engine.hosts.fan_out import fan_out
from tui.model.plan import HostAddress
from tui.remote.transport import HostError

if TYPE_CHECKING:
    import asyncssh

    from tui.remote.connections import Connections


@dataclass(frozen=True, slots=True)
class PresentedKey:
    """The key a host presents. `known`: the same one is on file already."""

    host: str
    pattern: str
    fingerprint: str
    key: asyncssh.SSHKey
    known: bool


async def presented_key(address: HostAddress, connections: Connections) -> PresentedKey:
    """Return the key that a host presents, without logging in.

    Raises HostError when it cannot be reached, or presents another key than the one on file.
    """
    found = await connections.presented(address)
    return PresentedKey(found.name, found.pattern, found.fingerprint, found.key, found.known)


async def presented_keys(
    addresses: Sequence[HostAddress], connections: Connections
) -> tuple[list[PresentedKey], list[HostError]]:
    """Return the keys of all hosts, and why some gave none."""
    keys, errors = await fan_out({address.name: presented_key(address, connections) for address in addresses})
    return list(keys.values()), list(errors.values())


def pin_keys(presented: Sequence[PresentedKey], known_hosts: Path) -> None:
    """Add keys to the user's own known_hosts file."""
    from tui.remote import hostkeys

    hostkeys.pin(known_hosts, {one.pattern: one.key for one in presented})
