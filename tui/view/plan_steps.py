"""Steps of a plan in words: points, swept values, repetitions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import prod

from msgspec import Struct

from tui.metrics import units
from tui.model.plan import Plan, Step, span_s
from tui.record.cells import value_texts

STEPS_IN_FULL = 4  # a plan with more shows the first one only
GRIDS_SHOWN = 8  # of a sweep without some combinations; more grids than that explain nothing
Grid = Mapping[str, Sequence[str]]
"""Values by axis; every combination of them is measured."""
GAP = 2  # cells between the columns of a table of marks


class PlanPart(Struct, frozen=True):
    """One profile of a plan: its steps, their seconds, and its swept values.

    `seconds` is None if a step has no time limit. `combinations` are those of the `axes` that are
    measured, in order.
    """

    profile: str
    points: int
    steps: int
    seconds: float | None
    axes: dict[str, list[str]]
    combinations: tuple[tuple[str, ...], ...] = ()

    @property
    def share_text(self) -> str:
        """Return how many combinations of values are measured: ``23 of 60 combinations``.

        Empty if all are.
        """
        possible = prod(map(len, self.axes.values()))
        known = len(self.axes) < 2 or possible == self.points
        return "" if known else f"{self.points} of {possible} combinations"

    def marks(self, width: int) -> MarkTable | None:
        """Return which combinations of two axes are measured, as the table with the fewest rows.

        None if all are, or if the table is wider than `width` cells.
        """
        if not self.share_text or len(self.axes) != 2:
            return None
        measured = set(self.combinations)
        turned = {(second, first) for first, second in measured}
        (first, down), (second, across) = self.axes.items()
        tables = [
            MarkTable((first, second), tuple(down), tuple(across), frozenset(measured)),
            MarkTable((second, first), tuple(across), tuple(down), frozenset(turned)),
        ]
        fitting = [
            each for table in tables for each in (table.joined(width), table) if each.width <= width
        ]
        return min(fitting, key=lambda each: len(each.down), default=None)

    @property
    def grids(self) -> list[Grid]:
        """Return which combinations are measured, as a few grids that together contain each one
        once.

        The axes, if every combination is measured or many grids are needed.
        """
        found = grids_of(tuple(self.axes), self.combinations) if self.share_text else []
        if not 0 < len(found) <= GRIDS_SHOWN:
            return [self.axes]
        return [
            {name: sorted(values, key=self.axes[name].index) for name, values in grid.items()}
            for grid in found
        ]


class MarkTable(Struct, frozen=True):
    """Which combinations of the values of two `axes` are measured: one `down`, one `across`."""

    axes: tuple[str, str]
    down: tuple[str, ...]
    across: tuple[str, ...]
    measured: frozenset[tuple[str, ...]]

    def joined(self, width: int) -> MarkTable:
        """Return the table with equal neighbouring rows joined, as far as their labels fit into
        `width` cells: ``4k,8k,16k``.
        """
        room = width - (self.width - self.lead)
        rows: list[tuple[str, list[str]]] = []
        for label in self.down:
            marked = [value for value in self.across if (label, value) in self.measured]
            longer = f"{rows[-1][0]},{label}" if rows else ""
            if rows and marked == rows[-1][1] and len(longer) <= room:
                rows[-1] = longer, marked
            else:
                rows.append((label, marked))
        measured = frozenset((label, value) for label, marked in rows for value in marked)
        return MarkTable(self.axes, tuple(label for label, _ in rows), self.across, measured)

    @property
    def lead(self) -> int:
        """Cells of the labels of the rows."""
        return max(len(corner_text(*self.axes)), *map(len, self.down))

    @property
    def width(self) -> int:
        """Cells of a row."""
        return self.lead + sum(GAP + len(value) for value in self.across)

    def heading(self) -> str:
        """Return the names of the axes and the values across."""
        values = "".join(" " * GAP + value for value in self.across)
        return f"{corner_text(*self.axes):<{self.lead}}{values}"

    def rows(self, mark: str, none: str) -> list[tuple[str, list[tuple[str, bool]]]]:
        """Return label and cells of each row: a text, and whether the combination is measured."""
        found = []
        for label in self.down:
            states = [(value, (label, value) in self.measured) for value in self.across]
            cells = [(f"{mark if on else none:>{GAP + len(value)}}", on) for value, on in states]
            found.append((f"{label:<{self.lead}}", cells))
        return found


def corner_text(down: str, across: str) -> str:
    """Return the names of the axes of a table: ``bs ↓ numjobs →``."""
    return f"{down} ↓ {across} →".lstrip()


def grids_of(axes: Sequence[str], combinations: Iterable[tuple[str, ...]]) -> list[Grid]:
    """Return grids of values by axis that together contain each combination once.

    Values of one axis that are combined with the same values of the others share a grid.
    """
    wanted = list(dict.fromkeys(combinations))
    values = [list(dict.fromkeys(column)) for column in zip(*wanted, strict=True)]
    if prod(map(len, values)) == len(wanted):
        return [dict(zip(axes, values, strict=True))]
    split = [_alike(wanted, at) for at in range(len(axes))]
    at = min(range(len(axes)), key=lambda each: len(split[each]))
    others = [*axes[:at], *axes[at + 1 :]]
    return [
        {name: own if name == axes[at] else rest[name] for name in axes}
        for own, combined in split[at]
        for rest in grids_of(others, combined)
    ]


def _alike(
    combinations: Iterable[tuple[str, ...]], at: int
) -> list[tuple[list[str], list[tuple[str, ...]]]]:
    """Return the values of the axis at a place, grouped by the values of the others that they are
    combined with.
    """
    rest: dict[str, list[tuple[str, ...]]] = {}
    for each in combinations:
        rest.setdefault(each[at], []).append((*each[:at], *each[at + 1 :]))
    found: dict[frozenset[tuple[str, ...]], tuple[list[str], list[tuple[str, ...]]]] = {}
    for value, others in rest.items():
        found.setdefault(frozenset(others), ([], others))[0].append(value)
    return list(found.values())


def steps_text(plan: Plan) -> str:
    """Return the number of steps and what they consist of: points, repetitions, warm-ups."""
    cells = len({step.cell_key for step in plan.steps if not step.warmup})
    warmups = sum(step.warmup and step.precondition is None for step in plan.steps)
    count = "" if cells == len(plan.steps) else f"{len(plan.steps)}: "
    if plan.search is not None:
        return f"{count}{cells} points at most; the heaviest possible load is shown"
    over = f" over {', '.join(plan.axes)}" if plan.axes else ""
    parts = [f"{count}{cells} {'point' if cells == 1 else 'points'}{over}"]
    most = max(step.repetition for step in plan.steps)
    if plan.until is not None:
        width = f"{plan.until.width * 100:g} %"
        parts.append(
            f"each {plan.until.least} to {plan.until.most} times, until the 95 % interval of the"
            f" mean is within ±{width}"
        )
    elif most > 1:
        parts.append("each twice" if most == 2 else f"each {most} times")
    parts += [units.plural(warmups, "warm-up")] if warmups else []
    return ", ".join(parts)


def parts_of(plan: Plan) -> list[PlanPart]:
    """Return the profiles of a plan with their swept values, in order."""
    groups: dict[str, list[Step]] = {}
    for step in plan.steps:
        groups.setdefault(step.part or plan.profile.tag, []).append(step)
    return [_part(profile, steps) for profile, steps in groups.items()]


def _part(profile: str, steps: list[Step]) -> PlanPart:
    axes: dict[str, list[str]] = {}
    points = [value_texts(step.cell, step.point) for step in steps]
    for texts in points:
        for name, text in texts.items():
            known = axes.setdefault(name, [])
            known += [text] if text not in known else []
    seconds = span_s(step for step in steps if not step.is_fill)
    combinations = dict.fromkeys(
        tuple(texts[name] for name in axes) for texts in points if texts.keys() == axes.keys()
    )
    cells = {step.cell_key for step in steps if not step.warmup}
    return PlanPart(profile, len(cells), len(steps), seconds, axes, tuple(combinations))


def steps_in_full(plan: Plan) -> list[Step]:
    """Return the steps to show in full.

    If there are many, these are the first fill and the first measurement.
    """
    if len(plan.steps) <= STEPS_IN_FULL:
        return plan.steps
    measured = next((step for step in plan.steps if not step.warmup), plan.steps[0])
    return [*[step for step in plan.steps if step.is_fill][:1], measured]


def values_text(values: Sequence[str]) -> str:
    """Return the values of an axis as text; long lists are shortened in the middle."""
    shown = values if len(values) <= 12 else [*values[:8], "...", *values[-3:]]
    return " ".join(shown)


def grid_rows(part: PlanPart) -> list[tuple[str, str]]:
    """Return label and values of each axis; of each grid, if not all combinations are measured.

    ``("numjobs 2", "bs 512k 1M")``
    """
    if len(part.grids) == 1:
        return [(name, values_text(values)) for name, values in part.grids[0].items()]
    rows = []
    for grid in part.grids:
        first, *others = (f"{name} {values_text(values)}" for name, values in grid.items())
        rows.append((first, "  ".join(others)))
    return rows


def step_names(plan: Plan) -> list[str]:
    """Return a name for each step: the values that differ between steps of one profile."""
    if len({step.part for step in plan.steps}) > 1:
        return [step.name for step in plan.steps]
    return [
        " ".join(f"{name}={text}" for name, text in value_texts(step.cell, step.point).items())
        if step.point and step.name == step.cell
        else step.name
        for step in plan.steps
    ]


def in_flight_text(step: Step) -> str:
    """Return how many I/Os are in flight over all hosts: ``1,536 I/Os in flight``.

    Empty if unknown.
    """
    if not step.in_flight:
        return ""
    return f"{step.in_flight:,} {'I/O' if step.in_flight == 1 else 'I/Os'} in flight"
