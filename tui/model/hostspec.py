"""Host specifications (SPECs) as typed: names, ranges, user@host:port, @groups, sources,
exclusions, ``local``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from tui.model.problem import Problem, UsageError

LOCAL = "local"
NO_HOST = "no-host-name"  # code of a problem: a word that cannot be a host name
STDIN = "-"
MOST_HOSTS = 4096  # of one name with ranges, and of one run
# of an inventory, a source, or an SSH configuration with its includes
MOST_KNOWN = 16_384
MOST_RANGES = 8  # brackets and braces in one name
MOST_SPEC = 65_536  # characters
WHOLE = ("command",)  # sources that take the rest of a SPEC, including its commas
_NAME = re.compile(r"[A-Za-z0-9_:]([A-Za-z0-9._:%-]*[A-Za-z0-9_:])?", re.ASCII)
# [::1]
_ADDRESS = re.compile(r"\[([0-9A-Fa-f.]*:[0-9A-Fa-f.]*:[0-9A-Fa-f.:]*(?:%[\w.-]+)?)\]", re.ASCII)
_USER = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.$\\+-]*", re.ASCII)
_BRACKET = re.compile(r"\[([^\[\]]*)\]|\{([^{}]*)\}")
_PART = re.compile(r"(\d{1,9})(?:-(\d{1,9})(?:/(\d{1,9}))?)?", re.ASCII)
_BRACES = re.compile(r"(\d{1,9})\.\.(\d{1,9})(?:\.\.(\d{1,9}))?", re.ASCII)
_WORD = re.compile(r"[A-Za-z0-9_.-]+", re.ASCII)
_SOURCE = re.compile(r"([A-Za-z][A-Za-z0-9_-]*):(.*)", re.ASCII | re.DOTALL)
_OPTION = re.compile(r"[a-z][a-z0-9_-]*=", re.ASCII)
FORMS = (
    "a name, a range like h[1-4], weka-[01-08,12] or h[1-9/2], user@host:port, a group"
    " like @clients, a source like ansible:FILE, !NAME to exclude, or local"
)


class Destination(NamedTuple):
    """How to reach a host according to its typed name.

    `name`: its name in benchtui, without the user.
    """

    name: str
    host: str
    user: str | None = None
    port: int | None = None


def split(spec: str) -> list[str]:
    """Split a comma-separated list; commas in brackets and braces do not separate.

    ``name=value`` after a source belongs to the source, and ``command:`` includes the rest of the
    line. Raises UsageError.
    """
    if len(spec) > MOST_SPEC:
        raise UsageError(f"host specification '{_short(spec)}': longer than {MOST_SPEC} characters")
    if not spec.strip():
        raise UsageError(f"the host specification is empty; allowed: {FORMS}")
    parts: list[str] = []
    rest = spec
    while True:
        if is_whole(rest):
            parts.append(rest.strip())
            break
        part, comma, rest = _first(rest)
        if parts and _OPTION.match(part.strip()) and source_of(parts[-1].removeprefix("!")):
            parts[-1] += f",{part.strip()}"
        else:
            parts.append(part.strip())
        if not comma:
            break
    if not all(parts):
        raise UsageError(f"host specification '{_short(spec)}': empty part; allowed: {FORMS}")
    return parts


def is_option(part: str) -> bool:
    """Return whether a part is an option of a source, such as ``nodes=4``."""
    return _OPTION.match(part) is not None


def is_whole(spec: str) -> bool:
    """Return whether a SPEC is a source that includes the rest of the line."""
    found = source_of(spec.strip().removeprefix("!"))
    return found is not None and found[0] in WHOLE


def source_of(part: str) -> tuple[str, str] | None:
    """Return the name before the first colon and the text after it; None for ``h1`` and ``::1``.

    ``-`` is the file on stdin: ("file", "-").

    Does not check whether such a source exists: ``h1:22`` looks like one.
    """
    if part == STDIN:
        return "file", STDIN
    match = _SOURCE.fullmatch(part)
    return (match[1], match[2]) if match else None


def expand(spec: str) -> list[str]:
    """Return the host names of one part of a SPEC, in order; not for groups. Raises UsageError."""
    names = _spelled(spec)
    for name in names:
        if not _NAME.fullmatch(name) or len(name) > 253:
            raise _no_name(spec, name)
    return names


def destinations(spec: str) -> list[Destination]:
    """Return the destinations of one part, [USER@]HOST[:PORT], with ranges anywhere.

    Raises UsageError.
    """
    user, at, rest = spec.rpartition("@")
    if at and not rest:
        raise UsageError(
            f"host specification '{_short(spec)}': no host after the @; expected USER@HOST"
        )
    if at and not _USER.fullmatch(user):
        why = f"'{_short(user)}' is not a user name; allowed: {FORMS}"
        raise UsageError(Problem(f"host specification '{_short(spec)}': {why}", code=NO_HOST))
    if address := _ADDRESS.match(rest):
        return [_placed(spec, address[1], rest[address.end() :], user, f"[{address[1]}]")]
    found = []
    for name in _spelled(rest, spec):
        host, colon, port = name.partition(":")
        if colon and not host and not port.startswith(":"):
            raise _no_name(spec, name)
        if ":" in port or not host:  # fe80::1, ::1
            host, colon, port = name, "", ""
        found.append(_placed(spec, host, colon + port, user, host))
    return found


def _placed(spec: str, host: str, tail: str, user: str, shown_host: str) -> Destination:
    """Return one destination. `tail`: ``:PORT`` or empty."""
    if not _NAME.fullmatch(host) or len(host) > 253:
        raise _no_name(spec, host)
    if not tail:
        return Destination(host, host, user or None)
    digits = tail[1:]
    if not digits:
        why = f"host specification '{_short(spec)}': no port after the colon; expected HOST:PORT"
        raise UsageError(Problem(why, code=NO_HOST))
    if not (
        tail[0] == ":"
        and digits.isascii()
        and digits.isdigit()
        and len(digits) <= 5
        and 0 < int(digits) < 65536
    ):
        why = f"'{_short(digits)}' is not a port; allowed: 1 to 65535"
        raise UsageError(Problem(f"host specification '{_short(spec)}': {why}", code=NO_HOST))
    return Destination(f"{shown_host}:{int(digits)}", host, user or None, int(digits))


def check_part(part: str) -> None:
    """Raise UsageError for a part that cannot name a host, without resolving it."""
    if not part.startswith("@") and source_of(part) is None:
        destinations(part)


def host_in(part: str) -> str:
    """Return the host name in a part that may be mistyped; for a range, the first name."""
    rest = part.rpartition("@")[2] or part
    host, _, port = rest.rpartition(":")
    bare = host if host and port.isdigit() else rest
    try:
        return _spelled(bare)[0]
    except UsageError:
        return bare


def is_range(spec: str) -> bool:
    """Return whether a part of a SPEC stands for several hosts."""
    return any(character in spec for character in "[]{}")


@lru_cache(maxsize=8)
def named(word: str) -> frozenset[str]:
    """Return the names of a range; empty if it is invalid, or still incomplete."""
    try:
        return frozenset(expand(word))
    except UsageError:
        return frozenset()


def _first(text: str) -> tuple[str, str, str]:
    """Split a list at its first comma outside brackets: (text before, comma, rest)."""
    depth = 0
    for at, character in enumerate(text):
        depth += (character in "[{") - (character in "]}")
        if character == "," and depth <= 0:
            return text[:at], ",", text[at + 1 :]
    return text, "", ""


def _spelled(spec: str, whole: str | None = None) -> list[str]:
    """Expand a part with ranges, without duplicates. `whole`: the text to quote in messages."""
    quoted = whole or spec
    if spec.count("[") + spec.count("{") > MOST_RANGES:
        raise UsageError(
            f"host specification '{_short(quoted)}': more than {MOST_RANGES} ranges in one name"
        )
    return list(dict.fromkeys(_expand(spec, quoted)))


def _expand(text: str, spec: str) -> Iterator[str]:
    match = _BRACKET.search(text)
    if match is None:
        if is_range(text):
            raise UsageError(
                f"host specification '{_short(spec)}': brackets do not match; allowed: {FORMS}"
            )
        yield text
        return
    inside: dict[str, None] = {}
    for part in (match[1] if match[1] is not None else match[2]).split(","):
        inside |= dict.fromkeys(
            _numbers(part.strip(), spec) if match[1] is not None else _words(part.strip(), spec)
        )
        if len(inside) > MOST_HOSTS:
            raise too_many(spec)
    rests = list(_expand(text[match.end() :], spec))
    if len(inside) * len(rests) > MOST_HOSTS:
        raise too_many(spec)
    for number in inside:
        for rest in rests:
            yield text[: match.start()] + number + rest


def _short(spec: str) -> str:
    return spec if len(spec) <= 60 else spec[:57] + "..."


def too_many(spec: str) -> UsageError:
    """Return the error for a name that expands to too many hosts."""
    return UsageError(f"host specification '{_short(spec)}': more than {MOST_HOSTS} hosts")


def _no_name(spec: str, name: str) -> UsageError:
    from tui.model.quantities import shown

    why = f"{shown(name)} is not a host name; allowed: {FORMS}"
    return UsageError(Problem(f"host specification '{_short(spec)}': {why}", code=NO_HOST))


def _numbers(part: str, spec: str) -> list[str]:
    """Return the numbers that ``3``, ``1-8`` or ``1-8/2`` stands for."""
    match = _PART.fullmatch(part)
    if not part:
        raise UsageError(f"host specification '{_short(spec)}': an empty part in the brackets")
    if match is None:
        raise UsageError(
            f"host specification '{_short(spec)}': '{part}' is not a number or a range like 1-8"
        )
    return _counted(part, (match[1], match[2] or match[1], match[3]), spec)


def _words(part: str, spec: str) -> list[str]:
    """Expand one alternative of a brace: a word, ``1..8`` or ``1..8..2``."""
    if not part:
        raise UsageError(f"host specification '{_short(spec)}': an empty part in the braces")
    if match := _BRACES.fullmatch(part):
        return _counted(part, (match[1], match[2], match[3]), spec)
    if not _WORD.fullmatch(part) or ".." in part:
        raise UsageError(
            f"host specification '{_short(spec)}': '{part}' is not a word or a range like 1..8"
        )
    return [part]


def _counted(part: str, ends: tuple[str, str, str | None], spec: str) -> list[str]:
    first, last, step = ends
    if int(last) < int(first):
        raise UsageError(
            f"host specification '{_short(spec)}': the range {part} runs backwards;"
            " put the smaller number first"
        )
    if step is not None and int(step) == 0:
        raise UsageError(
            f"host specification '{_short(spec)}': the step of {part} is 0; expected 1 or more"
        )
    numbers = range(int(first), int(last) + 1, int(step or 1))
    if len(numbers) > MOST_HOSTS:
        raise too_many(spec)
    width = len(first) if first.startswith("0") else 0
    return [str(number).zfill(width) for number in numbers]
