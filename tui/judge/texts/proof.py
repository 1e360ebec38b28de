"""Texts of counter-experiments, by code."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tui.metrics import units
from tui.model.search import FIGURES, OUTCOMES, SAID, Change, Figure, Outcome, Prediction
from tui.text.form import Text

if TYPE_CHECKING:
    from tui.model.step_record import ProofRecord


def amount(figure: Figure, value: float) -> str:
    """Return a figure with its unit."""
    return units.bandwidth(value) if figure == "bandwidth" else units.iops(value)


def gave(proof: ProofRecord) -> str:
    """Return the figures as text: ``1.96x the IOPS (450 to 880, ±3 %)``."""
    if proof.ratio is None or proof.unchanged is None or proof.changed is None:
        return "no figure"
    spread = proof.spread
    within = f", ±{units.share(spread / proof.ratio)}" if spread is not None and proof.ratio else ""
    return (
        f"{proof.ratio:.2f}x the {FIGURES[proof.figure]} ({amount(proof.figure, proof.unchanged)}"
        f" to {amount(proof.figure, proof.changed)}{within})"
    )


def result(proof: ProofRecord, predicted: str, why: str) -> str:
    """Return the result as text: ``agreed: twice as many I/Os in flight gave ...``."""
    said = f"{SAID[proof.change]} gave {gave(proof)}; predicted {predicted}"
    return f"{OUTCOMES[proof.outcome]}: {said}{f'; {why}' if why else ''}"


MORE_IN_FLIGHT: tuple[Change, ...] = ("twice-in-flight", "twice-workers")
# what limits a load for which no other bottleneck was found, by the outcome of more I/Os in flight
IN_FLIGHT: dict[Outcome, str] = {
    "agreed": "storage (more I/Os in flight gave no more)",
    "disagreed": "queue depth (more I/Os in flight gave more)",
}

PROOF: dict[str, Text] = {
    "predicted": lambda figure, least, most: Prediction(figure, least, most).text,
    # why the outcome is open
    "experiment-incomplete": "the counter-experiment is incomplete",
    "few-seconds": "too few seconds to estimate the spread",
    "undecided": "the result is between agreement and disagreement",
    "state-changed": lambda figure, now, before: (
        f"the unchanged load gave {amount(figure, now)}, but {amount(figure, before)} in the run"
    ),
}
