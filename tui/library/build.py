"""Build run.json from plan and journal, which may be incomplete."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct
from msgspec.structs import asdict

from tui.journal.measured import any_measured
from tui.journal.progress import plan_as_run
from tui.journal.rundir import load_plan, write_atomic
from tui.journal.state import RunState
from tui.judge.bottleneck import bottleneck_of
from tui.judge.catalogue import Examination, examine, verdict_of
from tui.judge.check import RunEvidence, StepEvidence
from tui.judge.proof import proof_record
from tui.library.seal import is_not_as_sealed
from tui.library.summary import renew_summary
from tui.model.event import ALLOCATION_ENDED, RunResumed
from tui.model.figure_record import CodedText, coded
from tui.model.host_record import HostRecord
from tui.model.operands import Clause, clause, several
from tui.model.plain_data import format_utc, parse_utc, plain
from tui.model.plan import Plan
from tui.model.record import (
    ArtefactRecord,
    CarriedRecord,
    CommandRecord,
    HeadlineRecord,
    HostSourceRecord,
    JobFile,
    JournalRecord,
    LeftOutRecord,
    MemberRecord,
    MessageRecord,
    NoteRecord,
    ProfileRecord,
    ProvenanceRecord,
    RecordState,
    ResumedRecord,
    RunRecord,
)
from tui.model.rundir import JOURNAL_FILE, RECORD_FILE
from tui.model.search_record import SearchRecord
from tui.model.step_record import ProofRecord, StepRecord
from tui.record.cells import steps_in_error
from tui.record.headline import losses_of, run_headline
from tui.record.host_facts import facts_record
from tui.record.sections import (
    attestation_records,
    host_record,
    matrix_record,
    objects_left,
    precondition_record,
    server_records,
)
from tui.record.step import build_step, phase_record, rounded
from tui.record.timeline import JournalData, read_journal

NAMED_LOSSES = 3


class RecordSource(Struct):
    """Inputs of a record: run directory, plan and journal."""

    run_dir: Path
    plan: Plan
    seen: JournalData
    running: bool = False  # its engine is alive and has not closed the journal


class MeasuredRun(Struct):
    """Hosts and steps of a run with their figures, and the result of all checks."""

    hosts: list[HostRecord]
    steps: list[StepRecord]
    judged: Examination


def build_record(run_dir: Path, *, running: bool = False) -> RunRecord:
    """Build the record of a run directory, from plan.json and the journal only.

    Any prefix of a journal gives a valid record of what was measured up to that point. `running`:
    its engine is alive. Raises BenchtuiError for an unreadable plan.
    """
    source = source_of(run_dir, running=running)
    measured = measured_in(source)
    record = _measured_part(source, measured)
    _add_plan(record, source)
    _add_figures(record, source, measured)
    _add_findings(record, measured)
    return plain(record)  # output of a load generator may contain anything


def source_of(run_dir: Path, *, running: bool = False) -> RecordSource:
    """Return plan and journal of a run; the plan includes the steps that a search added.

    Raises BenchtuiError.
    """
    plan = load_plan(run_dir)
    seen = read_journal(run_dir / JOURNAL_FILE, plan.lease_s)
    running = running and seen.state.end is None
    return RecordSource(run_dir, plan_as_run(plan, seen.state.search), seen, running)


def measured_in(source: RecordSource) -> MeasuredRun:
    """Return hosts and steps with bottlenecks, and the result of all checks."""
    plan, run = source.plan, source.seen.state
    steps = [build_step(plan, step, run) for step in plan.steps]
    if source.running:
        _so_far(steps)
    hosts = [host_record(plan, run, host) for host in plan.hosts]
    evidence = RunEvidence(plan, hosts, steps, source.seen)
    for step, record in zip(plan.steps, steps, strict=True):
        record.bottleneck = bottleneck_of(StepEvidence(evidence, step, record))
        if record.bottleneck is not None and (proved := run.proved.get(step.index)):
            record.bottleneck.proof = ProofRecord(**asdict(proved))
    return MeasuredRun(hosts, steps, examine(evidence, running=source.running))


def _so_far(steps: list[StepRecord]) -> None:
    """Limit the expected time of running steps to the elapsed time, so that they do not seem to
    have ended early.
    """
    for step in steps:
        if (
            step.state in ("running", "missing")
            and step.runtime_s is not None
            and step.measured_s is not None
        ):
            step.runtime_s = min(step.runtime_s, step.measured_s)


def _measured_part(source: RecordSource, measured: MeasuredRun) -> RunRecord:
    """Return a record with hosts, phases, steps, times and end state."""
    plan, run, steps = source.plan, source.seen.state, measured.steps
    state = final_state(source)
    return RunRecord(
        schema_name="benchtui.run/1",
        run_id=run.run_id or source.run_dir.name,
        created_utc=run.utc_of(0.0),
        ended_utc=None if source.running else run.utc_of(run.t),
        duration_s=rounded(run.t) if run.started is not None else None,
        state=state,
        reason=coded(reason_of(source, state, steps)),
        exit_code=run.exit_code,
        profile=_profile(plan),
        target=plan.target,
        latency_kind=plan.latency_kind,
        hosts=measured.hosts,
        servers=server_records(plan, run),
        facts=facts_record({host.name: host.facts for host in measured.hosts}),
        phases=[phase_record(run, span) for span in run.phases],
        steps=steps,
        resumed=_resumed(run),
        notes=_notes(source),
        messages=_messages(run),
        provenance=_provenance(source),
    )


def _add_plan(record: RunRecord, source: RecordSource) -> None:
    """Add the facts in the plan, except the steps."""
    plan = source.plan
    record.left_out = [
        LeftOutRecord(
            profile=left.profile,
            steps=left.steps,
            reason=left.reason or None,
            hosts=list(left.hosts),
            missing=left.missing,
        )
        for left in plan.left_out
    ]
    record.sources = [HostSourceRecord(**asdict(each)) for each in plan.sources]
    record.precondition = precondition_record(plan, source.seen.state)
    record.attested = attestation_records(plan)
    record.thresholds = dict(plan.thresholds)
    record.criteria = list(plan.criteria)
    record.tags = dict(plan.tags)


def _add_figures(record: RunRecord, source: RecordSource, measured: MeasuredRun) -> None:
    """Add figures derived from all steps: headline, matrix, result of a search or
    counter-experiment.
    """
    plan, steps = source.plan, measured.steps
    record.search, sought = _searched(plan, source.seen.state, steps)
    headline = run_headline(
        plan.headline, steps, plan.latency_kind, steps_in_error(measured.judged.findings)
    )
    record.headline = sought or headline
    record.matrix = matrix_record(plan, steps)
    record.objects_left = objects_left(plan, steps)
    record.proves = proof_record(plan, steps)


def _add_findings(record: RunRecord, measured: MeasuredRun) -> None:
    """Add findings and verdict."""
    judged = measured.judged
    record.findings = judged.findings
    record.checks = judged.made
    record.checks_not_made = judged.not_made
    record.steps_not_checked = judged.steps_not_checked
    record.hosts_not_checked = judged.hosts_not_checked
    record.verdict = verdict_of(record.state, measured.steps, judged.findings)


def _searched(
    plan: Plan, run: RunState, steps: list[StepRecord]
) -> tuple[SearchRecord | None, HeadlineRecord | None]:
    """Return the result and headline of a search; (None, None) for other runs."""
    if plan.search is None:
        return None, None
    from tui.record.search import search_headline, search_record

    found = search_record(plan, run, steps)
    return found, search_headline(found, plan.headline) if found is not None else None


def write_record(run_dir: Path) -> RunRecord:
    """Build the record and write run.json atomically. Raises BenchtuiError, OSError."""
    record = build_record(run_dir)
    text = record.to_json().encode()
    record.not_as_sealed = is_not_as_sealed(run_dir, text)
    write_atomic(run_dir / RECORD_FILE, text)
    renew_summary(run_dir)
    return record


def final_state(source: RecordSource) -> RecordState:
    """Return the state of the run, judged by its figures; complete only if the engine agrees."""
    run = source.seen.state
    if source.running:
        return "running"
    if run.end.state == "aborted" if run.end is not None else run.stop_mode == "abort":
        return "aborted"  # a request after the end has no effect
    if not any_measured(source.plan, {step.index for step in run.steps.values() if step.measured}):
        return "failed"
    clean = run.end is not None and run.end.state == "complete" and not incomplete(source)
    return "complete" if clean else "partial"


def incomplete(source: RecordSource) -> list[Clause]:
    """Return what is missing compared with a complete run, one entry per host and step."""
    missing: list[Clause] = []
    for step in source.plan.steps:
        seen = source.seen.state.at_step(step.index)
        point = source.seen.state.search.decided.get(step.index)
        if step.warmup or seen.state == "skipped" or (point is not None and point.cut):
            continue
        for task in step.tasks:
            result = seen.results.get(task.host)
            if result is None:
                missing.append(clause("no-result", host=task.host, step=step.name))
            elif result.errors:
                errno = result.errors[0]
                missing.append(clause("failed-result", host=task.host, step=step.name, errno=errno))
            elif not result.final:
                missing.append(clause("early-result", host=task.host, step=step.name))
    return missing


def reason_of(source: RecordSource, state: RecordState, steps: list[StepRecord]) -> Clause | str:
    """Return the reason for the state, from the engine or from what is missing, plus the lost
    hosts of a run that measured something.
    """
    lost = [
        step
        for step in steps
        if state != "failed" and step.lost_hosts and not _cut_by_allocation(step)
    ]
    losses = [
        several(*losses_of(step.coverage))
        if len(steps) == 1
        else clause("in-step", step=step.name, why=several(*losses_of(step.coverage)))
        for step in lost[:NAMED_LOSSES]
    ]
    return several(_without_losses(source, state), *losses)


def _cut_by_allocation(step: StepRecord) -> bool:
    """Return whether a step lost hosts only because their allocation ended."""
    ended = {error.host for error in step.errors if error.code == ALLOCATION_ENDED}
    return set(step.coverage[-1].missing) <= ended


def _without_losses(source: RecordSource, state: RecordState) -> Clause | str:
    end = source.seen.state.end
    if source.running:
        return _running(source)
    if end is None:
        return clause("not-closed")
    # the engine had no result, but the journal has figures
    if end.state == "failed" and state == "partial":
        return clause("only-samples")
    if end.reason or state == "complete":
        return end.reason
    found = several(*incomplete(source)[:3])
    return found or (clause("no-figures") if state == "failed" else "")


def _running(source: RecordSource) -> Clause:
    """Return the progress of a live run."""
    plan, run = source.plan, source.seen.state
    step = plan.steps[run.step] if run.step is not None and run.step < len(plan.steps) else None
    measuring = run.phase == "measure"
    return clause(
        "in-progress",
        phase=run.phase,
        seconds=max(run.t - run.phase_started_t, 0.0) if measuring else None,
        of_s=step.runtime_s if measuring and step is not None else None,
        step=None if run.step is None else run.step + 1,
        steps=len(plan.steps),
    )


def _resumed(run: RunState) -> list[ResumedRecord]:
    return [
        ResumedRecord(utc=_utc_of(event, run), gap_s=round(event.gap_s, 3), t_s=rounded(event.t))
        for event in run.resumed
    ]


def _utc_of(event: RunResumed, run: RunState) -> str:
    when = parse_utc(event.utc)
    return format_utc(when) if when is not None else run.utc_of(event.t) or event.utc


def _profile(plan: Plan) -> ProfileRecord:
    return ProfileRecord(
        **asdict(plan.profile),
        params=dict(plan.params),
        job_files=[
            JobFile(step=step.index, host=task.host, text=task.job_file)
            for step in plan.steps
            for task in step.tasks
        ],
        members=[MemberRecord(**asdict(member)) for member in plan.members],
        roles=dict(plan.roles),
    )


def _notes(source: RecordSource) -> list[NoteRecord]:
    run = source.seen.state
    first = [NoteRecord(utc=run.utc_of(0.0), text=source.plan.note)] if source.plan.note else []
    return first + [NoteRecord(utc=run.utc_of(note.t), text=note.text) for note in run.notes]


def _messages(run: RunState) -> list[MessageRecord]:
    kept = [
        MessageRecord(
            t_s=round(each.t, 3), severity=each.severity, host=each.host, text=coded(each.text)
        )
        for each in run.messages.first
    ]
    if run.unreadable:
        text = CodedText(code="lines-unreadable", operands={"lines": run.unreadable})
        kept.append(MessageRecord(t_s=run.t, severity="warning", host=None, text=text))
    if run.messages.dropped:
        text = CodedText(code="messages-left", operands={"messages": run.messages.dropped})
        kept.append(MessageRecord(t_s=run.t, severity="info", host=None, text=text))
    return kept


def _provenance(source: RecordSource) -> ProvenanceRecord:
    seen, run = source.seen, source.seen.state
    results = (result for step in run.steps.values() for result in step.results.values())
    versions = {result.host: result.tool_version for result in results if result.tool_version}
    return ProvenanceRecord(
        benchtui_version=run.started.benchtui_version if run.started is not None else None,
        tool_versions=versions,
        jump_host=dict(run.started.jump_host) if run.started is not None else {},
        carried=[CarriedRecord(**asdict(each)) for each in source.plan.carried],
        commands=[CommandRecord(**asdict(task)) for task in run.commands],
        artefacts=[
            ArtefactRecord(**asdict(each))
            # it may have been resumed
            for each in {each.path: each for each in run.artefacts}.values()
        ],
        journal=JournalRecord(
            events=seen.events,
            unread_bytes=seen.unread_bytes,
            ended=run.end is not None,
            damaged_lines=run.unreadable,
        ),
    )
