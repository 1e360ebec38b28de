"""What the actions of `benchtui runs` have in common."""

from __future__ import annotations

import argparse
from typing import TypeAlias

from tui.cli.shared.common import RUN_HELP

__all__ = ["RUN_HELP", "Actions"]

Actions: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"  # it has no public name
