"""What a plain installation leaves out because it is heavy: said in one line where it is missing."""

from __future__ import annotations

import importlib
import sys
from importlib.util import find_spec
from typing import Any

from tui.model.problem import UsageError

FULL = "full"  # the extra with numpy, scipy and the drawing of charts
STATISTICS = ("numpy", "scipy")


def missing_library(what: str, name: str, extra: str) -> UsageError:
    """Return what to say when `what` was asked for and the library that it needs is not installed."""
    return UsageError(f"{what} needs {name}, which is not installed: pip install 'benchtui[{extra}]'")


def check_statistics(what: str) -> None:
    """Raise UsageError, in one line, where numpy or scipy is not installed. Neither is imported."""
    for name in STATISTICS:
        if sys.modules.get(name) is None and find_spec(name) is None:
            raise missing_library(what, name, FULL)


def load_library(name: str, what: str, extra: str = FULL) -> Any:
    """Import and return a library. Raises UsageError, in one line, when it is not installed."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise missing_library(what, name, extra) from error
