"""Parse mdtest's command line and output, in all versions, and its figures of ranks."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tui.model.event import ALL_OVER, ONE_RANK, MetadataIteration, MetadataPhase, OperationResult
from tui.model.plan import MpiLaunch
from tui.workloads import mpi_kept
from tui.workloads.reading import finite_number, version_numbers

OLD_NAME = "1.9.3"  # 3.2.x prints it too
# since this version, -N is multiplied by the ranks of the first node (hpc/ior pull request 162)
MULTIPLIES_STRIDE = (3, 3)
HONEST_SUMMARY = (4, 0)  # since then, Max and Min are over iterations (hpc/ior pull request 336)


def at_least(version: str, wanted: tuple[int, int]) -> bool:
    """Return whether a version is at least this one; False if unknown."""
    return version_numbers(version)[:2] >= wanted


def actual_version(version: str, command_line: str) -> str:
    """Return the actual version: 3.2.x prints 1.9.3, but puts the words of its command line in
    quotes.
    """
    return "3.2" if version == OLD_NAME and ' "-' in command_line else version


def summary_meaning(version: str) -> str:
    """Return the meaning of Max and Min in this version's summary, as text."""
    if at_least(version, HONEST_SUMMARY):
        return "max and min are over iterations, each timed by its slowest rank"
    if at_least(version, (3, 0)):
        return (
            "max and min are over single ranks in all iterations: not comparable with other"
            " versions"
        )
    return (
        "max and min are over iterations, each timed by its fastest rank: not comparable with newer"
        " versions"
    )


def iterations_meaning(version: str) -> str:
    """Return the meaning of figures computed from completed iterations, for output without a
    summary.
    """
    if at_least(version, HONEST_SUMMARY):
        return "max and min are over iterations timed by rank 0 only: slower ranks would lower them"
    return "max and min are over iterations timed by rank 0; the tool printed no summary"


OPERATIONS = {
    "File creation": "create",
    "File stat": "stat",
    "File read": "read",
    "File rename": "rename",
    "File removal": "remove",
    "File create (stonewall)": "create-stonewall",
    "Directory creation": "dir-create",
    "Directory stat": "dir-stat",
    "Directory read": "dir-read",
    "Directory rename": "dir-rename",
    "Directory removal": "dir-remove",
    "Tree creation": "tree-create",
    "Tree removal": "tree-remove",
}
ITEM_PHASES = ("create", "stat", "read", "remove")
# in a line of --saveRankPerformanceDetails, each of these has a rank's rate and seconds
OF_RANKS = ("dir-create", "dir-stat", "dir-read", "dir-rename", "dir-remove", *ITEM_PHASES)
OWN_RATE = (4, 0)  # since this version, an iteration's line is rank 0's own rate

_NAME = (
    r"(?P<name>(?:File|Directory|Tree) (?:creation|stat|read|rename|removal|create \(stonewall\)))"
)
_ROW = re.compile(rf"^\s{{3}}{_NAME}(?:\s*:)?\s+(?P<values>\S.*)$")
_VALUE = re.compile(r"-?[\d.]+|NA|-?nan|inf")
_ITERATION_ROW = re.compile(
    rf"{_NAME}\s*:\s+(?P<seconds>[\d.]+) sec,\s+(?P<rate>[\d.]+|inf|nan) ops/sec"
)
_LAUNCHED = re.compile(
    r"^mdtest-(?P<version>\S+) was launched with (?P<tasks>\d+) total task\(s\) on (?P<nodes>\d+)"
    r" node"
)
_ITEMS = re.compile(
    r"^(?P<tasks>\d+) tasks, (?P<items>\d+) (?P<kind>files|directories|files/directories)"
)
_ITERATION = re.compile(r"main: \* iteration (?P<number>\d+)\b")
_SUMMARY = re.compile(r"^SUMMARY(?: (?P<kind>rate|time))?.*\(of (?P<iterations>\d+) iterations\)")
_SHIFT = re.compile(r"Shifting ranks by (?P<ranks>\d+) for each phase")
_ENTER = re.compile(
    r"Entering (?P<where>create_remove_items|mdtest_stat|mdtest_read|mdtest_rename)(?:\.\.\.|,|"
    r" on )"
)
_DEEPER = re.compile(r"currDepth = [1-9]")
_RANK = re.compile(rf"^(?P<rank>\d+),(?P<figures>(?:,[\d.e+-]*){{{2 * len(OF_RANKS)}}})$")
_ALL_RANKS = re.compile(r"^(?:all,\d+,|rank,items,)")

Event = MetadataPhase | MetadataIteration


