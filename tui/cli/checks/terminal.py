"""Checks of the terminal: colours, characters, size, tmux, the editor."""

from __future__ import annotations

import os
import shlex
import sys

from tui.cli.checks import Check, Surroundings

COLUMNS, LINES = 80, 24
SLOW_ESCAPE_MS = 100


def terminal(surroundings: Surroundings) -> Check:
    """Whether the screens can be drawn here."""
    term = surroundings.environ.get("TERM", "")
    if not sys.stdout.isatty():
        return Check("terminal", "ok", "none here: the verbs work, the screens need one")
    if term in ("", "dumb", "unknown"):
        advice = "export TERM=xterm-256color, or what your terminal is"
        return Check("terminal", "warn", f"TERM={term or '(not set)'} cannot place the cursor", advice)
    columns, lines = os.get_terminal_size(sys.stdout.fileno())
    message = f"{term}, {colours(surroundings)}, {columns}x{lines}"
    if (columns, lines) == (0, 0):
        return Check("terminal", "ok", f"{term}, {colours(surroundings)}, size not told")
    if columns < COLUMNS or lines < LINES:
        return Check("terminal", "warn", f"{message}: cramped", f"make it {COLUMNS}x{LINES} or larger")
    return Check("terminal", "ok", message)


def colours(surroundings: Surroundings) -> str:
    """Say how many colours the environment promises."""
    environ = surroundings.environ
    if environ.get("NO_COLOR"):
        return "no colours (NO_COLOR)"
    if environ.get("COLORTERM", "").lower() in ("truecolor", "24bit"):
        return "16 million colours"
    return "256 colours" if environ.get("TERM", "").endswith(("256color", "kitty")) else "16 colours"


def characters(surroundings: Surroundings) -> Check:
    """Whether the locale says UTF-8: curves and frames are drawn with it."""
    names = ("LC_ALL", "LC_CTYPE", "LANG")
    locale = next((value for name in names if (value := surroundings.environ.get(name))), "")
    if locale.lower().replace("-", "").endswith("utf8"):
        return Check("characters", "ok", f"UTF-8 ({locale})")
    return Check("characters", "warn", f"the locale is {locale or 'not set'}, not UTF-8", "export LC_ALL=C.UTF-8")


def tmux(surroundings: Surroundings) -> Check:
    """Whether the screens survive a lost connection, and whether the Escape key arrives in time."""
    if surroundings.environ.get("TMUX"):
        delay = surroundings.output_of("tmux", "show-options", "-sv", "escape-time") or ""
        if delay.isdigit() and int(delay) > SLOW_ESCAPE_MS:
            return Check("tmux", "warn", f"inside tmux; Escape takes {delay} ms", "tmux set -sg escape-time 20")
        return Check("tmux", "ok", "inside tmux: the screens survive a lost connection")
    if surroundings.environ.get("STY"):
        return Check("tmux", "ok", "inside GNU screen: the screens survive a lost connection")
    found = "not in use" if surroundings.which("tmux") else "not installed"
    return Check("tmux", "ok", f"{found}: after a lost connection runs go on; benchtui attach shows them again")


def editor(surroundings: Surroundings) -> Check:
    """The editor for profiles."""
    chosen = surroundings.environ.get("VISUAL") or surroundings.environ.get("EDITOR") or ""
    if not chosen:
        if surroundings.which("vi"):
            return Check("editor", "ok", "vi (EDITOR is not set)")
        return Check("editor", "warn", "EDITOR is not set, and there is no vi", "export EDITOR=/path/to/editor")
    try:
        command = shlex.split(chosen)[0]
    except (ValueError, IndexError):
        return Check("editor", "warn", f"EDITOR={chosen} is not a command", "export EDITOR=/path/to/editor")
    if surroundings.which(command) is None:
        return Check("editor", "warn", f"EDITOR={chosen}: no such command", "export EDITOR=/path/to/editor")
    return Check("editor", "ok", chosen)
