"""Directories with runs of other people: where they are, and whose runs lie there. They are never written to."""

from __future__ import annotations

import os
import pwd
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from tui.model.bounded import read_text
from tui.model.paths import Paths, from_home
from tui.model.problem import Problem, UsageError

VARIABLE = "BENCHTUI_SHARED_RUNS"


def shared_directories(
    paths: Paths, environ: Mapping[str, str], named: Sequence[Path] = (), settings: Sequence[Path] = ()
) -> list[Path]:
    """Return the directories of an option, of the environment (with colons), of the settings and of the user's list.

    Raises UsageError when the file cannot be read.
    """
    from_environ = [Path(part) for part in environ.get(VARIABLE, "").split(os.pathsep) if part]
    found = (*named, *from_environ, *settings, *_in_file(paths.shared_runs))
    return list(dict.fromkeys(Path(os.path.abspath(from_home(each))) for each in found))  # noqa: PTH100


def _in_file(path: Path) -> list[Path]:
    try:
        lines = read_text(path).splitlines()
    except FileNotFoundError:
        return []
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "is not UTF-8 text"
        raise UsageError(Problem(f"cannot be read: {why}", file=str(path))) from error
    if any("\0" in line for line in lines):
        raise UsageError(Problem("holds NUL bytes: no list of directories", file=str(path)))
    return [Path(line) for text in lines if (line := text.strip()) and not line.startswith("#")]


def index_name(directory: Path) -> str:
    """Return what the index of a directory of others is called among our own runs."""
    import hashlib

    return f".index-{hashlib.sha256(os.fsencode(directory)).hexdigest()[:12]}.msgpack"


def owner_of(run_dir: str) -> str:
    """Return whose a directory is; empty when that cannot be known."""
    try:
        return _name_of(os.stat(run_dir).st_uid)  # noqa: PTH116  (a list asks this of every run)
    except OSError:
        return ""


@cache
def _name_of(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)
