"""What load generators counted: every direction of every host, job and entry of a step."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from operator import is_not
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from tui.judge.check import CheckResult, StepEvidence, UnknownError
from tui.judge.latencies import PRINTED
from tui.metrics.registry import BOTH, MIXED
from tui.metrics.units import six_digits
from tui.model.event import DirectionResult, HostResult
from tui.model.operands import Operands
from tui.model.plan import JobLoad, Step

if TYPE_CHECKING:
    from tui.model.step_record import Scalar


class Counted(Struct, frozen=True):
    """One direction of a host, or of one of its jobs, as counted by the load generator.

    `loads` are the jobs counted; `failed`: counts may include I/Os that ended in an error.
    """

    host: str
    job: str
    name: str
    figures: DirectionResult
    loads: Sequence[JobLoad]
    failed: bool = False

    def error(
        self, code: str, measured: float | None, expected: float | None, /, **operands: Any
    ) -> CheckResult:
        """Return the finding for a violated identity."""
        scope: dict[str, Scalar] = {"hosts": self.host, "direction": self.name}
        if self.job:
            scope["job"] = self.job
        of_figure: Operands = {"at": [self.host, self.job, self.name], **operands}
        told, due = six_digits(measured), six_digits(expected)
        return CheckResult("error", code, told, due, scope, of_figure)

    def slack(self, *names: str) -> float:
        """Return the relative error of printed figures: half a unit of the last digit of each,
        added up.
        """
        return sum(PRINTED for name in names if name in self.figures.rounded)


def counted(at: StepEvidence) -> list[Counted]:
    """Return every direction of every host, job and entry of a step, computed once per evidence.

    Excludes published figures, which were rounded by hand, and the last output of a killed tool,
    whose counters may be from different moments. Raises UnknownError if nothing is left.
    """
    results, kept = at.run.seen.state.at_step(at.step.index).results, at.run.kept
    source = (at.step, results)
    if at.step.index not in kept or any(map(is_not, kept[at.step.index][0], source)):
        kept[at.step.index] = source, list(_of_journal(at.step, results))
    found: list[Counted] = kept[at.step.index][1]
    if not found:
        raise UnknownError("counts")
    return found


def _of_journal(step: Step, results: Mapping[str, HostResult]) -> Iterator[Counted]:
    by_host = step.jobs_by_host
    for host, result in results.items():
        if not result.final:
            continue
        failed = bool(result.errors or result.failed_ios)
        jobs = by_host.get(host, step.jobs)
        yield from _of_dirs(host, "", result.dirs, jobs, failed=failed)
        for job, dirs in result.jobs.items():
            own = [each for each in jobs if each.name == job]
            yield from _of_dirs(host, job, dirs, own, failed=failed)
        for entry, dirs in result.entries.items():
            name, _, count = entry.rpartition(" of ")
            name = name.rpartition(" ")[0]
            own = [_one_of(load, int(count)) for load in jobs if load.name == name]
            yield from _of_dirs(host, entry, dirs, own, failed=failed)


def _one_of(load: JobLoad, entries: int) -> JobLoad:
    """Return the load of one of several entries; the whole load, as an upper limit, if their
    workers differ.
    """
    if load.workers != entries:
        return load
    return replace(
        load,
        workers=1,
        held=load.held // entries,
        most_held=load.most_held // entries,
        rate_iops={name: rate / entries for name, rate in load.rate_iops.items()},
        rate_bytes_per_s={name: rate / entries for name, rate in load.rate_bytes_per_s.items()},
    )


def _of_dirs(
    host: str,
    job: str,
    dirs: Mapping[str, DirectionResult],
    loads: Sequence[JobLoad],
    *,
    failed: bool,
) -> Iterator[Counted]:
    for name, part in dirs.items():
        if part.ios:
            yield Counted(host, job, name, part, _doing(loads, name), failed)


def _doing(loads: Sequence[JobLoad], name: str) -> list[JobLoad]:
    """Return the jobs that do I/O in a direction; for reads and writes counted together, jobs of
    either.
    """
    return [
        load
        for load in loads
        if name in load.directions or name in load.blocks or name in (MIXED, BOTH)
    ]
