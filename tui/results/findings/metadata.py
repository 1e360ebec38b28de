"""What a load generator itself finds doubtful about the operations that it counted."""

from __future__ import annotations

from collections.abc import Iterator

from tui import workloads
from tui.metrics import units
from tui.results.findings.check import Found, Moot, StepEvidence, UnknownError, step_check

SAME = 1e-4  # of the rate: metadata operations of two iterations differ by per cents


@step_check(
    "rank-shift",
    "Rank shift",
    rule="each phase works on files that another host has made",
    advice="Place ranks in blocks by host, and shift by the ranks of a host (stride: next-client): then no client's "
    "cache answers for the storage. With one host there is no other.",
    source="ranks by host, and the shift between phases",
)
def rank_shift(at: StepEvidence) -> Iterator[Found]:
    """A host that stats and reads what it has made itself asks its own cache, not the storage."""
    metadata = at.record.metadata
    if metadata is None or metadata.shift_ranks is None:
        raise UnknownError(Moot.SHIFT)
    view = at.run.seen.state.at_step(at.step.index).metadata
    result = view.result if view is not None else None
    tool = workloads.find(result.tool) if result is not None else None
    for doubt in tool.doubts(result) if tool is not None and result is not None else ():
        scope = {"phases": " ".join(doubt.phases)}
        yield Found("warning", doubt.message, doubt.measured, doubt.threshold, {**scope})


@step_check(
    "iterations",
    "Iterations that differ",
    rule=f"the rates of iterations are further apart than {units.share(SAME, 2)}",
    advice="Take the rates of the iterations themselves, which the load generator prints when it is told to be "
    "verbose, or repeat the whole run.",
    source="largest and smallest rate of each operation",
)
def iterations(at: StepEvidence) -> Iterator[Found]:
    """Measurements that are repeated differ. Where the largest and the smallest rate of several iterations are the
    same to many digits, they are one measurement seen by several clocks, and their spread says nothing."""
    metadata = at.record.metadata
    spans = {
        name: (each.max, each.max / each.min - 1)
        for name, each in (metadata.operations if metadata is not None else {}).items()
        if each.max and each.min
    }
    if metadata is None or metadata.iterations < 2 or not spans:
        raise UnknownError(Moot.ITERATIONS)
    same = {name: apart for name, (_, apart) in spans.items() if apart < SAME}
    if same:
        widest = max(same.values())
        message = f"{', '.join(same)}: {metadata.iterations} iterations are the same to {widest:.0e}, as repetitions"
        yield Found("warning", f"{message} never are", widest, SAME, {"operations": " ".join(same)})


CHECKS = (rank_shift, iterations)
