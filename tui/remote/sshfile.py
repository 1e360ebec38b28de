"""SSH configuration files, parsed as in OpenSSH's readconf.c, once for all hosts."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Lock
from typing import TypeVar

from msgspec import Struct

from tui.model.problem import did_you_mean
from tui.remote.ssh_include import MOST_FILES, ConfigText, matching
from tui.remote.ssh_options import ALIASES, IGNORED, OPTIONS, Value, read_value

DEEPEST = 16  # nesting of includes, as in OpenSSH
BLANK = " \t\r\n"
KEYWORD = re.compile(
    r'[ \t\r\n]*=?[ \t\r\n]*(?:"([^"]*)"|([^ \t\r\n"=]+))[ \t\r\n]*(?:=[ \t\r\n]*)?(.*)', re.DOTALL
)
PLAIN = re.compile(r"[^*?!]+")
Key = TypeVar("Key", Path, str)
Found = TypeVar("Found")


class ConfigError(ValueError):
    """Raised for an invalid configuration; the message names the file, and the line if known."""


class SshConfigLine(Struct, frozen=True):
    """One directive: `keyword` in lower case, `rest` the text after it, `value` the parsed value.

    If OpenSSH has no such option, it is `unknown`, and `rest` is the keyword as written.
    """

    path: Path
    number: int
    keyword: str
    arguments: tuple[str, ...]
    rest: str
    value: Value = ""
    unknown: bool = False

    @property
    def place(self) -> str:
        """File and line of the directive."""
        return f"{self.path} line {self.number}"

    def error(self, why: str) -> ConfigError:
        """Return an error about this line."""
        return ConfigError(f"{self.place}: {why}")


class Block(Struct, frozen=True):
    """A Host or Match line (None at the top of a file) and the lines below it.

    `names`: the only hosts it can match, if known.
    """

    condition: SshConfigLine | None
    names: frozenset[str] | None
    lines: tuple[SshConfigLine, ...]
    # those read even if the condition does not hold
    stays: tuple[SshConfigLine, ...]


class ConfigFiles:
    """The configuration files of this process, each read once; thread-safe."""

    def __init__(self) -> None:
        self._blocks: dict[Path, list[Block]] = {}
        self._matches: dict[str, list[Path]] = {}
        self._ends: dict[str, bool] = {}
        self._text = ConfigText()
        self._lock = Lock()

    def blocks(self, path: Path) -> list[Block]:
        """Return the blocks of a file. Raises ConfigError or OSError."""
        return self._once(self._blocks, path, lambda: list(blocks(path, text_of(path, self._text))))

    def matching(self, pattern: str) -> list[Path]:
        """Return the files that match a glob(7) pattern, in order.

        Raises ConfigError or OSError if there are too many.
        """
        return self._once(self._matches, pattern, lambda: files_of(pattern))

    def ends_well(self, command: str, run: Callable[[str], bool]) -> bool:
        """Return whether a command of `Match exec` exits with 0; it runs once for all hosts."""
        return self._once(self._ends, command, lambda: run(command))

    def _once(self, kept: dict[Key, Found], key: Key, make: Callable[[], Found]) -> Found:
        with self._lock:
            if key not in kept:
                if len(kept) >= MOST_FILES and isinstance(key, Path):
                    raise ConfigError(
                        f"{key}: too many files are included (more than {MOST_FILES})"
                    )
                kept[key] = make()
            return kept[key]


def text_of(path: Path, read_before: ConfigText) -> str:
    """Return the text of a file.

    Raises OSError, including if the total size of files is too large.
    """
    return read_before.read(path).decode(errors="surrogateescape")


def files_of(pattern: str) -> list[Path]:
    """Return the files that match a pattern.

    Raises ConfigError if there are too many, OSError if too many names would have to be scanned.
    """
    paths = matching(Path(pattern))
    if len(paths) > MOST_FILES:
        raise ConfigError(f"{pattern}: too many files are included (more than {MOST_FILES})")
    return paths


def check_owner(path: Path) -> None:
    """Raise ConfigError for a file that other users can write to; it could run commands, and ssh
    refuses it.
    """
    status = path.stat()
    if status.st_uid not in (0, os.getuid()) or status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise ConfigError(f"{path}: bad owner or permissions: other users can write to it")


def blocks(path: Path, text: str) -> Iterator[Block]:
    """Yield the blocks of a file in order. Raises ConfigError."""
    condition: SshConfigLine | None = None
    lines: list[SshConfigLine] = []
    for line in lines_of(path, text):
        if line.keyword in ("host", "match"):
            yield block(condition, lines)
            condition, lines = line, []
        else:
            lines.append(line)
    yield block(condition, lines)


def block(condition: SshConfigLine | None, lines: list[SshConfigLine]) -> Block:
    """Build a block.

    Its `names` are the hosts of a Host line without wildcards, else None.
    """
    names = None
    if condition and condition.keyword == "host" and all(map(PLAIN.fullmatch, condition.arguments)):
        names = frozenset(condition.arguments)
    stays = tuple(line for line in lines if line.unknown or line.keyword == "include")
    return Block(condition, names, tuple(lines), stays)


def lines_of(path: Path, text: str) -> Iterator[SshConfigLine]:
    """Yield the directives of a file. Raises ConfigError."""
    for number, raw in enumerate(text.split("\n"), 1):
        line = line_of(path, number, raw.partition("\0")[0])
        if line is not None:
            yield line


def line_of(path: Path, number: int, raw: str) -> SshConfigLine | None:
    """Parse one line; None for comments and empty lines. Raises ConfigError."""
    match = KEYWORD.fullmatch(raw.rstrip(BLANK + "\f"))
    word = (match[1] or match[2] or "") if match else ""
    if match is None or not word or word.startswith("#"):
        return None
    keyword, rest = ALIASES.get(word.lower(), word.lower()), match[3]
    line = SshConfigLine(path, number, keyword, (), rest)
    if not rest:
        raise line.error(f"{word} has no value")
    option = OPTIONS.get(keyword)
    if option is None:
        return SshConfigLine(path, number, keyword, (), word, unknown=True)
    try:
        arguments = split(rest)
        value = "" if option.fate == IGNORED else read_value(option, arguments, rest)
    except ValueError as error:
        raise line.error(f"{option.name}: {error}") from None
    return SshConfigLine(path, number, keyword, tuple(arguments), rest, value)


def unknown(line: SshConfigLine) -> ConfigError:
    """Return the error for an option that OpenSSH does not have."""
    hint = did_you_mean(line.rest, [option.name for option in OPTIONS.values()])
    return line.error(f"bad configuration option {line.rest}{hint}")


def split(text: str) -> list[str]:
    r"""Return the arguments of a line: quotes and # comments as in readconf.c.

    \ escapes a quote, itself and a space; others stay, so that DOMAIN\user needs no quotes. Raises
    ValueError for an unclosed quote.
    """
    found: list[str] = []
    at = 0
    while at < len(text):
        if text[at] in " \t":
            at += 1
        elif text[at] == "#":
            break
        else:
            word, at = _word(text, at)
            found.append(word)
    return found


def _word(text: str, at: int) -> tuple[str, int]:
    """Return the argument that starts at a position, and the position of its end."""
    word: list[str] = []
    quote = ""
    while at < len(text) and (quote or text[at] not in " \t"):
        char, after = text[at], text[at + 1 : at + 2]
        if char == "\\" and after and after in ("'\"\\" if quote else "'\"\\ "):
            word.append(after)
            at += 1
        elif char == quote:
            quote = ""
        elif not quote and char in "'\"":
            quote = char
        else:
            word.append(char)
        at += 1
    if quote:
        raise ValueError(f"no closing {quote}")
    return "".join(word), at
