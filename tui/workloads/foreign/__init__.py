"""Output of programs that are no load generators of ours: one module a format.

A format says by `import_output` whether a text is of it, and by `import_tree` whether a directory
is laid out by it, as a load generator does (`tui.workloads.base.Importing`). A new one is a module
here and a line in `FORMATS`."""

from __future__ import annotations

from importlib import import_module

from tui.workloads.base import Format

FORMATS = ("wekatester", "cbt", "elmaestro")  # what others contain before those that contain it


def formats() -> list[Format]:
    """Return the formats."""
    found: list[Format] = [import_module(f"{__name__}.{name}").FORMAT for name in FORMATS]
    return found
