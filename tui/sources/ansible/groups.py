"""Groups, hosts and variables of an Ansible inventory, with Ansible's precedence. No I/O."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from string import ascii_letters
from typing import Any

from tui.model.hostspec import MOST_KNOWN, MOST_RANGES
from tui.model.problem import UsageError, did_you_mean

ALL, UNGROUPED = "all", "ungrouped"
MOST_MEMBERS = 20 * MOST_KNOWN
Variables = Mapping[str, Any]


@dataclass
class AnsibleGroup:
    """One group: the hosts and groups directly in it, and its variables."""

    hosts: dict[str, None] = field(default_factory=dict)
    children: dict[str, None] = field(default_factory=dict)
    variables: dict[str, Any] = field(default_factory=dict)


@dataclass
class AnsibleGroups:
    """A whole inventory.

    `group_files`, `host_files`: variables from group_vars and host_vars.
    """

    groups: dict[str, AnsibleGroup] = field(
        default_factory=lambda: {ALL: AnsibleGroup(), UNGROUPED: AnsibleGroup()}
    )
    hosts: dict[str, dict[str, Any]] = field(default_factory=dict)  # variables of the hosts
    group_files: dict[str, Variables] = field(default_factory=dict)
    host_files: dict[str, Variables] = field(default_factory=dict)

    def group(self, name: str) -> AnsibleGroup:
        """Return a group; create it if it is new."""
        return self.groups.setdefault(name, AnsibleGroup())

    def add_hosts(self, group: str, pattern: str, variables: Variables) -> None:
        """Add the hosts of a pattern such as ``web[1:3]`` to a group. Raises UsageError."""
        names, port = parse_pattern(pattern)
        for name in names:
            self.add_host(group, name, ({"ansible_port": port} if port else {}) | dict(variables))

    def add_host(self, group: str, name: str, variables: Variables) -> None:
        """Add one host to a group. Raises UsageError."""
        self.group(group).hosts[name] = None
        self.hosts.setdefault(name, {}).update(variables)
        if len(self.hosts) > MOST_KNOWN:
            raise UsageError(f"more than {MOST_KNOWN} hosts, the limit of an inventory")

    def members(self, wanted: str) -> list[str]:
        """Return the hosts of a group or, if a host has that name, the host.

        Raises UsageError with the nearest name.
        """
        if wanted == ALL:
            return list(self.hosts)
        if wanted == UNGROUPED:
            return [name for name in self.hosts if not self.groups_of[name] - {ALL, UNGROUPED}]
        if wanted in self.groups:
            return list(self._members_of(wanted))
        if wanted in self.hosts:
            return [wanted]
        known = [*self.groups, *self.hosts]
        there = ", ".join(list(self.groups)[:20])
        raise UsageError(
            f"no group or host '{wanted}'{did_you_mean(wanted, known)}; groups: {there}"
        )

    def _members_of(self, group: str) -> dict[str, None]:
        found: dict[str, None] = {}
        for name in self.below(group):
            found |= self.groups[name].hosts
        return found

    def below(self, group: str) -> list[str]:
        """Return a group and all groups below it, each once."""
        found: dict[str, None] = {}
        waiting = [group]
        while waiting:
            name = waiting.pop(0)
            if name not in found:
                found[name] = None
                waiting += [child for child in self.groups[name].children if child in self.groups]
        return list(found)

    @cached_property
    def groups_of(self) -> dict[str, set[str]]:
        """The groups of each host, including parent groups, without `all`. Raises UsageError."""
        found: dict[str, set[str]] = {name: set() for name in self.hosts}
        count = 0
        for group in self.groups:
            if group == ALL:
                continue
            for name in self._members_of(group):
                count += 1
                if count > MOST_MEMBERS:
                    raise UsageError(f"groups list more than {MOST_MEMBERS} hosts in total")
                found[name].add(group)
        return found

    @cached_property
    def _depths(self) -> dict[str, int]:
        """Each group's depth below `all`, by its longest path.

        Raises UsageError for a group that contains itself.
        """
        depths: dict[str, int] = {}
        parents: dict[str, list[str]] = {name: [] for name in self.groups}
        for name, group in self.groups.items():
            for child in group.children:
                if child in parents:
                    parents[child].append(name)
        for _ in range(len(self.groups) + 1):
            ready = [
                n
                for n in parents
                if n not in depths and all(above in depths for above in parents[n])
            ]
            for name in ready:
                depths[name] = 1 + max((depths[above] for above in parents[name]), default=0)
            if not ready:
                break
        if name := next((each for each in parents if each not in depths), ""):
            seen = set()
            # groups below a circle have no depth either: go up until one comes again
            while name not in seen:
                seen.add(name)
                name = next(above for above in parents[name] if above not in depths)
            raise UsageError(f"group '{name}' contains itself; remove it from its child groups")
        return depths

    def check(self) -> None:
        """Raise UsageError if a group contains itself."""
        assert self._depths is not None

    def variables_of(self, host: str) -> dict[str, Any]:
        """Return a host's variables, including those of `all` and of its groups.

        Variables of inner groups override those of outer groups; the host's own override both.
        group_vars override group variables in the inventory; host_vars override the host's own
        variables.
        """
        depths = self._depths
        groups = sorted(
            self.groups_of[host], key=lambda name: (depths[name], self._priority(name), name)
        )
        merged: dict[str, Any] = {}
        for layer in self._layers(groups, host):
            merged.update(layer)
        return merged

    def _layers(self, groups: Iterable[str], host: str) -> Iterator[Variables]:
        listed = list(groups)
        yield self.groups[ALL].variables
        yield from (self.groups[name].variables for name in listed)
        yield self.group_files.get(ALL, {})
        yield from (self.group_files.get(name, {}) for name in listed)
        yield self.hosts[host]
        yield self.host_files.get(host, {})

    def _priority(self, name: str) -> int:
        given = self.groups[name].variables.get("ansible_group_priority", 1)
        try:
            return int(given)
        except (TypeError, ValueError):
            return 1


# -- host names: ``www[01:50:2].lab:2222``, ``db-[a:f]``, ``[::1]:22``


_RANGE = re.compile(r"\[(?:(\d{1,9}):(\d{1,9})|([A-Za-z]):([A-Za-z]))(?::(\d{1,9}))?\]", re.ASCII)
_V6 = re.compile(r"\[([0-9A-Fa-f.]*:[0-9A-Fa-f:.]*)\](?::(\d{1,5}))?", re.ASCII)
_PORT = re.compile(r"(?P<host>[^:\[\]]*(?:\[[^\]]*\][^:\[\]]*)*):(?P<port>\d{1,5})", re.ASCII)


def parse_pattern(pattern: str) -> tuple[list[str], int | None]:
    """Return the hosts of a pattern, and the port after it, if any. Raises UsageError."""
    if match := _V6.fullmatch(pattern):
        return [match[1]], int(match[2]) if match[2] else None
    if match := _PORT.fullmatch(pattern):
        return expand_ranges(match["host"]), int(match["port"])
    return expand_ranges(pattern), None


def expand_ranges(pattern: str) -> list[str]:
    """Return the hosts of a pattern with its ranges expanded, in order. Raises UsageError."""
    if pattern.count("[") > MOST_RANGES:
        raise UsageError(f"'{pattern[:60]}': more than {MOST_RANGES} ranges in one name")
    return list(dict.fromkeys(_expanded(pattern)))


def _expanded(pattern: str) -> Iterator[str]:
    match = _RANGE.search(pattern)
    if match is None:
        if "[" in pattern or "]" in pattern:
            raise UsageError(f"'{pattern[:60]}': not a range; allowed: [1:50], [01:50:2] or [a:f]")
        yield pattern
        return
    parts = _counted(match)
    rests = list(_expanded(pattern[match.end() :]))
    if len(parts) * len(rests) > MOST_KNOWN:
        raise UsageError(f"'{pattern[:60]}': more than {MOST_KNOWN} hosts")
    for part in parts:
        for rest in rests:
            yield pattern[: match.start()] + part + rest


def _counted(match: re.Match[str]) -> list[str]:
    """Return the values of one range such as ``[01:10]``, both ends included.

    Leading zeros are kept, as in Ansible. Raises UsageError.
    """
    step = int(match[5] or 1)
    if step == 0:
        raise UsageError(f"'{match[0]}': found step 0; expected 1 or more")
    if match[3]:
        first, last = ascii_letters.index(match[3]), ascii_letters.index(match[4])
        found = [ascii_letters[at] for at in range(first, last + 1, step)]
    else:
        if (int(match[2]) - int(match[1])) // step >= MOST_KNOWN:
            raise UsageError(f"'{match[0]}': more than {MOST_KNOWN} hosts")
        width = len(match[1]) if match[1].startswith("0") else 0
        found = [
            str(number).zfill(width) for number in range(int(match[1]), int(match[2]) + 1, step)
        ]
    if not found:
        raise UsageError(f"'{match[0]}': the range runs backwards; expected [FIRST:LAST]")
    return found
