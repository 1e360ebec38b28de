"""How to reach a host: the address in inventories and plans."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct


class HostAddress(Struct, frozen=True, omit_defaults=True):
    """How to reach one host. None means the value in ~/.ssh/config, or ssh's default."""

    name: str
    # transport: ssh, local, exec, slurm, or one from another package
    transport: str = "ssh"
    # exec: the command that starts a shell on it; slurm: the job it is a node of
    through: str | None = None
    # its name in ~/.ssh/config, if not `name`: h1 of h1:2222
    alias: str | None = None
    address: str | None = None
    port: int | None = None
    user: str | None = None
    identity: str | None = None
    ssh_config: str | None = None
    groups: tuple[str, ...] = ()
    # as in the inventory; a plan's `servers` generate no load
    role: Literal["client", "server"] = "client"
    processes: tuple[tuple[str, str], ...] = ()  # process groups to watch: name, pattern
