"""Compare the journal of a run with its raw output, read again.

Journals of older versions are compared by the fields that they have.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from tui import workloads
from tui.journal.raw import readable
from tui.journal.reader import read_events
from tui.metrics.units import plural
from tui.model.dense import as_kept
from tui.model.event import (
    DirectionResult,
    HostResult,
    MetadataResult,
    Sample,
    StepStarted,
    TaskEnded,
)
from tui.model.plan import Plan, Step
from tui.model.rundir import JOURNAL_FILE, RAW_DIR
from tui.text.run_texts import run_text
from tui.workloads.mpi import ReportsReader
from tui.workloads.reading import OTHER_JOB

SHOWN_SAMPLES = 3
# fields of directions, and their values where older versions did not have them
ADDED: dict[str, Any] = {"shortest_s": 0.0, "apart": False}
# tolerances: times are in ms; a rate times its time gives the count
BETWEEN_S, SAME_RATE = 0.002, 0.01


@dataclass(slots=True)
class JournaledHost:
    """Journal data of one host in the last attempt of a step."""

    attempt: int = 1
    samples: list[Sample] = field(default_factory=list)
    result: HostResult | None = None
    end: TaskEnded | None = None


@dataclass(slots=True)
class JournaledFigures:
    """Journal data of all measurements, by step and host."""

    hosts: dict[tuple[int, str], JournaledHost] = field(default_factory=dict)
    operations: dict[int, MetadataResult] = field(default_factory=dict)

    @classmethod
    def read(cls, journal: Path) -> JournaledFigures:
        """Read a journal; damaged lines are skipped, so their data is missing. Raises OSError."""
        found, attempts = cls(), dict[int, int]()
        for event in read_events(journal):
            if isinstance(event, StepStarted):
                attempts[event.step] = event.attempt
                found._forget(event.step)
            elif isinstance(event, MetadataResult):
                found.operations[event.step] = event
            elif isinstance(event, Sample | HostResult | TaskEnded):
                found._add(event, attempts.get(event.step, 1))
        return found

    def _forget(self, step: int) -> None:
        self.operations.pop(step, None)
        self.hosts = {key: kept for key, kept in self.hosts.items() if key[0] != step}

    def _add(self, event: Sample | HostResult | TaskEnded, attempt: int) -> None:
        kept = self.hosts.setdefault((event.step, event.host), JournaledHost(attempt))
        if isinstance(event, HostResult):
            kept.result = event
        elif event.phase == "measure" and isinstance(event, Sample):
            kept.samples.append(event)
        elif event.phase == "measure" and isinstance(event, TaskEnded) and not event.role:
            kept.end = event


def raw_file(run_dir: Path, step: int, host: str, attempt: int, kind: str) -> Path:
    """Return the path of a command's raw output."""
    again = f".{attempt}" if attempt > 1 else ""
    return run_dir / RAW_DIR / f"{step}.measure{again}.{host}.{kind}.gz"


def raw_differences(run_dir: Path, plan: Plan) -> tuple[int, list[str]]:
    """Recompute results and samples from raw output; return their number, and differences from the
    journal.

    Raises OSError for an unreadable journal.
    """
    journaled = JournaledFigures.read(run_dir / JOURNAL_FILE)
    count, found = 0, list[str]()
    for step in plan.steps:
        if workloads.reports_operations(step.tool):
            operations = journaled.operations.get(step.index)
            count += operations is not None
            found += _of_operations(run_dir, step, journaled, operations)
            continue
        for host in step.hosts:
            if (kept := journaled.hosts.get((step.index, host))) is not None and "/" not in host:
                count += len(kept.samples) + (kept.result is not None)
                found += _of_host(run_dir, plan, step, host, kept)
    return count, found


def _of_host(
    run_dir: Path, plan: Plan, step: Step, host: str, kept: JournaledHost
) -> Iterator[str]:
    path = raw_file(run_dir, step.index, host, kept.attempt, "out")
    if not path.is_file():
        if kept.result is not None or kept.samples:
            yield f"{path.relative_to(run_dir)}: is missing, but the journal has its figures"
        return
    step = replace(step, attempt=kept.attempt)
    reader = workloads.of(step).reader(host, step, "measure", plan.latency_kind_of(step))
    items = [item for piece in readable(path) for item in reader.feed(piece)]
    errors = raw_file(run_dir, step.index, host, kept.attempt, "err")
    for piece in readable(errors) if errors.is_file() else ():
        reader.feed_stderr(piece)
    items += reader.flush()
    where = f"step {step.name}, {host}"
    exit_code = kept.end.exit_code if kept.end is not None else None
    yield from (
        f"{where}: {run_text(told)}"
        for code, told in workloads.problems(step.tool, reader, exit_code)
        if code == OTHER_JOB
    )
    yield from _of_samples(
        [item for item in items if isinstance(item, Sample)], kept.samples, where
    )
    if kept.result is not None:
        again = reader.result(exit_code)
        yield from _of_result(again, kept.result, where)


