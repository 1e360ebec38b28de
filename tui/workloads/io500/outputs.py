"""Compare the phases of an IO500 result with the output that each of them left in its directory."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from tui.model.event import Contradiction
from tui.workloads.io500.output import PHASES, ROUNDED, Io500Output

FIND = "find.csv"
FILES = (FIND, *(f"{name}.txt" for name in PHASES))
MIB_PER_GIB, PER_THOUSAND = 1024, 1000
DIGITS = 1e-5  # the rate of a summary is that of the slowest rank, by another division
TASKS = re.compile(r"^tasks +: (\d+)$|^\S+ was launched with (\d+) total task", re.MULTILINE)
SEARCHED = re.compile(r"^runtime: [\d.]+ rate: (?P<rate>\d+(?:\.\d+)?)$", re.MULTILINE)
ROW = re.compile(r"^(?:write|read) +(?P<rate>\d+(?:\.(?P<decimals>\d+))?) ", re.MULTILINE)
OPERATIONS = {"write": "creation", "stat": "stat", "read": "read", "delete": "removal"}


def against_phases(
    output: Io500Output, texts: Mapping[str, str], procs: int
) -> Iterator[Contradiction]:
    """Yield phases whose own output has another rate or number of tasks.

    `texts`: files in the result directory by name.
    """
    for name, each in output.phases.items():
        text = texts.get(FIND if name == "find" else f"{name}.txt", "")
        told = _rate(name, text)
        if told is not None and abs(told[0] - each.value) > told[1] + ROUNDED:
            yield Contradiction("own-rate", each.value, told[0], names=(name,))
        match = TASKS.search(text)
        if match and procs and int(match[1] or match[2]) != procs:
            yield Contradiction("own-tasks", int(match[1] or match[2]), procs, names=(name,))


def _rate(name: str, text: str) -> tuple[float, float] | None:
    """Return a phase's rate by its own output, and its possible error; None if there is none."""
    if name == "find":
        match = SEARCHED.search(text)
        return (float(match["rate"]) / PER_THOUSAND, ROUNDED) if match else None
    if name.startswith("ior"):
        rows = list(ROW.finditer(text))
        if len(rows) != 1:
            return None
        half = 0.5 * 10 ** -len(rows[0]["decimals"] or "")
        return float(rows[0]["rate"]) / MIB_PER_GIB, half / MIB_PER_GIB
    operation = OPERATIONS.get(name.rpartition("-")[2], "")
    mean = re.search(rf"^ {{3}}File {operation} +(?:[\d.]+ +){{2}}(?P<mean>[\d.]+) ", text, re.M)
    if not operation or mean is None:
        return None
    rate = float(mean["mean"]) / PER_THOUSAND
    return rate, rate * DIGITS
