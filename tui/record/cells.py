"""Cells of a matrix: each point's data for tables, charts and screens, in saved and running
runs.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from statistics import median
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from tui.metrics import figures, units
from tui.metrics.registry import BY_UNIT, METRICS, direction, meaning
from tui.metrics.repeat import relative_ci
from tui.model.plan import Headline
from tui.text.names import swept_text

if TYPE_CHECKING:
    from tui.model.record import CellRecord, Finding, RunRecord
    from tui.model.step_record import StepRecord

CellState = Literal["done", "failed", "cut", "running", "missing"]
Scalar = str | int | float | bool | None
# worst state first: a cell takes that of its worst step
WORST: tuple[CellState, ...] = ("failed", "cut", "running", "missing")
MADE = ("done", "failed", "cut")
WEAKENED = "valid-with-warnings"


class Cell(Struct, frozen=True):
    """One point of a matrix.

    `value` is the median of `values`. Of `planned` repetitions, `made` have ended, and `skipped`
    were not needed. `texts` are the swept values as people write them; `numbers` are the numeric
    ones. `mean_ns` and `p99_ns` are latencies of `step`, the repetition closest to the median.
    """

    key: str
    profile: str
    texts: Mapping[str, str]
    numbers: Mapping[str, float]
    state: CellState
    unit: str  # iops, bytes_per_s, ns, ops_per_s
    what: str  # "read IOPS"
    value: float | None = None
    values: tuple[float, ...] = ()
    ci: float | None = None
    steps: tuple[int, ...] = ()
    step: int | None = None
    made: int = 0
    planned: int = 0
    skipped: int = 0
    mean_ns: float | None = None
    p99_ns: float | None = None
    io_bytes: float | None = None  # mean over all I/Os of `step`
    bytes_per_s: float | None = None  # of `step`
    short: str = ""  # measured time, if shorter than requested: ``0.2 s``
    invalid: bool = False  # one of its steps has a finding of severity error
    verdict: str = ""  # that of a record's profile; empty: not judged

    @property
    def fit(self) -> bool:
        """Whether the figure is valid and complete, so that the point may be called the best or a
        knee.
        """
        return not self.invalid and not self.short

    @property
    def name(self) -> str:
        """Swept values as text, ``bs=4k numjobs=2``; the profile's name if nothing is swept."""
        return (
            " ".join(f"{name}={text}" for name, text in self.texts.items())
            or self.profile
            or self.key
        )

    @property
    def larger_is_better(self) -> bool:
        """Whether a larger value is better: True for throughput, False for latency."""
        return BY_UNIT[self.unit].better == "higher"


class CellRepetition(Struct, frozen=True):
    """One step of a point, with its state and headline figure."""

    index: int
    state: str
    value: float | None


class _PlannedOrMade(Protocol):
    warmup: bool

    @property
    def cell_key(self) -> str: ...


AnyStep = TypeVar("AnyStep", bound=_PlannedOrMade)


def by_point(steps: Iterable[AnyStep]) -> dict[str, list[AnyStep]]:
    """Return the steps grouped by point, in plan order, without warm-ups."""
    groups: dict[str, list[AnyStep]] = {}
    for step in steps:
        if not step.warmup:
            groups.setdefault(step.cell_key, []).append(step)
    return groups


def worst(states: Iterable[str | None]) -> CellState:
    """Return the state of a cell: the worst state of its steps."""
    found = set(states)
    return next((state for state in WORST if state in found), "done")


def cell_of(
    key: str,
    profile: str,
    point: Mapping[str, Scalar],
    headline: Headline | None,
    attempts: Sequence[CellRepetition],
    state: CellState | None = None,
) -> Cell:
    """Build a cell from its steps, in `state` if given, else in the state of the worst step."""
    made = [attempt for attempt in attempts if attempt.state != "skipped"]
    known = [(attempt.value, attempt) for attempt in made if attempt.value is not None]
    values = [value for value, _ in known]
    value = median(values) if values else None
    if value is not None and any(isinstance(each, units.Few) for each in values):
        value = units.Few(value)
    nearest = (
        min(known, key=lambda each: abs(each[0] - (value or 0.0)))[1]
        if known
        else made[0]
        if made
        else None
    )
    return Cell(
        key=key,
        profile=profile,
        texts=value_texts(key, point),
        numbers=numbers_of(point),
        state=state or worst(attempt.state for attempt in attempts),
        unit=METRICS[headline.metric].unit if headline is not None else "iops",
        what=meaning(headline) if headline is not None else "",
        value=value,
        values=tuple(values),
        ci=relative_ci(values),
        steps=tuple(attempt.index for attempt in made),
        step=nearest.index if nearest is not None else None,
        made=sum(attempt.state in MADE for attempt in attempts),
        planned=len(attempts),
        skipped=len(attempts) - len(made),
    )


