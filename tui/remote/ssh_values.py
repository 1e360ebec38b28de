"""Values of ssh_config options: read as their option wants them, and tokens in them replaced."""

from __future__ import annotations

import re
import socket
from collections.abc import Callable, Mapping, Sequence

from tui.model.problem import did_you_mean
from tui.remote.ssh_options import Option

Value = str | int | tuple[str, ...]
FLAGS = {"yes": "yes", "true": "yes", "no": "no", "false": "no"}
TIME = re.compile(r"(\d+)([smhdw]?)", re.IGNORECASE)
SECONDS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}
LARGEST = (1 << 31) - 1
TOKEN = re.compile(r"%(.?)|\$\{([^}]*)(\}?)", re.DOTALL)


def read_value(option: Option, arguments: Sequence[str], rest: str) -> Value:
    """Return the value of a line. Raises ValueError that says what is allowed."""
    if option.kind == "any":
        return ""
    if option.kind == "command":
        return rest.lstrip(" \t\r\n=")
    if not arguments or "" in arguments:
        raise ValueError("has no value")
    if option.kind == "words":
        return _words(arguments)
    if len(arguments) > 1:
        raise ValueError(f"extra arguments at the end of the line: {' '.join(arguments[1:])}")
    return _READ.get(option.kind, _word)(arguments[0], option)


def _words(arguments: Sequence[str]) -> tuple[str, ...]:
    if any(word.lower() == "none" for word in arguments):
        if len(arguments) > 1:
            raise ValueError("none must be alone")
        return ()
    return tuple(arguments)


def _word(text: str, _option: Option) -> str:
    return text


def _flag(text: str, _option: Option) -> str:
    if text.lower() not in FLAGS:
        raise ValueError(f"{text!r} is neither yes nor no")
    return FLAGS[text.lower()]


def _state(text: str, option: Option) -> str:
    value = FLAGS.get(text.lower(), text.lower()) if "yes" in option.choices else text.lower()
    if value not in option.choices:
        raise ValueError(f"{text!r} is none of {', '.join(option.choices)}{did_you_mean(value, option.choices)}")
    return value


def _number(text: str, _option: Option) -> int:
    try:
        value = int(text) if len(text) < 12 else LARGEST + 1
    except ValueError:
        raise ValueError(f"{text!r} is not a number") from None
    if abs(value) > LARGEST:
        raise ValueError(f"{text!r} is too large")
    return value


def _time(text: str, _option: Option) -> int:
    if text.lower() == "none":
        return 0
    parts = TIME.findall(text)
    if not parts or "".join(map("".join, parts)) != text or len(text) > 40:
        raise ValueError(f"{text!r} is not a time such as 30 or 1m30s")
    value = sum(int(number) * SECONDS[unit.lower()] for number, unit in parts)
    if value > LARGEST:
        raise ValueError(f"{text!r} is too long")
    return value


def port_of(text: str) -> int:
    """Return a port given as a number or as a service of /etc/services. Raises ValueError."""
    if text.isascii() and text.isdigit() and len(text) < 12:
        value = int(text)
    else:
        try:
            value = socket.getservbyname(text, "tcp")
        except (OSError, ValueError):
            raise ValueError(f"bad port {text!r}: a number from 1 to 65535, or a service") from None
    if not 0 < value < 65536:
        raise ValueError(f"bad port {text!r}: a number from 1 to 65535, or a service")
    return value


def _port(text: str, _option: Option) -> int:
    return port_of(text)


_READ: dict[str, Callable[[str, Option], Value]] = {
    "flag": _flag,
    "state": _state,
    "number": _number,
    "time": _time,
    "port": _port,
}


def expand(text: str, tokens: Mapping[str, str], environment: Mapping[str, str] | None = None) -> str:
    """Return a text with its %-tokens replaced, and ${NAME} where an environment is given. Raises ValueError."""

    def replaced(match: re.Match[str]) -> str:
        if match[1] is None:
            return _variable(match, environment)
        if match[1] == "%":
            return "%"
        if match[1] not in tokens:
            allowed = ", ".join(f"%{each}" for each in ("%", *sorted(tokens)))
            raise ValueError(f"unknown token %{match[1]} (allowed: {allowed})")
        return tokens[match[1]]

    return TOKEN.sub(replaced, text)


def _variable(match: re.Match[str], environment: Mapping[str, str] | None) -> str:
    if environment is None:
        return match[0]
    if not match[3] or match[2] not in environment:
        raise ValueError(f"the environment has no {match[2]!r}" if match[3] else "${ has no closing }")
    return environment[match[2]]
