"""Sections of the record other than its steps: hosts, objects left, preconditioning, points of a
sweep.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Sequence

from msgspec.structs import asdict

from tui.journal.state import RunState
from tui.metrics.repeat import relative_ci
from tui.model.address import HostAddress
from tui.model.figure_record import coded
from tui.model.host_record import (
    ClockRecord,
    FilesLeft,
    FilesRemovedRecord,
    HostProblemRecord,
    HostRecord,
    ObjectsLeft,
    PlaceRecord,
)
from tui.model.objects import ObjectSet, objects_after
from tui.model.plan import HostTask, Identities, Plan, Step
from tui.model.record import AttestationRecord, CellRecord, HeadlineRecord, MatrixRecord
from tui.model.step_record import FillRecord, PreconditionRecord, RoundsRecord, StepRecord
from tui.record.cells import by_point, worst
from tui.record.headline import blank, middle, put_figure
from tui.record.progress import Rounds, fills_of, rounds_of
from tui.record.step import rounded

NOT_RUN = ("missing", "skipped")


def precondition_record(plan: Plan, state: RunState) -> PreconditionRecord | None:
    """Return the preconditioning of the storage; None if the profile has none."""
    fills, rounds = fills_of(plan, state), rounds_of(plan, state)
    if not (fills or rounds or plan.no_precondition):
        return None
    return PreconditionRecord(
        left_out=plan.no_precondition,
        fills=[_fill(state, step, whole=whole) for step, whole in fills],
        rounds=[_rounds(each) for each in rounds],
    )


def _fill(state: RunState, step: Step, *, whole: bool) -> FillRecord:
    sizes = [task.writes_bytes for task in step.tasks]
    known = [size for size in sizes if size is not None]
    span = next((span for span in state.at_step(step.index).phases if span.name == "measure"), None)
    over = span is not None and span.end_t is not None and whole
    return FillRecord(
        step=step.index,
        times=step.precondition.times if step.precondition is not None else 1,
        bytes=sum(known) if len(known) == len(sizes) else None,
        duration_s=rounded(span.end_t - span.start_t)
        if over and span is not None and span.end_t is not None
        else None,
        whole=whole,
    )


def _rounds(each: Rounds) -> RoundsRecord:
    window, rule = each.window, each.rule
    return RoundsRecord(
        cell=each.cell,
        steps=[step.index for step in each.steps],
        values=[one.value for one in each.rounds],
        most=rule.rounds,
        window=rule.window,
        range=round(window.range, 6) if window is not None else None,
        slope=round(window.slope, 6) if window is not None else None,
        range_limit=rule.range,
        slope_limit=rule.slope,
        attained=each.attained,
    )


def attestation_records(plan: Plan) -> list[AttestationRecord]:
    """Return the conditions that the profile asks about, with the answers given at launch."""
    return [
        AttestationRecord(
            id=each.id,
            question=each.question,
            answer=each.answer,
            by=each.by or None,
            utc=each.utc or None,
        )
        for each in plan.attested
    ]


def host_record(plan: Plan, run: RunState, host: HostAddress) -> HostRecord:
    """Return the record of one host."""
    name = host.name
    view = run.hosts.get(name)
    tasks = plan.steps[0].tasks if plan.steps else []
    return HostRecord(
        name=name,
        role="client",
        transport=host.transport,
        facts=dict(view.facts) if view is not None else {},
        clock=_clock(run, name),
        randseed=next((task.randseed for task in tasks if task.host == name), None),
        state=view.state if view is not None else None,
        detail=coded(view.detail if view is not None else ""),
        problems=_problems(run, name),
        files_left=_files_left(run, name),
        files_removed=[
            FilesRemovedRecord(utc=run.utc_of(each.t), paths=list(each.paths), bytes=each.bytes)
            for each in (run.files[name].removed if name in run.files else [])
        ],
    )


def server_records(plan: Plan, run: RunState) -> list[HostRecord]:
    """Return the records of a run's storage nodes: names, transports and facts."""
    return [
        HostRecord(
            name=server.name,
            role="server",
            transport=server.transport,
            facts=run.server_facts.get(server.name, {}),
        )
        for server in plan.servers
    ]


def _clock(run: RunState, host: str) -> ClockRecord | None:
    compared = run.clocks.compared.get(host)
    if compared is not None:
        return ClockRecord(
            offset_s=round(compared.offset_s, 6),
            uncertainty_s=round(compared.uncertainty_s, 6),
            rtt_s=round(compared.rtt_s, 6),
            method="exchange",
        )
    reading, created = run.reading_of(host), run.created
    if reading is None or created is None:
        return None
    return ClockRecord(offset_s=round(-reading.offset_s - created.timestamp(), 3), method="samples")


