"""Progress derived from events: phases, searches, metadata benchmarks, created and removed
files.
"""

from __future__ import annotations

from msgspec import Struct, field
from msgspec.structs import replace

from tui.model.event import (
    ALL_OVER,
    ONE_RANK,
    FileCreated,
    FilesRemoved,
    MetadataIteration,
    MetadataPhase,
    MetadataResult,
    OperationResult,
    PointDecided,
    PointOffered,
)
from tui.model.plain import OPERATIONS
from tui.model.plan import Identities, Plan
from tui.model.search import SearchPoint


class PhaseProgress(Struct, frozen=True):
    """Progress of a phase from 0 to 1; None if the phase has no limit."""

    fraction: float | None
    remaining_s: float | None
    elapsed_s: float


def phase_progress(
    elapsed_s: float, expected_s: float | None, done_bytes: int, total_bytes: int | None
) -> PhaseProgress:
    """Return the progress of a phase by size or time, whichever is further."""
    ways = []
    if total_bytes:
        done = min(done_bytes, total_bytes)
        left_s = elapsed_s * (total_bytes - done) / done if done else None
        ways.append(PhaseProgress(done / total_bytes, left_s, elapsed_s))
    if expected_s:
        share, left_s = min(1.0, elapsed_s / expected_s), max(0.0, expected_s - elapsed_s)
        ways.append(PhaseProgress(share, left_s, elapsed_s))
    return max(
        ways, key=lambda way: way.fraction or 0.0, default=PhaseProgress(None, None, elapsed_s)
    )


class SearchState(Struct):
    """Newest offer of each step of a search, and decisions in order."""

    offered: dict[int, PointOffered] = field(default_factory=dict)
    decided: dict[int, SearchPoint] = field(default_factory=dict)

    def offer(self, event: PointOffered) -> None:
        """Record an offer and discard an earlier decision on its step."""
        self.forget(event.step)
        self.offered[event.step] = event

    def decide(self, event: PointDecided) -> None:
        """Record a decision."""
        self.forget(event.point.step)
        self.decided[event.point.step] = event.point

    def forget(self, step: int) -> None:
        """Discard the decision on a step that will be repeated."""
        self.decided.pop(step, None)

    @property
    def points(self) -> tuple[SearchPoint, ...]:
        """Measured points, oldest first."""
        return tuple(self.decided.values())

    @property
    def open(self) -> PointOffered | None:
        """Offer of the point being measured, or interrupted by the end of the run; None if there is
        none.
        """
        return next(
            (each for step, each in reversed(self.offered.items()) if step not in self.decided),
            None,
        )


def plan_as_run(plan: Plan, seen: SearchState) -> Plan:
    """Return the plan with the loads that its steps actually offered; unchanged if there were
    none.
    """
    if not seen.offered:
        return plan
    planned = {step: each.planned for step, each in seen.offered.items()}
    return replace(plan, steps=[planned.get(step.index, step) for step in plan.steps])


ORDER = ("write", *OPERATIONS)


class Finished(Struct, frozen=True):
    """A finished phase; with `estimated`, its rate comes from the arrival times of output lines."""

    operation: str
    iteration: int
    rate: float
    estimated: bool
    seconds: float = 0.0
    bytes_per_op: int = 0


