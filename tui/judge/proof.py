"""Counter-experiments that confirm or refute a bottleneck: choice, prediction, result."""

from __future__ import annotations

from math import hypot
from typing import TYPE_CHECKING

from msgspec.structs import asdict

from tui.capacity.interval import UNKNOWN
from tui.judge.severity import UnknownError
from tui.metrics.blocks import within_run
from tui.metrics.registry import MIXED, direction
from tui.metrics.repeat import relative_ci, t_975
from tui.metrics.units import plural, six_digits
from tui.model.operands import Clause, clause
from tui.model.problem import UsageError
from tui.model.search import (
    FIGURES,
    Figure,
    LoadChange,
    Outcome,
    Prediction,
    Proof,
    ProofQuestion,
    ProofResult,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tui.model.figure_record import AggregateRecord, SeriesRecord
    from tui.model.plan import Plan, Step
    from tui.model.record import RunRecord
    from tui.model.step_record import ProofRecord, StepRecord


def cluster_rates(series: SeriesRecord | None) -> list[float]:
    """Return the total IOPS over all hosts and directions in each known second.

    Raises UnknownError without a time series.
    """
    if series is None:
        raise UnknownError("samples")
    columns = [
        each for each in series.columns if each.host is None and direction(each.direction).in_total
    ]
    columns = [each for each in columns if each.direction == MIXED] or columns
    rows = zip(*(column.iops for column in columns), strict=True)
    return [
        sum(value or 0.0 for value in row)
        for row in rows
        if any(value is not None for value in row)
    ]


LEAST_SECONDS = 4
# difference between the run and the same load now; beyond it the state has changed
DRIFT = 0.2


def proof_record(plan: Plan, steps: Sequence[StepRecord]) -> ProofRecord | None:
    """Return the result of a counter-experiment; None for any other run."""
    if plan.proves is None:
        return None
    from tui.model.step_record import ProofRecord

    return ProofRecord(**asdict(judged(plan.proves, steps, plan.proves.run_id)))


def judged(proof: Proof, steps: Sequence[StepRecord], run_id: str) -> ProofResult:
    """Return the result of the two steps, the unchanged and the changed load.

    `run_id`: the run whose bottleneck is tested.
    """
    change, prediction = proof.experiment.change, proof.experiment.prediction
    unchanged, changed = (figure_of(step, prediction.figure) for step in steps[:2])
    ratio = changed / unchanged if changed is not None and unchanged else None
    spread = spread_of(steps, ratio)
    outcome, why = weighed(prediction, ratio, spread, steps)
    if drift := drifted(proof.before, unchanged, prediction.figure):
        outcome, why = "could-not-tell", drift
    return ProofResult(
        run_id=run_id,
        step=proof.step,
        kind=proof.kind,
        change=change,
        predicted=clause(
            "predicted",
            figure=prediction.figure,
            least=prediction.least,
            most=prediction.most,
        ),
        outcome=outcome,
        why=why,
        figure=prediction.figure,
        unchanged=six_digits(unchanged),
        changed=six_digits(changed),
        ratio=six_digits(ratio),
        spread=six_digits(spread),
    )


def weighed(
    prediction: Prediction, ratio: float | None, spread: float | None, steps: Sequence[StepRecord]
) -> tuple[Outcome, Clause | None]:
    """Return the outcome, with the reason if it is undecided.

    A decision needs the ratio's whole interval on one side of the limit.
    """
    if ratio is None or any(step.state != "done" for step in steps[:2]):
        return "could-not-tell", clause("experiment-incomplete")
    if spread is None:
        return "could-not-tell", clause("few-seconds")
    low, high = ratio - spread, ratio + spread
    if low >= prediction.least and (prediction.most is None or high <= prediction.most):
        return "agreed", None
    if high < prediction.below or (prediction.above is not None and low > prediction.above):
        return "disagreed", None
    return "could-not-tell", clause("undecided")


def drifted(before: float | None, now: float | None, figure: Figure) -> Clause | None:
    """Return how much the unchanged load differs from the run's figure; None if little."""
    if not before or now is None or abs(now / before - 1) <= DRIFT:
        return None
    return clause("state-changed", figure=figure, now=six_digits(now), before=six_digits(before))


def figures_of(step: StepRecord) -> dict[str, float]:
    """Return the comparable figures of a step, by name."""
    found = {name: figure_of(step, name) for name in FIGURES}
    return {name: value for name, value in found.items() if value is not None}


def figure_of(step: StepRecord, figure: Figure) -> float | None:
    """Return a figure over all directions; None if nothing was measured."""
    parts = counted(step.results.aggregate)
    if not parts:
        return None
    if figure == "bandwidth":
        return sum(part.bw_bytes_per_s or 0.0 for part in parts)
    total = sum(part.iops or 0.0 for part in parts)
    return total / max(len(step.results.per_host), 1) if figure == "iops_per_host" else total


def counted(aggregate: dict[str, AggregateRecord]) -> list[AggregateRecord]:
    """Return the directions that make up the total, so that each I/O counts once."""
    if MIXED in aggregate:
        return [aggregate[MIXED]]
    return [part for name, part in aggregate.items() if direction(name).in_total]


def spread_of(steps: Sequence[StepRecord], ratio: float | None) -> float | None:
    """Return half the width of the ratio's 95 % confidence interval, from the seconds of both
    loads; None if there are too few.
    """
    widths = [
        _width_of(cluster_rates(step.series)) for step in steps[:2] if step.series is not None
    ]
    known = [width for width in widths if width is not None]
    return ratio * hypot(*known) if ratio is not None and len(known) == 2 else None


def _width_of(rates: Sequence[float]) -> float | None:
    """Return half the width of a mean rate's confidence interval, relative to the mean; None for
    too few seconds.

    Neighbouring seconds are correlated. With too few of them, the correlation cannot be measured,
    and the interval is widened as elsewhere.
    """
    if len(rates) < LEAST_SECONDS:
        return None
    known = within_run(rates)
    if known is not None:
        return t_975(max(1, int(known.degrees))) * known.error
    width = relative_ci(rates)
    return None if width is None else width * UNKNOWN


# doubling the bottleneck nearly doubles the rate
MORE = Prediction("iops", least=1.3, below=1.1)
NO_MORE = Prediction("iops", most=1.1, above=1.25)
SAME_BYTES = Prediction("bandwidth", least=0.9, most=1.1, below=0.75, above=1.25)
# at half the block size: bytes were not the limit
SAME_IOPS = Prediction("iops", most=1.15, above=1.3)
HALF = Prediction("iops", most=0.75, above=0.9)
MORE_EACH = Prediction("iops_per_host", least=1.3, below=1.1)  # what the others leave over
# each host is its own limit
SAME_EACH = Prediction("iops_per_host", least=0.9, most=1.1, above=1.25)
UNPACED = Prediction("iops", least=1.1, below=1.03)


def question_about(record: RunRecord, plan: Plan, step: int | None = None) -> ProofQuestion:
    """Return the counter-experiment for a step of a run (default: the headline's).

    Raises UsageError if no experiment is possible.
    """
    if plan.proves is not None:
        raise UsageError(f"{record.run_id} is itself a counter-experiment on {plan.proves.run_id}")
    shown = chosen(record, step)
    bottleneck = shown.bottleneck
    if bottleneck is None:
        raise UsageError(
            f"{record.run_id}: {shown.name}: bottleneck unknown: no telemetry from its hosts"
        )
    tried = experiments(bottleneck.kind, plan.steps[shown.index], cores(record))
    if not tried:
        why = (
            "its only client has too few cores for its workers, or an unknown number; test on two"
            " or more clients"
        )
        raise UsageError(f"{record.run_id}: {shown.name}: {why}")
    return ProofQuestion(
        record.run_id,
        shown.index,
        bottleneck.kind,
        bottleneck.model_dump()["text"],
        tuple(tried),
        figures_of(shown),
    )


def chosen(record: RunRecord, step: int | None) -> StepRecord:
    """Return the step to test: the given one, the headline's, or the first with a bottleneck.

    Raises UsageError if that step, or every step, cannot be tested.
    """
    if step is not None:
        if not 0 <= step < len(record.steps):
            has = plural(len(record.steps), "step")
            raise UsageError(f"{record.run_id} has no step {step + 1}; it has {has}")
        if record.steps[step].warmup:
            raise UsageError(
                f"{record.run_id}: step {step + 1} only prepares the storage; its figures do"
                " not count"
            )
        if record.steps[step].together is not None:
            told = "other profiles ran at the same time; a counter-experiment runs alone"
            raise UsageError(f"{record.run_id}: step {step + 1}: {told}")
        return record.steps[step]
    best = record.headline.step if record.headline is not None else None
    wanted = [record.steps[best]] if best is not None and best < len(record.steps) else []
    counted = [each for each in (*wanted, *record.steps) if not each.warmup]
    alone = [each for each in counted if each.together is None]
    if counted and not alone:
        told = "every profile ran at the same time as others; a counter-experiment runs alone"
        raise UsageError(f"{record.run_id}: {told}")
    known = [each for each in alone if each.bottleneck is not None]
    if not known:
        raise UsageError(f"{record.run_id}: bottleneck unknown: no telemetry from its hosts")
    return known[0]


def cores(record: RunRecord) -> int:
    """Return the number of cores of the smallest client; 0 if unknown."""
    known = [host.facts.get("cpus") for host in record.hosts]
    return min((count for count in known if isinstance(count, int)), default=0)


def experiments(kind: str, step: Step, cpus: int) -> list[LoadChange]:
    """Return possible experiments, best first; empty if only additional clients could decide."""
    several = len(step.tasks) > 1
    fewer = [LoadChange("half-hosts", MORE_EACH)] if several else []
    if kind == "rate":
        return [LoadChange("no-rate", UNPACED)]
    if kind == "concurrency":
        return [LoadChange("twice-in-flight", MORE)]
    if kind == "client-device":
        return [LoadChange("twice-in-flight", NO_MORE)]
    if kind == "network":
        return [LoadChange("half-block", SAME_BYTES), LoadChange("twice-in-flight", NO_MORE)]
    if kind == "server-cpu":
        return [*fewer, LoadChange("half-block", SAME_IOPS)]
    if kind == "client-cpu":
        return [LoadChange("half-hosts", SAME_EACH)] if several else _of_one_client(step, cpus)
    return [*fewer, LoadChange("twice-in-flight", NO_MORE)]


def _of_one_client(step: Step, cpus: int) -> list[LoadChange]:
    """Return experiments on whether one client's cores limit its workers: if so, half the workers
    do half the I/O.
    """
    workers = sum(job.workers for job in step.jobs)
    if 0 < 2 * workers <= cpus:
        return [LoadChange("twice-workers", MORE)]
    return [LoadChange("half-workers", HALF)] if 1 < workers <= cpus else []
