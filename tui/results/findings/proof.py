"""What a counter-experiment showed: the figure with the change over the one without. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from math import hypot
from statistics import fmean

from msgspec.structs import asdict

from tui.metrics import units
from tui.metrics.registry import MIXED, direction
from tui.metrics.repeat import relative_ci
from tui.model.plan import Plan
from tui.model.proof import FIGURES, OUTCOMES, SAID, Figure, Outcome, Prediction, Proof, ProofResult
from tui.model.step_record import AggregateRecord, ProofRecord, StepRecord
from tui.results.findings.rates import cluster_rates

WINDOWS, LEAST_SECONDS = 5, 4
DRIFT = 0.2  # of the figure between the run and the same load now: beyond it the state is another one


def proof_record(plan: Plan, steps: Sequence[StepRecord]) -> ProofRecord | None:
    """Return what a counter-experiment showed; None of any other run."""
    if plan.proves is None:
        return None
    return ProofRecord(**asdict(judged(plan.proves, steps, plan.proves.run_id)))


def judged(proof: Proof, steps: Sequence[StepRecord], run_id: str) -> ProofResult:
    """Return what these steps, the load as it was and the changed one, say; `run_id` is what the result names."""
    change, prediction = proof.experiment.change, proof.experiment.prediction
    unchanged, changed = (figure_of(step, prediction.figure) for step in steps[:2])
    ratio = changed / unchanged if changed is not None and unchanged else None
    spread = spread_of(steps, ratio)
    outcome, why = weighed(prediction, ratio, spread, steps)
    if drift := drifted(proof.before, unchanged, prediction.figure):
        outcome, why = "could-not-tell", drift
    what = f"{SAID[change]} gave {gave(prediction.figure, unchanged, changed, ratio, spread)}"
    said = "; ".join(part for part in (what, f"predicted {prediction.text}", why) if part)
    return ProofResult(
        run_id=run_id,
        step=proof.step,
        kind=proof.kind,
        change=change,
        predicted=prediction.text,
        outcome=outcome,
        text=f"{OUTCOMES[outcome]}: {said}",
        figure=prediction.figure,
        unchanged=rounded(unchanged),
        changed=rounded(changed),
        ratio=rounded(ratio),
        spread=rounded(spread),
    )


def rounded(value: float | None) -> float | None:
    """Return six significant digits."""
    return None if value is None else float(f"{value:.6g}")


def weighed(
    prediction: Prediction, ratio: float | None, spread: float | None, steps: Sequence[StepRecord]
) -> tuple[Outcome, str]:
    """Return the outcome, and why none could be told: all of the ratio's interval must lie on one side."""
    if ratio is None or any(step.state != "done" for step in steps[:2]):
        return "could-not-tell", "it was not measured whole"
    if spread is None:
        return "could-not-tell", "too few seconds to know the spread"
    low, high = ratio - spread, ratio + spread
    if low >= prediction.least and (prediction.most is None or high <= prediction.most):
        return "agreed", ""
    if high < prediction.below or (prediction.above is not None and low > prediction.above):
        return "disagreed", ""
    return "could-not-tell", "between the two"


def drifted(before: float | None, now: float | None, figure: Figure) -> str:
    """Return how far the same load is from what the run measured, when that is too far; else nothing."""
    if not before or now is None or abs(now / before - 1) <= DRIFT:
        return ""
    return f"the same load now gives {amount(figure, now)}, in the run it gave {amount(figure, before)}"


def gave(
    figure: Figure, unchanged: float | None, changed: float | None, ratio: float | None, spread: float | None
) -> str:
    """Return the figures: ``1.96x the IOPS (450 to 880, ±3 %)``."""
    if ratio is None or unchanged is None or changed is None:
        return "no figure"
    within = f", ±{units.share(spread / ratio)}" if spread is not None and ratio else ""
    return f"{ratio:.2f}x the {FIGURES[figure]} ({amount(figure, unchanged)} to {amount(figure, changed)}{within})"


def amount(figure: Figure, value: float) -> str:
    """Return a figure for people."""
    return units.bandwidth(value) if figure == "bandwidth" else units.iops(value)


def figures_of(step: StepRecord) -> dict[str, float]:
    """Return what can be compared of a step, by the names of figures."""
    found = {name: figure_of(step, name) for name in FIGURES}
    return {name: value for name, value in found.items() if value is not None}


def figure_of(step: StepRecord, figure: Figure) -> float | None:
    """Return a figure over all directions; None when nothing was measured."""
    parts = counted(step.results.aggregate)
    if not parts:
        return None
    if figure == "bandwidth":
        return sum(part.bw_bytes_per_s or 0.0 for part in parts)
    total = sum(part.iops or 0.0 for part in parts)
    return total / max(len(step.results.per_host), 1) if figure == "iops_per_host" else total


def counted(aggregate: dict[str, AggregateRecord]) -> list[AggregateRecord]:
    """Return the directions that make up the total, each I/O once."""
    if MIXED in aggregate:
        return [aggregate[MIXED]]
    return [part for name, part in aggregate.items() if direction(name).in_total]


def spread_of(steps: Sequence[StepRecord], ratio: float | None) -> float | None:
    """Return half the width of the ratio's 95 % confidence interval, from windows of seconds; None: too few."""
    widths = [_window_ci(cluster_rates(step.series)) for step in steps[:2] if step.series is not None]
    known = [width for width in widths if width is not None]
    return ratio * hypot(*known) if ratio is not None and len(known) == 2 else None


def _window_ci(rates: Sequence[float]) -> float | None:
    """Return the relative interval of a mean rate: neighbouring seconds are alike, so they count together."""
    if len(rates) < LEAST_SECONDS:
        return None
    count = min(WINDOWS, len(rates) // 2) if len(rates) >= 2 * WINDOWS else len(rates)
    length = len(rates) // count
    return relative_ci([fmean(rates[at * length : (at + 1) * length]) for at in range(count)])