def cells_of_record(
    record: RunRecord, shown: Headline | None = None, *, running: bool = False
) -> list[Cell]:
    """Return the cells of a run with its headline figure, or with the figure `shown`.

    A step recorded as running counts as interrupted, unless the run itself is `running`.
    """
    if record.matrix is None:
        return []
    groups = by_point(record.steps)
    wrong = invalid_steps(record)
    cells = [
        _recorded(record, cell, groups.get(cell.key, []), shown) for cell in record.matrix.cells
    ]
    warned = _steps_with(record, "warning")
    cells = [replace(cell, invalid=bool(wrong & set(cell.steps))) for cell in cells]
    if record.verdict is not None:
        cells = [replace(cell, verdict=_verdict_of(cell, warned)) for cell in cells]
    if running or record.state == "running":
        return cells
    return [replace(c, state="cut") if c.state == "running" else c for c in cells]


def _verdict_of(cell: Cell, warned: Collection[int]) -> str:
    """Return the verdict on a cell's steps; empty if it was not measured completely."""
    if cell.state != "done" or cell.value is None:
        return ""
    return "invalid" if cell.invalid else WEAKENED if set(cell.steps) & set(warned) else "valid"


def invalid_steps(record: RunRecord) -> set[int]:
    """Return the indexes of steps with invalid figures: steps with an error finding, or all if the
    run has one.
    """
    return _steps_with(record, "error")


def _steps_with(record: RunRecord, severity: str) -> set[int]:
    """Return the indexes of steps with a finding of this severity, or all if the run has one."""
    found = [each for each in record.findings if each.severity == severity]
    if any(not {"step", "steps"} & each.scope.keys() for each in found):
        return {step.index for step in record.steps}
    return _steps_named(found)


def steps_in_error(findings: Iterable[Finding]) -> set[int]:
    """Return the indexes of steps that an error finding names."""
    return _steps_named(each for each in findings if each.severity == "error")


def _steps_named(findings: Iterable[Finding]) -> set[int]:
    return {index for finding in findings for index in steps_of(finding.scope)}


def _recorded(
    record: RunRecord, found: CellRecord, steps: Sequence[StepRecord], shown: Headline | None
) -> Cell:
    headline = shown or _headline_of(found)
    attempts = [
        CellRepetition(step.index, step.state or "done", step_figure(record, step, headline, shown))
        for step in steps
    ]
    cell = cell_of(
        found.key, found.part or record.profile.tag, found.point, headline, attempts, found.state
    )
    cell = replace(cell, short=shortest(steps))
    if headline is not None and steps:
        cell = replace(cell, what=meaning(headline, steps[0].requests))
    if cell.value is None or cell.step is None or headline is None:
        return cell
    step = record.steps[cell.step]
    moved = moved_by(cell, step, headline.direction)
    latency = latency_of(record, step, headline.direction)
    if latency is None:
        return moved
    return replace(moved, mean_ns=latency.mean_ns, p99_ns=figures.shown_percentile(latency, 99.0))


def moved_by(cell: Cell, step: StepRecord, name: str) -> Cell:
    """Return the cell with its step's mean I/O size and bandwidth in the direction `name`; over all
    directions if the step does not have it.
    """
    every = step.results.aggregate
    rows = (
        [every[name]]
        if name in every
        else [row for each, row in every.items() if direction(each).in_total]
    )
    ios, moved = sum(row.ios for row in rows), sum(row.bytes for row in rows)
    rates = [row.bw_bytes_per_s for row in rows if row.bw_bytes_per_s is not None]
    return replace(
        cell,
        io_bytes=moved / ios if ios and moved else None,
        bytes_per_s=sum(rates) if rates else None,
    )