def _problems(run: RunState, host: str) -> list[HostProblemRecord]:
    return [
        HostProblemRecord(**asdict(each), t_s=rounded(each.t))
        for each in run.problems
        if each.host == host
    ]


def _files_left(run: RunState, host: str) -> FilesLeft | None:
    files = run.files.get(host)
    sizes = files.sizes if files is not None else {}
    if not sizes or (files is not None and not files.removed and _cleaned(run, host)):
        return None
    known = files.known if files is not None else Identities()
    identities = {path: known.files[path] for path in sizes if path in known.files}
    parents = {posixpath.dirname(path) for path in identities}
    directories = {
        path: PlaceRecord(real=place.real, mark=place.mark)
        for path, place in known.directories.items()
        if path in parents
    }
    return FilesLeft(
        paths=list(sizes), bytes=sum(sizes.values()), identities=identities, directories=directories
    )


def _cleaned(run: RunState, host: str) -> bool:
    """Return whether a host was cleaned successfully; needed for older journals without removal
    events.
    """
    span = next((span for span in reversed(run.phases) if span.name == "cleanup"), None)
    if span is None or not span.ok:
        return False
    warned = (
        each for each in run.messages.first if each.severity != "info" and each.t >= span.start_t
    )
    return all(each.host != host for each in warned)


def matrix_record(plan: Plan, steps: Sequence[StepRecord]) -> MatrixRecord | None:
    """Return the matrix of a run; None if it has a single step or is a search."""
    if len(steps) < 2 or plan.search is not None:
        return None
    return MatrixRecord(
        axes=list(plan.axes),
        cells=[_cell(plan, key, group) for key, group in by_point(steps).items()],
        until_relative=plan.until.width if plan.until is not None else None,
    )


def _cell(plan: Plan, key: str, group: Sequence[StepRecord]) -> CellRecord:
    first = group[0]
    made = [step for step in group if step.state != "skipped"]
    values = [step.headline for step in made]
    return CellRecord(
        key=key,
        profile=first.profile,
        role=first.role,
        beside=list(first.beside),
        point=dict(first.point),
        steps=[step.index for step in made],
        state=worst(step.state for step in made),
        headline=_headline(plan, made),
        values=values,
        ci_relative=relative_ci([value for value in values if value is not None]),
    )


def _headline(plan: Plan, made: Sequence[StepRecord]) -> HeadlineRecord | None:
    """Return the figure of a cell; None if it has none."""
    headline = plan.headline_of(plan.steps[made[0].index])
    if headline is None:
        return None
    record = blank(headline)
    figures = [(step.headline, step.index) for step in made if step.headline is not None]
    if figures:
        value, index = middle(figures)
        step = next(step for step in made if step.index == index)
        put_figure(record, headline, value, step, plan.latency_kind)
    return record


def objects_left(plan: Plan, steps: Sequence[StepRecord]) -> list[ObjectsLeft]:
    """Return the sets of objects that were put and not completely deleted.

    After an interrupted step there may be fewer objects.
    """
    return [
        ObjectsLeft(
            store=each.store, names=each.names, count=each.count, bytes=each.count * each.size_bytes
        )
        for each in objects_after(_used(plan, steps))
    ]


def _used(plan: Plan, steps: Sequence[StepRecord]) -> Iterator[ObjectSet]:
    """Yield the objects that were put, read or deleted; a DELETE counts only if it is known to be
    complete.
    """
    for step, record in zip(plan.steps, steps, strict=True):
        for task in step.tasks if record.state not in NOT_RUN else ():
            if not _put_none(task, record):
                gone = _deleted_all(task, record)
                yield from (each for each in task.objects if gone or "delete" not in each.does)


def _put_none(task: HostTask, record: StepRecord) -> bool:
    """Return whether a host is known to have put no object, because its first requests failed."""
    found = record.results.per_host.get(task.host, {}).get("write")
    return found is not None and found.bytes == 0


def _deleted_all(task: HostTask, record: StepRecord) -> bool:
    """Return whether a host deleted as many objects as its task says, without errors."""
    deleted = [each for each in task.objects if each.does == ("delete",)]
    name = "trim" if any(each.names for each in deleted) else "rmbuckets"
    found = record.results.per_host.get(task.host, {}).get(name)
    wanted = sum(each.count for each in deleted)
    return record.state == "done" and found is not None and 0 < wanted <= (found.ios or 0)
