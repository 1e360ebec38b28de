"""Resolve SPECs to hosts: names, groups and sources, without duplicates, exclusions last."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import NamedTuple

from msgspec.structs import asdict, replace

from tui.model import hostspec
from tui.model.address import HostAddress
from tui.model.hostspec import Destination
from tui.model.operands import Clause, clause
from tui.model.plan import SourceUse
from tui.model.problem import Problem, UsageError, did_you_mean, nearest, suggestion
from tui.sources.base import FoundHosts, SourceContext, installed_sources, load_source
from tui.sources.commands import address_of

LOCAL_ALONE = "local is this machine, without SSH, user or port; allowed: local and localhost:PORT"
NO_GROUPS = "the inventory has no groups: benchtui hosts add NAME --group GROUP"
MOST_NESTED = 8  # nesting of files and groups
_COLON = re.compile(r"([^:]+):(.*)", re.DOTALL)
_SEPARATOR = re.compile(r"([A-Za-z0-9]+)[^A-Za-z0-9,.-](.*)", re.ASCII | re.DOTALL)
_NO_NAME = re.compile(r"[^A-Za-z0-9.-]", re.ASCII)
_PARTED = re.compile(r"([\w.-]+)[^\w.!-]?(!?[\w.@-].*)", re.ASCII)  # a group, and its next level
_HOST_NAME = re.compile(r"[^\s\x00-\x1f\x7f/@,!\\'\"`$;|&<>(){}*?]{1,253}")
SAME = (
    "alias",
    "address",
    "port",
    "user",
    "identity",
    "transport",
)  # two entries that differ in these are different hosts


class ChosenHost(NamedTuple):
    """A host selected by a SPEC. `vouched`: a source of hosts confirms that it exists."""

    address: HostAddress
    vouched: bool


@dataclass
class Chooser:
    """Resolves SPECs to hosts.

    Queries each source once; placeholder names of hosts yet to be allocated are not cached.
    `own` completes an address from the inventory.
    """

    groups: Mapping[str, Sequence[str]]
    sources: Mapping[str, Sequence[str]]  # groups that are SPECs
    own: Callable[[HostAddress], HostAddress]
    context: SourceContext
    names: Callable[[], Iterable[str]]  # hosts compared with a mistyped one
    # raises UsageError for unknown hosts
    refuse_unknown: Callable[[Iterable[ChosenHost]], None]
    asked: dict[str, FoundHosts] = field(default_factory=dict)
    uses: list[SourceUse] = field(default_factory=list)
    notes: list[Clause] = field(default_factory=list)
    # named by sources so far
    vouched: dict[str, HostAddress] = field(default_factory=dict)

    def hosts(self, specs: Iterable[str], above: tuple[str, ...] = ()) -> dict[str, ChosenHost]:
        """Return the hosts of a list of SPECs, by name, in order. Raises UsageError."""
        parts = [part for spec in specs for part in hostspec.split(spec)]
        for part, before in zip(parts, ["", *parts], strict=False):
            self.check_form(part.removeprefix("!").strip(), before)
        found = self.named([part for part in parts if not part.startswith("!")], above)
        excluded = [part[1:].strip() for part in parts if part.startswith("!")]
        if excluded and len(excluded) == len(parts):
            raise UsageError(f"{parts[0]} excludes hosts from a list; name the hosts first")
        for part in excluded:
            self.leave_out(part, found, above)
        if excluded and not found:
            raise UsageError(f"no host left after {', '.join(f'!{part}' for part in excluded)}")
        return found

    def named(self, parts: Sequence[str], above: tuple[str, ...]) -> dict[str, ChosenHost]:
        """Return the hosts of parts, in order. Raises UsageError.

        Parts that allocate hosts from a scheduler are resolved only after all others are known to
        be valid.
        """
        late = {part for part in parts if self.allocates(part)}
        names: dict[str, list[str]] = {}
        found: dict[str, ChosenHost] = {}
        for part in sorted(parts, key=late.__contains__):
            if part in late and not late.intersection(names):
                self.refuse_unknown(found.values())
            hosts = self.part(part, above)
            names[part] = [chosen.address.name for chosen in hosts]
            for chosen in hosts:
                _add(found, chosen)
            if len(found) > hostspec.MOST_KNOWN:
                raise UsageError(f"more than {hostspec.MOST_KNOWN} hosts, the limit of a selection")
        return {name: found[name] for part in parts for name in names[part]}

    def allocates(self, part: str, above: tuple[str, ...] = ()) -> bool:
        """Return whether a part, or a group it names, allocates hosts from a scheduler."""
        if part in above:  # a circle, which is an error elsewhere
            return False
        if part.startswith("@"):
            inner = [
                each for spec in self.sources.get(part[1:], ()) for each in hostspec.split(spec)
            ]
            return any(self.allocates(each.removeprefix("!"), (*above, part)) for each in inner)
        source = self.source_in(part)
        return source is not None and load_source(source[0]).allocates(source[1])

    def check_form(self, part: str, before: str) -> None:
        """Raise UsageError for a malformed part, before any source is queried."""
        if not part:
            raise UsageError("no host after '!'; allowed: !NAME and !@GROUP")
        if part.startswith("@"):
            if part[1:] not in self.groups and part[1:] not in self.sources:
                raise self.unknown_group(part[1:])
            return
        if self.source_in(part):
            return
        if before and hostspec.is_option(part) and not self.meant(part):
            why = f"'{shown(part)}' is an option of a source, but '{shown(before)}' is not a source"
            raise UsageError(why + self.meant(before))
        self.places(part)

    def leave_out(self, part: str, found: dict[str, ChosenHost], above: tuple[str, ...]) -> None:
        """Remove excluded hosts from `found`.

        Excluding a name that is not in it is an error; excluding a group is not.
        """
        names = [chosen.address.name for chosen in self.part(part, above)]
        left = [found.pop(name) for name in names if name in found]
        is_set = part.startswith("@") or self.source_in(part) is not None
        if not left and not is_set:
            self.refuse_unknown(found.values())  # an earlier name may contain the error
            hint = did_you_mean(names[0], found)
            raise UsageError(f"!{part} excludes none of the named hosts{hint}")

    def part(self, part: str, above: tuple[str, ...]) -> list[ChosenHost]:
        """Return the hosts of one part of a SPEC. Raises UsageError."""
        if part.startswith("@"):
            return list(self.group(part[1:], above))
        if source := self.source_in(part):
            return list(self.source(part, source, above))
        return [self.typed(place) for place in self.places(part)]

    def places(self, part: str) -> list[Destination]:
        """Return the destinations of a part that names neither a group nor a source. Raises
        UsageError.
        """
        try:
            return hostspec.destinations(part)
        except UsageError as error:
            hint = self.meant(part) if error.problems[0].code == hostspec.NO_HOST else ""
            right = part.rpartition("@")[2].partition(":")[0] in self.names()  # the rest is not
            if right or not hint:
                raise
            why = f"'{shown(part)}' is neither a host nor a source{hint}"
            raise UsageError(f"{why}; allowed: {hostspec.FORMS}") from error

    def meant(self, part: str) -> str:
        """Return a suggestion for an unknown part, ``(did you mean 'slurm:4711'?)``, or ""."""
        word = part.removeprefix("!")
        known = [*self.names(), *(f"@{group}" for group in (*self.groups, *self.sources))]
        near = nearest(hostspec.host_in(word), known)
        return suggestion(dict.fromkeys([*_as_source(word), *near]))

    def typed(self, place: Destination) -> ChosenHost:
        """Return the host for a name typed by the user."""
        if place.name in self.vouched and place.user is None:
            return ChosenHost(self.vouched[place.name], vouched=True)
        return ChosenHost(self.own(typed_address(place)), vouched=False)

    def source_in(self, part: str) -> tuple[str, str] | None:
        """Split ``SOURCE:TEXT`` into its two parts; None if the part names no source.

        Raises UsageError for an unknown source.
        """
        found = hostspec.source_of(part)
        if found is None or found[0] in installed_sources():
            return found
        name, tail = found
        if tail.isdigit() or ":" in tail or hostspec.is_range(part):
            return None  # HOST:PORT, or an IPv6 address
        hint = did_you_mean(name, installed_sources()) or self.meant(part)
        there = ", ".join(installed_sources())
        raise UsageError(
            f"unknown source '{name}'{hint}; sources: {there}; a port must be a number: HOST:22"
        )

    def group(self, group: str, above: tuple[str, ...]) -> Iterable[ChosenHost]:
        """Return the members of a group of the inventory. Raises UsageError."""
        if group in self.sources:
            inner = self.nested(f"@{group}", above)
            found = [
                _in_group(chosen, group)
                for chosen in self.hosts(self.sources[group], inner).values()
            ]
            self.vouched.update({each.address.name: each.address for each in found if each.vouched})
            return found
        if not self.groups[group]:
            raise UsageError(f"group '{group}' has no hosts")
        return [self.typed(Destination(name, name)) for name in self.groups[group]]

    def unknown_group(self, group: str) -> UsageError:
        """Return the error for an unknown group."""
        known = [*self.groups, *self.sources]
        there = f"groups: {', '.join(known)}" if known else NO_GROUPS
        if not group:
            return UsageError(f"no group after '@'; {there}")
        parted = _PARTED.fullmatch(group)
        hint = did_you_mean(group, known)
        if not hint and parted and parted[1] in known:
            hint = suggestion([f"@{parted[1]},{parted[2]}"])
        return UsageError(f"unknown group '{shown(group)}'{hint or self.meant(group)}; {there}")

    def source(
        self, part: str, source: tuple[str, str], above: tuple[str, ...]
    ) -> Iterable[ChosenHost]:
        """Return the hosts of a source. Raises UsageError that names the source."""
        try:
            found = self.asked_once(part, source)
            for address in found.hosts:
                check_name(address)
            inner = self.hosts(found.specs, self.nested(part, above)) if found.specs else {}
        except UsageError as error:
            raise UsageError([_of_part(problem, part) for problem in error.problems]) from error
        chosen = [
            *(ChosenHost(self.own(address), vouched=True) for address in found.hosts),
            *inner.values(),
        ]
        self.vouched.update({each.address.name: each.address for each in chosen if each.vouched})
        if not chosen:
            raise UsageError(f"{shown(part)} names no hosts")
        if part not in [use.spec for use in self.uses]:
            names = tuple(each.address.name for each in chosen)
            self.uses.append(
                SourceUse(
                    part, names, f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}", found.how, found.left_s
                )
            )
            self.notes += [
                clause("note-of-source", quote=note) if isinstance(note, str) else note
                for note in found.notes
            ]
        return chosen

    def asked_once(self, part: str, source: tuple[str, str]) -> FoundHosts:
        """Return the source's answer; the source is queried on the first call only.

        Raises UsageError.
        """
        if part not in self.asked:
            found = load_source(source[0]).find(source[1], self.context)
            if len(found.hosts) + len(found.specs) > hostspec.MOST_KNOWN:
                raise UsageError(f"more than {hostspec.MOST_KNOWN} hosts, the limit of a source")
            if self.context.pretends and self.allocates(part):
                return found
            self.asked[part] = found
        return self.asked[part]

    def nested(self, part: str, above: tuple[str, ...]) -> tuple[str, ...]:
        """Return the path of nested groups down to a part. Raises UsageError for a cycle."""
        if part in above:
            raise UsageError(f"{shown(part)} contains itself")
        if len(above) >= MOST_NESTED:
            raise UsageError(
                f"{shown(part)}: groups and files are nested more than {MOST_NESTED} deep"
            )
        return (*above, part)


def _as_source(word: str) -> list[str]:
    """Return the sources that a mistyped word may mean: ``slurm:4711`` for ``slrum:4711`` or
    ``slurm;4711``.
    """
    known = installed_sources()
    if word.casefold() in known:
        return [f"{word.casefold()}:"]
    for separator in (_COLON, _SEPARATOR):
        parted = separator.fullmatch(word)
        if parted and (near := nearest(parted[1], known)):
            return [f"{name}:{parted[2]}" for name in near]
    rests = {name: word.removeprefix(name) for name in known if word.startswith(name)}
    return [
        f"{name}:{rest}" for name, rest in rests.items() if rest.isdigit() or _NO_NAME.search(word)
    ]


def typed_address(place: Destination) -> HostAddress:
    """Return the address of a name typed by the user; `local` is this machine.

    Raises UsageError.
    """
    if place.name == hostspec.LOCAL:
        if place.user is not None:
            raise UsageError(f"{place.user}@{hostspec.LOCAL}: {LOCAL_ALONE}")
        return HostAddress(name=hostspec.LOCAL, transport="local")
    if place.host == hostspec.LOCAL:
        raise UsageError(f"{place.name}: {LOCAL_ALONE}")
    return address_of(place)


def completed(given: HostAddress, own: HostAddress) -> HostAddress:
    """Fill the unset fields of an address from its inventory entry."""
    missing = {
        name: value for name, value in asdict(own).items() if getattr(given, name) in (None, ())
    }
    missing["role"] = own.role
    if given.transport == "ssh" and own.transport != "ssh":
        missing |= {"transport": own.transport, "through": own.through}
    return replace(given, **missing)


def check_name(address: HostAddress) -> None:
    """Raise UsageError for an invalid host name.

    Names become part of file names, records and screens.
    """
    name = address.name
    if not _HOST_NAME.fullmatch(name) or name.startswith("-") or not name.isprintable():
        raise UsageError(
            f"'{name[:80]}' is not a host name; allowed: up to 253 characters without spaces,"
            " slashes, @, commas, quotes and shell characters, not starting with -"
        )


def shown(part: str) -> str:
    """Return a part for a message, shortened to 80 characters."""
    return part if len(part) <= 80 else f"{part[:77]}..."


def _of_part(problem: Problem, part: str) -> Problem:
    """Prefix a problem with the part that caused it, unless it names a file."""
    return (
        problem if problem.file else problem._replace(message=f"{shown(part)}: {problem.message}")
    )


def _in_group(chosen: ChosenHost, group: str) -> ChosenHost:
    groups = tuple(dict.fromkeys((*chosen.address.groups, group)))
    return chosen._replace(address=replace(chosen.address, groups=groups))


def _add(found: dict[str, ChosenHost], chosen: ChosenHost) -> None:
    """Add a host that may already be listed.

    Raises UsageError if the two addresses differ.
    """
    name = chosen.address.name
    known = found.get(name)
    if known is None:
        found[name] = chosen
        return
    for key in SAME:
        one, other = getattr(known.address, key), getattr(chosen.address, key)
        if None not in (one, other) and one != other:
            raise UsageError(f"host '{name}' given twice, with {key} {one} and {key} {other}")
    groups = tuple(dict.fromkeys((*known.address.groups, *chosen.address.groups)))
    address = replace(completed(known.address, chosen.address), groups=groups)
    found[name] = ChosenHost(address, known.vouched or chosen.vouched)
