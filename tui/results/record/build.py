"""Building run.json from what a run left: its plan and its journal, whole or cut off anywhere."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from tui.model.event import FileCreated, RunResumed
from tui.model.plan import Plan, ProfileRef
from tui.model.problem import BenchtuiError, Problem
from tui.model.record import (
    ArtefactRecord,
    ClockRecord,
    CommandRecord,
    FilesLeft,
    FilesRemovedRecord,
    HostProblemRecord,
    HostRecord,
    JobFile,
    JournalRecord,
    MemberRecord,
    MessageRecord,
    NoteRecord,
    ProfileRecord,
    ProvenanceRecord,
    RecordState,
    ResumedRecord,
    RunRecord,
    StepRecord,
)
from tui.model.rundir import JOURNAL_FILE, RECORD_FILE
from tui.results.findings.checks import find, verdict_of
from tui.results.matrix.points import matrix_record
from tui.results.record.gather import Gathered, format_utc, gather, parse_utc
from tui.results.record.step import build_step, phase_record, rounded
from tui.results.store.rundir import load_plan, write_atomic
from tui.results.store.runs import summary_of, write_summary
from tui.results.text.headline import run_headline

UNFINISHED = "the journal was not closed: the run's process ended early"
NAMED_LOSSES = 3


@dataclass(slots=True)
class Source:
    """What a record is made from."""

    run_dir: Path
    plan: Plan
    seen: Gathered


def build_record(run_dir: Path) -> RunRecord:
    """Return the record of a run directory, from plan.json and the journal alone.

    Any prefix of a journal gives a valid record of what was measured until then. Raises BenchtuiError when the plan
    cannot be read.
    """
    plan = load_plan(run_dir)
    seen = gather(run_dir / JOURNAL_FILE, plan.lease_s)
    source = Source(run_dir, plan, seen)
    steps = [build_step(plan, step, seen) for step in plan.steps]
    state = final_state(source, steps)
    hosts = [_host(source, host.name, host.transport) for host in plan.hosts]
    findings = find(plan, seen, hosts, steps)
    return RunRecord(
        schema_name="benchtui.run/1",
        run_id=seen.started.run_id if seen.started is not None else run_dir.name,
        created_utc=seen.utc(0.0),
        ended_utc=seen.utc(seen.end_t),
        duration_s=rounded(seen.end_t) if seen.started is not None else None,
        state=state,
        reason=reason_of(source, state, steps),
        exit_code=seen.ended.exit_code if seen.ended is not None else None,
        headline=run_headline(plan.headline, steps),
        profile=_profile(plan),
        target=plan.target,
        latency_kind=plan.latency_kind,
        hosts=hosts,
        phases=[phase_record(seen, span) for span in seen.phases if span.step is None],
        steps=steps,
        matrix=matrix_record(plan, steps),
        findings=findings,
        verdict=verdict_of(state, steps, findings),
        resumed=_resumed(seen),
        notes=_notes(source),
        tags=dict(plan.tags),
        messages=_messages(seen),
        provenance=_provenance(source),
    )


def write_record(run_dir: Path) -> RunRecord:
    """Build the record and put run.json in place, whole. Raises BenchtuiError, OSError."""
    record = build_record(run_dir)
    write_atomic(run_dir / RECORD_FILE, record.to_json().encode())
    write_summary(run_dir, summary_of(record))
    return record


def load_record(run_dir: Path) -> RunRecord:
    """Return the record of a run: run.json when it is there, else built from the journal. Raises BenchtuiError."""
    path = run_dir / RECORD_FILE
    try:
        text = path.read_bytes()
    except FileNotFoundError:
        return build_record(run_dir)
    except OSError as error:
        raise BenchtuiError(Problem(f"cannot be read: {error.strerror}", file=str(path))) from error
    try:
        return RunRecord.model_validate_json(text)
    except ValidationError as error:
        first = error.errors()[0]
        what = ": ".join(part for part in (".".join(map(str, first["loc"])), first["msg"]) if part)
        raise BenchtuiError(Problem(f"is no run record: {what}", file=str(path))) from error


def final_state(source: Source, steps: list[StepRecord]) -> RecordState:
    """Return the state that the figures earn: the engine can make it worse, never better."""
    seen = source.seen
    if seen.ended.state == "aborted" if seen.ended is not None else seen.aborted:
        return "aborted"  # a request that came when everything was over has no effect
    measured = [step for step in steps if not step.warmup]
    counted = any(result.ios for step in measured for result in step.results.aggregate.values())
    if not counted and not any(step.metadata for step in measured):
        return "failed"
    clean = seen.ended is not None and seen.ended.state == "complete" and not incomplete(source)
    return "complete" if clean else "partial"


def incomplete(source: Source) -> list[str]:
    """Return what is missing to a complete run, one short text a host and step."""
    missing: list[str] = []
    for step in source.plan.steps:
        view = source.seen.state.steps.get(step.index)
        if step.warmup or (view is not None and view.state == "skipped"):
            continue
        for task in step.tasks:
            result = source.seen.state.results.get((step.index, task.host))
            if result is None:
                missing.append(f"{task.host}: no result in step {step.name}")
            elif not result.final or result.errors:
                why = f"error {result.errors[0]}" if result.errors else "ended early"
                missing.append(f"{task.host}: {why} in step {step.name}")
    return missing


def reason_of(source: Source, state: RecordState, steps: list[StepRecord]) -> str:
    """Return why the state is what it is: the engine's word, else what is missing; and which hosts dropped out."""
    losses = [f"{step.name}: {step.coverage_text}" for step in steps if step.coverage_text]
    if len(steps) == 1:
        losses = [step.coverage_text for step in steps if step.coverage_text]
    return "; ".join([part for part in (_told_reason(source, state), *losses[:NAMED_LOSSES]) if part])