@dataclass
class MdtestOutput:
    """Output of one mdtest process so far. Rates are operations per second over all ranks.

    `item_phases` are the command's phases on files, in order.
    """

    step: int = 0
    iterations: int = 1
    item_phases: Sequence[str] = ITEM_PHASES
    version: str = ""
    tasks: int = 0
    nodes: int = 0
    nodemap: str = ""
    shift: int = -1
    items: int = 0  # over all ranks, as printed by mdtest
    items_tasks: int = 0  # the tasks in the same line
    iteration: int = 0
    phase: str = ""
    operations: dict[str, OperationResult] = field(default_factory=dict)
    times: dict[str, OperationResult] = field(default_factory=dict)  # of a table of times, seconds
    # seconds of each rank in each iteration, by operation
    rank_seconds: dict[str, dict[int, list[float]]] = field(default_factory=dict)
    summary_iterations: int | None = None
    finished: bool = False
    _table: str = ""
    _phase_t: float = 0.0

    def line(self, text: str, now_s: float = 0.0) -> list[Event] | None:
        """Parse one line without its newline, received at `now_s`; return its event in a list.

        The list is empty for a row of ranks. None for any other line without an event.
        """
        if match := _RANK.match(text):
            self._rank(match)
            return []
        if _ALL_RANKS.match(text):
            return []
        event = self._event(text, now_s)
        return None if event is None else [event]

    def _event(self, text: str, now_s: float) -> Event | None:
        if text.startswith("   ") and self._table:
            self._row(text.rstrip())
            return None
        if match := _ITERATION_ROW.search(text):
            return self._iteration_row(match)
        if text.startswith("-- finished at"):
            self.finished, self._table = True, ""
            return self.end(now_s)
        if match := _ITERATION.search(text):
            self.iteration = int(match["number"])
            return self._enter("tree-create", now_s)
        if match := _ENTER.search(text):
            return (
                self._enter(self._phase_of(match["where"]), now_s)
                if not _DEEPER.search(text)
                else None
            )
        self._header(text)
        return None

    @property
    def started(self) -> bool:
        """Whether the ranks have started: mdtest has printed their number."""
        return self.tasks > 0

    def end(self, now_s: float) -> MetadataPhase | None:
        """Return the end of the last phase, once; None if no phase has begun."""
        return self._enter(ALL_OVER, now_s) if self.phase else None

    def results(self) -> dict[str, OperationResult]:
        """Return the operations that ran, without those printed as 0.000, and with the mean times
        of ranks; empty until an operation of all ranks has ended.
        """
        found = {
            name: each for name, each in self.operations.items() if each.mean or each.iterations
        }
        for name, each in found.items():
            each.rank_seconds = self._means_of_ranks(name)
        return found if any(name not in ONE_RANK for name in found) else {}

    def _rank(self, match: re.Match[str]) -> None:
        seconds = match["figures"].split(",")[2::2]
        for name, word in zip(OF_RANKS, seconds, strict=True):
            if (value := finite_number(word)) is not None:
                ranks = self.rank_seconds.setdefault(name, {})
                ranks.setdefault(int(match["rank"]), []).append(value)

    def _means_of_ranks(self, name: str) -> list[float]:
        """Return each rank's mean time over all iterations, in seconds; empty unless all ranks are
        known.
        """
        ranks = self.rank_seconds.get(name, {})
        if not ranks or sorted(ranks) != list(range(self.tasks)):
            return []
        return [round(sum(ranks[rank]) / len(ranks[rank]), 6) for rank in range(self.tasks)]

    def _header(self, text: str) -> None:
        if match := _LAUNCHED.match(text):
            self.version, self.tasks, self.nodes = (
                match["version"],
                int(match["tasks"]),
                int(match["nodes"]),
            )
        elif text.startswith("Command line used:"):
            self.version = actual_version(self.version, text)
        elif text.startswith("Nodemap:"):
            self.nodemap = text.partition(":")[2].strip()
        elif match := _SHIFT.search(text):
            self.shift = int(match["ranks"])
        elif match := _ITEMS.match(text):
            self.items, self.items_tasks = int(match["items"]), int(match["tasks"])
        elif match := _SUMMARY.match(text):
            self._table = match["kind"] or "rate"
            self.summary_iterations = int(match["iterations"])
            if self.version == OLD_NAME and match["kind"]:
                self.version = "3.2"

    def _row(self, text: str) -> None:
        match = _ROW.match(text)
        words = match["values"].split() if match else []
        if match is None or len(words) < 4 or not all(map(_VALUE.fullmatch, words)):
            return
        highest, lowest, mean, deviation = map(finite_number, words[-4:])
        table = self.operations if self._table == "rate" else self.times
        result = table.setdefault(OPERATIONS[match["name"]], OperationResult())
        result.max, result.min, result.mean, result.stddev = highest, lowest, mean, deviation

    def _iteration_row(self, match: re.Match[str]) -> MetadataIteration:
        operation = OPERATIONS[match["name"]]
        seconds, rate = float(match["seconds"]), finite_number(match["rate"]) or 0.0
        if operation not in ONE_RANK and at_least(self.version, OWN_RATE):
            rate *= self.tasks
        result = self.operations.setdefault(operation, OperationResult())
        result.iterations.append(round(rate, 3))
        result.seconds.append(seconds)
        return MetadataIteration(
            t=0.0,
            step=self.step,
            operation=operation,
            iteration=max(self.iteration, 1),
            seconds=seconds,
            rate=round(rate, 3),
        )

    def _phase_of(self, where: str) -> str:
        """Return the phase that rank 0 enters; creation and removal use the same function."""
        if where != "create_remove_items":
            return where.removeprefix("mdtest_")
        if self.phase in ("", "tree-create", "remove"):
            return self.item_phases[0]
        again = self.phase == "create" and len(set(self.item_phases) & {"stat", "read"}) > 0
        # with a stonewall, creation continues in a second pass
        return "create" if again else "remove"

    def _enter(self, phase: str, now_s: float) -> MetadataPhase | None:
        if phase == self.phase:
            return None
        before, took_s = self.phase, now_s - self._phase_t
        self.phase, self._phase_t = phase, now_s
        known = before not in ("", "tree-create") and took_s > 0
        return MetadataPhase(
            t=0.0,
            step=self.step,
            phase=phase,
            iteration=max(self.iteration, 1),
            iterations=self.iterations,
            ended="" if before == "tree-create" else before,
            ops=self.items if known and phase != "tree-create" else 0,
            seconds=round(took_s, 3) if known else None,
        )


