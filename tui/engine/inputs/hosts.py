"""Hosts to choose from: inventory, SSH configuration, this machine.

Also edits the inventory file, keeping its comments, and refreshes groups of hosts from sources.
"""

from __future__ import annotations

import fnmatch
import io
import itertools
import socket
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from msgspec import Struct
from msgspec.structs import replace

from tui.engine.inputs.user_files import save
from tui.model import hostspec
from tui.model.address import HostAddress
from tui.model.bounded import MOST_SMALL_BYTES, read_text
from tui.model.operands import unique
from tui.model.paths import from_home
from tui.model.problem import Problem, UsageError, unreadable
from tui.remote.ssh_include import PATTERN, host_words
from tui.sources.base import SourceContext, installed_sources

if TYPE_CHECKING:
    from tui.engine.inputs.choosing import Chooser, ChosenHost
    from tui.model.inventory import HostEntry, Inventory
    from tui.model.operands import Clause
    from tui.model.plan import SourceUse


Origin = Literal["inventory", "ssh config", "source", "command line", "this machine"]
MOST_UNKNOWN = 50  # listed individually
LOCAL_ADDRESS = HostAddress(name=hostspec.LOCAL, transport="local")


class Fleet:
    """All hosts that can be chosen, by name.

    `inventory` is None if there is no inventory; `ssh_config` None means ~/.ssh/config.
    """

    def __init__(
        self,
        inventory: Inventory | None,
        ssh_config: Path | None,
        context: SourceContext | None = None,
        like: Fleet | None = None,
    ) -> None:
        self.inventory = inventory  # loads its models only if there is one
        self.hosts: Mapping[str, HostEntry] = inventory.hosts if inventory is not None else {}
        self.groups: Mapping[str, list[str]] = inventory.groups if inventory is not None else {}
        self.sources: Mapping[str, list[str]] = inventory.sources if inventory is not None else {}
        self.ssh_config = ssh_config
        self.context = context or SourceContext.here()
        self._like = like  # a fleet whose answers of sources are reused
        # refreshed groups, by title
        self.answers: dict[str, SourceGroup] = dict(like.answers) if like is not None else {}
        self._config_words: list[str] | None = None

    @property
    def config_names(self) -> list[str]:
        """Host names of the SSH configuration, without patterns."""
        return list(self._config_hosts)

    @cached_property
    def _config_hosts(self) -> dict[str, None]:
        return {word: None for word in self._words if not PATTERN & set(word)}

    @cached_property
    def _patterns(self) -> list[str]:
        """Patterns of Host lines, except `*` and negated ones."""
        return [
            word
            for word in self._words
            if PATTERN & set(word) and word[0] != "!" and set(word) != {"*"}
        ]

    @property
    def _words(self) -> list[str]:
        """All words of the configuration's Host lines: names and patterns."""
        if self._config_words is None:
            path = self.ssh_config or from_home("~/.ssh/config")
            self._config_words = list(dict.fromkeys(host_words(path)))
        return self._config_words

    def all(self, named: Sequence[str] = ()) -> list[tuple[HostAddress, Origin]]:
        """Return every known host with its origin, this machine last.

        `named` are host names from the command line or a run; they are included if they are in DNS
        or match a pattern of the SSH configuration.
        """
        found: list[tuple[HostAddress, Origin]] = []
        found += [(self._address(name), "inventory") for name in self.hosts]
        found += [
            (self._address(name), "ssh config")
            for name in self.config_names
            if name not in self.hosts
        ]
        found += [
            (each, "source")
            for each in self._vouched()
            if each.name not in {a.name for a, _ in found}
        ]
        known = {address.name for address, _ in found} | {hostspec.LOCAL}
        found += [
            (self._address(name), "command line")
            for name in named
            if name not in known and self._is_name(name)
        ]
        return [*found, (LOCAL_ADDRESS, "this machine")]

    def _vouched(self) -> list[HostAddress]:
        """Return the hosts that sources have returned so far."""
        return list(self.chooser.vouched.values()) if self.has_asked else []

    @property
    def has_asked(self) -> bool:
        """Whether sources have been queried."""
        return "chooser" in self.__dict__ or self._like is not None

    def resolve(self, specs: Sequence[str]) -> list[HostAddress]:
        """Return the hosts of SPECs, in order, without duplicates.

        Raises UsageError with all unknown names at once.
        """
        found = self.chooser.hosts(specs)
        if len(found) > hostspec.MOST_HOSTS:
            raise UsageError(f"more than {hostspec.MOST_HOSTS} hosts, the limit of a run")
        self._refuse_unknown(found.values())
        return [each.address for each in found.values()]

    def _refuse_unknown(self, found: Iterable[ChosenHost]) -> None:
        """Raise UsageError with all unknown names."""
        unknown = [
            each.address for each in found if not each.vouched and not self._known(each.address)
        ]
        if unknown:
            more = len(unknown) - MOST_UNKNOWN
            named = [Problem(self._unknown(each)) for each in unknown[:MOST_UNKNOWN]]
            rest = [Problem(f"and {more} more unknown hosts")] if more > 0 else []
            raise UsageError([*named, *rest, *self._broken_line()])

    @cached_property
    def chooser(self) -> Chooser:
        """Resolver of SPECs; it caches the answers of sources."""
        chooser = self.new_chooser()
        if self._like is not None:
            before = self._like.chooser
            chooser.asked, chooser.uses, chooser.notes = (
                dict(before.asked),
                list(before.uses),
                list(before.notes),
            )
            chooser.vouched = dict(before.vouched)
        return chooser

    def new_chooser(self) -> Chooser:
        """Return a resolver that queries every source again."""
        from tui.engine.inputs.choosing import Chooser

        return Chooser(
            self.groups,
            self.sources,
            self._completed,
            self.context,
            self._names,
            self._refuse_unknown,
        )

    def allocates(self, specs: Iterable[str]) -> bool:
        """Return whether resolving SPECs allocates hosts from a scheduler. Raises UsageError."""
        parts = (part for spec in specs for part in hostspec.split(spec))
        return any(self.chooser.allocates(part.removeprefix("!").strip()) for part in parts)

    def pretending(self) -> Fleet:
        """Return a fleet with made-up names in place of hosts to be allocated.

        Other sources are queried once for both fleets.
        """
        context = self.context._replace(may_allocate=False, pretends=True)
        fleet = Fleet(self.inventory, self.ssh_config, context)
        fleet.chooser.asked = self.chooser.asked
        return fleet

    def _names(self) -> list[str]:
        """Return the known names, from which suggestions for a mistyped one are taken."""
        return [*self.hosts, *self.config_names, hostspec.LOCAL]

    @property
    def uses(self) -> list[SourceUse]:
        """Sources in use, each with the hosts that it returned."""
        return self.chooser.uses

    def uses_of(self, hosts: Sequence[HostAddress]) -> list[SourceUse]:
        """Return the uses of sources that returned any of these hosts."""
        names = {host.name for host in hosts}
        return [use for use in self.uses if not names.isdisjoint(use.hosts)]

    @property
    def notes(self) -> list[Clause]:
        """Notes from sources to show before a run."""
        return self.chooser.notes

    def _completed(self, given: HostAddress) -> HostAddress:
        """Fill the unset fields of an address from its inventory entry."""
        from tui.engine.inputs.choosing import completed

        return (
            given
            if given.transport == "local"
            else completed(given, self._address(given.alias or given.name))
        )

    def _known(self, address: HostAddress) -> bool:
        return address.transport != "ssh" or self._is_name(address.alias or address.name)

    def _is_name(self, name: str) -> bool:
        known = name == hostspec.LOCAL or name in self.hosts or name in self._config_hosts
        return known or self._described(name) or resolvable(name)

    def _described(self, name: str) -> bool:
        """Return whether a pattern of the SSH configuration, except `*`, matches a name.

        Names behind a bastion may not resolve on this machine.
        """
        return any(fnmatch.fnmatchcase(name, pattern) for pattern in self._patterns)

    def _unknown(self, address: HostAddress) -> str:
        name, typed = address.alias or address.name, address.name
        typed = f"{address.user}@{typed}" if address.user in installed_sources() else typed
        where = "not in the inventory, not in the SSH configuration, not in DNS"
        return f"unknown host '{name}'{self.chooser.meant(typed)}: {where}"

    def _broken_line(self) -> list[Problem]:
        """Return the first line of the SSH configuration that ssh would refuse; hosts below it may
        be missing.
        """
        from tui.remote.ssh_include import ConfigText
        from tui.remote.sshfile import ConfigError, lines_of, text_of, unknown

        path = self.ssh_config or from_home("~/.ssh/config")
        try:
            lines = list(lines_of(path, text_of(path, ConfigText())))
        except ConfigError as error:
            return [Problem(str(error))]
        except OSError:
            return []
        if any(line.keyword == "ignoreunknown" for line in lines):
            return []
        return [Problem(str(unknown(line))) for line in lines if line.unknown][:1]

    def _address(self, name: str) -> HostAddress:
        config = str(self.ssh_config.absolute()) if self.ssh_config else None
        if self.inventory is not None and name in self.hosts:
            return self.inventory.address(name, config)
        return HostAddress(name=name, ssh_config=config)