def _headline_of(cell: CellRecord) -> Headline | None:
    found = cell.headline
    return None if found is None else Headline(found.metric, found.direction, found.percentile)


def step_figure(
    record: RunRecord, step: StepRecord, headline: Headline | None, shown: Headline | None = None
) -> float | None:
    """Return a step's headline figure, or the figure `shown`; None if it was not measured.

    A percentile with too few samples beyond it is marked.
    """
    from tui.record.headline import step_value

    kind = record.latency_kind_of(step)
    if shown is not None:
        return step_value(shown, step.results.aggregate, kind)
    few = headline is not None and step.headline is not None and is_thin(headline, step, kind)
    return units.Few(step.headline or 0) if few else step.headline


def is_thin(headline: Headline, step: StepRecord, kind: str) -> bool:
    """Return whether a step's headline is a percentile with too few samples beyond it."""
    beyond = figures.headline_behind(headline, step.results.aggregate, kind)
    return beyond is not None and beyond < units.TAIL_SAMPLES


def shortest(steps: Sequence[StepRecord]) -> str:
    """Return the measured time of the shortest repetition that ended early, as text; empty if none
    did.
    """
    from tui.record.headline import is_short

    found = [step.measured_s for step in steps if is_short(step) and step.measured_s is not None]
    return units.seconds(min(found)) if found else ""


def latency_of(record: RunRecord, step: StepRecord, direction: str) -> figures.Latency | None:
    """Return a step's latency over all hosts in a direction, or in its only direction; None if not
    measured.
    """
    aggregate = step.results.aggregate
    result = aggregate.get(direction) or (
        next(iter(aggregate.values())) if len(aggregate) == 1 else None
    )
    if result is None:
        return None
    return figures.latency_of(result, direction, record.latency_kind_of(step))


def value_texts(key: str, point: Mapping[str, Scalar]) -> dict[str, str]:
    """Return a point's swept values as spelled in the cell's key: 4k, not 4096.

    The profile's parameter types define the spelling. If the key does not match, plain values.
    """
    pattern = "".join(rf" {re.escape(name)}=(.*)" for name in point) + "$"
    found = re.search(pattern, key)
    return dict(zip(point, found.groups() if found else map(str, point.values()), strict=True))


class _AtPoint(Protocol):
    @property
    def index(self) -> int: ...
    @property
    def cell(self) -> str | None: ...
    @property
    def profile(self) -> str | None: ...
    @property
    def point(self) -> Mapping[str, Any]: ...


def point_names(steps: Sequence[_AtPoint]) -> dict[int, str]:
    """Return the point of each step, ``bs=4k numjobs=2``, in a suite after its profile;
    empty if nothing is swept.
    """
    if len({step.profile for step in steps}) > 1:
        return {step.index: step.cell or step.profile or "" for step in steps}
    return {
        step.index: " ".join(
            f"{name}={text}" for name, text in value_texts(step.cell or "", step.point).items()
        )
        for step in steps
    }


def measured_steps(record: RunRecord) -> list[StepRecord]:
    """Return the steps that measured something and are results, not warm-ups or fills."""
    return [
        step
        for step in record.steps
        if not step.warmup and (step.results.aggregate or step.metadata)
    ]


def steps_of(scope: Mapping[str, Any]) -> list[int]:
    """Return the indexes of the steps that a finding is about; empty if it is about the run."""
    told = str(scope.get("steps") or scope.get("step", "")).split()
    return [int(index) for index in told if index.isdecimal()]


def swept_texts(points: Iterable[tuple[str, Mapping[str, Scalar]]]) -> dict[str, str]:
    """Return the values of each swept parameter: ``4k,64k``. `points`: (key, values)."""
    found: dict[str, dict[str, None]] = {}
    for key, point in points:
        for name, text in value_texts(key, point).items():
            found.setdefault(name, {})[text] = None
    return {name: swept_text(list(texts)) for name, texts in found.items()}


def numbers_of(point: Mapping[str, Scalar]) -> dict[str, float]:
    """Return the numeric swept values of a point."""
    return {
        n: float(v)
        for n, v in point.items()
        if isinstance(v, int | float) and not isinstance(v, bool)
    }
