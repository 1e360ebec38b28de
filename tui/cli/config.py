"""`benchtui config`: show, get, set and edit the user's settings."""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tui.cli.shared.common import add_flag, add_json, paths_without_settings, report, say
from tui.model.paths import from_home
from tui.model.plain import printable
from tui.model.problem import UsageError
from tui.model.settings import DEFAULT_LEASE, KEYS, NAMES, Key, Settings, key_named

LISTS = ("hosts", "shared")
WHERE_FROM = {
    "environ": "environment variable {key.variable}",
    "file": "{file}",
    "default": "default; not set",
}


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the verbs below `config`."""
    add_flag(parser, "--json", "print the settings as JSON")
    verbs = parser.add_subparsers(dest="verb", metavar="VERB")
    verbs.add_parser(
        "edit", help="edit the file in $EDITOR; a new file contains every key, commented out"
    )
    one = verbs.add_parser("get", help="print the value of one key")
    one.add_argument("name", metavar="KEY", choices=NAMES, help=", ".join(NAMES))
    add_flag(one, "--json", "print the value and its source as JSON")
    put = verbs.add_parser("set", help="set one key; comments in the file are kept")
    put.add_argument("name", metavar="KEY", choices=NAMES, help=", ".join(NAMES))
    add_json(put)
    put.add_argument(
        "value",
        metavar="VALUE",
        nargs="+",
        help="value in YAML syntax; several words for lists, NAME=VALUE for tags",
    )
    away = verbs.add_parser("unset", help="comment a key out")
    add_json(away)
    away.add_argument("name", metavar="KEY", choices=NAMES, help=", ".join(NAMES))
    verbs.add_parser("path", help="print the file's path")


def main(args: argparse.Namespace) -> int:
    """Run the chosen verb; without one, show the settings."""
    path = paths_without_settings().settings
    verbs: dict[str | None, Callable[[argparse.Namespace, Path], None]] = {
        None: show,
        "get": get,
        "edit": edit,
        "set": set_key,
        "unset": unset_key,
        "path": lambda _, path: print(path),
    }
    verbs[args.verb](args, path)
    return 0


def show(args: argparse.Namespace, path: Path) -> None:
    """Print every key: value, source, meaning."""
    from tui.cli.shared.settings import read_settings

    settings = read_settings(path)
    if args.json:
        print(json.dumps({key.name: plain(settings, key, os.environ)[0] for key in KEYS}, indent=2))
        return
    there = "" if path.exists() else " (does not exist; benchtui config edit creates it)"
    print(f"{printable(str(path))}{there}\n")
    rows = [(key, *plain(settings, key, os.environ)) for key in KEYS]
    words = [printable(worded(value)) for _, value, _ in rows]
    width = max(map(len, words))
    for word, (key, _, source) in zip(words, rows, strict=True):
        print(f"  {key.name:<10}  {word:<{width}}  {source:<8}  {key.help}")


def get(args: argparse.Namespace, path: Path) -> None:
    """Print the effective value of one key on stdout, and its source on stderr."""
    from tui.cli.shared.settings import read_settings

    value, source = plain(read_settings(path), key_named(args.name), os.environ)
    if args.json:
        print(json.dumps({"key": args.name, "value": value, "source": source}))
        return
    if value not in (None, [], {}):
        print(printable(worded(value)))
    say(f"{args.name}: {WHERE_FROM[source].format(key=key_named(args.name), file=path)}")


def plain(settings: Settings, key: Key, environ: Mapping[str, str]) -> tuple[Any, str]:
    """Return the value of a key for JSON, and its source: environ, file or default."""
    if key.variable and environ.get(key.variable):
        return environ[key.variable], "environ"
    value = getattr(settings, key.name)
    source = "file" if key.name in settings.given else "default"
    if value is None:
        value = default_of(key.name)
    if isinstance(value, tuple):
        return [str(each) for each in value], source
    if isinstance(value, Mapping):
        return dict(value), source
    return (str(value) if isinstance(value, Path) else value), source


def default_of(name: str) -> str | Path | None:
    """Return the default of a key; None if there is none, or if it depends on the terminal."""
    found = paths_without_settings()
    defaults = {
        "runs": found.runs,
        "inventory": found.inventory,
        "ssh_config": from_home("~/.ssh/config"),
    }
    return DEFAULT_LEASE if name == "lease" else defaults.get(name)


def worded(value: Any) -> str:
    """Return a value as text; ``-`` if it is absent or empty."""
    if value is None or value in ([], {}):
        return "-"
    if isinstance(value, dict):
        return ", ".join(f"{name}={each}" for name, each in value.items())
    if isinstance(value, list):
        return ", ".join(value)
    return str(value).lower() if isinstance(value, bool) else str(value)


def edit(_: argparse.Namespace, path: Path) -> None:
    """Open the settings file in the user's editor; report problems in it afterwards.

    Raises UsageError.
    """
    from tui.cli.shared.common import open_editor
    from tui.cli.shared.settings import make_file, read_settings

    if make_file(path):
        say(f"created {path}")
    open_editor(path)
    read_settings(path)


def set_key(args: argparse.Namespace, path: Path) -> None:
    """Set a key in the file. Raises UsageError."""
    from tui.cli.shared.settings import change

    words = args.value
    if not any(word.strip() for word in words):
        hint = f"to remove it: benchtui config unset {args.name}"
        raise UsageError(f"{args.name}: the value is empty; {hint}")
    if args.name in LISTS:
        value = json.dumps(words) if not words[0].startswith("[") else " ".join(words)
    elif args.name == "tags" and not words[0].startswith("{"):
        from tui.cli.shared.common import pairs

        value = json.dumps(pairs(words, "config set tags"))
    elif len(words) == 1:
        value = words[0]
    else:
        raise UsageError(f"{args.name} accepts one value, not {len(words)}")
    change(path, args.name, value)
    say(f"set {args.name} in {path}")
    report(args, {"key": args.name, "set": True, "file": str(path)})


def unset_key(args: argparse.Namespace, path: Path) -> None:
    """Unset a key in the file. Raises UsageError."""
    from tui.cli.shared.settings import comment_out

    comment_out(path, args.name)
    say(f"unset {args.name} in {path}")
    report(args, {"key": args.name, "set": False, "file": str(path)})