KEEP_FIGURES = ("--saveRankPerformanceDetails", "--savePerOpDataCSV")
ONLY = {"C": "create", "T": "stat", "E": "read", "r": "remove"}
VALUED = frozenset("abdefGiIlnNpsVwWxz")  # options with a value


def arguments(
    launch: MpiLaunch, stride: str, directory: str, *, by_rank: bool = False
) -> list[str]:
    """Return mdtest's arguments: -v to print phases, then in the published order, the directory
    last.

    `by_rank`: also print the times of all ranks.
    """
    numbers = ["-v", "-N", stride, "-i", str(launch.iterations), "-n", str(launch.items)]
    kept = any(option.startswith(KEEP_FIGURES[0]) for option in launch.options)
    ranks = [f"{KEEP_FIGURES[0]}=/dev/stdout"] if by_rank and not kept else []
    return [*numbers, *ranks, *option_words(launch.options), "-d", directory]


def trial_options(launch: MpiLaunch) -> tuple[str, ...]:
    """Return the options of a trial: all except those that write figures to files."""
    return tuple(option for option in launch.options if not option.startswith(KEEP_FIGURES))


def option_words(options: Sequence[str]) -> list[str]:
    """Split options into words: "-w 3901" becomes two."""
    return [word for option in options for word in shlex.split(option)]


def item_phases(options: Sequence[str]) -> tuple[str, ...]:
    """Return the command's phases on files, in order."""
    return chosen_phases(mpi_kept.options(option_words(options), VALUED))


def chosen_phases(given: Mapping[str, str]) -> tuple[str, ...]:
    """Return the phases on files that these one-letter options select, in order."""
    chosen = [phase for letter, phase in ONLY.items() if letter in given]
    return tuple(phase for phase in ITEM_PHASES if not chosen or phase in chosen)


def bytes_per_file(options: Sequence[str]) -> int:
    """Return the number of bytes written to each file (-w), 0 by default."""
    return mpi_kept.number(mpi_kept.options(option_words(options), VALUED), "w") or 0


def inodes_needed(launch: MpiLaunch, hosts: int) -> int:
    """Return the maximum number of inodes; each iteration is removed before the next one."""
    ranks = launch.ranks(hosts)
    return ranks * launch.items + ranks + 2


# of --saveRankPerformanceDetails; the row of all ranks also has rate and seconds of the tree
_RANK_ROW = re.compile(
    rf"^(?P<rank>\d+|all),\d*,(?P<figures>(?:[\d.e+-]*|inf)(?:,(?:[\d.e+-]*|inf))"
    rf"{{{2 * len(OF_RANKS) - 1},}})$"
)
_PROCESSES = re.compile(r"^Test (?P<name>[\w ]+?) (?P<rates>[\d.]+e[+-]\d+(?:,[\d.]+e[+-]\d+)*)$")
_TITLE = re.compile(r"^Per process result \((?P<kind>rate|time)\)")
_SUMMARY_ROW = re.compile(r"^ {3}(?P<name>[A-Z][a-z]+ [a-z]+)\s+(?P<values>[\d. ]+)$")

FAKED = ("Fake number of node", "Fake tasks per node")  # by an environment variable
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
    faked: bool = False  # nodes are not counted
    _rates: bool = False

    def line(self, text: str) -> None:
        """Parse one line."""
        if match := _RANK_ROW.match(text):
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
        elif text.startswith(FAKED):
            self.faked = True
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
