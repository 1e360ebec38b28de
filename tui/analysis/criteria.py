"""Judge runs by the thresholds of the profile and the command line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from statistics import median
from typing import Literal

from msgspec import Struct

from tui.analysis.compare import Comparison, change_between
from tui.analysis.measured import ComparedPoint, points_of
from tui.metrics import units
from tui.metrics.registry import BOTH, METRICS, MIXED, meaning
from tui.metrics.units import Few
from tui.model.criteria import Criterion, parse_criterion
from tui.model.plan import Headline
from tui.model.problem import UsageError
from tui.model.record import RunRecord
from tui.model.step_record import StepRecord
from tui.text import junit

Outcome = Literal["kept", "broken", "not measured", "not comparable", "cannot be judged"]
UNJUDGED: tuple[Outcome, ...] = ("not measured", "not comparable", "cannot be judged")
JUNIT: dict[Outcome, junit.Outcome] = {
    "kept": "passed", "broken": "failed", "not measured": "error", "not comparable": "error",
    "cannot be judged": "error",
}  # fmt: skip


class JudgedCriterion(Struct, frozen=True):
    """A threshold's outcome for one figure at one point.

    `measured` and `why` are text.
    """

    criterion: str
    point: str
    title: str
    measured: str
    outcome: Outcome
    why: str = ""

    @property
    def text(self) -> str:
        """The outcome as text: ``read.p99 > 2ms: broken, read p99 latency is 2.31 ms``."""
        if self.why:
            return f"criterion {self.outcome}: {self.why}"
        where = f" at {self.point}" if self.point else ""
        figure = f", {self.title} is {self.measured}{where}" if self.measured else where
        return f"{self.criterion}: {self.outcome}{figure}"

    @property
    def case(self) -> junit.Case:
        """The outcome as a JUnit test case."""
        return junit.Case(
            f"{self.criterion} {self.point}".strip(), JUNIT[self.outcome], self.text, "thresholds"
        )


def named_criteria(texts: Iterable[str]) -> list[Criterion]:
    """Return the thresholds that the user typed. Raises UsageError."""
    try:
        return [parse_criterion(text) for text in texts]
    except ValueError as error:
        raise UsageError(f"--fail-if: {error}") from error


def criteria_of(
    records: Iterable[RunRecord], named: Iterable[str] = ()
) -> list[Criterion | JudgedCriterion]:
    """Return the thresholds of the runs' profiles and the typed ones, each once.

    Thresholds in a record that this version cannot read become outcomes "cannot be judged"; they do
    not invalidate the rest of the record. Raises UsageError.
    """
    found: dict[str, Criterion | JudgedCriterion] = {}
    for text in dict.fromkeys(text for record in records for text in record.criteria):
        try:
            found[text] = parse_criterion(text)
        except ValueError as error:
            found[text] = JudgedCriterion(text, "", "", "", "cannot be judged", str(error))
    return list((found | {each.text: each for each in named_criteria(named)}).values())


def judge_against(found: Comparison, named: Iterable[str] = ()) -> list[JudgedCriterion]:
    """Judge side B by the thresholds of its profile and the typed ones.

    Raises UsageError.
    """
    return judge(
        found.a, found.b, criteria_of(found.b, named), comparable=found.word != "not comparable"
    )


def judge(
    a: Sequence[RunRecord],
    b: Sequence[RunRecord],
    criteria: Sequence[Criterion | JudgedCriterion],
    *,
    comparable: bool = True,
) -> list[JudgedCriterion]:
    """Judge side B by its thresholds.

    Relative thresholds apply to the change from A, and are left out without A.
    """
    ours, theirs = points_of(a), points_of(b)
    found = []
    for criterion in criteria:
        if isinstance(criterion, JudgedCriterion):
            found.append(criterion)
            continue
        if criterion.relative and not a:
            continue
        if criterion.relative and not comparable:  # a change in the profile says nothing about B
            found.append(JudgedCriterion(criterion.text, "", "", "", "not comparable"))
            continue
        judged = [
            each
            for key, point in theirs.items()
            for each in _judged(criterion, ours.get(key), point)
        ]
        found += judged or [JudgedCriterion(criterion.text, "", "", "", "not measured")]
    return found


def _judged(
    criterion: Criterion, a: ComparedPoint | None, b: ComparedPoint
) -> Iterator[JudgedCriterion]:
    """Yield the outcome for each figure of a point that the threshold names.

    "Not measured" if too few samples are beyond a percentile, or if the change is unknown.
    """
    for figure in _figures(criterion, b):
        value, before = _middle(b, figure), _middle(a, figure) if a is not None else None
        if value is None or (criterion.relative and not before):
            continue
        few = next(
            (
                each
                for each in (value, before if criterion.relative else None)
                if isinstance(each, Few)
            ),
            None,
        )
        if few is not None:
            measured = METRICS[figure.metric].with_unit(few)
            yield JudgedCriterion(criterion.text, b.name, meaning(figure), measured, "not measured")
            continue
        if criterion.relative and a is not None:
            change = change_between(a, b, figure)
            if change is None:
                yield JudgedCriterion(criterion.text, b.name, meaning(figure), "", "not measured")
                continue
            measured, broken = f"{change * 100:+.1f} %", criterion.broken_by(change)
        else:
            measured, broken = METRICS[figure.metric].with_unit(value), criterion.broken_by(value)
        yield JudgedCriterion(
            criterion.text, b.name, meaning(figure), measured, "broken" if broken else "kept"
        )


def _figures(criterion: Criterion, point: ComparedPoint) -> Iterator[Headline]:
    """Yield the figures that a threshold names.

    Reads and writes together count only if they are named as such.
    """
    if criterion.metric == "ops":
        names = {
            name
            for each in point.attempts
            if each.step.metadata
            for name in each.step.metadata.operations
        }
        if point.headline is not None and point.headline.metric == "ops":
            names.add(point.headline.direction)
    else:
        sums = {MIXED} if criterion.metric == "latency" else {MIXED, BOTH}
        names = {name for each in point.attempts for name in each.step.results.aggregate} - sums
        names |= {name for each in point.attempts for name in _moving(each.step)}
    for name in sorted(names) if not criterion.direction else [criterion.direction]:
        yield Headline(criterion.metric, name, criterion.percentile)


def _moving(step: StepRecord) -> list[str]:
    """Return the operations of an MPI program that move bytes.

    These have IOPS and bandwidth.
    """
    found = step.metadata.operations if step.metadata is not None else {}
    return [name for name, each in found.items() if each.bytes_per_op]


def _middle(point: ComparedPoint, figure: Headline) -> float | None:
    """Return a side's figure as in comparisons: the median of its runs' medians."""
    runs = point.by_run(figure)
    few = any(isinstance(value, units.Few) for run in runs for value in run)
    value = median(map(median, runs)) if runs else None
    return Few(value) if few and value is not None else value
