"""Parse IOR's other output: full-precision figures, settings by source, ranks."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tui.workloads.mpi_kept import UNITS, number, options

MIB = 1 << 20
CLUSTERS = (4, 0)  # since this version, "-wF" is two flags
VALUED = frozenset("aAbdDfGijlMNoOQstTX")  # options with a value
# parameters that are set by a flag, with its letter
FLAGS = {
    "filePerProc": "F", "collective": "c", "randomOffset": "z", "reorderTasks": "C",
    "reorderTasksRandom": "Z", "fsync": "e", "fsyncperwrite": "Y", "uniqueDir": "u",
    "multiFile": "m", "keepFile": "k", "writeFile": "w", "readFile": "r",
}  # fmt: skip
NUMBERS = {
    "transferSize": "t", "blockSize": "b", "segmentCount": "s", "repetitions": "i",
    "deadlineForStonewall": "D",
}  # fmt: skip
DEFAULTS = {"segmentCount": 1, "repetitions": 1, "deadlineForStonewall": 0}
WORDS = {
    "access": ("filePerProc", {"file-per-process": 1, "single-shared-file": 0}),
    "type": ("collective", {"collective": 1, "independent": 0}),
    "ordering in a file": ("randomOffset", {"random": 1, "sequential": 0}),
}
ORDERS = {"no tasks offsets": (0, 0), "constant task offset": (1, 0), "random task offset": (0, 1)}
PRINTED = {
    "segments": "segmentCount", "repetitions": "repetitions", "xfersize": "transferSize",
    "blocksize": "blockSize", "nodes": "nodes", "clients per node": "tasksPerNode",
    "tasks": "tasks", "stonewallingTime": "deadlineForStonewall",
}  # fmt: skip
SUMMED = {
    "#Tasks": "tasks", "tPN": "tasksPerNode", "reps": "repetitions", "fPP": "filePerProc",
    "reord": "reorderTasks", "reordrand": "reorderTasksRandom", "segcnt": "segmentCount",
    "blksiz": "blockSize", "xsize": "transferSize", "numTasks": "tasks",
}  # fmt: skip
# columns of a row besides rate and total, in tables and in JSON
COLUMNS = {"IOPS": "IOPS", "Latency(s)": "latency", "open(s)": "open", "wr/rd(s)": "wr/rd",
    "close(s)": "close"}  # fmt: skip
KEYS = {"iops": "IOPS", "latency": "latency", "openTime": "open", "wrRdTime": "wr/rd",
    "closeTime": "close"}  # fmt: skip
FAKED = ("Fake number of node", "Fake tasks per node")
_MOVED = re.compile(r"^WARNING: Using actual aggregate bytes moved += (?P<bytes>\d+)")
_MAX = re.compile(r"^Max (?P<access>Write|Read): +(?P<rate>[\d.]+) MiB/sec")
_RANK = re.compile(r"^(?P<access>write|read),(?P<rank>\d+),(?P<figures>[\d.e+,-]+)$")
_OPTION = re.compile(r"^(?P<name>[A-Za-z][\w ]{19}): ?(?P<value>.*)$")
_EXACT = re.compile(r"(?P<digits>\d+) (?P<unit>bytes|KiB|MiB|GiB|TiB)")
Settings = dict[str, int]


@dataclass(frozen=True, slots=True)
class Rounded:
    """A printed figure and half a unit of its last digit."""

    value: float
    slack: float

    @property
    def low(self) -> float:
        """The smallest value that would be printed like this."""
        return self.value - self.slack

    @property
    def high(self) -> float:
        """The largest value that would be printed like this."""
        return self.value + self.slack


def rounded(word: str) -> Rounded | None:
    """Return a printed figure; None if the text is not a figure."""
    match = re.fullmatch(r"\d{1,18}(?:\.(?P<decimals>\d{1,12}))?", word)
    return (
        None if match is None else Rounded(float(word), 0.5 * 10 ** -len(match["decimals"] or ""))
    )


@dataclass
class Row:
    """Results of one access in one iteration; `moved`: bytes, if printed. `ranks` have four
    figures: two runtimes, two rates. `parts`: I/Os per second, latency, and seconds of parts.
    """

    rate: Rounded  # MiB/s
    seconds: Rounded
    moved: int | None = None
    ranks: list[tuple[int, list[float]]] = field(default_factory=list)
    parts: Mapping[str, Rounded] = field(default_factory=dict)


@dataclass
class IorFigures:
    """Figures of one IOR output; `settings` by source."""

    settings: dict[str, Settings] = field(default_factory=dict)
    rows: dict[str, list[Row]] = field(default_factory=dict)
    highest: dict[str, Rounded] = field(default_factory=dict)
    # maximum, minimum, mean, deviation in MiB/s, mean of seconds, MiB moved
    summary: dict[str, dict[str, Rounded]] = field(default_factory=dict)
    given: Mapping[str, str] = field(default_factory=dict)
    faked: bool = False  # IOR_FAKE_NODES or IOR_FAKE_TASK_PER_NODES is set
    _columns: list[str] = field(default_factory=list)
    _moved: int | None = None

    def line(self, text: str) -> None:
        """Parse one line of tables."""
        words = text.split()
        if match := _MOVED.match(text):
            self._moved = int(match["bytes"])
        elif text.startswith(FAKED):
            self.faked = True
        elif match := _RANK.match(text):
            self._rank(match)
        elif match := _MAX.match(text):
            if (rate := rounded(match["rate"])) is not None:
                self.highest[match["access"].lower()] = rate
        elif words and words[0] in ("access", "Operation") and len(words) > len(SUMMED) - 3:
            self._columns = words
        elif words and words[0] in ("write", "read") and self._columns:
            self._row(words)
        elif match := _OPTION.match(text):
            self._option(match["name"].strip(), match["value"].strip())

    def command(self, text: str, version: tuple[int, ...]) -> None:
        """Parse the options of a command line, and the settings in them unless a script has
        them.
        """
        try:
            words = shlex.split(text)
        except ValueError:
            return
        self.given = options(words[1:], VALUED, clusters=version[:2] >= CLUSTERS)
        if "f" in self.given:
            return
        named = {part.partition("=")[0].lower() for part in self.given.get("O", "").split(",")}
        found: Settings = dict(DEFAULTS)
        for name, letter in NUMBERS.items():
            if (value := number(self.given, letter)) is not None:
                found[name] = value
        found |= {name: int(letter in self.given) for name, letter in FLAGS.items()}
        if not self.given.keys() & set("wr") or self.given.keys() & set("WR"):
            del found["writeFile"], found["readFile"]
        if self.given.keys() >= {"C", "Z"}:
            del found["reorderTasksRandom"]
        self.settings["command line"] = {
            name: value for name, value in found.items() if name.lower() not in named
        }

    def add_json(
        self, test: Mapping[str, Any], summary: Mapping[str, Mapping[str, Any]], highest: Any
    ) -> None:
        """Add the settings and the summary of one test in JSON. `summary` is keyed by access."""
        for name, value in test["Options"].items():
            self._option(str(name), str(value))
        known = {*FLAGS, *NUMBERS, "nodes", "tasksPerNode"}
        self.settings["parameters"] = {
            name: int(value)
            for name, value in test["Parameters"].items()
            if name in known and isinstance(value, int)
        }
        for access, row in summary.items():
            self._add_settings(
                access, {name: row.get(name) for name in (*FLAGS, *NUMBERS, "numTasks")}
            )
            names = ("bwMaxMIB", "bwMinMIB", "bwMeanMIB", "bwStdMIB", "MeanTime", "xsizeMiB")
            figures = {
                name: of_json(row[source])
                for name, source in zip(NAMES, names, strict=True)
                if source in row
            }
            self.summary[access] = _known(figures)
        for access in ("write", "read"):
            if isinstance(highest, dict) and (rate := of_json(highest.get(f"{access}MiB"))):
                self.highest[access] = rate

    def add_json_row(self, row: Mapping[str, Any]) -> None:
        """Add one row of results in JSON, if it is for a write or a read and has figures."""
        rate, seconds = of_json(row.get("bwMiB")), of_json(row.get("totalTime"))
        if row["access"] in ("write", "read") and rate is not None and seconds is not None:
            parts = _known({name: of_json(row.get(key)) for key, name in KEYS.items()})
            self.rows.setdefault(row["access"], []).append(Row(rate, seconds, parts=parts))

    def _add_settings(self, access: str, row: Mapping[str, Any]) -> None:
        known = {
            SUMMED.get(name, name): int(value)
            for name, value in row.items()
            if isinstance(value, int) or (isinstance(value, str) and value.isdigit())
        }
        self.settings[f"summary of {access}"] = known

    def _option(self, name: str, value: str) -> None:
        found = self.settings.setdefault("options", {})
        if name in WORDS and value in WORDS[name][1]:
            found[WORDS[name][0]] = WORDS[name][1][value]
        elif name == "ordering inter file" and value in ORDERS:
            found["reorderTasks"], found["reorderTasksRandom"] = ORDERS[value]
        elif name in PRINTED and (size := _size(value)) is not None:
            found[PRINTED[name]] = size

    def _row(self, words: list[str]) -> None:
        at = {name: place for place, name in reversed(list(enumerate(self._columns)))}
        if self._columns[0] == "Operation":
            self._summary(words, at)
            return
        if len(words) != len(self._columns) or not {"bw(MiB/s)", "total(s)"} <= at.keys():
            return
        rate, seconds = rounded(words[at["bw(MiB/s)"]]), rounded(words[at["total(s)"]])
        if rate is not None and seconds is not None:
            parts = {
                name: rounded(words[at[column]]) for column, name in COLUMNS.items() if column in at
            }
            row = Row(rate, seconds, self._moved, parts=_known(parts))
            self.rows.setdefault(words[0], []).append(row)
        self._moved = None

    def _summary(self, words: list[str], at: Mapping[str, int]) -> None:
        if len(words) != len(self._columns):
            return
        start = at["Max(MiB)"]
        places = [*range(start, start + 4), at.get("Mean(s)"), at.get("aggs(MiB)")]
        figures = {
            name: rounded(words[place])
            for name, place in zip(NAMES, places, strict=True)
            if place is not None
        }
        self.summary[words[0]] = _known(figures)
        self._add_settings(words[0], {name: words[at[name]] for name in SUMMED if name in at})

    def _rank(self, match: re.Match[str]) -> None:
        rows = self.rows.get(match["access"])
        try:
            figures = [float(word) for word in match["figures"].split(",")]
        except ValueError:
            return
        if rows and len(figures) == 4:
            rows[-1].ranks.append((int(match["rank"]), figures))


NAMES = ("maximum", "minimum", "mean", "deviation", "mean time", "moved")
JSON_DIGITS = 0.5e-4


def of_json(value: Any) -> Rounded | None:
    """Return a figure of IOR's JSON, which has four decimals; None if it is not a number."""
    return Rounded(float(value), JSON_DIGITS) if isinstance(value, int | float) else None


def _known(figures: Mapping[str, Rounded | None]) -> dict[str, Rounded]:
    return {name: each for name, each in figures.items() if each is not None}


def _size(text: str) -> int | None:
    """Return an exact size in bytes, or a count; None for rounded ones."""
    if text.isdigit():
        return int(text)
    match = _EXACT.fullmatch(text)
    if match is None:
        return None
    letter = match["unit"][0].lower().replace("b", "")
    return int(match["digits"]) * UNITS[letter]
