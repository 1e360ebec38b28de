"""Roles of a suite: which of the chosen hosts run which profiles. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from tui.model import hostspec
from tui.model.address import HostAddress
from tui.model.plain import some
from tui.model.problem import Problem, UsageError, did_you_mean

REST = "rest"
FORMS = f"a number of hosts, a share such as 50%, {REST}, or hosts by name, range or @group"
_SHARE = re.compile(r"(\d{1,3})\s*%", re.ASCII)


def in_role(profile: str, role: str | None, beside: Sequence[str]) -> str:
    """Return a profile's name with its role and concurrent roles: ``a/b as readers with
    writers``.
    """
    others = f" with {', '.join(beside)}" if beside else ""
    return f"{profile} as {role}{others}" if role else profile


def parse_role(value: object) -> str:
    """Check the hosts of a role; return them as text. Raises ValueError with the allowed forms."""
    text = str(value).strip()
    if isinstance(value, bool) or not text:
        raise ValueError(f"allowed: {FORMS}")
    if text.isdecimal() and not 1 <= int(text) <= hostspec.MOST_HOSTS:
        raise ValueError(f"the number of hosts must be from 1 to {hostspec.MOST_HOSTS}")
    if (share := _SHARE.fullmatch(text)) and not 1 <= int(share[1]) <= 99:
        raise ValueError("a share of the hosts must be from 1% to 99%")
    if is_named(text):
        try:
            for part in hostspec.split(text):
                _check_part(part)
        except UsageError as error:
            raise ValueError(f"{error.problems[0].message}; allowed: {FORMS}") from None
    return text


def is_named(text: str) -> bool:
    """Return whether a role names its hosts: neither a number, nor a share, nor the rest."""
    return text != REST and not text.isdecimal() and _SHARE.fullmatch(text) is None


def hosts_by_role(
    roles: Mapping[str, str], hosts: Sequence[HostAddress]
) -> dict[str, list[HostAddress]]:
    """Return the hosts of each role: named hosts first, then numbers and shares in order, then the
    rest.

    Raises UsageError for a role with too few hosts, or a host in two roles.
    """
    found: dict[str, list[HostAddress]] = {}
    for role, text in roles.items():
        if is_named(text):
            found[role] = _named(role, text, hosts)
    _check_apart(found)
    free = [host for host in hosts if not any(host in taken for taken in found.values())]
    for role, text in roles.items():
        if role not in found and text != REST:
            wanted = _count(text, len(hosts))
            found[role], free = free[:wanted], free[wanted:]
            if len(found[role]) < wanted:
                raise UsageError(_too_few(roles, role, wanted, len(found[role])))
    for role, text in roles.items():
        if text == REST:
            found[role], free = free, []
            if not found[role]:
                raise UsageError(_too_few(roles, role, 1, 0))
    return {role: found[role] for role in roles}


def _named(role: str, text: str, hosts: Sequence[HostAddress]) -> list[HostAddress]:
    wanted: dict[str, HostAddress] = {}
    for part in hostspec.split(text):
        if part.startswith("@"):
            found = [host for host in hosts if part[1:] in host.groups]
        else:
            names = [place.name for place in hostspec.destinations(part)]
            found = [host for host in hosts if host.name in names]
        if not found:
            known = some(host.name for host in hosts)
            raise UsageError(f"role {role}: no host of this run matches {part}; hosts: {known}")
        wanted |= {host.name: host for host in found}
    return list(wanted.values())


def _check_part(part: str) -> None:
    if part.startswith("!") or hostspec.source_of(part) is not None:
        raise UsageError(
            f"'{part}' is not allowed in a role; name hosts, ranges or @groups of this run"
        )
    hostspec.check_part(part)


def _check_apart(found: Mapping[str, Sequence[HostAddress]]) -> None:
    of: dict[str, str] = {}
    for role, hosts in found.items():
        for host in hosts:
            if other := of.get(host.name):
                raise UsageError(f"host {host.name} is in roles {other} and {role}; expected one")
            of[host.name] = role


def _count(text: str, hosts: int) -> int:
    share = _SHARE.fullmatch(text)
    return max(1, hosts * int(share[1]) // 100) if share else int(text)


def _too_few(roles: Mapping[str, str], role: str, wanted: int, left: int) -> str:
    split = ", ".join(f"{name}: {text}" for name, text in roles.items())
    return (
        f"role {role}: needs {wanted} host{'s' * (wanted > 1)}, {left} left ({split}); choose "
        f"more hosts"
    )


def chosen_roles(roles: Mapping[str, str], given: Mapping[str, str]) -> dict[str, str]:
    """Return the roles of a suite, overridden by the choices at launch.

    Raises UsageError for unknown roles and invalid values.
    """
    problems: list[Problem] = []
    for role, text in given.items():
        if role not in roles:
            known = ", ".join(roles) or "none"
            problems.append(
                Problem(f"unknown role '{role}'{did_you_mean(role, roles)}; roles: {known}")
            )
            continue
        try:
            parse_role(text)
        except ValueError as error:
            problems.append(Problem(f"role {role}: {error}"))
    if problems:
        raise UsageError(problems)
    return {role: parse_role(given.get(role, text)) for role, text in roles.items()}
