"""`benchtui capacity`: how much load is sustained while limits hold.

All else is as `benchtui run` has it.
"""

from __future__ import annotations

import argparse

from tui.cli import run
from tui.cli.shared.experiments import add_bounds, wish_of


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    run.add_all(parser)
    add_bounds(parser)


def main(args: argparse.Namespace) -> int:
    """Search, and return the run's exit code: 5 when no load keeps the limits, 6 when that is not
    known yet.
    """
    return run.run_profile(args, wish_of(args, "capacity"))