class MetadataView(Struct):
    """State of a running metadata benchmark: current phase, and rates of finished phases."""

    step: int
    phase: str = ""
    iteration: int = 0
    iterations: int = 0
    since_t: float = 0.0
    finished: list[Finished] = field(default_factory=list)
    operations: dict[str, OperationResult] = field(default_factory=dict)
    result: MetadataResult | None = None
    # (time of the run, phase) of each begin
    begun: list[tuple[float, str]] = field(default_factory=list)

    def enter(self, event: MetadataPhase) -> None:
        """Record the start of a phase, and the estimated rate of the one that ended."""
        if (
            event.ended
            and event.seconds
            and event.ops
            and not self._known(event.ended, self.iteration)
        ):
            rate = event.ops / event.seconds
            self.finished.append(
                Finished(event.ended, self.iteration, rate, estimated=True, seconds=event.seconds)
            )
        self.begun.append((event.t, event.phase))
        self.phase, self.iteration, self.iterations = event.phase, event.iteration, event.iterations
        self.since_t = event.t

    def end_iteration(self, event: MetadataIteration) -> None:
        """Record the rate that the tool printed for an operation, which replaces the estimate."""
        operation = self.operations.setdefault(event.operation, OperationResult())
        operation.iterations.append(event.rate)
        operation.seconds.append(event.seconds)
        operation.bytes_per_op = event.bytes_per_op
        if event.operation in ONE_RANK:
            return
        same = (event.operation, event.iteration)
        self.finished = [each for each in self.finished if (each.operation, each.iteration) != same]
        own = Finished(
            *same,
            event.rate,
            estimated=False,
            seconds=event.seconds,
            bytes_per_op=event.bytes_per_op,
        )
        self.finished.append(own)

    def spans(self, iteration: int) -> dict[str, float]:
        """Return the seconds of each finished operation of an iteration, in order."""
        own = [each for each in self.finished if each.iteration == iteration]
        return {
            each.operation: each.seconds
            for each in sorted(own, key=lambda each: rank(each.operation))
        }

    def ahead(self, now_t: float) -> dict[str, float]:
        """Return the estimated seconds left in this iteration by operation, based on the previous
        one.

        Empty in the first iteration and at the end.
        """
        before = {} if self.over else self.spans(self.iteration - 1)
        left = {name: span for name, span in before.items() if rank(name) >= rank(self.phase)}
        elapsed = max(0.0, now_t - self.since_t)
        return {
            name: max(0.0, span - elapsed) if name == self.phase else span
            for name, span in left.items()
        }

    def progress(self, now_t: float) -> tuple[float, float] | None:
        """Return the completed share and the seconds left, based on the previous iteration; None in
        the first iteration and at the end.
        """
        ahead = self.ahead(now_t)
        if not ahead:
            return None
        whole = sum(self.spans(self.iteration - 1).values())
        left = sum(ahead.values()) + max(0, self.iterations - self.iteration) * whole
        spent = sum(each.seconds for each in self.finished) + max(0.0, now_t - self.since_t)
        return (spent / (spent + left) if spent + left else 1.0), left

    def _known(self, operation: str, iteration: int) -> bool:
        return any(
            (each.operation, each.iteration) == (operation, iteration) for each in self.finished
        )

    @property
    def over(self) -> bool:
        """Whether the tool has finished: no phase is running any more."""
        return self.result is not None or self.phase == ALL_OVER

    def moved(self, operation: str, usual: int = 0) -> int:
        """Return the bytes that each operation of a kind moves; `usual` if none has ended or they
        move none.
        """
        result = self.result.operations.get(operation) if self.result is not None else None
        ended = next(
            (each.bytes_per_op for each in self.finished if each.operation == operation), 0
        )
        return (result.bytes_per_op if result is not None else ended) or usual


def rank(operation: str) -> int:
    """Return the position of an operation in tables, as a sort key."""
    return ORDER.index(operation) if operation in ORDER else len(ORDER)


class HostFiles(Struct):
    """Files that the run created on one host. `removed` are the removal events, oldest first."""

    removed: list[FilesRemoved] = field(default_factory=list)
    known: Identities = field(default_factory=Identities)  # their identities
    # paths created together, and their bytes
    _groups: list[tuple[dict[str, None], int]] = field(default_factory=list)

    def create(self, event: FileCreated) -> None:
        """Add created files; the event's bytes are their total."""
        self._groups.append((dict.fromkeys(event.paths), event.bytes))
        if event.known is not None:
            self.known.take(event.known)

    def remove(self, event: FilesRemoved) -> None:
        """Record the removal or absence of files."""
        if not event.absent:
            self.removed.append(event)
        self.known.forget(event.paths)
        gone, rest = set(event.paths), event.bytes
        groups, self._groups = self._groups, []
        for paths, size in groups:
            taken = min(rest, size)
            rest -= taken
            left = {path: None for path in paths if path not in gone}
            if left:
                self._groups.append((left, size - taken))

    @property
    def paths(self) -> list[str]:
        """Existing paths in the order created."""
        return list(dict.fromkeys(path for paths, _ in self._groups for path in paths))

    @property
    def sizes(self) -> dict[str, int]:
        """Sizes in bytes by path.

        The bytes of files created together are assigned to the first path; only the sum is
        meaningful.
        """
        sizes: dict[str, int] = {}
        for paths, size in self._groups:
            fresh = [path for path in paths if path not in sizes]
            sizes.update(dict.fromkeys(fresh, 0))
            if fresh:
                sizes[fresh[0]] = size
        return sizes