def _of_samples(again: list[Sample], kept: list[Sample], where: str) -> Iterator[str]:
    by_time: dict[int, list[Sample]] = {}
    for sample in again:
        by_time.setdefault(sample.host_time_ms, []).append(_alike(sample))
    other = [each for each in kept if _alike(each) not in by_time.get(each.host_time_ms, ())]
    for sample in other[:SHOWN_SAMPLES]:
        yield f"{where}: the journal's sample at {sample.t:.1f} s is not in the raw output"
    if len(other) > SHOWN_SAMPLES:
        yield f"{where}: and {plural(len(other) - SHOWN_SAMPLES, 'more sample')}"
    if (missing := len(again) - len(kept)) > 0:
        yield f"{where}: {plural(missing, 'sample')} in the raw output, but not in the journal"


def _alike(sample: Sample) -> Sample:
    """Return a sample without its time of arrival, with histograms as journals now store them."""
    return as_kept(replace(sample, t=0.0))


def _of_result(again: HostResult | None, kept: HostResult, where: str) -> Iterator[str]:
    """Yield differences between two results, except in how the command ended, which only the engine
    knows.
    """
    if again is None:
        yield f"{where}: the raw output has no result, but the journal has one"
        return
    # the version that made the run looked for other contradictions
    again = replace(again, t=kept.t, final=kept.final, contradictions=kept.contradictions)
    if kept.failed_ios is None:  # made before failed I/Os were counted
        again = replace(again, failed_ios=None)
    again = as_before(again, kept)
    for name in again.__struct_fields__:
        if getattr(again, name) != getattr(kept, name):
            yield f"{where}: {name} of the result differs from the raw output"


def _of_operations(
    run_dir: Path, step: Step, journaled: JournaledFigures, kept: MetadataResult | None
) -> Iterator[str]:
    if kept is None:
        return
    attempts = [each.attempt for (index, _), each in journaled.hosts.items() if index == step.index]
    paths = [
        raw_file(run_dir, step.index, host, max(attempts, default=1), "out") for host in step.hosts
    ]
    path = next((each for each in paths if each.is_file()), None)
    if path is None:
        yield f"step {step.name}: the raw output is missing, but the journal has its figures"
        return
    program = workloads.of(step).program(step)
    reader = program.reader(len(step.hosts))
    for piece in readable(path):
        reader.feed(piece)
    reader.flush()
    again = reader.figures(0)
    # runs of versions that did not read reports have no rank times
    if again is not None and any(each.rank_seconds for each in kept.operations.values()):
        program.reported(again, _reports(path, step))
    if again is None or again.operations != kept.operations:
        yield f"step {step.name}: the operations differ from {path.relative_to(run_dir)}"


def _reports(output: Path, step: Step) -> Mapping[str, str]:
    """Return the texts of the report files saved with an output; none if there are none."""
    archive = output.with_name(output.name.replace(".measure.", ".reports.", 1))
    reader = ReportsReader("", step)
    if archive.is_file():
        for piece in readable(archive):
            reader.feed(piece)
    return reader.texts()


def as_before(result: HostResult, kept: HostResult) -> HostResult:
    """Return a result without fields of directions that the journal's version did not have."""
    parts = [part for dirs in (kept.dirs, *kept.jobs.values()) for part in dirs.values()]
    plain = {
        name: value
        for name, value in ADDED.items()
        if not any(getattr(part, name) for part in parts)
    }

    def plain_dirs(dirs: dict[str, DirectionResult]) -> dict[str, DirectionResult]:
        return {name: replace(part, **plain) for name, part in dirs.items()}

    def before(again: dict[str, DirectionResult], then: dict[str, DirectionResult]) -> Any:
        return _reads_between(plain_dirs(again), then)

    jobs = {job: before(dirs, kept.jobs.get(job, {})) for job, dirs in result.jobs.items()}
    return replace(result, dirs=before(result.dirs, kept.dirs), jobs=jobs)


def _reads_between(
    again: dict[str, DirectionResult], kept: dict[str, DirectionResult]
) -> dict[str, DirectionResult]:
    """Return results in which reads that verify between writes have the time of older versions.

    Versions before 2026-11-28 excluded the time of the writes.
    """
    if not {"read", "write"} <= again.keys() & kept.keys():
        return again
    now, then, writes_s = again["read"], kept["read"], again["write"].runtime_s
    without = abs(now.runtime_s - writes_s - then.runtime_s) <= BETWEEN_S
    # the rates are those of that time, as fio prints them
    ios, moved = then.iops * then.runtime_s, then.bw_bytes_per_s * then.runtime_s
    fits = abs(ios - now.ios) <= 1 + SAME_RATE * now.ios
    fits = fits and abs(moved - now.bytes) <= 1 + SAME_RATE * now.bytes
    if not (without and fits):
        return again
    read = replace(
        now, runtime_s=then.runtime_s, iops=then.iops, bw_bytes_per_s=then.bw_bytes_per_s
    )
    return {**again, "read": read}
