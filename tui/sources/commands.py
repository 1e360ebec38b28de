"""`command:...`: hosts from a command that prints a name or a JSON object per line."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from tui.model.address import HostAddress
from tui.model.bounded import NO_JSON
from tui.model.hostspec import MOST_KNOWN, Destination, destinations, split
from tui.model.problem import UsageError, did_you_mean
from tui.sources.base import FoundHosts, HostSource, SourceContext, wrong
from tui.sources.files import without_comment, words_of
from tui.sources.run_command import output_or_error

SHELL = "/bin/sh"
TEXTS = ("name", "address", "user", "identity")
KEYS = (*TEXTS, "port", "groups", "exec")


class CommandSource(HostSource):
    """A source that runs a command line with /bin/sh.

    The command line is the whole rest of the SPEC.
    """

    form = "command:COMMAND, which prints one name or JSON object per line"
    title = (
        "names printed by a command, or JSON objects with name, address, port, user, identity,"
        " groups, exec"
    )

    def find(self, text: str, context: SourceContext) -> FoundHosts:
        """Return the hosts that the command prints. Raises UsageError."""
        if not text.strip():
            raise wrong(self.form, "no command given")
        if "\0" in text:
            raise wrong(self.form, "a command cannot contain a NUL character")
        printed = output_or_error([SHELL, "-c", text], context)
        return FoundHosts(hosts=tuple(printed_hosts(printed)), how=f"{SHELL} -c")


def printed_hosts(printed: str) -> Iterator[HostAddress]:
    """Yield the hosts that a command printed. Raises UsageError with the line number."""
    count = 0
    for number, line in enumerate(printed.splitlines(), 1):
        text = without_comment(line)
        try:
            found = (
                [_of_json(text)]
                if text.startswith("{")
                else [address_of(each) for each in _names(text)]
            )
        except UsageError as error:
            raise UsageError(f"output line {number}: {error.problems[0].message}") from error
        count += len(found)
        if count > MOST_KNOWN:
            raise UsageError(f"output line {number}: more than {MOST_KNOWN} hosts")
        yield from found


def address_of(place: Destination) -> HostAddress:
    """Return a typed name as an address."""
    if place.name == place.host:
        return HostAddress(place.name, user=place.user)
    return HostAddress(place.name, alias=place.host, port=place.port, user=place.user)


def _names(text: str) -> list[Destination]:
    return [each for word in words_of(text) for part in split(word) for each in destinations(part)]


def _of_json(text: str) -> HostAddress:
    try:
        data = json.loads(text)
    except NO_JSON as error:
        raise UsageError(f"found broken JSON ({error}); expected one object per line") from error
    for key, value in data.items():
        _check(key, value)
    if not data.get("name"):
        raise UsageError(f"an object has no name; allowed keys: {', '.join(KEYS)}")
    (place, *others) = destinations(data["name"])
    if others:
        raise UsageError(f"'{data['name']}' is a range; give one object per host")
    given = {
        key: value
        for key, value in data.items()
        if key in (*TEXTS[1:], "port") and value is not None
    }
    if shell := data.get("exec"):
        given |= {"transport": "exec", "through": shell}
    found = address_of(place)
    from msgspec.structs import replace

    return replace(found, groups=tuple(data.get("groups") or ()), **given)


def _check(key: str, value: Any) -> None:
    """Raise UsageError for an unknown key of a host, or an invalid value."""
    if key not in KEYS:
        raise UsageError(
            f"unknown key '{key}'{did_you_mean(key, KEYS)}; allowed: {', '.join(KEYS)}"
        )
    if value is None:
        return
    if key == "exec":
        right = isinstance(value, str) and value.isprintable() and bool(value.strip())
    elif key == "port":
        right = isinstance(value, int) and not isinstance(value, bool) and 0 < value < 65536
    elif key == "groups":
        right = isinstance(value, list) and all(is_word(each) for each in value)
    else:
        right = is_word(value)
    if not right:
        allowed = {"port": "a number from 1 to 65535", "groups": "a list of names"}.get(
            key, "a command" if key == "exec" else "text without spaces or a leading dash"
        )
        raise UsageError(f"{key}: {json.dumps(value)[:80]} is not allowed; expected {allowed}")


def is_word(value: Any) -> bool:
    """Return whether a value is a text of up to 4096 printable characters, without spaces or a
    leading dash.
    """
    short = isinstance(value, str) and 0 < len(value) <= 4096
    return (
        short
        and value.isprintable()
        and not value.startswith("-")
        and not any(map(str.isspace, value))
    )
