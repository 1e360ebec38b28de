"""Parse figures that mdtest prints besides its results: per rank, and for stonewalls."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from tui.workloads.mdtest.output import OF_RANKS, OPERATIONS

# of --saveRankPerformanceDetails; the row of all ranks also has rate and seconds of the tree
_RANK = re.compile(
    rf"^(?P<rank>\d+|all),\d*,(?P<figures>(?:[\d.e+-]*|inf)(?:,(?:[\d.e+-]*|inf))"
    rf"{{{2 * len(OF_RANKS) - 1},}})$"
)
_PROCESSES = re.compile(r"^Test (?P<name>[\w ]+?) (?P<rates>[\d.]+e[+-]\d+(?:,[\d.]+e[+-]\d+)*)$")
_TITLE = re.compile(r"^Per process result \((?P<kind>rate|time)\)")
_SUMMARY_ROW = re.compile(r"^ {3}(?P<name>[A-Z][a-z]+ [a-z]+)\s+(?P<values>[\d. ]+)$")
_ITERATION = re.compile(r"main: \* iteration (?P<number>\d+)\b")
_HIT = re.compile(r"stonewall hit min: \d+ max: (?P<most>\d+)")
_WITH_RANKS = 7  # figures of a row of the summary: three of ranks, four of iterations
OF_ALL = (*OF_RANKS, "tree-create", "tree-remove")
Figures = dict[str, tuple[float, float]]  # by operation: rate and seconds


@dataclass
class RankFigures:
    """Figures of ranks in one mdtest output.

    `rows` are in the order of the output: all iterations of all ranks. `processes` are the rates
    of all ranks by iteration.
    """

    rows: list[tuple[int, Figures]] = field(default_factory=list)
    all_ranks: Figures = field(default_factory=dict)
    processes: dict[str, list[list[float]]] = field(default_factory=dict)
    # largest, smallest and mean rate of a rank, by the summary
    summary: dict[str, tuple[float, float, float]] = field(default_factory=dict)
    numbers: list[int] = field(default_factory=list)  # of the iterations that began
    hit_items: list[int] = field(default_factory=list)  # of each rank, after a stonewall
    _rates: bool = False

    def line(self, text: str) -> None:
        """Parse one line."""
        if match := _RANK.match(text):
            self._rank(match)
        elif match := _TITLE.match(text):
            self._rates = match["kind"] == "rate"
        elif self._rates and (match := _PROCESSES.match(text)) and match["name"] in OPERATIONS:
            rates = [float(word) for word in match["rates"].split(",")]
            self.processes.setdefault(OPERATIONS[match["name"]], []).append(rates)
        elif match := _SUMMARY_ROW.match(text.rstrip()):
            self._summary(match)
        elif match := _ITERATION.search(text):
            self.numbers.append(int(match["number"]))
        elif match := _HIT.search(text):
            self.hit_items.append(int(match["most"]))

    def _rank(self, match: re.Match[str]) -> None:
        words = match["figures"].split(",")
        figures = {
            name: (float(rate), float(seconds))
            for name, rate, seconds in zip(OF_ALL, words[::2], words[1::2], strict=False)
            if rate and seconds and float(seconds)
        }
        if match["rank"] == "all":
            self.all_ranks = figures
        else:
            self.rows.append((int(match["rank"]), figures))

    def _summary(self, match: re.Match[str]) -> None:
        words = match["values"].split()
        if len(words) == _WITH_RANKS and match["name"] in OPERATIONS and self._rates:
            high, low, mean = map(float, words[:3])
            self.summary.setdefault(OPERATIONS[match["name"]], (high, low, mean))
