"""Edit a file in the user's editor while the app is suspended."""

from __future__ import annotations

import shlex
import subprocess
from collections.abc import Mapping
from pathlib import Path

from textual.app import SuspendNotSupported
from textual.screen import Screen


class EditorError(Exception):
    """Raised if the editor does not start, or exits with an error."""


def editor_command(environ: Mapping[str, str]) -> list[str]:
    """Return the command of $VISUAL, otherwise of $EDITOR, otherwise vi.

    Raises EditorError.
    """
    name = "VISUAL" if environ.get("VISUAL") else "EDITOR"
    text = environ.get(name) or "vi"
    try:
        command = shlex.split(text)
    except ValueError as error:
        raise EditorError(f"{name}={text}: {error}") from error
    if not command:
        raise EditorError(f"{name} is empty: set it to a program, such as vi")
    return command


def edit_outside(screen: Screen[None], path: Path, environ: Mapping[str, str]) -> bool:
    """Suspend the app and edit a file in the user's editor.

    Returns whether the editor succeeded.
    """
    try:
        with screen.app.suspend():
            edit_file(path, environ)
    except EditorError as error:
        screen.notify(str(error), severity="error")
        return False
    except SuspendNotSupported:  # no terminal of its own, as in a browser
        screen.notify("an editor cannot be opened here", severity="error")
        return False
    return True


def edit_file(path: Path, environ: Mapping[str, str]) -> None:
    """Run the editor on a file until it exits.

    Raises EditorError if the editor is missing or fails.
    """
    command = [*editor_command(environ), str(path)]
    try:
        # the app draws on stderr; the editor uses the terminal itself
        code = subprocess.run(command, check=False).returncode
    except FileNotFoundError as error:
        raise EditorError(
            f"editor '{command[0]}' not found: set EDITOR to an installed one, such as vi or nano"
        ) from error
    except OSError as error:
        raise EditorError(f"cannot run '{command[0]}': {error.strerror}") from error
    if code:
        raise EditorError(f"'{command[0]}' exited with code {code}; {path} may be unchanged")
