"""Output of programs that are not benchtui's load generators: one module per format.

A format recognizes texts in `import_output` and directories in `import_tree`, as a load generator
does (`tui.workloads.base.Importing`). To add one, write a module here and a line in `FORMATS`.
"""

from __future__ import annotations

from importlib import import_module

from tui.workloads.base import Format

FORMATS = ("wekatester", "cbt", "elmaestro")  # formats that others contain come first


def formats() -> list[Format]:
    """Return all formats."""
    found: list[Format] = [import_module(f"{__name__}.{name}").FORMAT for name in FORMATS]
    return found
