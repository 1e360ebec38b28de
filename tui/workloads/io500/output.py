"""Parse IO500's output: phases, reasons why they are invalid, score, times of ranks."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from statistics import geometric_mean

from tui.model.event import (
    ALL_OVER,
    Contradiction,
    MetadataIteration,
    MetadataPhase,
    MetadataResult,
    OperationResult,
)
from tui.model.quantities import parse_size

NUMBER = r"\d{1,15}(?:\.\d{1,15})?"
TITLE = re.compile(r"^IO500 version (?P<version>\S+)")
PHASE = re.compile(
    r"^\[(?P<scored>RESULT| +)\] +(?P<name>[\w-]+) +"
    rf"(?P<text>(?P<value>{NUMBER}) (?P<unit>GiB/s|kIOPS) : time (?P<seconds>{NUMBER}) seconds"
    r"(?P<invalid> *\[INVALID\])?)"
)
SCORE = re.compile(
    rf"^\[SCORE \] (?P<text>Bandwidth (?P<bandwidth>{NUMBER}) GiB/s : IOPS (?P<metadata>{NUMBER})"
    r" kiops"
    rf"(?: : TOTAL (?P<total>{NUMBER}))?(?P<invalid> *\[INVALID\])?) *$"
)
REASON = re.compile(r"^ERROR INVALID (?:\([^()]*\) )?(?P<why>.+)$")
STORED = "The result files are stored in the directory:"
PHASES = (
    "ior-easy-write", "mdtest-easy-write", "ior-hard-write", "mdtest-hard-write", "find",
    "ior-easy-read",
    "mdtest-easy-stat", "ior-hard-read", "mdtest-hard-stat", "mdtest-easy-delete",
    "mdtest-hard-read",
    "mdtest-hard-delete", "ior-rnd4K-easy-read",
)  # fmt: skip
SCORED = PHASES[:12]  # those of extended mode are not
GIB = 1 << 30
EASY_BYTES = 2 << 20  # of an I/O of ior-easy, unless its ini file says otherwise
BYTES_PER_OP = {"ior-hard": 47008, "ior-rnd4K-easy": 4096}  # by the rules
MOST_REASONS = 3
OFF = 1e-7  # of a mean, in addition to rounding
ROUNDED = 0.5e-6  # IO500 prints six decimals: of 0.000051 GiB/s that is 1 %
# Those of IOR's phases are of no use: each rank's time includes the wait for the slowest.
FILES = tuple(f"{name}.csv" for name in PHASES if name.startswith("mdtest"))
FIRST, TIME = "rank,items,", "time-File "
DIGITS = 6

Event = MetadataPhase | MetadataIteration


def _mean(values: Sequence[float]) -> float:
    return geometric_mean(values) if values and all(values) else 0.0


def _off(printed: float, values: Sequence[float]) -> float:
    """Return how far a mean of printed figures may differ from the printed mean, as a share of the
    latter.
    """
    if not all(values):
        return inf  # printed as 0.000000
    rounded = sum(ROUNDED / (each - ROUNDED) for each in values) / max(len(values), 1)
    return OFF + rounded + ROUNDED / printed


@dataclass(frozen=True, slots=True)
class PrintedPhase:
    """One printed phase; `why`: reasons why it is invalid, from the lines before it."""

    value: float
    unit: str
    seconds: float
    text: str
    scored: bool
    invalid: bool
    why: Sequence[str] = ()


@dataclass
class Io500Output:
    """Output of one IO500 process so far.

    IO500 does not print the number of ranks, so it is taken from the launch.
    """

    step: int = 0
    ranks: int = 0
    skip: Sequence[str] = ()
    easy_bytes: int = EASY_BYTES
    version: str = ""
    nodes: int = 0
    titles: int = 0
    phase: str = ""
    phases: dict[str, PrintedPhase] = field(default_factory=dict)
    scores: dict[str, float] = field(default_factory=dict)
    score_text: str = ""
    invalid: bool = False
    finished: bool = False
    reasons: list[str] = field(default_factory=list)  # of the next phase
    of_run: list[str] = field(default_factory=list)  # of no phase: its settings
    # from result.txt, for phases without printed reasons
    phase_reasons: Mapping[str, Sequence[str]] = field(default_factory=dict)

    @property
    def started(self) -> bool:
        """Whether the ranks have started."""
        return self.titles > 0

    @property
    def tasks(self) -> int:
        """Number of ranks; 1 if the title was printed several times, because the ranks are then not
        connected.
        """
        return 1 if self.titles > 1 else self.ranks

    def line(self, text: str, now_s: float = 0.0) -> list[Event] | None:
        """Parse one line; return its events, or None if it may be a message to explain."""
        if match := TITLE.match(text):
            self.titles += 1
            self.version = match["version"].removeprefix("io500-")
            return [self._enter(self._after(""))]
        if match := REASON.match(text):
            self._invalid(match["why"].strip())
            return None
        if match := PHASE.match(text):
            return self._phase(match)
        if match := SCORE.match(text):
            self.score_text, self.invalid = match["text"], bool(match["invalid"])
            self.scores = {
                name: float(match[name])
                for name in ("total", "bandwidth", "metadata")
                if match[name]
            }
            over = self.end(now_s)
            return [over] if over else []
        if text.startswith(STORED):
            self.finished = True
            return []
        return None

    def end(self, now_s: float) -> MetadataPhase | None:
        """Return the end of the last phase, once; None if no phase has begun."""
        return self._enter(ALL_OVER) if self.phase not in ("", ALL_OVER) else None

    def results(self) -> dict[str, OperationResult]:
        """Return the results by phase, except phases that did no work."""
        return {
            name: self._operation(name, each)
            for name, each in self.phases.items()
            if each.value > 0
        }

    def why_invalid(self) -> list[str]:
        """Return the reasons for which IO500 itself calls the result invalid."""
        of_phases = [
            f"{name}: {'; '.join(each.why[:MOST_REASONS]) or 'no reason printed'}"
            for name, each in self.phases.items()
            if each.invalid
        ]
        found = [*self.of_run, *of_phases]
        return found or (["no reason printed"] if self.invalid else [])

    def wrong_means(self) -> Iterator[Contradiction]:
        """Yield mean scores that differ from the phases."""
        for unit, name in (("GiB/s", "bandwidth"), ("kIOPS", "metadata")):
            values = [
                each.value
                for name, each in self.phases.items()
                if each.scored and each.unit == unit and each.value and name in SCORED
            ]
            printed, own = self.scores.get(name), _mean(values)
            if printed and abs(own - printed) > _off(printed, values) * printed:
                yield Contradiction("score", printed, own, names=(unit,))

    def metadata(self, *, final: bool) -> MetadataResult | None:
        """Return the results with the score; None if no phase has done any work."""
        if not (operations := self.results()):
            return None
        return MetadataResult(
            t=0.0,
            step=self.step,
            tool="io500",
            version=self.version,
            tasks=self.tasks,
            nodes=self.nodes,
            items=0,
            iterations=1,
            operations=operations,
            final=final,
            scores=dict(self.scores),
            printed=[f"score: {self.score_text}"] if self.score_text else [],
            invalid=self.why_invalid(),
        )

    def _invalid(self, why: str) -> None:
        """Record a reason for invalidity: for the settings if it comes before the first phase and
        is not about a duration, else for the next phase.
        """
        of_settings = (
            not self.phases and not self.reasons and " needed " not in why and "untime" not in why
        )
        (self.of_run if of_settings else self.reasons).append(why)

    def _phase(self, match: re.Match[str]) -> list[Event]:
        name = match["name"]
        each = PrintedPhase(
            float(match["value"]),
            match["unit"],
            float(match["seconds"]),
            match["text"],
            match["scored"] == "RESULT",
            bool(match["invalid"]),
            tuple(self.reasons or self.phase_reasons.get(name, ())),
        )
        self.phases[name] = each
        self.reasons = []
        if name not in PHASES and not each.value:  # the phase `timestamp` measures nothing
            return []
        operation = self._operation(name, each)
        iteration = MetadataIteration(
            t=0.0,
            step=self.step,
            operation=name,
            iteration=1,
            seconds=each.seconds,
            rate=operation.mean or 0.0,
            bytes_per_op=operation.bytes_per_op,
        )
        following = self._after(name)
        events: list[Event] = [iteration] if each.value else []
        return [*events, self._enter(following)] if following else events

    def _operation(self, name: str, each: PrintedPhase) -> OperationResult:
        moved = self._bytes_per_op(name) if each.unit == "GiB/s" else 0
        rate = each.value * GIB / moved if moved else round(each.value * 1000, 3)
        return OperationResult(
            mean=rate,
            iterations=[rate],
            seconds=[each.seconds],
            bytes_per_op=moved,
            printed=each.text,
        )

    def _bytes_per_op(self, name: str) -> int:
        return BYTES_PER_OP.get(name.rpartition("-")[0], self.easy_bytes)

    def _after(self, name: str) -> str:
        """Return the phase that follows in a standard run; empty if unknown."""
        later = PHASES[PHASES.index(name) + 1 :] if name in PHASES else PHASES if not name else ()
        return next((each for each in later if each not in self.skip), "")

    def _enter(self, phase: str) -> MetadataPhase:
        self.phase = phase
        return MetadataPhase(t=0.0, step=self.step, phase=phase, iteration=1, iterations=1)


def directions(skip: Sequence[str]) -> list[str]:
    """Return the phases that run: all except `skip`."""
    return [name for name in PHASES if name not in skip]


def easy_bytes_of(settings: Mapping[str, str]) -> int:
    """Return the I/O size of ior-easy in bytes; the default if it is not set, or not a size."""
    try:
        return parse_size(settings["ior-easy.transfersize"]) or EASY_BYTES
    except (KeyError, ValueError):
        return EASY_BYTES


def add_rank_seconds(
    operations: Mapping[str, OperationResult], texts: Mapping[str, str], tasks: int
) -> None:
    """Add the seconds of each rank to mdtest's phases whose CSV file has all `tasks` ranks.

    `texts`: files of the result directory by name.
    """
    for name, each in operations.items():
        if (file := f"{name}.csv") in FILES:
            each.rank_seconds = seconds_of(texts.get(file, ""), tasks)


def seconds_of(text: str, tasks: int) -> list[float]:
    """Return how many seconds each rank worked before the last barrier of a phase, by rank.

    Empty unless each of the `tasks` ranks has exactly one operation time.
    """
    header, *lines = text.splitlines() or [""]
    columns = header.split(",")
    if not header.startswith(FIRST):
        return []
    places = [place for place, name in enumerate(columns) if name.startswith(TIME)]
    found: dict[str, float] = {}
    for words in (line.split(",") for line in lines):
        times = [words[place] for place in places if place < len(words) and words[place]]
        if not words[0].isdigit():
            continue  # the row of all ranks
        try:
            (found[words[0]],) = map(float, times)
        except ValueError:  # none, several, or no number
            return []
    ranks = [found.get(str(rank)) for rank in range(tasks)]
    known = [round(each, DIGITS) for each in ranks if each is not None and 0 <= each < float("inf")]
    return known if len(known) == tasks == len(found) else []
