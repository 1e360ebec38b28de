"""An inventory: the hosts and groups that a person keeps in a YAML file."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from tui.model import hostspec
from tui.model.plan import HostAddress
from tui.model.problem import Problem, UsageError, did_you_mean
from tui.model.validation import problems_of
from tui.model.yaml_text import Document, load


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class HostEntry(_Strict):
    """How to reach a host; what is absent is taken from the defaults, then from the SSH configuration."""

    address: str | None = Field(None, min_length=1, description="Name or IP address to connect to")
    port: int | None = Field(None, ge=1, le=65535, description="Port of its SSH server")
    user: str | None = Field(None, min_length=1, description="User to log in as")
    identity: str | None = Field(None, min_length=1, description="Private key file on this machine")
    groups: list[str] = Field(default_factory=list, description="Groups that the host belongs to")


class HostDefaults(_Strict):
    """What holds for every host of the file."""

    port: int | None = Field(None, ge=1, le=65535, description="Port of the SSH servers")
    user: str | None = Field(None, min_length=1, description="User to log in as")
    identity: str | None = Field(None, min_length=1, description="Private key file on this machine")


class InventoryFile(_Strict):
    """The file as it is written. Keys of `hosts` may be ranges such as weka-[01-08]."""

    defaults: HostDefaults = Field(default_factory=lambda: HostDefaults(port=None, user=None, identity=None))
    hosts: dict[str, HostEntry | None] = Field(default_factory=dict, description="Hosts by name or range")
    groups: dict[str, list[str]] = Field(default_factory=dict, description="Groups: lists of names, ranges, @groups")


class Inventory(_Strict):
    """Hosts by name, and groups with the names of their members, ranges expanded."""

    hosts: dict[str, HostEntry]
    groups: dict[str, list[str]]

    def address(self, name: str, ssh_config: str | None = None) -> HostAddress:
        """Return how to reach a host of the inventory."""
        entry = self.hosts[name]
        groups = tuple(group for group, members in self.groups.items() if name in members)
        return HostAddress(
            name=name,
            address=entry.address,
            port=entry.port,
            user=entry.user,
            identity=entry.identity,
            ssh_config=ssh_config,
            groups=groups,
        )


def inventory_json_schema() -> dict[str, Any]:
    """Return the JSON Schema of an inventory file."""
    schema = InventoryFile.model_json_schema()
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema, "title": "benchtui inventory"}


def load_inventory(text: str, file: str) -> Inventory:
    """Return the inventory of a YAML text. Raises UsageError with every problem and its place."""
    if not text.strip():
        return Inventory(hosts={}, groups={})
    document = load(text, file)
    try:
        written = InventoryFile.model_validate(document.data)
    except ValidationError as error:
        raise UsageError(problems_of(error, document, InventoryFile)) from None
    problems: list[Problem] = []
    hosts = _hosts(written, document, problems)
    groups = _groups(written, hosts, document, problems)
    if problems:
        raise UsageError(problems)
    return Inventory(hosts=hosts, groups=groups)


def _hosts(written: InventoryFile, document: Document, problems: list[Problem]) -> dict[str, HostEntry]:
    hosts: dict[str, HostEntry] = {}
    for key, entry in written.hosts.items():
        full = _with_defaults(entry or HostEntry.model_validate({}), written.defaults)
        try:
            names = hostspec.expand(key)
        except UsageError as error:
            problems.append(document.problem(("hosts", key), error.problems[0].message, key=True))
            continue
        if full.address is not None and len(names) > 1:
            message = f"'{key}' names {len(names)} hosts, they cannot share one address"
            problems.append(document.problem(("hosts", key, "address"), message))
        for name in names:
            if name in hosts or name == hostspec.LOCAL:
                why = "is always this machine" if name == hostspec.LOCAL else "stands twice"
                problems.append(document.problem(("hosts", key), f"host '{name}' {why}", key=True))
            hosts[name] = full
    return hosts


def _with_defaults(entry: HostEntry, defaults: HostDefaults) -> HostEntry:
    missing = {name: value for name, value in defaults if getattr(entry, name) is None}
    return entry.model_copy(update=missing)


def _groups(
    written: InventoryFile, hosts: dict[str, HostEntry], document: Document, problems: list[Problem]
) -> dict[str, list[str]]:
    groups: dict[str, list[str]] = {}
    for name in written.groups:
        members = list(_members(name, (), written, hosts, document, problems))
        groups[name] = list(dict.fromkeys(members))
    for host, entry in hosts.items():
        for group in entry.groups:
            members = groups.setdefault(group, [])
            if host not in members:
                members.append(host)
    return groups


def _members(
    group: str,
    above: tuple[str, ...],
    written: InventoryFile,
    hosts: dict[str, HostEntry],
    document: Document,
    problems: list[Problem],
) -> Iterator[str]:
    for index, spec in enumerate(written.groups[group]):
        place = ("groups", group, index)
        if spec.startswith("@"):
            inner = spec[1:]
            if inner in (*above, group):
                problems.append(document.problem(place, f"group '{group}' contains itself"))
            elif inner not in written.groups:
                hint = did_you_mean(inner, written.groups)
                problems.append(document.problem(place, f"unknown group '{inner}'{hint}"))
            else:
                yield from _members(inner, (*above, group), written, hosts, document, problems)
            continue
        try:
            names = hostspec.expand(spec)
        except UsageError as error:
            problems.append(document.problem(place, error.problems[0].message))
            continue
        for name in names:
            if name != hostspec.LOCAL and name not in hosts:
                message = f"group '{group}': unknown host '{name}'{did_you_mean(name, hosts)}"
                problems.append(document.problem(place, message))
            yield name
