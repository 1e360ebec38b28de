"""Hosts of a live run: state, symbol, message, and distance from the median host.

Levels over time are read incrementally, column by column.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import pairwise
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct

from tui.journal.state import HostView, silent_text
from tui.metrics.figures import LAG
from tui.metrics.units import share
from tui.text.line import BAD, LABEL, TEXT, WARN, Run
from tui.text.plot import TimeAxis, merged
from tui.text.run_texts import run_text

if TYPE_CHECKING:
    from tui.journal.measurement import Measurement
    from tui.journal.views import DirectionView
    from tui.metrics.figures import HostSpread
    from tui.text.sparkline import Symbols

STALLED, FAR, BEHIND, ALIKE, NOTHING = range(5)  # level of a host in a column, worst first
# of the median host; of the median of the load, to see a stall of all hosts
HALF, STALL = 0.5, 0.1
STEPS = bytes((3, 2, 1, 0, 0)) + bytes(251)  # below the median host, by level
NOTABLE = 4  # sum of weights over all columns; a column without I/O counts several
LEAST_HOSTS = 3  # with fewer a median means little
STRAGGLER = "straggler"
VERSUS = "vs median"  # heading: a host's rate against that of the median host
TAIL_S = 8  # samples may arrive this late
SURE_S = 3  # a host without samples for this long is stalled
# samples of all hosts read in one call; a long load takes several
MOST_SECONDS = 60_000
HOSTS_A_PART = 64  # read between two looks at the keyboard
ROLES = {STALLED: BAD, FAR: WARN, BEHIND: f"{WARN}*55", ALIKE: "read*35"}
PLAIN = {STALLED: "#", FAR: "+", BEHIND: "-", ALIKE: "."}
SHADES = {STALLED: "█", FAR: "▓", BEHIND: "▒", ALIKE: "░"}
OF_MEDIAN = {
    STALLED: f"<{share(STALL)} or no data",
    FAR: f"<{share(HALF)}",
    BEHIND: f"<{share(LAG)}",
    ALIKE: f"≥{share(LAG)}",
}
BROKEN = ("failed", "lost")  # states of hosts
MARKS: dict[str, tuple[str, str, str]] = {  # state -> symbol, ASCII symbol, style
    "waiting": ("·", ".", LABEL),
    "connecting": ("›", ">", LABEL),
    "connected": ("›", ">", LABEL),
    "checking": ("›", ">", LABEL),
    "ready": ("○", "o", TEXT),
    "layout": ("■", "#", "read"),
    "armed": ("○", "o", TEXT),
    "running": ("●", "*", "good"),
    "collecting": ("■", "#", LABEL),
    "done": ("✓", "+", "good"),
    "failed": ("✗", "x", "bad"),
    "lost": ("✗", "x", "bad"),
}
SILENT_MARK = "?"
NO_FINDINGS: Mapping[str, Run] = {}
SHOWN = {"layout": "writing files"}  # states in other words
REFUSED = {"host-locked": "in use", "host-key-unknown": "key unknown"}  # failed, by problem
SAID = ("finished", "ended early", "silent")  # activities not covered by states
STATE_ORDER = (*BROKEN, *reversed(SAID), *(state for state in MARKS if state not in BROKEN))


class HostLevels:
    """How fast each host is relative to the median, as a level in each column of a time axis.

    `take` and `taking` read only samples that are new since the last call.
    """

    def __init__(self) -> None:
        self.names: list[str] = []
        self.levels: list[bytearray] = []  # by column: a level per host
        self._load: Measurement | None = None
        self._of: tuple[object, ...] = ()
        self._end_s = 0
        self._taken: tuple[object, ...] = ()  # everything up to this is read
        self._rates: dict[str, list[float | None]] = {}  # by host: a mean per column
        self._medians: list[float | None] = []

    def take(
        self,
        hosts: Mapping[str, HostView],
        axis: TimeAxis,
        columns: int,
        end_s: int,
        load: Measurement | None,
        job: str | None,
    ) -> None:
        """Read samples up to second `end_s` of the run.

        `load` has the samples, `job` selects one of its jobs. If either, the hosts, or the columns
        change, all levels are read again. A long load of many hosts takes several calls.
        """
        for _ in self.taking(hosts, axis, columns, end_s, load, job):
            pass

    def taking(
        self,
        hosts: Mapping[str, HostView],
        axis: TimeAxis,
        columns: int,
        end_s: int,
        load: Measurement | None,
        job: str | None,
    ) -> Iterator[None]:
        """Read as `take` does, yielding after each part of the hosts so that keys can be handled.

        Ends early if something else is read meanwhile.
        """
        of = (job, axis.start_s, axis.span_s, columns, *hosts)
        if self._load is not load or self._of != of:
            self._load, self._of, self.names, self._rates = load, of, [*hosts], {}
            self.levels = [bytearray([NOTHING]) * len(hosts) for _ in range(columns)]
            self._medians, self._taken = [None] * columns, ()
        taken = (end_s, load.total.version if load is not None else 0)
        if columns < 1 or end_s <= axis.start_s or self._taken == taken:
            return
        known, room = len(self._rates), MOST_SECONDS // max(1, end_s - axis.start_s)
        last = axis.column_of(end_s - 1, columns)
        # a second may take several columns
        while last + 1 < columns and axis.cell(last + 1, columns)[0] < end_s:
            last += 1
        first = axis.column_of(max(axis.start_s, min(self._end_s, end_s) - TAIL_S), columns)
        cells = [axis.cell(column, columns) for column in range(last + 1)]
        seconds: dict[int, _Seconds] = {}  # by first column
        for place, name in enumerate(self.names[: known + max(1, room)]):
            if place % HOSTS_A_PART == HOSTS_A_PART - 1:
                yield
                if self._load is not load or self._of != of:
                    return
            rates = self._rates.setdefault(name, [None] * columns)
            begin = first if place < known else 0
            if begin not in seconds:
                seconds[begin] = _seconds_of(cells[begin:], end_s)
            rates[begin : len(cells)] = _rates_in(hosts[name], seconds[begin], job)
        begin = first if known == len(self.names) else 0
        for _ in self._judging(hosts, axis, range(begin, last + 1), end_s):
            yield
            if self._load is not load or self._of != of:
                return
        self._end_s, self._taken = end_s, taken if len(self._rates) == len(self.names) else ()

    def _judging(
        self, hosts: Mapping[str, HostView], axis: TimeAxis, columns: range, end_s: int
    ) -> Iterator[None]:
        """Set the level of each host in `columns`, from its rate and the median; yield after each
        column.
        """
        for column in columns:
            known = [rate for rates in self._rates.values() if (rate := rates[column]) is not None]
            self._medians[column] = median(known) if known else None
        usual = median([each for each in self._medians if each is not None] or [0.0])
        begun = {name: _first_column(rates) for name, rates in self._rates.items()}
        # samples for the newest columns may still arrive, but not from a host that is silent before
        count = len(self.levels)
        newest = next(
            (at for at in range(count) if axis.cell(at, count)[0] >= end_s - SURE_S), count
        )
        quiet = {
            name
            for name, rates in self._rates.items()
            if newest and all(rate is None for rate in rates[newest - 1 :])
        }
        for column in columns:
            middle = self._medians[column]
            sure = column < newest
            for place, name in enumerate(self.names):
                rate = self._rates[name][column] if name in self._rates else None
                silent = (
                    (sure or name in quiet)
                    and middle is not None
                    and name in self._rates
                    and begun[name] <= column
                )
                level = (
                    NOTHING if rate is not None or not silent or hosts[name].load_ended else STALLED
                )
                if rate is not None and middle is not None:
                    level = level_of(rate, middle, usual)
                self.levels[column][place] = level
            yield

    def rows(self, most: int) -> list[StripRow]:
        """Return at most `most` rows, in the order of hosts.

        A row is a host, or a group of hosts with the name of the slowest.
        """
        behind = self._behind()
        return [self._row(a, b, behind) for a, b in groups_of(len(self.names), most)]

    @property
    def used(self) -> set[int]:
        """The levels that occur in any column."""
        return set().union(*self.levels)

    @property
    def notable(self) -> int:
        """Steps below the median, in all columns together, from which a host counts as slow."""
        return min(self._behind(), default=0) + NOTABLE

    def worst_first(self, hosts: Mapping[str, HostView]) -> list[StripRow]:
        """Return one row per host: broken ones first, then silent ones, then the slowest."""
        behind = self._behind()
        rows = [self._row(place, place + 1, behind) for place in range(len(self.names))]
        least = min(behind, default=0) + NOTABLE

        def rank(row: StripRow) -> tuple[bool, bool, int]:
            host = hosts[row.name]
            slow = -row.behind if row.behind >= least else 0
            silent = host.stale_s(host.total.clock.now) is not None
            return host.state not in BROKEN, not silent, slow

        return sorted(rows, key=rank)

    def _behind(self) -> list[int]:
        """Return each host's steps below the median, summed over all columns."""
        return [
            sum(column)
            for column in zip(*(levels.translate(STEPS) for levels in self.levels), strict=True)
        ]

    def _row(self, first: int, end: int, behind: list[int]) -> StripRow:
        names = self.names[first:end]
        if end - first == 1:
            return StripRow(
                names[0], names, [levels[first] for levels in self.levels], behind[first]
            )
        worst = max(range(first, end), key=lambda place: behind[place])
        levels = [min(levels[first:end]) for levels in self.levels]
        return StripRow(self.names[worst], names, levels, behind[worst])


