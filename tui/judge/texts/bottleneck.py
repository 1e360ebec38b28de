"""Texts of bottlenecks and of their counter-experiments, by code."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tui.judge.texts.observed import LEFT, limit_text
from tui.metrics import units
from tui.model.search import FIGURES, OUTCOMES, SAID, Change, Figure, Outcome, Prediction
from tui.text.form import Text

if TYPE_CHECKING:
    from tui.model.step_record import ProofRecord


DEFAULT = "storage or queue depth"
NO_OTHER = f"{DEFAULT} (no client limit found)"


def offered(rates: Sequence[tuple[str, str, float]]) -> str:
    """Return the offered rate of each direction."""
    offers = (
        f"{name} {units.iops(rate)} IOPS" if unit == "iops" else f"{name} {units.bandwidth(rate)}"
        for name, unit, rate in rates
    )
    return f"the offered rate: {', '.join(offers)}"


def group(group: str, percent: float, processes: float, stolen: bool) -> str:
    """Return how much CPU the processes of a group on a server use."""
    each = "in its only process" if processes == 1 else f"per process (average of {processes:.0f})"
    return f"{group}: {percent:.0f} % of a core {each}{LEFT if stolen else ''}"


def few_in_flight(
    held: int, of_objects: bool, in_flight: float | None = None, mean_ns: float | None = None
) -> str:
    """Return how few I/Os are in flight, their latency if known, and what shows whether that limits
    the load.
    """
    few = f"at most {units.plural(held, 'I/O')} in flight"
    if in_flight is not None and mean_ns is not None:
        few = f"{in_flight:.2g} of {few}, mean latency {units.latency(mean_ns)}"
    more = "connections" if of_objects else "queue depth"
    shown = f"a sweep of {more} shows whether more I/Os in flight raise throughput"
    return f"concurrency: {few}; {shown}"


# what else may limit a load without a known bottleneck; more I/Os in flight do not rule it out
CAVEATS = {
    "no-other-but-links-unknown": "link speeds are unknown",
    "no-other-but-some-cpus": "client CPU on {held} of {of} hosts",
    "no-other-but-busy-cpus": "client CPUs are busy, mostly with other work",
    "no-other-but-at-limit": (
        "client CPU or links at their limit on {held} of {of} hosts, on average or in most seconds"
    ),
}
LINKS, *CLIENTS = CAVEATS
BOTTLENECK: dict[str, Text] = {
    "no-other": NO_OTHER,
    LINKS: f"{NO_OTHER}; {CAVEATS[LINKS]}",
    **{code: f"{DEFAULT} ({CAVEATS[code]})" for code in CLIENTS},
    "offered-rate": offered,
    "own-pauses": (
        "the load itself: its workers spend {share:share} of the time in think time, the rest in"
        " one I/O at a time"
    ),
    "on-client-cpu": "client CPU: {hosts:range}",
    "on-network": "network: {hosts:range}",
    "on-client-device": "client device: {hosts:range}",
    "on-server-cpu": "server CPU: {hosts:merged}",
    "latency-bound": few_in_flight,
    "think-time": (
        "concurrency: on average, {share:share} of the planned I/Os in flight are missing: think"
        " time pauses the load"
    ),
    "at-full-load": "{bottleneck} (at full load)",
    # parts
    "io-limit": lambda what, limit: f"limited by its control group to {limit_text(what, limit)}",
    "device": "{device} {percent:.0f} % busy, {queue:.0f} requests in flight",
    "server": "{busy:lines}",
    "group": group,
    "cpu": "CPU {percent:.0f} % busy",
}


def amount(figure: Figure, value: float) -> str:
    """Return a figure with its unit."""
    return units.bandwidth(value) if figure == "bandwidth" else units.iops(value)


def gave(proof: ProofRecord) -> str:
    """Return the figures as text: ``1.96x the IOPS (from 450 to 880; ±3 %)``."""
    if proof.ratio is None or proof.unchanged is None or proof.changed is None:
        return "no figure"
    spread = proof.spread
    within = f"; ±{units.share(spread / proof.ratio)}" if spread is not None and proof.ratio else ""
    before, now = (amount(proof.figure, each) for each in (proof.unchanged, proof.changed))
    return f"{proof.ratio:.2f}x the {FIGURES[proof.figure]} (from {before} to {now}{within})"


def result(proof: ProofRecord, predicted: str, why: str) -> str:
    """Return the result as text: ``agreed: twice as many I/Os in flight gave ...``."""
    said = f"{SAID[proof.change]} gave {gave(proof)}; predicted {predicted}"
    return f"{OUTCOMES[proof.outcome]}: {said}{f'; {why}' if why else ''}"


MORE_IN_FLIGHT: tuple[Change, ...] = ("twice-in-flight", "twice-workers")
# what limits a load for which no other bottleneck was found, by the outcome of more I/Os in flight
IN_FLIGHT: dict[Outcome, str] = {
    "agreed": "storage (more I/Os in flight raised throughput by at most 10 %)",
    "disagreed": "queue depth (throughput rose with more I/Os in flight)",
}

PROOF: dict[str, Text] = {
    "predicted": lambda figure, least, most: Prediction(figure, least, most).text,
    # why the outcome is open
    "experiment-incomplete": "the counter-experiment is incomplete",
    "few-seconds": "too few seconds to estimate the spread",
    "undecided": "the result neither confirms nor refutes the bottleneck",
    "state-changed": lambda figure, now, before: (
        f"the unchanged load gave {amount(figure, now)}, but {amount(figure, before)} in the run"
    ),
}
