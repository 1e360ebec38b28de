"""What the actions of `benchtui runs` have in common."""

from __future__ import annotations

import argparse
from typing import TypeAlias

Actions: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"  # it has no public name

RUN_HELP = "run id, unique beginning of one, path, or 'last'"
