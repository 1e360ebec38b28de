"""How one host is reached: in an inventory, in a plan, on the way to it."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct


class HostAddress(Struct, frozen=True, omit_defaults=True):
    """How to reach one host. None means: as ~/.ssh/config or SSH's defaults say."""

    name: str
    # by which it is reached: ssh, local, exec, slurm, or one of another package
    transport: str = "ssh"
    # exec: the command that gives a shell on it; slurm: the job it is a node of
    through: str | None = None
    # what ~/.ssh/config knows it by, when that is not `name`: h1 of h1:2222
    alias: str | None = None
    address: str | None = None
    port: int | None = None
    user: str | None = None
    identity: str | None = None
    ssh_config: str | None = None
    groups: tuple[str, ...] = ()
    # as the inventory has it; a plan's `servers` generate no load
    role: Literal["client", "server"] = "client"
    processes: tuple[tuple[str, str], ...] = ()  # groups of processes to watch: name, pattern