def resolvable(name: str) -> bool:
    """Return whether a host name resolves to an address."""
    try:
        socket.getaddrinfo(name, None)
    except (OSError, UnicodeError):
        return False
    return True


def read_inventory(path: Path, *, pipes: bool = False) -> Inventory | None:
    """Read the inventory from a file; None if the file does not exist.

    `pipes`: also read pipes, because the user named the file. Raises UsageError.
    """
    try:
        text = read_text(path, MOST_SMALL_BYTES, pipes=pipes)
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise unreadable(path, error) from error
    # the slowest part of the first list of hosts
    from tui.model.inventory import load_inventory

    return load_inventory(text, str(path))


def add_hosts(path: Path, specs: Sequence[str], entry: Mapping[str, object]) -> None:
    """Add hosts or host ranges to the inventory, replacing existing entries; omit empty fields.

    Raises UsageError; an invalid file, or one that would become invalid, is not written.
    """
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    from tui.model.inventory import load_inventory

    yaml = YAML()
    read_inventory(path)  # raises with the place of an error; an invalid file is not changed
    try:
        data: Any = yaml.load(read_text(path, MOST_SMALL_BYTES) if path.exists() else "") or {}
        if data.get("hosts") is None:
            data["hosts"] = {}
        for spec in specs:
            data["hosts"][spec] = {key: value for key, value in entry.items() if value}
        out = io.StringIO()
        yaml.dump(data, out)
        load_inventory(out.getvalue(), str(path))
        save(path, out.getvalue())
    except YAMLError as error:
        raise UsageError(f"{path}: {error}") from error


