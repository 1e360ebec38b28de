"""benchtui runs: list, show, annotate, remove saved runs."""

from __future__ import annotations

import argparse
import os

from tui.cli.runs import change, go_on, listing, show
from tui.model.paths import Paths
from tui.results.store.runs import RunStore

PARTS = (listing, show, change, go_on)


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    for part in PARTS:
        part.configure(actions)


def main(args: argparse.Namespace) -> int:
    """Do it and return the exit code."""
    code: int = args.do(args, RunStore(Paths.from_environ(os.environ).runs))
    return code
