"""`benchtui capacity`: find the highest load within limits.

In all other respects it is the same as `benchtui run`.
"""

from __future__ import annotations

import argparse

from tui.cli import run
from tui.cli.shared.experiments import add_bounds, search_choice


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    run.add_all(parser)
    add_bounds(parser)


def main(args: argparse.Namespace) -> int:
    """Search for the capacity and return the exit code.

    This is the run's exit code, 5 if no load meets the limits, or 6 if the search is undecided. A
    search is also undecided if full load meets the limits, because full load is a closed loop.
    """
    return run.run_profile(args, search_choice(args, "capacity"))