def entry_of(path: Path, name: str) -> str:
    """Return the entry of the inventory that defines a host: its name, or a range.

    Raises UsageError if there is none.
    """
    from tui.model.yaml_text import load

    data = load(read_text(path, MOST_SMALL_BYTES), str(path)).data
    for entry in data.get("hosts") or {}:
        if name in hostspec.expand(entry):
            return str(entry)
    raise UsageError(Problem(f"has no host '{name}'", file=str(path)))


def remove_entry(path: Path, entry: str) -> None:
    """Remove an entry of `hosts:` from the inventory; comments of other entries stay.

    Raises UsageError. A file that would become invalid, for example because a group names the host,
    is not written.
    """
    from tui.model.inventory import load_inventory
    from tui.model.yaml_text import load

    text = read_text(path, MOST_SMALL_BYTES)
    document = load(text, str(path))
    wanted = {name: each for name, each in document.data["hosts"].items() if name != entry}
    lines = text.splitlines(keepends=True)
    start = document.position(("hosts", entry), key=True)[0] - 1
    indent = _indent(lines[start])
    inner = itertools.takewhile(lambda line: _indent(line) > indent, lines[start + 1 :])
    left = "".join([*lines[:start], *lines[start + 1 + len(list(inner)) :]])
    try:
        kept = {**load(left, str(path)).data}
        whole = (kept.pop("hosts") or {}) == wanted and kept == {
            key: each for key, each in document.data.items() if key != "hosts"
        }
    except (UsageError, KeyError):
        whole = False
    if not whole:  # entries that share a line
        left = _without(text, entry)
    load_inventory(left, str(path))
    save(path, left)


