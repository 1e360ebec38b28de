"""Scripts sent to /bin/sh on hosts: parts of the agent (tui/remote/sh/) and one call.

A call sends the part that defines its function, and the parts that this function needs.
"""

from __future__ import annotations

import functools
import re
import shlex
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from msgspec import Struct

AGENT = (
    "base",
    "probe",
    "files",
    "start",
    "stars",
    "supervise",
    "stream",
    "upkeep",
    "opened",
    "locks",
    "clock",
)
PARTS = (
    *AGENT,
    "devices",
    "facts",
    "facts_target",
    "facts_layers",
    "overlay",
    "extents",
    "content",
    "mpi",
    "made",
    "carry",
)  # as sent
SHORTEST_WORD = 6
NAME = re.compile(r"\bbt_\w+")
DEFINED = re.compile(r"(?m)^ *(?:\S+\) )?(bt_\w+)\(\) ")


@functools.cache
def functions(*parts: str) -> str:
    """Return the text of these parts of tui/remote/sh/."""
    folder = Path(__file__).with_name("sh")
    return "\n".join((folder / f"{part}.sh").read_text(encoding="utf-8") for part in parts)


@functools.cache
def homes() -> dict[str, str]:
    """Return the name of the part that defines each function of the agent."""
    return {name: part for part in PARTS for name in DEFINED.findall(functions(part))}


@functools.cache
def parts_of(command: str) -> tuple[str, ...]:
    """Return the parts that a function needs; `base` comes first."""
    wanted: set[str] = set()
    todo = {"base", homes().get(f"bt_{command}", "base")}
    while todo:
        wanted |= todo
        named = {
            homes().get(name, "base") for part in todo for name in NAME.findall(functions(part))
        }
        todo = named - wanted
    return tuple(part for part in PARTS if part in wanted)


def is_hidden(secret: str) -> bool:
    """Return whether a secret is masked in output: if it has 6 characters or more, and is not a
    number, which could also be a figure.
    """
    return len(secret) >= SHORTEST_WORD and not secret.isdigit()


def supervisor_script() -> str:
    """Return the script that runs on a host for the duration of a task."""
    return functions("base", "stars", "supervise")


class Script(Struct, frozen=True):
    """One call of an agent function.

    `token` marks its answer; user input is always quoted.
    """

    token: str
    call: str
    parts: tuple[str, ...]

    @classmethod
    def of(
        cls,
        token: str,
        words: Sequence[str],
        environ: Mapping[str, str] | None = None,
        caller: str = "none/none",
        *,
        carries: bool = False,
    ) -> Script:
        """Return a call of `bt_WORD` with the other words as arguments, on behalf of `caller`
        (RUN/HOST).

        `environ` is exported first; its values are on no command line, because the script is sent
        over stdin. `carries`: copied programs take precedence over the host's own.
        """
        command, *arguments = words
        exports = "".join(
            f"export {name}={shlex.quote(value)}; " for name, value in (environ or {}).items()
        )
        call = " ".join([f"bt_{command}", *map(shlex.quote, arguments)])
        prefer = "bt_prefer_carried; " if carries else ""
        return cls(
            token, f"{exports}BT_CALLER={shlex.quote(caller)}; {prefer}{call}", parts_of(command)
        )

    def alone(self) -> bytes:
        """Return the script for a new shell, as one brace group, so that a truncated script does
        nothing.
        """
        return encoded(
            f"{functions(*self.parts)}\n{{ bt_begin {self.token}; {self.call}; bt_end 0; }}\n"
        )

    def after(self, sent: Collection[str], *, talks: bool = False) -> bytes:
        """Return the script for a kept shell that already has the parts in `sent`.

        A BT-OVER line marks the end of the call's output on stdout and on stderr. A call that
        `talks` reads the input that follows; others read none.
        """
        stdin = "" if talks else " </dev/null"
        missing = [part for part in self.parts if part not in sent]
        group = f"(bt_begin {self.token}; {self.call}; bt_end 0){stdin}; bt_over {self.token} $?;"
        return encoded(f"{functions(*missing)}\n{{ {group} }}\n")


def encoded(text: str) -> bytes:
    """Return a script as bytes; paths may contain any byte."""
    return text.encode(errors="surrogateescape")
