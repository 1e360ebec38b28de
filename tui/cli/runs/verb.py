"""benchtui runs: list, show, annotate, verify, pack, remove saved runs."""

from __future__ import annotations

import argparse
from pathlib import Path

from tui.cli.runs import change, go_on, listing, proof, show
from tui.cli.shared.common import run_store

PARTS = (listing, show, change, proof, go_on)


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    parser.add_argument(
        "--shared", type=Path, action="append", default=[], metavar="DIR", help="also read the runs of others in DIR"
    )
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    for part in PARTS:
        part.configure(actions)


def main(args: argparse.Namespace) -> int:
    """Do it and return the exit code."""
    code: int = args.do(args, run_store(args.shared))
    return code
