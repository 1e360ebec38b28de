"""Import saved output of MPI programs: what does not depend on the program."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Protocol, TypeVar

from tui.model.event import Contradiction, HostResult
from tui.model.problem import Problem, UsageError
from tui.workloads.mpi import RanksOutput, host_result
from tui.workloads.reading import MOST_CONTRADICTIONS, STAMP_S, may_be_set_back


class Stamped(Protocol):
    """Output with its begin and end in local time; None if unknown."""

    start_s: float | None
    end_s: float | None


class KeptRanks(Stamped, Protocol):
    """One output in a text; `line` is where it begins."""

    line: int

    @property
    def output(self) -> RanksOutput:
        """The parsed output."""

    @property
    def problems(self) -> Sequence[tuple[str, str]]:
        """(code, message) of reasons to reject the figures."""


Kept = TypeVar("Kept", bound=KeptRanks)


def with_results(outputs: Iterable[Kept], failure: str, file: str) -> list[Kept]:
    """Return the outputs that have results.

    Raises UsageError with `failure` if the program ran, but no output has results.
    """
    every = list(outputs)
    found = [kept for kept in every if kept.output.results()]
    if not found and (failed := [kept for kept in every if kept.output.started]):
        why = "".join(f": {message}" for _, message in failed[-1].problems[:1])
        raise UsageError(Problem(f"{failure}{why}", file=file, line=failed[-1].line))
    return found


def kept_result(place: int, kept: KeptRanks, found: Iterable[Contradiction]) -> HostResult:
    """Return the result of an output that is the `place`-th of its text, with the first of the
    contradictions found.
    """
    result = host_result("", place, kept.output.version, final=not kept.problems)
    result.contradictions = list(islice(found, MOST_CONTRADICTIONS))
    if kept.start_s is not None and kept.end_s is not None:
        result.start_ms, result.end_ms = int(kept.start_s * 1000), int(kept.end_s * 1000)
    return result


def clock_contradictions(stamped: Stamped, took_s: float) -> Iterator[Contradiction]:
    """Yield phases that take longer than the time between the start and end stamps."""
    if stamped.start_s is None or stamped.end_s is None:
        return
    went_s = stamped.end_s - stamped.start_s
    if took_s > went_s + STAMP_S and not may_be_set_back(stamped.end_s, took_s - went_s):
        if went_s < -STAMP_S:
            yield Contradiction("backwards", -went_s, 0.0)
        else:
            yield Contradiction("clock", took_s, max(went_s, 0.0))
