"""A counter-experiment about what limited a run: what is changed, what is predicted, what came of it."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

Change = Literal["twice-in-flight", "twice-workers", "half-workers", "half-block", "half-hosts", "no-rate"]
Figure = Literal["iops", "bandwidth", "iops_per_host"]
Outcome = Literal["agreed", "disagreed", "could-not-tell"]

SAID: dict[Change, str] = {
    "twice-in-flight": "twice as many I/Os in flight",
    "twice-workers": "twice as many workers",
    "half-workers": "half as many workers",
    "half-block": "half the block size",
    "half-hosts": "half of the hosts",
    "no-rate": "no rate",
}
FIGURES: dict[Figure, str] = {"iops": "IOPS", "bandwidth": "bandwidth", "iops_per_host": "IOPS of each host"}
OUTCOMES: dict[Outcome, str] = {"agreed": "agreed", "disagreed": "disagreed", "could-not-tell": "could not tell"}


class Prediction(Struct, frozen=True, omit_defaults=True):
    """What a changed load does when the limit is where it was said to be: a figure as a multiple of the unchanged one.

    The experiment agrees from `least` to `most`, and disagrees below `below` or above `above`; between it cannot tell.
    """

    figure: Figure
    least: float = 0.0
    most: float | None = None
    below: float = 0.0
    above: float | None = None

    @property
    def text(self) -> str:
        """What it says for people: ``1.3x the IOPS or more``."""
        name = FIGURES[self.figure]
        if self.most is None:
            return f"{self.least:g}x the {name} or more"
        if not self.least:
            return f"{self.most:g}x the {name} at most"
        return f"{self.least:g}x to {self.most:g}x the {name}"


class Experiment(Struct, frozen=True):
    """One change of a load, and what it is predicted to do."""

    change: Change
    prediction: Prediction


class Question(Struct, frozen=True):
    """What a counter-experiment is to confirm: the limiter of one step, and the experiments that can, best first."""

    run_id: str
    step: int
    kind: str
    limiter: str
    experiments: tuple[Experiment, ...]
    before: dict[str, float]  # IOPS, bandwidth, ... of that step, by the name of a figure


class Proof(Struct, frozen=True):
    """What a run was made for: its first step is the load as it was, its second one the same load with the change."""

    run_id: str  # of the run whose limiter it is
    step: int  # of that run
    kind: str
    limiter: str
    experiment: Experiment
    before: float | None = None  # the prediction's figure as that run had it


class ProofResult(Struct, frozen=True, omit_defaults=True):
    """What came of a counter-experiment, as the journal of the run it is about keeps it."""

    run_id: str  # of the counter-experiment
    step: int  # whose limiter it is
    kind: str
    change: Change
    predicted: str
    outcome: Outcome
    text: str
    figure: Figure = "iops"
    unchanged: float | None = None
    changed: float | None = None
    ratio: float | None = None
    spread: float | None = None  # of the ratio, to each side
