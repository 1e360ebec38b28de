"""Keep the entry points of an editable installation those of pyproject.toml: pip writes them once, at installation."""

from __future__ import annotations

import os
import tomllib
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

ROOT = Path(__file__).parents[1]


def refresh() -> None:
    """Write the entry points anew when a load generator, a source or an export has come or gone since."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    groups = {"console_scripts": project["scripts"], **project["entry-points"]}
    lines = [
        [f"[{group}]", *(f"{name} = {value}" for name, value in points.items()), ""] for group, points in groups.items()
    ]
    wanted = "\n".join(line for each in lines for line in each)
    try:
        found = distribution("benchtui")
    except PackageNotFoundError:
        return
    path = Path(str(found.locate_file(""))) / f"benchtui-{found.version}.dist-info" / "entry_points.txt"
    known = {(point.group, point.name, point.value) for point in found.entry_points}
    if not path.is_file() or known == {
        (group, name, value) for group, each in groups.items() for name, value in each.items()
    }:
        return
    beside = path.with_name(f"{path.name}.{os.getpid()}")
    beside.write_text(wanted, encoding="utf-8")
    beside.replace(path)  # several processes of a session do this at once
