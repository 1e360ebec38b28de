"""What a load generator itself finds doubtful about the operations that it counted."""

from __future__ import annotations

from collections.abc import Iterator

from tui import workloads
from tui.results.findings.check import Found, StepEvidence, UnknownError, step_check


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
        raise UnknownError("no ranks were shifted")
    view = at.run.seen.state.at_step(at.step.index).metadata
    result = view.result if view is not None else None
    tool = workloads.find(result.tool) if result is not None else None
    for doubt in tool.doubts(result) if tool is not None and result is not None else ():
        scope = {"phases": " ".join(doubt.phases)}
        yield Found("warning", doubt.message, doubt.measured, doubt.threshold, {**scope})


CHECKS = (rank_shift,)