def groups_of(count: int, most: int) -> list[tuple[int, int]]:
    """Return first and end of at most `most` groups of hosts, as equal as possible."""
    rows = min(most, count)
    edges = [place * count // rows for place in range(rows + 1)] if rows > 0 else []
    return list(pairwise(edges))


class _Seconds(NamedTuple):
    """Seconds to read, and which of them each column covers; empty if each covers one."""

    start_s: int
    end_s: int
    columns: list[slice]


def _seconds_of(cells: Sequence[tuple[int, int]], end_s: int) -> _Seconds:
    start = cells[0][0]
    if all(cell == (start + place, start + place + 1) for place, cell in enumerate(cells)):
        return _Seconds(start, start + len(cells), [])
    return _Seconds(
        start, end_s, [slice(begin - start, min(end, end_s) - start) for begin, end in cells]
    )


def _rates_in(host: HostView, seconds: _Seconds, job: str | None) -> list[float | None]:
    """Return a host's mean rate in each column."""
    total: DirectionView = host.total if job is None else host.figures(job).total
    if total.span is None:
        return [None] * (len(seconds.columns) or seconds.end_s - seconds.start_s)
    values = total.values("iops", seconds.start_s, seconds.end_s)
    return [merged(values[each], peaks=False) for each in seconds.columns] or values


class StripRow(Struct, frozen=True):
    """One row of a strip of hosts: the slowest one, all of them, and a level per column.

    `behind`: steps below the median, summed over all columns.
    """

    name: str
    names: list[str]
    levels: list[int]
    behind: int

    @property
    def now(self) -> int:
        """The level in the latest column with data."""
        return next((level for level in reversed(self.levels) if level != NOTHING), NOTHING)


def words_of(used: Collection[int], *, whole: bool = True) -> list[tuple[int, str]]:
    """Return the levels in use, each with its meaning.

    `whole`: the last one says that shares are of the median.
    """
    shares = [(level, text) for level, text in OF_MEDIAN.items() if level in used]
    of = " of median" if whole else ""
    return [*shares[:-1], *((level, f"{text}{of}") for level, text in shares[-1:])]


def role_of(host: HostView) -> str:
    """Return the role of a host that is behind: bad if it failed or is lost, else a warning."""
    return BAD if host.state in BROKEN else WARN


def level_of(rate: float, middle: float, usual: float) -> int:
    """Return the level of a rate.

    It is relative to the median host at that time (`middle`) and the median of the load (`usual`).
    """
    if rate < STALL * usual:
        return STALLED
    return FAR if rate < HALF * middle else BEHIND if rate < LAG * middle else ALIKE


def _first_column(rates: Sequence[float | None]) -> int:
    """Return the column of a host's first I/O; 0 if it did none."""
    return next((column for column, rate in enumerate(rates) if rate is not None), 0)


def mark_of(
    host: HostView,
    now: float,
    symbols: Symbols,
    found: Mapping[str, Run] = NO_FINDINGS,
    spread: HostSpread | None = None,
) -> Run:
    """Return the symbol for a host's state, with its role.

    Silence, a straggler and a finding take precedence, in this order.
    """
    activity = host.activity(now)
    if activity in ("silent", "ended early"):
        return SILENT_MARK if activity == "silent" else "!", "warn"
    if spread is not None and spread.lags(host.name) and host.state not in BROKEN:
        return "v" if symbols == "ascii" else "▼", "warn"
    if host.name in found and host.state not in BROKEN:
        return "!", found[host.name][1]
    symbol, plain, key = MARKS.get(
        "done" if activity == "finished" else host.state, ("?", "?", LABEL)
    )
    return (plain if symbols == "ascii" else symbol), key


def message_of(
    host: HostView,
    now: float,
    found: Mapping[str, Run] = NO_FINDINGS,
    spread: HostSpread | None = None,
) -> Run:
    """Return the message about a host: silence, straggler, findings, or else its state."""
    if silent := silent_text(host, now):
        return silent, "warn"
    if spread is not None and spread.lags(host.name):
        return STRAGGLER, "warn"
    does, over = state_text(host, now), host.activity(now) in ("finished", "ended early")
    if host.name in found and (over or host.state == "running"):
        text, role = found[host.name]
        return (f"{does}: {text}" if over else text), role
    does = SHOWN.get(does, does)
    if host.problem:
        return f"{does}: {run_text(host.problem)}", "warn"
    return f"{does}: {run_text(host.detail)}" if host.detail else does, LABEL


def state_text(host: HostView, now: float) -> str:
    """Return a host's activity in a word or two.

    Before and between loads it is the state that the engine reports.
    """
    activity = host.activity(now)
    return activity if activity in SAID else host.state


def count_states(hosts: Sequence[HostView], now: float) -> str:
    """Return the number of hosts in each state: ``62 running, 1 silent, 1 failed``.

    States that need attention come last.
    """
    counts = Counter(shown_state(host, now) for host in hosts)
    fine = (SHOWN.get(state, state) for state in MARKS if state not in BROKEN)
    order = [*fine, *SAID, *REFUSED.values(), *BROKEN]
    return ", ".join(f"{counts[name]} {name}" for name in order if name in counts)


def shown_state(host: HostView, now: float) -> str:
    """Return a host's activity as shown; for a failed host the reason, if it is short."""
    if host.state == "failed" and host.problem_code in REFUSED:
        return REFUSED[host.problem_code]
    does = state_text(host, now)
    return SHOWN.get(does, does)
