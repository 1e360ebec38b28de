"""Shared by verbs: paths, settings, hosts, the run store, runs as sides of a comparison."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tui.model.paths import Paths, is_folder
from tui.model.plain import printable_lines
from tui.model.problem import UsageError

if TYPE_CHECKING:
    from tui.engine.inputs.hosts import Fleet
    from tui.library.runs import RunStore
    from tui.model.settings import Settings

RUN_HELP = (
    "a run: id, unique beginning of one, path, last, last~1, last:any, title, tag:NAME (the newest"
    " with it)"
)


def paths() -> Paths:
    """Return where this user's files live.

    Raises UsageError when the settings that say where are broken.
    """
    found = paths_without_settings()
    kept = user_settings().runs if has_settings() else None
    return found._replace(runs_kept=kept) if kept else found


def has_settings() -> bool:
    """Tell whether there is a file of settings: without one, what reads them need not be loaded."""
    try:
        paths_without_settings().settings.stat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        pass  # reading them tells
    return True


def paths_without_settings() -> Paths:
    """Return where this user's files live as the environment alone has it: for what must work with
    broken settings.
    """
    return Paths.from_environ(os.environ)


def user_settings() -> Settings:
    """Return what the user wants everywhere (`benchtui config`).

    Raises UsageError when the file is broken.
    """
    from tui.cli.shared.settings import read_settings

    return read_settings(paths_without_settings().settings)


def run_store(shared: Sequence[Path] = ()) -> RunStore:
    """Return this user's runs, and those of others in `shared` directories and the configured
    ones.
    """
    from tui.library.runs import RunStore, shared_directories

    kept = user_settings().shared if has_settings() else ()
    return RunStore(paths().runs, shared_directories(paths(), os.environ, shared, kept))


def add_host_files(parser: argparse.ArgumentParser) -> None:
    """Add the options that say where hosts are described."""
    parser.add_argument(
        "--inventory", type=Path, metavar="FILE", help="inventory of hosts and groups (YAML)"
    )
    parser.add_argument(
        "--ssh-config", type=Path, metavar="FILE", help="SSH configuration instead of ~/.ssh/config"
    )


def pairs(values: list[str], option: str) -> dict[str, str]:
    """Return NAME=VALUE arguments as a dict. Raises UsageError for anything else."""
    result: dict[str, str] = {}
    for value in values:
        name, equals, text = value.partition("=")
        if not equals or not name:
            raise UsageError(f"{option} {value!r}: expected NAME=VALUE")
        result[name.strip()] = text
    return result


def say(text: str) -> None:
    """Print a message for people: always stderr, stdout is for data."""
    print(printable_lines(text), file=sys.stderr, flush=True)


def add_json(parser: argparse.ArgumentParser) -> None:
    """Add --json: one document on stdout and nothing else; what is for people goes to stderr."""
    parser.add_argument(
        "--json", action="store_true", help="print what came of it as one JSON document on stdout"
    )


def report(args: argparse.Namespace, document: object, text: str = "") -> None:
    """Print what came of a verb: as JSON when that is asked for, else as text, when there is
    any.
    """
    if args.json:
        import json

        print(json.dumps(document, indent=2))
    elif text:
        print(text)


def ask(question: str) -> bool:
    """Ask a yes/no question on the terminal; no terminal means no."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return False
    print(f"{printable_lines(question)} [y/N] ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def load_fleet(args: argparse.Namespace) -> Fleet:
    """Return the hosts that the options describe.

    A named inventory must exist, the user's own may be absent.
    """
    from tui.engine.inputs.hosts import Fleet, read_inventory

    take_host_files(args)
    return Fleet(
        read_inventory(args.inventory or paths().inventory, pipes=args.inventory is not None),
        args.ssh_config,
    )


def take_host_files(args: argparse.Namespace) -> None:
    """Let the settings say which inventory and SSH configuration where no option does.

    Raises UsageError.
    """
    for name, what in (("inventory", "inventory"), ("ssh_config", "SSH configuration")):
        by = f"--{name.replace('_', '-')}"
        if getattr(args, name) is None and has_settings():
            by = f"{name} of benchtui config:"
            setattr(args, name, getattr(user_settings(), name))
        if getattr(args, name) is not None:
            check_file(getattr(args, name), by, what)


def check_file(path: Path, option: str, what: str) -> None:
    """Raise UsageError when an option names no file."""
    try:
        if path.is_dir():
            raise UsageError(f"{option} {path}: a directory; name the {what} file itself")
        if not path.exists():
            raise UsageError(f"{option} {path}: no such {what} file")
    except OSError as error:  # below a directory that nobody may look into
        raise UsageError(f"{option} {path}: cannot be read: {error.strerror}") from error


def open_editor(path: Path) -> None:
    """Run the user's editor on a file. Raises UsageError when it cannot be run."""
    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"
    try:
        import shlex
        import subprocess

        done = subprocess.run([*shlex.split(editor), str(path)], check=False)
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise UsageError(f"the editor '{editor}' cannot be started: {why}; set EDITOR") from error
    if done.returncode != 0:
        raise UsageError(
            f"the editor '{editor}' ended with {done.returncode}; {path} is as it left it"
        )


SIDE_HELP = f"{RUN_HELP}; RUN,RUN,...: repetitions of one side"
ACROSS_HELP = "a parameter that is meant to differ; hosts: their number"


def side_of(store: RunStore, text: str) -> list[Path]:
    """Return the directories of one side.

    Raises UsageError for names of no run, and for a run that is named twice.
    """
    refs = [text] if "," in text and is_folder(Path(text)) else text.split(",")
    directories = [store.resolve(ref) for ref in refs if ref]
    if not directories:
        raise UsageError(f"'{text}' names no run")
    if len(set(directories)) < len(directories):
        raise UsageError(f"'{text}' names a run twice: a repetition is a run of its own")
    return directories


def sides_of(store: RunStore, texts: Sequence[str]) -> list[list[Path]]:
    """Return the directories of each side. Raises UsageError for a run that is on two of them."""
    sides = [side_of(store, text) for text in texts]
    known = [directory for side in sides for directory in side]
    if twice := {each.name for each in known if known.count(each) > 1}:
        raise UsageError(
            f"{', '.join(sorted(twice))} is on two sides: a run does not differ from itself"
        )
    return sides