def _indent(line: str) -> int:
    """Return the spaces before a line's text; -1 for an empty line, which ends an entry."""
    return len(line) - len(line.lstrip()) if line.strip() else -1


def _without(text: str, entry: str) -> str:
    from ruamel.yaml import YAML

    yaml = YAML()
    data: Any = yaml.load(text)
    del data["hosts"][entry]
    out = io.StringIO()
    yaml.dump(data, out)
    return out.getvalue()


class SourceAnswer(Struct, frozen=True):
    """A source's answer for a group; `chooser` is None if the query failed."""

    group: SourceGroup
    chooser: Chooser | None = None


def source_groups(fleet: Fleet) -> list[SourceGroup]:
    """Return the source groups of the inventory, then SPECs that name further hosts."""
    found = {name: fleet.answers.get(name) or _named_before(fleet, name) for name in fleet.sources}
    covered = {host for group in found.values() for host in group.names}
    for use in fleet.uses if fleet.has_asked else ():
        if not set(use.hosts) <= covered:
            known = fleet.answers.get(use.spec)
            found[use.spec] = known or SourceGroup(use.spec, use.spec, use.hosts, use.utc, use.how)
            covered |= set(use.hosts)
    return list(found.values())


def _named_before(fleet: Fleet, name: str) -> SourceGroup:
    """Return a group of the inventory with its first answer, if it was queried at startup."""
    vouched = fleet.chooser.vouched.values() if fleet.has_asked else ()
    names = tuple(each.name for each in vouched if name in each.groups)
    uses = [use for use in fleet.uses if set(use.hosts) & set(names)] if names else []
    how = ", ".join(dict.fromkeys(use.how for use in uses if use.how))
    return SourceGroup(name, f"@{name}", names, min((use.utc for use in uses), default=""), how)


def ask_again(fleet: Fleet, group: SourceGroup) -> SourceAnswer:
    """Query a group's sources again.

    Safe to call in a thread: it changes nothing; `take_answer` applies the result.
    """
    from tui.model.plain_data import format_utc

    chooser = fleet.new_chooser()
    try:
        found = chooser.hosts([group.spec])
    except UsageError as error:
        return SourceAnswer(replace(group, problem="; ".join(map(str, error.problems))))
    how = ", ".join(dict.fromkeys(use.how for use in chooser.uses if use.how))
    return SourceAnswer(
        SourceGroup(group.title, group.spec, tuple(found), format_utc(datetime.now(UTC)), how),
        chooser,
    )


def take_answer(fleet: Fleet, answer: SourceAnswer) -> None:
    """Apply the answer of a group's sources, or record why the query failed.

    Removes hosts that no source returns any more.
    """
    group, known = answer.group, fleet.chooser
    before = next((each for each in source_groups(fleet) if each.title == group.title), group)
    fleet.answers[group.title] = group
    if answer.chooser is None:
        return
    new = {use.spec: use for use in answer.chooser.uses}
    known.asked.update(answer.chooser.asked)
    known.uses[:] = [*(use for use in known.uses if use.spec not in new), *new.values()]
    still = {host for use in known.uses for host in use.hosts}
    for host in set(before.names) - set(group.names) - still:
        known.vouched.pop(host, None)
    known.vouched.update(answer.chooser.vouched)
    known.notes[:] = unique([*known.notes, *answer.chooser.notes])


class SourceGroup(Struct, frozen=True):
    """A group of the inventory with `from:`, or a SPEC with a source.

    `utc`: time of the query, empty if not yet queried; `how`: the program or file queried.
    `problem`: error of the last query; `names` are then from the last successful query.
    """

    title: str
    spec: str
    names: tuple[str, ...] = ()
    utc: str = ""
    how: str = ""
    problem: str = ""

    def age_s(self, now: datetime) -> float | None:
        """Return the seconds since the query; None if not yet queried."""
        from tui.model.plain_data import parse_utc

        asked = parse_utc(self.utc)
        return max(0.0, (now - asked).total_seconds()) if asked is not None else None
