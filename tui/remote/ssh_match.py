"""Which lines of an SSH configuration hold for a host: patterns of Host, criteria of Match."""

from __future__ import annotations

import fnmatch
import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Protocol

from tui.model.problem import did_you_mean
from tui.remote.sshfile import Line

ALONE = ("all", "canonical", "final")  # criteria without an argument
VERSION = "OpenSSH_10.0"  # what `Match version` is compared with: whose options these are
EXEC_TIMEOUT_S = 10.0
ENTER = 'cd "$1" 2>/dev/null; shift; exec "$@"'
NOT_FOUND = 127  # a shell's word for a command that is not there
WITH_ARGUMENT = ("host", "originalhost", "user", "localuser", "tagged", "version", "sessiontype", "command", "exec")


class About(Protocol):
    """What is known of a host so far."""

    final: bool

    def subject(self, criterion: str) -> str:
        """Return what a criterion is compared with."""

    def ends_well(self, command: str) -> bool:
        """Return whether a command, with tokens, ends with 0. Raises ValueError."""


@lru_cache(maxsize=4096)
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(fnmatch.translate(pattern.replace("[", "[[]")))  # which never backtracks over a *


def matches(text: str, pattern: str) -> bool:
    """Return whether a pattern with * and ? matches a text, case-sensitively."""
    return _compiled(pattern).match(text) is not None


def host_holds(host: str, patterns: Sequence[str]) -> bool:
    """Return whether a Host line is for a host: one pattern matches, and none behind a !."""
    matching = [pattern for pattern in patterns if matches(host, pattern.removeprefix("!"))]
    return bool(matching) and not any(pattern.startswith("!") for pattern in matching)


def list_holds(text: str, patterns: str, *, lower: bool = False) -> bool:
    """Return whether a list of patterns with commas matches a text."""
    if lower:
        text, patterns = text.lower(), patterns.lower()
    return host_holds(text, patterns.split(","))


def match_holds(line: Line, about: About) -> tuple[bool, bool]:
    """Return (whether a Match line is for a host, whether it asks for a final pass). Raises ConfigError."""
    holds, wants_final = True, False
    for negated, name, argument in criteria(line):
        wants_final = wants_final or (name == "final" and not negated)
        try:
            # a later criterion is not looked at: its command must not run
            holds = holds and _holds(name, argument, about) != negated
        except ValueError as error:
            raise line.error(f"Match {name}: {error}") from None
    return holds, wants_final


def criteria(line: Line) -> Iterator[tuple[bool, str, str]]:
    """Yield the criteria of a Match line: whether negated, name in small letters, argument. Raises ConfigError."""
    words = iter(line.arguments)
    for count, word in enumerate(words):
        negated, plain = word.startswith("!"), word.removeprefix("!")
        name, equals, argument = plain.partition("=")
        name = name.lower()
        if name in ALONE and not equals:
            if name == "all" and (count or next(words, None) is not None):
                raise line.error("Match all cannot be combined with other criteria")
            yield negated, name, ""
            continue
        if name not in WITH_ARGUMENT:
            raise line.error(_no_criterion(name))
        found = argument if equals else next(words, None)
        if found is None or (not found and name not in ("tagged", "command")):
            raise line.error(f"Match {name} has no value")
        yield negated, name, found
    if not line.arguments:
        raise line.error("Match has no criteria")


def _no_criterion(name: str) -> str:
    if name == "localnetwork":
        return "Match localnetwork is not supported: use Match exec with a command that tells the networks apart"
    return f"bad Match criterion {name}{did_you_mean(name, (*ALONE, *WITH_ARGUMENT))}"


def _holds(name: str, argument: str, about: About) -> bool:
    if name == "all":
        return True
    if name in ("canonical", "final"):
        return about.final
    if name == "exec":
        return about.ends_well(argument)
    subject = about.subject(name)
    if name in ("tagged", "command") and not subject:
        return not argument
    return list_holds(subject, argument, lower=name in ("host", "originalhost"))


def run_in_shell(command: str, directory: Path | None = None) -> bool:
    """Return whether a command ends with 0 in the user's shell, without input and output. Raises ValueError.

    It is run in `directory` where that is there, else where this process is.
    """
    shell = os.environ.get("SHELL") or "/bin/sh"
    null = subprocess.DEVNULL
    words = ["/bin/sh", "-c", ENTER, "sh", str(directory or "."), shell, "-c", command]
    try:
        done = subprocess.run(words, stdin=null, stdout=null, stderr=null, timeout=EXEC_TIMEOUT_S, check=False)
    except subprocess.TimeoutExpired:
        raise ValueError(f"{command!r} did not end within {EXEC_TIMEOUT_S:g} s") from None
    if done.returncode == NOT_FOUND and shutil.which(shell) is None:
        raise ValueError(f"{shell}: there is no such shell")
    return done.returncode == 0
