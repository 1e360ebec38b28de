"""The cells of a matrix, from a record or from a run that goes on: what tables, charts and screens show. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import TYPE_CHECKING, Literal

from tui.metrics import figures
from tui.metrics.registry import BY_UNIT, METRICS, meaning
from tui.metrics.repeat import relative_ci
from tui.model.plan import Headline, Plan, Step

if TYPE_CHECKING:
    from tui.journal.state import RunState
    from tui.model.record import CellRecord, RunRecord, StepRecord  # pydantic: not while a run goes on

CellState = Literal["done", "failed", "cut", "running", "missing"]
Scalar = str | int | float | bool | None
WORST: tuple[CellState, ...] = ("failed", "cut", "running", "missing")  # a cell is as its worst step is
Figure = Callable[[int], float | None]
"""Step index -> its headline figure; None when it is not known."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One point of a matrix. `value` is the median of `values`; `made` of `planned` repetitions are over.

    `texts` are the swept values as people write them, `numbers` those of them that are numbers. `skipped` repetitions
    were not needed. `mean_ns` and `p99_ns` are latencies of `step`, the repetition whose figure is nearest to `value`.
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

    @property
    def name(self) -> str:
        """The swept values in one text: ``bs=4k numjobs=2``; of a cell without any, its profile."""
        return " ".join(f"{name}={text}" for name, text in self.texts.items()) or self.profile or self.key

    @property
    def larger_is_better(self) -> bool:
        """Throughput; latencies are better when they are small."""
        return BY_UNIT[self.unit].better == "higher"


def cells_of_record(record: RunRecord, shown: Headline | None = None, *, running: bool = False) -> list[Cell]:
    """Return the cells of a run; with `shown` that figure in each of them in place of the headline.

    What the record calls running was cut off, unless the run is `running`.
    """
    if record.matrix is None:
        return []
    cells = [_cell_of_record(record, cell, shown) for cell in record.matrix.cells]
    return cells if running else [replace(c, state="cut") if c.state == "running" else c for c in cells]


def _cell_of_record(record: RunRecord, found: CellRecord, shown: Headline | None) -> Cell:
    steps = [record.steps[index] for index in found.steps if index < len(record.steps)]
    headline = shown or _headline_of(found)
    known = [(value, step) for step in steps if (value := _figure(record, step, shown)) is not None]
    value = median(value for value, _ in known) if known else None
    middle = min(known, key=lambda each: abs(each[0] - (value or 0.0)))[1] if known else None
    latency = latency_of(record, middle, headline.direction) if middle is not None and headline is not None else None
    group = [step for step in record.steps if not step.warmup and (step.cell or step.name) == found.key]
    return Cell(
        key=found.key,
        profile=found.profile or record.profile.tag,
        texts=value_texts(found.key, found.point),
        numbers=numbers_of(found.point),
        state=found.state,
        unit=METRICS[headline.metric].unit if headline is not None else "iops",
        what=meaning(headline) if headline is not None else "",
        value=value,
        values=tuple(value for value, _ in known),
        ci=relative_ci([value for value, _ in known]),
        steps=tuple(found.steps),
        step=middle.index if middle is not None else (found.steps[0] if found.steps else None),
        made=sum(step.state in ("done", "failed", "cut") for step in steps),
        planned=len(group) or len(steps),
        skipped=sum(step.state == "skipped" for step in group),
        mean_ns=latency.mean_ns if latency is not None else None,
        p99_ns=latency.percentiles_ns.get("99") if latency is not None else None,
    )


def _headline_of(cell: CellRecord) -> Headline | None:
    found = cell.headline
    return None if found is None else Headline(found.metric, found.direction, found.percentile)


def _figure(record: RunRecord, step: StepRecord, shown: Headline | None) -> float | None:
    from tui.results.text.headline import step_value

    return step.headline if shown is None else step_value(shown, step.results.aggregate, record.latency_kind_of(step))


def latency_of(record: RunRecord, step: StepRecord, direction: str) -> figures.Latency | None:
    """Return the latency of a step over all hosts in a direction, or in the only one there is."""
    aggregate = step.results.aggregate
    result = aggregate.get(direction) or (next(iter(aggregate.values())) if len(aggregate) == 1 else None)
    if result is None:
        return None
    return figures.latency_of(result, direction, record.latency_kind_of(step))


def live_cells(plan: Plan, state: RunState, figure: Figure) -> list[Cell]:
    """Return the cells of a run that goes on, as far as it got."""
    groups: dict[str, list[Step]] = {}
    for step in plan.steps:
        if not step.warmup:
            groups.setdefault(step.cell or step.name, []).append(step)
    return [_live_cell(plan, state, figure, key, group) for key, group in groups.items()]


def _live_cell(plan: Plan, state: RunState, figure: Figure, key: str, group: Sequence[Step]) -> Cell:
    first = group[0]
    headline = plan.headline_of(first)
    states = {step.index: live_state(state, step) for step in group}
    made = [step for step in group if states[step.index] not in ("missing", "skipped", "running")]
    known = [value for step in made if (value := figure(step.index)) is not None]
    return Cell(
        key=key,
        profile=first.profile or plan.profile.tag,
        texts=value_texts(key, first.point),
        numbers=numbers_of(first.point),
        state=_live_cell_state(plan, state, key, states),
        unit=METRICS[headline.metric].unit if headline is not None else "iops",
        what=meaning(headline) if headline is not None else "",
        value=median(known) if known else None,
        values=tuple(known),
        ci=relative_ci(known),
        steps=tuple(states),
        step=first.index,
        made=len(made),
        planned=len(group),
        skipped=sum(each == "skipped" for each in states.values()),
    )


def live_state(state: RunState, step: Step) -> str:
    """Return how a step stands now; one that is not begun is missing, and nothing runs once the run is over."""
    seen = state.steps.get(step.index)
    if seen is None:
        return "missing"
    return "cut" if seen.state == "running" and state.ended else seen.state


def _live_cell_state(plan: Plan, state: RunState, key: str, states: Mapping[int, str]) -> CellState:
    """Return running for the cell that is worked on, its warm-up too; else its worst step's state."""
    at = plan.steps[state.step] if state.step is not None and state.step < len(plan.steps) else None
    if not state.ended and at is not None and (at.cell or at.name) == key:
        return "running" if live_state(state, at) in ("running", "missing") else _worst(states)
    return _worst(states)


def _worst(states: Mapping[int, str]) -> CellState:
    return next((state for state in WORST if state in states.values()), "done")


def value_texts(key: str, point: Mapping[str, Scalar]) -> dict[str, str]:
    """Return the values of a point as its cell's key writes them: 4k, not 4096; the profile's kinds made them."""
    pattern = "".join(rf" {re.escape(name)}=(.*)" for name in point) + "$"
    found = re.search(pattern, key)
    return dict(zip(point, found.groups() if found else map(str, point.values()), strict=True))


def numbers_of(point: Mapping[str, Scalar]) -> dict[str, float]:
    """Return the values of a point that are numbers."""
    return {n: float(v) for n, v in point.items() if isinstance(v, int | float) and not isinstance(v, bool)}


def with_value(cell: Cell, value: float) -> Cell:
    """Return a cell that shows a figure which is not final yet."""
    return replace(cell, value=value)
