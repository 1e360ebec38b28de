"""The texts that are sent to a /bin/sh on a host: functions of tui/remote/sh/, joined, and one call of one of them."""

from __future__ import annotations

import functools
import shlex
from collections.abc import Mapping, Sequence
from importlib import resources

AGENT = ("base", "probe", "files", "start", "supervise", "stream", "upkeep", "locks", "clock")  # sent with every call


@functools.cache
def functions(*parts: str) -> str:
    """Return the text of these parts of tui/remote/sh/."""
    folder = resources.files("tui.remote").joinpath("sh")
    return "\n".join(folder.joinpath(f"{part}.sh").read_text(encoding="utf-8") for part in parts)


def agent_script() -> str:
    """Return the agent: what stands before every call."""
    return functions(*AGENT)


def supervisor_script() -> str:
    """Return what stays on a host while a task runs."""
    return functions("base", "supervise")


def script(token: str, words: Sequence[str], *more: str, environ: Mapping[str, str] | None = None) -> bytes:
    """Return the agent, `more` parts, and one call; user input only ever stands in it quoted by shlex.

    `environ` is exported before the call: the script comes over stdin, so its values stand in no command line.

    The call is one brace group: cut anywhere, the script is a syntax error and does nothing.
    """
    command, *arguments = words
    call = " ".join([f"bt_{command}", *map(shlex.quote, arguments)])
    exports = "".join(f"export {name}={shlex.quote(value)}; " for name, value in (environ or {}).items())
    text = f"{functions(*AGENT, *more)}\n{{ bt_begin {token}; {exports}{call}; bt_end 0; }}\n"
    return text.encode(errors="surrogateescape")
