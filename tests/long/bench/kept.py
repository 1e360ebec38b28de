"""What benches found, as JSON: a file a bench, from which `report` writes docs/performance.md."""

from __future__ import annotations

import datetime
import json
import os
import platform
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[3]
FOLDER = Path(os.environ.get("BENCH_OUT", ROOT / ".bench"))
Row = dict[str, Any]
_load = [os.getloadavg()[0]]  # when the bench began: what it costs itself is none of it


def keep(name: str, rows: list[Row], note: str = "") -> None:
    """Keep the rows of a bench; rows of an earlier time are replaced."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    found = {"bench": name, "utc": f"{datetime.datetime.now(datetime.UTC):%Y-%m-%dT%H:%M:%SZ}",
        "machine": machine(),
             "load_before": _load[0], "note": note, "rows": rows}  # fmt: skip
    (FOLDER / f"{name}.json").write_text(json.dumps(found, indent=1) + "\n")
    _load[0] = os.getloadavg()[0]


def machine() -> str:
    """Return the class of this machine: cores, model, memory, kernel, Python."""
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    model = models[0] if models else platform.machine()
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    kernel, python = platform.release().split("-")[0], platform.python_version()
    return f"{os.cpu_count()} cores ({model}), {memory:.0f} GiB, Linux {kernel}, Python {python}"


def table(rows: list[Row]) -> str:
    """Return rows as a table of Markdown; a column is right if it holds numbers."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    right = {name for name in names if any(isinstance(row.get(name), int | float) for row in rows)}
    lines = [
        "| " + " | ".join(names) + " |",
        "|" + "|".join("--:" if name in right else "---" for name in names) + "|",
    ]
    lines += ["| " + " | ".join(shown(row.get(name)) for name in names) + " |" for row in rows]
    return "\n".join(lines)


def shown(value: Any) -> str:
    """Return a figure with as many digits as it deserves."""
    if value is None:
        return "–"
    if isinstance(value, float):
        return (
            f"{value:.0f}"
            if abs(value) >= 100
            else f"{value:.1f}"
            if abs(value) >= 10
            else f"{value:.2f}"
        )
    return str(value)


def told(name: str, rows: list[Row], note: str = "") -> int:
    """Print rows, keep them, and return 0."""
    print(f"{name}\n{table(rows)}\n{note}".rstrip(), flush=True)
    keep(name, rows, note)
    return 0
