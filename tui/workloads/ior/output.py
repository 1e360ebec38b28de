"""Parse IOR's output: tables, and lines per rank."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from tui.model.event import ALL_OVER, MetadataIteration, MetadataPhase, OperationResult
from tui.workloads.reading import finite_number, version_numbers

MIB = 1 << 20
PHASES = ("write", "read")
# older versions divide the latency by the I/Os of one segment, not of all (hpc/ior, ior.c)
PER_SEGMENT = (4, 1)

_TITLE = re.compile(r"^IOR-(?P<version>\S+): MPI Coordinated Test of Parallel I/O")
_OPTION = re.compile(r"^(?P<name>[A-Za-z][\w ]{19}): ?(?P<value>.*)$")
_RANK = re.compile(r"^(?P<access>write|read),(?P<rank>\d+),(?P<whole>[\d.e+-]+),(?P<io>[\d.e+-]+),")
_RANK_TITLES = "access,rank,runtime-with-openclose"
_TABLE = re.compile(r"^access +bw\(MiB/s\)")
_SUMMARY = re.compile(r"^Operation +Max\(MiB\)")
_NUMBERS = {
    "tasks": "tasks",
    "nodes": "nodes",
    "clients per node": "per_node",
    "segments": "segments",
    "stonewallingTime": "stonewall_s",
}
_FEWER_BYTES = re.compile(  # messages of a phase that ended by time, about bytes it did not move
    r"^WARNING: (Expected aggregate file size|Stat\(\) of aggregate file size|Using actual"
    r" aggregate bytes moved) += "
    r"|^WARNING: [Mm]aybe caused by deadlineForStonewalling"
)
_UNITS = {"bytes": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40}

Event = MetadataPhase | MetadataIteration


@dataclass
class AccessFigures:
    """Results of one access (write or read) as printed by IOR.

    Rates are I/Os per second over all tasks, from open to close.
    """

    rates: list[float] = field(default_factory=list)  # of each iteration
    seconds: list[float] = field(default_factory=list)
    # None: below the microsecond that is printed
    latency_s: list[float | None] = field(default_factory=list)
    # seconds of each rank, open to close, by iteration
    ranks: list[dict[int, float]] = field(default_factory=list)
    summary: tuple[float, float, float, float] | None = None  # max, min, mean, standard deviation
    moved_bytes: float | None = None  # in each iteration, by the summary

    def rank_seconds(self, tasks: int) -> list[float]:
        """Return each rank's mean time over the iterations in which all ranks are known, in
        seconds; empty without such an iteration.
        """
        whole = [each for each in self.ranks if len(each) == tasks]
        if not whole or not tasks:
            return []
        return [round(sum(each[rank] for each in whole) / len(whole), 6) for rank in range(tasks)]


@dataclass
class IorOutput:
    """Output of one IOR process so far."""

    step: int = 0
    iterations: int = 1
    phases: Sequence[str] = PHASES
    version: str = ""
    tasks: int = 0
    tests: set[str] = field(default_factory=set)  # a script file may contain several
    printed_tasks: set[int] = field(default_factory=set)  # wherever it prints their number
    nodes: int = 0
    per_node: int = 0
    segments: int = 0
    transfer: int = 0
    block: int = 0
    aggregate: int | None = None  # printed first: tasks x segments x block, rounded
    stonewall_s: int = 0  # time limit of a phase; 0: it ends when its bytes are moved
    iteration: int = 0
    phase: str = ""
    command: str = ""
    figures: dict[str, AccessFigures] = field(default_factory=dict)
    in_summary: bool = False
    finished: bool = False
    _columns: list[str] = field(default_factory=list)

    @property
    def started(self) -> bool:
        """Whether the ranks have started: IOR has printed their number."""
        return self.tasks > 0

    def line(self, text: str, now_s: float = 0.0) -> list[Event] | None:
        """Parse one line; return its events, or None if it belongs to neither IOR's header nor its
        tables.
        """
        words = text.split()
        if match := _RANK.match(text):
            self._rank(match)
        elif self.stonewall_s and _FEWER_BYTES.match(text):
            return []
        elif words and words[0] in PHASES and self._columns and len(words) == len(self._columns):
            return self._row(words)
        elif words and words[0] == "remove" and len(words) == len(self._columns):
            return self._next_iteration()
        elif _TABLE.match(text):
            self._columns, self.in_summary = words, False
            return [self._enter(self.phases[0], 1)] if self.phases else []
        elif _SUMMARY.match(text):
            self._columns, self.in_summary = words, True
        elif text.startswith("Finished "):
            self.finished, self._columns = True, []
            over = self.end(0.0)
            return [over] if over is not None else []
        elif not self._header(text):
            return None
        return []

    def end(self, now_s: float) -> MetadataPhase | None:
        """Return the end of the last phase, once; None if no phase has begun."""
        return self._enter(ALL_OVER, self.iteration) if self.phase not in ("", ALL_OVER) else None

    def results(self) -> dict[str, OperationResult]:
        """Return the results by access; rates are I/Os per second."""
        return {
            name: self._result(each)
            for name, each in self.figures.items()
            if each.rates or each.summary
        }

    def _result(self, each: AccessFigures) -> OperationResult:
        result = OperationResult(
            iterations=list(each.rates),
            seconds=list(each.seconds),
            bytes_per_op=self.transfer,
            latency_s=list(each.latency_s) if self._latency_known else [],
            rank_seconds=each.rank_seconds(self.tasks),
        )
        if each.summary is not None:
            result.max, result.min, result.mean, result.stddev = each.summary
        return result

    @property
    def _latency_known(self) -> bool:
        """Whether the latency covers all I/Os; older versions divide by the I/Os of a single
        segment.
        """
        return (self.segments == 1 and not self.stonewall_s) or version_numbers(self.version)[
            :2
        ] >= PER_SEGMENT

    def _header(self, text: str) -> bool:
        """Parse a line above the tables; return whether it is such a line."""
        if match := _TITLE.match(text):
            self.version = match["version"]
        elif text.startswith((_RANK_TITLES, "------")):
            return True
        elif match := _OPTION.match(text):
            name, value = match["name"].strip(), match["value"].strip()
            if name in _NUMBERS and value.isdigit():
                setattr(self, _NUMBERS[name], int(value))
                self.printed_tasks |= {self.tasks} if name == "tasks" else set()
            elif name == "TestID":
                self.tests.add(value)
            elif name == "Command line":
                self.command = value
            elif name in ("xfersize", "blocksize", "aggregate filesize"):
                self._size(name, value)
            elif name == "repetitions" and value.isdigit():
                self.iterations = int(value)
        else:
            return False
        return True

    def _size(self, name: str, value: str) -> None:
        """Parse a rounded size; the exact one follows in the summary."""
        number, _, unit = value.partition(" ")
        size = (
            round(float(number) * _UNITS[unit])
            if re.fullmatch(r"[\d.]+", number) and unit in _UNITS
            else None
        )
        if name == "xfersize":
            self.transfer = size or 0
        elif name == "aggregate filesize":
            self.aggregate = size
        else:
            self.block = size or 0

    def _rank(self, match: re.Match[str]) -> None:
        known = self.figures.get(match["access"])
        if known is not None and known.ranks:
            known.ranks[-1][int(match["rank"])] = finite_number(match["whole"]) or 0.0

    def _row(self, words: list[str]) -> list[Event]:
        """Parse a row of an access, from an iteration or from the summary."""
        if self.in_summary:
            return self._summary(words)
        values = {
            name: finite_number(word) for name, word in zip(self._columns, words, strict=True)
        }
        name, known = words[0], self.figures.setdefault(words[0], AccessFigures())
        bandwidth, seconds = values.get("bw(MiB/s)"), values.get("total(s)")
        if bandwidth is None or seconds is None or not self.transfer:
            return []
        rate = bandwidth * MIB / self.transfer
        number = len(known.rates) + 1
        known.rates.append(rate)
        known.seconds.append(seconds)
        known.ranks.append({})
        if (latency := values.get("Latency(s)")) is not None:
            known.latency_s.append(latency or None)
        iteration = MetadataIteration(
            t=0.0,
            step=self.step,
            operation=name,
            iteration=number,
            seconds=seconds,
            rate=rate,
            bytes_per_op=self.transfer,
        )
        later = self.phases[self.phases.index(name) + 1 :] if name in self.phases else ()
        return [iteration, self._enter(later[0] if later else "remove", number)]

    def _next_iteration(self) -> list[Event]:
        if self.iteration >= self.iterations or not self.phases:
            return []
        return [self._enter(self.phases[0], self.iteration + 1)]

    def _summary(self, words: list[str]) -> list[Event]:
        """Parse the summary row of an access, with exact sizes and tasks; return no events.

        Uses bandwidth or operations for the rate, whichever has more digits.
        """
        known = self.figures.setdefault(words[0], AccessFigures())
        at = {name: place for place, name in reversed(list(enumerate(self._columns)))}
        whole = {
            name: words[at[name]]
            for name in ("xsize", "blksiz", "segcnt", "#Tasks", "tPN")
            if name in at
        }
        if all(word.isdigit() for word in whole.values()) and len(whole) == 5:
            self.transfer, self.block, self.segments = (
                int(whole[name]) for name in ("xsize", "blksiz", "segcnt")
            )
            self.tasks, self.per_node = int(whole["#Tasks"]), int(whole["tPN"])
            self.printed_tasks.add(self.tasks)
        moved = finite_number(words[at["aggs(MiB)"]]) if "aggs(MiB)" in at else None
        known.moved_bytes = None if moved is None else moved * MIB
        start = "Max(OPs)" if self.transfer < MIB and "Max(OPs)" in at else "Max(MiB)"
        values = [finite_number(word) for word in words[at[start] : at[start] + 4]]
        times = 1.0 if start == "Max(OPs)" else MIB / max(self.transfer, 1)
        if len(values) == 4 and None not in values:
            high, low, mean, deviation = (round((each or 0.0) * times, 6) for each in values)
            known.summary = (high, low, mean, deviation)
        return []

    def _enter(self, phase: str, iteration: int) -> MetadataPhase:
        self.phase, self.iteration = phase, iteration
        return MetadataPhase(
            t=0.0,
            step=self.step,
            phase=phase,
            iteration=max(iteration, 1),
            iterations=self.iterations,
        )
