"""`benchtui doctor`: what this jump host has and lacks, in one screen. No host is contacted."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict

from tui.cli.checks import Check, Status, Surroundings, folders, machine, sources, ssh, terminal
from tui.cli.shared.output import wants_colour
from tui.metrics.units import plural
from tui.model.plain import printable

SCHEMA = "benchtui.doctor/1"
CHECKS: tuple[Callable[[Surroundings], Check], ...] = (
    *(machine.python, machine.version, folders.config, folders.settings, folders.inventory),
    *(folders.data, folders.space, folders.runs, folders.shared),
    *(sources.sources, ssh.config, ssh.login, ssh.known_hosts, machine.open_files, machine.load_generator),
    *(terminal.terminal, terminal.characters, terminal.tmux, terminal.editor, machine.logout),
)
SYMBOLS: dict[Status, str] = {"ok": "✓", "warn": "!", "fail": "✗"}
ASCII_SYMBOLS: dict[Status, str] = {"ok": "+", "warn": "!", "fail": "x"}
COLOURS: dict[Status, str] = {"ok": "32", "warn": "33", "fail": "31"}


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    parser.add_argument("--json", action="store_true", help="print one JSON document")


def main(args: argparse.Namespace) -> int:
    """Run the checks; 1 when something fails that every run needs, else 0."""
    checks = examine(Surroundings.here())
    failed = any(check.status == "fail" for check in checks)
    if args.json:
        print(json.dumps({"schema": SCHEMA, "ok": not failed, "checks": [asdict(check) for check in checks]}, indent=2))
    else:
        print(render(checks, fancy=can_encode(), coloured=wants_colour()))
    return int(failed)


def examine(surroundings: Surroundings) -> list[Check]:
    """Run every check; one that meets something unforeseen says so and does not stop the others."""
    return [attempt(check, surroundings) for check in CHECKS]


def attempt(check: Callable[[Surroundings], Check], surroundings: Surroundings) -> Check:
    """Run one check."""
    try:
        return check(surroundings)
    except (OSError, ValueError) as error:
        return Check(check.__name__.replace("_", " "), "warn", f"could not be checked: {error}")


def render(checks: Sequence[Check], *, fancy: bool = True, coloured: bool = False) -> str:
    """Return the screen: a line a check, advice under it, the sum of it last."""
    lines = [line for check in checks for line in check_lines(check, fancy, coloured)]
    return "\n".join([*lines, "", summary(checks)])


def check_lines(check: Check, fancy: bool, coloured: bool) -> list[str]:
    """Return the line of one check and, when there is something to do, the line that says what."""
    word = f"{(SYMBOLS if fancy else ASCII_SYMBOLS)[check.status]} {check.status:<4}"
    word = f"\x1b[{COLOURS[check.status]}m{word}\x1b[0m" if coloured else word
    lines = [f"{word}  {check.name:<10}  {printable(check.message)}"]
    return [*lines, f"{'':<20}{'→' if fancy else '->'} {printable(check.advice)}"] if check.advice else lines


def summary(checks: Sequence[Check]) -> str:
    """Return one line: can this machine run benchmarks or not."""
    failed = [check.name for check in checks if check.status == "fail"]
    warned = [check.name for check in checks if check.status == "warn"]
    doubts = f"; {plural(len(warned), 'warning')}: {', '.join(warned)}" if warned else ""
    if failed:
        return f"Not ready: {', '.join(failed)}{doubts}"
    return f"Ready{doubts}"


def can_encode() -> bool:
    """Tell whether stdout takes the symbols."""
    try:
        "".join((*SYMBOLS.values(), "→")).encode(sys.stdout.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True
