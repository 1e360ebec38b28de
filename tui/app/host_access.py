"""What the Hosts screen does to hosts and their files: checking, reading a key, pinning it, adding one."""

from __future__ import annotations

import asyncio
import io
import os
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tui.model.problem import UsageError

if TYPE_CHECKING:
    import asyncssh

    from tui.app.screens.host_forms import NewHost
    from tui.engine.fleet import HostCheck
    from tui.model.paths import Paths
    from tui.model.plan import HostAddress


@dataclass(frozen=True, slots=True)
class PresentedKey:
    """The key a host presents. `known`: the same one is on file already."""

    host: str
    pattern: str
    fingerprint: str
    key: asyncssh.SSHKey
    known: bool


async def check_each(
    addresses: Sequence[HostAddress], directory: str | None, paths: Paths, ssh_config: Path | None
) -> AsyncIterator[HostCheck]:
    """Look at all hosts at once and yield what was found as it comes."""
    from tui.engine.fleet import check_host
    from tui.remote.connections import Connections

    async with Connections(ssh_config=ssh_config, known_hosts=[paths.known_hosts]) as connections:
        tasks = [asyncio.create_task(check_host(address, directory, connections)) for address in addresses]
        try:
            for task in asyncio.as_completed(tasks):
                yield await task
        finally:
            for pending in tasks:
                pending.cancel()


async def presented_key(address: HostAddress, paths: Paths, ssh_config: Path | None) -> PresentedKey:
    """Return the key that a host presents, without logging in.

    Raises HostError when it cannot be reached, or presents another key than the one on file.
    """
    from tui.remote import hostkeys
    from tui.remote.connections import Connections

    async with Connections(ssh_config=ssh_config, known_hosts=[paths.known_hosts]) as connections:
        target = connections.resolve(address)
        key = await hostkeys.collect(target, await connections.tunnel(target))
        on_file = hostkeys.known_keys(target, connections.keyring.known_hosts(target))
        if on_file and key not in on_file:
            raise hostkeys.changed(target, key, on_file)
        return PresentedKey(address.name, hostkeys.pattern(target), hostkeys.fingerprint(key), key, key in on_file)


def pin_key(presented: PresentedKey, paths: Paths) -> None:
    """Add a key to the user's own known_hosts file."""
    from tui.remote import hostkeys

    hostkeys.pin(paths.known_hosts, {presented.pattern: presented.key})


def add_to_inventory(path: Path, host: NewHost) -> None:
    """Add a host to an inventory file, made when there is none; comments stay.

    Raises UsageError before anything is written when the file is broken or would become so.
    """
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    from tui.model.inventory import load_inventory

    yaml = YAML()
    try:
        before = path.read_text(encoding="utf-8") if path.exists() else ""
        load_inventory(before, str(path))  # a broken file is told with its place, and left alone
        data: Any = yaml.load(before) or {}
        if data.get("hosts") is None:
            data["hosts"] = {}
        data["hosts"][host.name] = host_entry(host)
        out = io.StringIO()
        yaml.dump(data, out)
        load_inventory(out.getvalue(), str(path))
        write_private(path, out.getvalue())
    except YAMLError as error:
        raise UsageError(f"{path}: {error}") from error
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from error


def host_entry(host: NewHost) -> dict[str, Any]:
    """Return a host as the inventory writes it: what is not said is left out."""
    fields = {"address": host.address, "user": host.user, "port": host.port, "groups": list(host.groups) or None}
    return {name: value for name, value in fields.items() if value is not None}


def write_private(path: Path, text: str) -> None:
    """Replace a file in one piece; a new one is readable by the user alone."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    mode = path.stat().st_mode & 0o777 if path.exists() else 0o600
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode), "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)
