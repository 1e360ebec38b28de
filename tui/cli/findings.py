"""`benchtui findings [ID]`: list every check, or explain one: rule, meaning, advice."""

from __future__ import annotations

import argparse
import json
import textwrap

from tui.cli.shared.arguments import columns
from tui.judge.catalogue import BY_ID, CHECKS
from tui.judge.check import Check
from tui.model.check_names import check_name
from tui.model.problem import Problem, UsageError, did_you_mean

SCHEMA = "benchtui.findings/1"
WIDEST = 100


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    parser.add_argument("id", nargs="?", help="check name: concurrency, straggler, ...")
    parser.add_argument("--json", action="store_true", help="print one JSON document")


def main(args: argparse.Namespace) -> int:
    """Print the list of checks, or explain one."""
    checks = CHECKS if args.id is None else (find(args.id),)
    if args.json:
        print(
            json.dumps({"schema": SCHEMA, "checks": [as_json(check) for check in checks]}, indent=2)
        )
    elif args.id is None:
        print("\n".join(f"{check.id:<18} {check.title}" for check in CHECKS))
        print("\nbenchtui findings ID explains one")
    else:
        print(explained(checks[0], min(columns(), WIDEST)))
    return 0


def find(name: str) -> Check:
    """Return a check by its id. Raises UsageError."""
    if (known := check_name(name).lower()) not in BY_ID:
        raise UsageError(
            Problem(f"no check named '{name}'{did_you_mean(name, BY_ID)}; see benchtui findings")
        )
    return BY_ID[known]


def explained(check: Check, width: int) -> str:
    """Return a check as text: rule, meaning, advice."""
    parts = (
        ("Rule", check.rule),
        ("Meaning", " ".join(check.means.split())),
        ("What to do", check.advice),
    )
    lines = [f"{check.id}  {check.title}"]
    when = "during and after a run" if check.live else "after a run"
    for name, text in (*parts, ("Source", check.source), ("Runs", when)):
        indent = " " * 14
        lines += [
            "",
            *textwrap.wrap(text, width, initial_indent=f"  {name:<12}", subsequent_indent=indent),
        ]
    return "\n".join(lines)


def as_json(check: Check) -> dict[str, str]:
    """Return a check as plain data."""
    names = ("id", "title", "rule", "means", "advice", "source")
    return {name: " ".join(str(getattr(check, name)).split()) for name in names}