def _told_reason(source: Source, state: RecordState) -> str:
    seen = source.seen
    if seen.ended is None:
        return UNFINISHED
    if seen.ended.reason or state == "complete":
        return seen.ended.reason
    return "; ".join(incomplete(source)[:3]) or ("nothing was measured" if state == "failed" else "")


def _resumed(seen: Gathered) -> list[ResumedRecord]:
    return [
        ResumedRecord(utc=_utc_of(event, seen), gap_s=round(event.gap_s, 3), t_s=rounded(event.t))
        for event in seen.resumed
    ]


def _utc_of(event: RunResumed, seen: Gathered) -> str:
    when = parse_utc(event.utc)
    return format_utc(when) if when is not None else seen.utc(event.t) or event.utc


def _profile(plan: Plan) -> ProfileRecord:
    profile = plan.profile
    return ProfileRecord(
        tag=profile.tag,
        version=profile.version,
        title=profile.title,
        source=dict(profile.source),
        preset=profile.preset,
        params=dict(plan.params),
        changed=dict(profile.changed),
        job_files=[
            JobFile(step=step.index, host=task.host, text=task.job_file) for step in plan.steps for task in step.tasks
        ],
        text=profile.text,
        sha256=profile.sha256,
        extends=list(profile.extends),
        bases=list(profile.bases),
        members=[_member(member) for member in plan.members],
    )


def _member(member: ProfileRef) -> MemberRecord:
    return MemberRecord(
        tag=member.tag,
        version=member.version,
        title=member.title,
        source=dict(member.source),
        extends=list(member.extends),
        text=member.text,
        sha256=member.sha256,
    )


def _host(source: Source, name: str, transport: str) -> HostRecord:
    seen = source.seen
    view = seen.state.hosts.get(name)
    tasks = source.plan.steps[0].tasks if source.plan.steps else []
    return HostRecord(
        name=name,
        role="client",
        transport=transport,
        facts=dict(view.facts) if view is not None else {},
        clock=_clock(seen, name),
        randseed=next((task.randseed for task in tasks if task.host == name), None),
        state=view.state if view is not None else None,
        detail=view.detail if view is not None else "",
        problems=_problems(seen, name),
        files_left=_files_left(source, name),
        files_removed=[
            FilesRemovedRecord(utc=seen.utc(each.t), paths=list(each.paths), bytes=each.bytes)
            for each in seen.removed.get(name, [])
        ],
    )


