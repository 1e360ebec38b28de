"""Code that several verbs share: paths, settings, hosts, the run store, sides to compare."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tui.model.paths import Paths, is_folder
from tui.model.plain import printable_lines
from tui.model.problem import BenchtuiError, UsageError

if TYPE_CHECKING:
    from tui.engine.inputs.hosts import Fleet
    from tui.library.runs import RunStore
    from tui.model.record import RunRecord
    from tui.model.settings import Settings

RUN_HELP = (
    "run: ID or unique prefix, path, last, last~1, last:any, title, or tag:NAME"
    " (newest run with that tag)"
)


def paths() -> Paths:
    """Return the locations of this user's files. Raises UsageError for broken settings."""
    found = paths_without_settings()
    kept = user_settings().runs if has_settings() else None
    return found._replace(runs_kept=kept) if kept else found


def has_settings() -> bool:
    """Return whether a settings file exists.

    Without one, the reader of settings need not be loaded.
    """
    try:
        paths_without_settings().settings.stat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        pass  # reported when they are read
    return True


def paths_without_settings() -> Paths:
    """Return the locations from the environment only.

    For code that must work even if the settings file is broken.
    """
    return Paths.from_environ(os.environ)


def user_settings() -> Settings:
    """Return the user's settings (`benchtui config`). Raises UsageError for a broken file."""
    from tui.cli.shared.settings import read_settings

    return read_settings(paths_without_settings().settings)


def run_store(shared: Sequence[Path] = ()) -> RunStore:
    """Return the store of runs: this user's, and those in `shared` and configured directories."""
    from tui.library.runs import RunStore, shared_directories

    kept = user_settings().shared if has_settings() else ()
    return RunStore(paths().runs, shared_directories(paths(), os.environ, shared, kept))


def add_host_files(parser: argparse.ArgumentParser) -> None:
    """Add the options --inventory and --ssh-config."""
    parser.add_argument(
        "--inventory", type=Path, metavar="FILE", help="inventory file with hosts and groups (YAML)"
    )
    parser.add_argument(
        "--ssh-config",
        type=Path,
        metavar="FILE",
        help="SSH configuration to use instead of ~/.ssh/config",
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
    """Print a message for people to stderr; stdout is for data."""
    print(printable_lines(text), file=sys.stderr, flush=True)


def add_flag(parser: argparse._ActionsContainer, name: str, help_text: str) -> None:
    """Add an option without a value."""
    parser.add_argument(name, action="store_true", help=help_text)


def add_json(parser: argparse.ArgumentParser) -> None:
    """Add --json: one document on stdout; messages go to stderr."""
    add_flag(parser, "--json", "print the result as one JSON document on stdout")


def add_redaction(parser: argparse.ArgumentParser) -> None:
    """Add --redact and --hide."""
    add_flag(parser, "--redact", "replace names, addresses and paths; remove notes")
    parser.add_argument(
        "--hide",
        action="append",
        default=[],
        metavar="WORD",
        help="another word to replace; implies --redact",
    )


def report(args: argparse.Namespace, document: object, text: str = "") -> None:
    """Print the result of a verb: JSON with --json, otherwise `text`, unless empty."""
    if args.json:
        import json

        print(json.dumps(document, indent=2))
    elif text:
        print(text)


def ask(question: str) -> bool:
    """Ask a yes/no question on the terminal; without a terminal the answer is no."""
    if not _has_terminal():
        return False
    print(f"{printable_lines(question)} [y/N] ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def ask_to_remove(what: str) -> bool:
    """Ask whether to remove something. Raises UsageError without a terminal."""
    if not _has_terminal():
        raise UsageError(f"this removes {what}; confirm with --yes")
    return ask(f"remove {what}?")


def _has_terminal() -> bool:
    return sys.stdin.isatty() and sys.stderr.isatty()


def load_fleet(args: argparse.Namespace) -> Fleet:
    """Return the hosts that the options describe.

    An inventory named by an option must exist; the default one need not.
    """
    from tui.engine.inputs.hosts import Fleet, read_inventory

    take_host_files(args)
    return Fleet(
        read_inventory(args.inventory or paths().inventory, pipes=args.inventory is not None),
        args.ssh_config,
    )


def take_host_files(args: argparse.Namespace) -> None:
    """Set inventory and SSH configuration from the settings where no option is given.

    Raises UsageError.
    """
    for name, what in (("inventory", "inventory"), ("ssh_config", "SSH configuration")):
        by = f"--{name.replace('_', '-')}"
        if getattr(args, name) is None and has_settings():
            by = f"benchtui config {name}:"
            setattr(args, name, getattr(user_settings(), name))
        if getattr(args, name) is not None:
            check_file(getattr(args, name), by, what)


def check_file(path: Path, option: str, what: str) -> None:
    """Raise UsageError if the file of an option does not exist."""
    try:
        if path.is_dir():
            raise UsageError(f"{option} {path}: is a directory; name the {what} file itself")
        if not path.exists():
            raise UsageError(f"{option} {path}: no such {what} file")
    except OSError as error:  # in a directory that is not readable
        raise UsageError(f"{option} {path}: cannot be read: {error.strerror}") from error


def open_editor(path: Path) -> None:
    """Run the user's editor on a file. Raises UsageError if it does not start, or fails."""
    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"
    try:
        import shlex
        import subprocess

        done = subprocess.run([*shlex.split(editor), str(path)], check=False)
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise UsageError(f"cannot start the editor '{editor}': {why}; set EDITOR") from error
    if done.returncode != 0:
        raise UsageError(
            f"the editor '{editor}' exited with code {done.returncode}; {path} may have changed"
        )


SIDE_HELP = f"{RUN_HELP}; RUN,RUN,... are one side"
ACROSS_HELP = "parameter that may differ; 'hosts' is the number of hosts"


def side_of(store: RunStore, text: str) -> list[Path]:
    """Return the run directories of one side of a comparison.

    Raises UsageError for unknown runs, and for a run named twice.
    """
    refs = [text] if "," in text and is_folder(Path(text)) else text.split(",")
    directories = [store.resolve(ref) for ref in refs if ref]
    if not directories:
        raise UsageError(f"'{text}' contains no run")
    if len(set(directories)) < len(directories):
        raise UsageError(f"'{text}' names a run twice; repetitions are different runs")
    return directories


def sides_of(store: RunStore, texts: Sequence[str]) -> list[list[Path]]:
    """Return the run directories of each side.

    Raises UsageError for a run that is on two sides.
    """
    sides = [side_of(store, text) for text in texts]
    known = [directory for side in sides for directory in side]
    if twice := {each.name for each in known if known.count(each) > 1}:
        raise UsageError(
            f"on more than one side: {', '.join(sorted(twice))}; each run can be on one side only"
        )
    return sides


def write_texts(run_dir: Path, record: RunRecord) -> None:
    """Write command.txt, summary.txt and, if the settings ask for it, report.html.

    Errors are printed, not raised.
    """
    from tui.export.run_files import write_run_files

    try:
        write_run_files(run_dir, record, paths().baselines, report=user_settings().report)
    except (BenchtuiError, OSError) as error:
        print(
            f"benchtui: {run_dir}: cannot write the run's summary files: {error}", file=sys.stderr
        )
