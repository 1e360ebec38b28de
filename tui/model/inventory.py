"""An inventory: the hosts and groups in a user's YAML file."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from tui.model import hostspec
from tui.model.address import HostAddress
from tui.model.problem import Problem, UsageError, did_you_mean
from tui.model.validation import file_schema, in_order, problems_of
from tui.model.yaml_text import YamlDocument, load

GROUP_PATTERN = r"^[A-Za-z0-9_][A-Za-z0-9_.-]*$"
WORD_PATTERN = r"^[^\s-]\S*$"
TOO_MANY = f"more than {hostspec.MOST_KNOWN} hosts, the limit of an inventory"
# of all groups together, counting nested members again
MOST_MEMBERS = 20 * hostspec.MOST_KNOWN
MOST_PROBLEMS = 50  # unknown hosts in groups: finding the nearest name of each is slow


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)


def _empty(value: object) -> object:
    """Treat a section with all lines commented out as empty."""
    return {} if value is None else value


Section = BeforeValidator(_empty)
GroupName = Annotated[str, Field(pattern=GROUP_PATTERN)]
# no blanks, and no leading dash, which a command would take for an option
Word = Annotated[str, Field(pattern=WORD_PATTERN)]


def _expression(text: str) -> str:
    try:
        # close to the language of grep -E; rejects what is no expression at all
        re.compile(text)
    except re.error as error:
        raise ValueError(f"not a regular expression: {error}") from None
    return text


ProcessGroup = Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,32}$")]
Pattern = Annotated[
    str,
    Field(min_length=1, max_length=500, pattern=r"^[^\x00-\x1f]+$"),
    AfterValidator(_expression),
]


COMMANDS = "allowed: a command such as podman exec -i {host} /bin/sh"


def _command(text: str) -> str:
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise ValueError(f"{str(error).lower()}; {COMMANDS}") from None
    if not words:
        raise ValueError(f"no command; {COMMANDS}")
    return text


def _specs(value: list[str]) -> list[str]:
    try:
        for part in (part for spec in value for part in hostspec.split(spec)):
            hostspec.check_part(part.removeprefix("!"))
    except UsageError as error:
        raise ValueError(error.problems[0].message) from None
    return value


def _listed(value: object) -> object:
    return [value] if isinstance(value, str) else value


Specs = Annotated[list[str], BeforeValidator(_listed), AfterValidator(_specs), Field(min_length=1)]


class HostDefaults(_Strict):
    """Defaults for all hosts in the inventory file."""

    port: int | None = Field(None, ge=1, le=65535, description="SSH server port")
    user: Word | None = Field(None, description="User to log in as")
    identity: str | None = Field(None, min_length=1, description="Private key file on this machine")
    exec: Annotated[str, AfterValidator(_command)] | None = Field(
        None,
        description=(
            "Command that starts a shell on the host, in place of SSH: podman exec -i {host} "
            "/bin/sh"
        ),
    )
    role: Literal["client", "server"] | None = Field(
        None,
        description=("client: generates load; server: storage node, only monitored"),
    )
    processes: dict[ProcessGroup, Pattern] | None = Field(
        None,
        description=("Process groups whose CPU use is monitored: name, and pattern for grep -E"),
    )


class HostEntry(HostDefaults):
    """How to reach a host.

    Absent fields come from the defaults, then from the SSH configuration.
    """

    address: Word | None = Field(
        None, description="Host name or IP address to connect to; a range for a range of hosts"
    )
    groups: list[GroupName] = Field(
        default_factory=list, description="Groups that the host belongs to"
    )


class SourcedGroup(_Strict):
    """A group whose members come from a source, which is queried when the group is used."""

    from_: Specs = Field(
        alias="from", description="SPECs as on the command line: ansible:FILE, slurm:4711, ..."
    )


class InventoryFile(_Strict):
    """The file as written. Keys of `hosts` may be ranges such as weka-[01-08]."""

    defaults: Annotated[HostDefaults, Section] = Field(
        default_factory=lambda: HostDefaults.model_validate({}),
        description="Defaults for every host",
    )
    hosts: Annotated[dict[str, HostEntry | None], Section] = Field(
        default_factory=dict,
        description="Hosts by name or range such as weka-[01-08]; 'local' always exists",
    )
    groups: Annotated[dict[GroupName, list[str] | SourcedGroup], Section] = Field(
        default_factory=dict,
        description="Groups by name: a list of host names, ranges and @groups, or from: a source",
    )


class Inventory(_Strict):
    """Hosts by name, and groups with their members; ranges are expanded.

    `sources` are the SPECs of groups whose members come from a source.
    """

    hosts: dict[str, HostEntry]
    groups: dict[str, list[str]]
    sources: dict[str, list[str]] = Field(default_factory=dict)

    @cached_property
    def _groups_of(self) -> dict[str, list[str]]:
        """Groups of each host, in file order."""
        found: dict[str, list[str]] = {}
        for group, members in self.groups.items():
            for name in dict.fromkeys(members):
                found.setdefault(name, []).append(group)
        return found

    def address(self, name: str, ssh_config: str | None = None) -> HostAddress:
        """Return how to reach a host of the inventory."""
        entry = self.hosts[name]
        groups = tuple(self._groups_of.get(name, ()))
        return HostAddress(
            name=name,
            transport="exec" if entry.exec else "ssh",
            through=entry.exec,
            address=entry.address,
            port=entry.port,
            user=entry.user,
            identity=entry.identity,
            ssh_config=ssh_config,
            groups=groups,
            role=entry.role or "client",
            processes=tuple((entry.processes or {}).items()),
        )


def inventory_json_schema() -> dict[str, Any]:
    """Return the JSON Schema of an inventory file."""
    return file_schema(InventoryFile, "benchtui inventory")


def load_inventory(text: str, file: str) -> Inventory:
    """Return the inventory of a YAML text. Raises UsageError with the problems and their places."""
    if all(not line.strip() or line.lstrip().startswith("#") for line in text.splitlines()):
        return Inventory(hosts={}, groups={})
    document = load(text, file)
    try:
        written = InventoryFile.model_validate(document.data)
    except ValidationError as error:
        raise UsageError(in_order(problems_of(error, document, InventoryFile))) from None
    problems: list[Problem] = []
    hosts = _hosts(written, document, problems)
    groups = _groups(written, hosts, document, problems)
    if problems:
        raise UsageError(in_order(problems))
    sources = {
        name: each.from_ for name, each in written.groups.items() if isinstance(each, SourcedGroup)
    }
    return Inventory(hosts=hosts, groups=groups, sources=sources)


def _hosts(
    written: InventoryFile, document: YamlDocument, problems: list[Problem]
) -> dict[str, HostEntry]:
    hosts: dict[str, HostEntry] = {}
    for key, entry in written.hosts.items():
        full = _with_defaults(entry or HostEntry.model_validate({}), written.defaults)
        try:
            names = hostspec.expand(key)
        except UsageError as error:
            problems.append(document.problem(("hosts", key), error.problems[0].message, key=True))
            continue
        if len(hosts) + len(names) > hostspec.MOST_KNOWN:
            raise UsageError(document.problem(("hosts", key), TOO_MANY, key=True))
        addresses = _addresses(key, full, len(names), document, problems)
        for name, address in zip(names, addresses, strict=True):
            if name in hosts or name == hostspec.LOCAL:
                why = "is always this machine" if name == hostspec.LOCAL else "is defined twice"
                problems.append(document.problem(("hosts", key), f"host '{name}' {why}", key=True))
            hosts[name] = full.model_copy(update={"address": address})
    return hosts


def _addresses(
    key: str, entry: HostEntry, count: int, document: YamlDocument, problems: list[Problem]
) -> list[str | None]:
    """Return an address, or None, per host.

    A range of hosts needs an address range of the same length; anything else is added to
    `problems`.
    """
    if entry.address is None:
        return [None] * count
    try:
        addresses = hostspec.expand(entry.address)
    except UsageError as error:
        problems.append(document.problem(("hosts", key, "address"), error.problems[0].message))
        return [None] * count
    if len(addresses) != count:
        message = (
            f"'{key}' names {count} host{'s' * (count > 1)}, but its address names {len(addresses)}"
        )
        problems.append(document.problem(("hosts", key, "address"), message))
        return [None] * count
    return list(addresses)


def _with_defaults(entry: HostEntry, defaults: HostDefaults) -> HostEntry:
    missing = {name: value for name, value in defaults if getattr(entry, name) is None}
    return entry.model_copy(update=missing)


def _groups(
    written: InventoryFile,
    hosts: dict[str, HostEntry],
    document: YamlDocument,
    problems: list[Problem],
) -> dict[str, list[str]]:
    """Return the members of each group: hosts that it lists, and hosts that name it."""
    claimed: dict[str, list[str]] = {}
    for host, entry in hosts.items():
        for group in entry.groups:
            claimed.setdefault(group, []).append(host)
    listed = {name: each for name, each in written.groups.items() if isinstance(each, list)}
    for group in written.groups:
        if group not in listed and group in claimed:
            message = (
                f"group '{group}' gets its hosts from a source; host"
                f" '{claimed.pop(group)[0]}' cannot be added"
            )
            problems.append(document.problem(("groups", group), message, key=True))
    found = _GroupFinder(
        listed, claimed, hosts, document, problems, frozenset(written.groups) - frozenset(listed)
    )
    return {name: found.members(name) for name in {**listed, **claimed}}


@dataclass
class _GroupFinder:
    written: dict[str, list[str]]
    claimed: dict[str, list[str]]
    hosts: dict[str, HostEntry]
    document: YamlDocument
    problems: list[Problem]
    sourced: frozenset[str]
    done: dict[str, list[str]] = field(default_factory=dict)
    count: int = 0
    unknown: int = 0

    def members(self, group: str, above: tuple[str, ...] = ()) -> list[str]:
        """Return the members of a group without duplicates; each group is expanded once."""
        if group not in self.done:
            self.done[group] = list(dict.fromkeys(self.counted(group, above)))
        return self.done[group]

    def counted(self, group: str, above: tuple[str, ...]) -> Iterator[str]:
        """Yield the entries of a group. Raises UsageError if all groups together have too many."""
        for name in self.listed(group, above):
            self.count += 1
            if self.count > MOST_MEMBERS:
                message = f"groups list more than {MOST_MEMBERS} hosts in total"
                raise UsageError(
                    [*self.problems, self.document.problem(("groups", group), message)]
                )
            yield name

    def listed(self, group: str, above: tuple[str, ...]) -> Iterator[str]:
        for index, spec in enumerate(self.written.get(group, ())):
            place = ("groups", group, index)
            if spec.startswith("@"):
                yield from self.inner(spec[1:], (*above, group), place)
            else:
                yield from self.named(spec, group, place)
        yield from self.claimed.get(group, ())

    def inner(
        self, group: str, above: tuple[str, ...], place: tuple[str | int, ...]
    ) -> Iterator[str]:
        known = {**self.written, **self.claimed}
        if group in above:
            self.problems.append(self.document.problem(place, f"group '{group}' contains itself"))
        elif group in self.sourced:
            message = (
                f"group '{group}' gets its hosts from a source; use {{from: \"@{group},...\"}}"
            )
            self.problems.append(self.document.problem(place, message))
        elif group not in known:
            self.problems.append(
                self.document.problem(place, f"unknown group '{group}'{did_you_mean(group, known)}")
            )
        else:
            yield from self.members(group, above)

    def named(self, spec: str, group: str, place: tuple[str | int, ...]) -> Iterator[str]:
        try:
            names = hostspec.expand(spec)
        except UsageError as error:
            self.problems.append(self.document.problem(place, error.problems[0].message))
            return
        for name in names:
            is_unknown = name != hostspec.LOCAL and name not in self.hosts
            self.unknown += is_unknown
            if is_unknown and self.unknown <= MOST_PROBLEMS:
                message = f"group '{group}': unknown host '{name}'{did_you_mean(name, self.hosts)}"
                self.problems.append(self.document.problem(place, message))
            yield name