def _clock(seen: Gathered, host: str) -> ClockRecord | None:
    compared = seen.compared.get(host)
    if compared is not None:
        return ClockRecord(
            offset_s=round(compared.offset_s, 6),
            uncertainty_s=round(compared.uncertainty_s, 6),
            rtt_s=round(compared.rtt_s, 6),
            method="exchange",
        )
    reading, created = seen.state.reading_of(host), seen.created
    if reading is None or created is None:
        return None
    return ClockRecord(offset_s=round(-reading.offset_s - created.timestamp(), 3), method="samples")


def _problems(seen: Gathered, host: str) -> list[HostProblemRecord]:
    return [
        HostProblemRecord(phase=each.phase, code=each.code, message=each.message, fatal=each.fatal, t_s=rounded(each.t))
        for each, _ in seen.problems
        if each.host == host
    ]


def _files_left(source: Source, host: str) -> FilesLeft | None:
    created = source.seen.files.get(host, [])
    if not created or _cleaned(source, host):
        return None
    sizes = _sizes(created)
    return FilesLeft(paths=list(sizes), bytes=sum(sizes.values()))


def _sizes(created: list[FileCreated]) -> dict[str, int]:
    """Return each path once; the size of an event is put on its first path, the sum is what counts."""
    sizes: dict[str, int] = {}
    for event in created:
        fresh = [path for path in event.paths if path not in sizes]
        sizes.update(dict.fromkeys(fresh, 0))
        if fresh:
            sizes[fresh[0]] = event.bytes
    return sizes


def _cleaned(source: Source, host: str) -> bool:
    """Tell for older journals, which do not name what was removed, whether the cleanup of this host ended well."""
    if source.seen.removed.get(host):
        return False
    span = next((span for span in reversed(source.seen.phases) if span.name == "cleanup"), None)
    if span is None or not span.ok:
        return False
    warned = (each for each in source.seen.messages if each.severity != "info" and each.t >= span.start_t)
    return all(each.host != host for each in warned)


def _notes(source: Source) -> list[NoteRecord]:
    first = [NoteRecord(utc=source.seen.utc(0.0), text=source.plan.note)] if source.plan.note else []
    return first + [NoteRecord(utc=source.seen.utc(note.t), text=note.text) for note in source.seen.notes]


def _messages(seen: Gathered) -> list[MessageRecord]:
    kept = [
        MessageRecord(t_s=round(each.t, 3), severity=each.severity, host=each.host, text=each.text)
        for each in seen.messages
    ]
    if seen.dropped_messages:
        text = f"{seen.dropped_messages} more messages are in the journal"
        kept.append(MessageRecord(t_s=seen.end_t, severity="info", host=None, text=text))
    return kept


def _provenance(source: Source) -> ProvenanceRecord:
    seen = source.seen
    versions = {host: result.tool_version for (_, host), result in seen.state.results.items() if result.tool_version}
    return ProvenanceRecord(
        benchtui_version=seen.started.benchtui_version if seen.started is not None else None,
        tool_versions=versions,
        jump_host=dict(seen.started.jump_host) if seen.started is not None else {},
        commands=[
            CommandRecord(host=task.host, step=task.step, phase=task.phase, argv=task.argv, remote_dir=task.remote_dir)
            for task in seen.started_tasks
        ],
        artefacts=[
            ArtefactRecord(path=each.path, sha256=each.sha256, bytes=each.bytes, host=each.host)
            for each in seen.artefacts
        ],
        journal=JournalRecord(events=seen.events, unread_bytes=seen.unread_bytes, ended=seen.ended is not None),
    )
