"""Records of imported output, and run directories with the imported files."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import Literal

import msgspec

import tui
from tui.journal.fold import fold
from tui.journal.intervals import Clock
from tui.journal.latencies import CLUSTER_OPEN_S
from tui.journal.measurement import Measurement
from tui.journal.progress import rank
from tui.journal.rundir import write_atomic
from tui.journal.state import RunState
from tui.judge.catalogue import examine, verdict_of
from tui.judge.check import RunEvidence
from tui.library.import_copies import copies_of
from tui.library.import_sets import Naming, kept_runs
from tui.library.import_sources import MOST_BYTES, ImportSource, Room, read_source
from tui.library.manifest import is_inside
from tui.library.summary import renew_summary
from tui.metrics.figures import with_mixed
from tui.metrics.registry import MIXED, direction, metric_of_operation
from tui.model.address import HostAddress
from tui.model.bounded import read_file
from tui.model.dense import listed
from tui.model.figure_record import CodedText, coded
from tui.model.host_record import HostRecord
from tui.model.operands import Told, of_tool
from tui.model.plain import printable
from tui.model.plain_data import format_utc, parse_utc, plain
from tui.model.plan import Headline, HostTask, MpiLaunch, Plan, ProfileRef, Step
from tui.model.problem import BenchtuiError, Problem, UsageError
from tui.model.record import (
    ArtefactRecord,
    CommandRecord,
    ImportRecord,
    MessageRecord,
    NoteRecord,
    ProfileRecord,
    ProvenanceRecord,
    RunRecord,
)
from tui.model.rundir import RAW_DIR, RECORD_FILE, new_run_id
from tui.model.step_record import MetadataRecord, StepError, StepRecord
from tui.record.cells import steps_in_error
from tui.record.figures import StepFigures, series_record
from tui.record.headline import metadata_record, run_headline, step_value
from tui.record.sections import matrix_record
from tui.record.step import measured_s, outcome_record
from tui.record.timeline import HostSpan, JournalData, timing_record
from tui.workloads.base import ImportedOutput, KeptFile
from tui.workloads.reading import ImportBudget, budget, within

LARGE_BLOCK = 64 * 1024  # for larger ones bandwidth is the headline
YEAR_10000 = 253_402_300_800  # epoch seconds: later times are not valid dates
NAMED = 8  # files named in the reason
Measured = Mapping[str, ImportedOutput]  # by host


def imported_record(
    found: Sequence[Measured],
    artefacts: Sequence[ArtefactRecord],
    note: str | None = None,
    caveats: Sequence[CodedText | Told] = (),
    how: ImportRecord | None = None,
) -> RunRecord:
    """Return the record of imported measurements, with state "imported" and all findings that are
    possible.

    `how`: how the files were read.
    """
    plan = _plan(found, note)
    begun = min((span.start_t for each in found for span in _spans(each).values()), default=None)
    state = RunState(for_record=True)
    steps = [
        _step(plan, step, each, begun or 0.0, state)
        for step, each in zip(plan.steps, found, strict=True)
    ]
    hosts = [HostRecord(name=host.name) for host in plan.hosts]
    evidence = RunEvidence(
        plan,
        hosts,
        steps,
        JournalData(state),
        foreign=True,
        copies=how.copies if how is not None else [],
        imported_s=_imported_s(how, begun),
    )
    seen = examine(evidence)
    ended = max(
        (host.end_s for step in steps if step.timing for host in step.timing.hosts.values()),
        default=None,
    )
    record = RunRecord(
        schema_name="benchtui.run/1",
        run_id=new_run_id(plan.profile.tag),
        created_utc=_utc(begun),
        ended_utc=_utc(begun + ended) if begun is not None and ended is not None else None,
        duration_s=ended,
        state="imported",
        reason=_reason(artefacts),
        headline=run_headline(
            plan.headline, steps, plan.latency_kind, steps_in_error(seen.findings)
        ),
        profile=ProfileRecord(tag=plan.profile.tag, title=plan.profile.title, preset=False),
        hosts=hosts,
        steps=steps,
        matrix=matrix_record(plan, steps),
        findings=seen.findings,
        checks=seen.made,
        checks_not_made=seen.not_made,
        steps_not_checked=seen.steps_not_checked,
        hosts_not_checked=seen.hosts_not_checked,
        verdict=verdict_of("imported", steps, seen.findings),
        notes=[NoteRecord(utc=format_utc(datetime.now(UTC)), text=note)] if note else [],
        messages=_messages(steps, caveats, stamped=begun is not None),
        provenance=_provenance(found, artefacts, how),
    )
    return plain(record)


def save(run_dir: Path, record: RunRecord) -> None:
    """Write an imported record atomically. Raises OSError."""
    write_atomic(run_dir / RECORD_FILE, record.to_json().encode())
    renew_summary(run_dir)


def add_note(run_dir: Path, record: RunRecord, text: str) -> None:
    """Add a note to an imported run, which has no journal. Raises OSError."""
    record.notes.append(NoteRecord(utc=format_utc(datetime.now(UTC)), text=printable(text)))
    save(run_dir, record)


def _utc(seconds: float | None) -> str | None:
    """Return a time in RFC 3339; None if unknown, or out of range because of an impossible
    runtime.
    """
    return (
        format_utc(datetime.fromtimestamp(seconds, UTC))
        if seconds is not None and 0 <= seconds < YEAR_10000
        else None
    )


def _imported_s(how: ImportRecord | None, begun: float | None) -> float | None:
    """Return the time of an import, in seconds since the run began; None if either is unknown."""
    moment = parse_utc(how.utc) if how is not None and how.utc is not None else None
    return None if moment is None or begun is None else moment.timestamp() - begun


def _reason(artefacts: Sequence[ArtefactRecord]) -> CodedText:
    names = [Path(each.path).name for each in artefacts]
    more = len(names) - NAMED if len(names) > NAMED + 1 else 0
    files = names[:NAMED] if more else names
    return CodedText(code="imported", operands={"files": files, "more": more})


def _messages(
    steps: Sequence[StepRecord], caveats: Sequence[CodedText | Told], *, stamped: bool
) -> list[MessageRecord]:
    """Return notes on the figures: clocks, rounding, omissions."""
    rounded = {
        name
        for step in steps
        for dirs in step.results.per_host.values()
        for each in dirs.values()
        for name in each.rounded
    }
    notes: list[tuple[str, CodedText | Told]] = []
    if stamped:
        notes.append(("info", CodedText(code="clocks-as-utc")))
    if rounded:
        told = CodedText(code="few-digits", operands={"figures": sorted(rounded)})
        notes.append(("info", told))
    notes += [("warning", caveat) for caveat in caveats]
    return [
        MessageRecord.model_validate({"t_s": 0.0, "severity": how, "text": text})
        for how, text in notes
    ]


def _provenance(
    found: Sequence[Measured], artefacts: Sequence[ArtefactRecord], how: ImportRecord | None
) -> ProvenanceRecord:
    outputs = [(index, host, each) for index, of in enumerate(found) for host, each in of.items()]
    return ProvenanceRecord(
        benchtui_version=tui.__version__,
        tool_versions={
            host: each.result.tool_version for _, host, each in outputs if each.result.tool_version
        },
        commands=[
            CommandRecord(host=host, step=index, phase="measure", argv=each.command.split())
            for index, host, each in outputs
            if each.command
        ],
        artefacts=list(artefacts),
        imported=how,
    )


# -- the plan that it must have had


def _plan(found: Sequence[Measured], note: str | None) -> Plan:
    names = [next(iter(each.values())).name for each in found]
    tools = list(dict.fromkeys(output.tool for each in found for output in each.values()))
    several = len(found) > 1
    steps = [_planned(at, _name(names, at), each, several=several) for at, each in enumerate(found)]
    hosts = list(dict.fromkeys(host for each in found for host in each))
    title = f"{', '.join(tools)} run elsewhere: {', '.join(dict.fromkeys(names))}"
    alone = None if several else _headline(found[0])
    ref = ProfileRef(f"imported/{'+'.join(tools)}", 1, title, "", "", preset=False)
    return Plan(ref, {}, [HostAddress(host) for host in hosts], steps, headline=alone, note=note)


def _name(names: Sequence[str], index: int) -> str:
    """Return the name of a measurement; equal names are numbered."""
    same = [place for place, name in enumerate(names) if name == names[index]]
    return names[index] if len(same) == 1 else f"{names[index]} {same.index(index) + 1}"


def _planned(index: int, name: str, found: Measured, *, several: bool) -> Step:
    first = next(iter(found.values()))
    loads = list(first.loads)
    waves = {load.wave for load in loads}
    held = max((sum(load.held for load in loads if load.wave == wave) for wave in waves), default=0)
    step = Step(
        index=index,
        name=name,
        tool=first.tool,
        params={},
        tasks=[
            HostTask(
                host, 0, each.command, [], jobs=[] if each.loads == first.loads else [*each.loads]
            )
            for host, each in found.items()
        ],
        runtime_s=first.runtime_s,
        directions=[name for name in first.result.dirs if direction(name).in_total],
        in_flight=held * len(found) or None,
        jobs=loads,
        cell=name,
        profile=name if several else "",  # by which lists name it
    )
    if first.metadata is not None:
        metadata = first.metadata
        moved = max((each.bytes_per_op for each in metadata.operations.values()), default=0)
        step.mpi = MpiLaunch(
            "/", metadata.ranks_per_node, metadata.items, metadata.iterations, bytes_per_op=moved
        )
    step.headline, step.latency_kind = _headline(found), _kind(found)
    return step


def _headline(found: Measured) -> Headline | None:
    """Return the headline: bandwidth for large blocks, else IOPS; for operations, the first score
    or operation.

    None if no I/O was counted.
    """
    first = next(iter(found.values()))
    if first.metadata is not None:
        if first.metadata.scores:
            return Headline("score", next(iter(first.metadata.scores)))
        name = min(first.metadata.operations, key=rank, default="create")
        moved = (
            first.metadata.operations[name].bytes_per_op if name in first.metadata.operations else 0
        )
        return Headline(metric_of_operation(moved).name, name)
    dirs = with_mixed(first.result.dirs)
    counted = [name for name in dirs if direction(name).in_total]
    asked = {name for load in first.loads for name in load.directions}
    if asked & set(counted) and MIXED not in first.result.dirs:  # writers that read verify
        counted = [name for name in counted if name in asked or (name == MIXED and len(asked) > 1)]
    if not counted:
        return None
    name = MIXED if MIXED in counted else counted[0]
    part = dirs[name]
    large = part.ios and part.bytes / part.ios >= LARGE_BLOCK
    return Headline("bandwidth" if large or not part.iops else "iops", name)


def _kind(found: Measured) -> Literal["clat", "lat"]:
    """Return the latency kind to show; other tools often report only the total latency."""
    parts = [part for each in found.values() for part in each.result.dirs.values()]
    return (
        "lat"
        if parts and not any(part.clat for part in parts) and any(part.lat for part in parts)
        else "clat"
    )


# -- what was measured


def _spans(found: Measured) -> dict[str, HostSpan]:
    """Return when each host measured, by its own clock: the runtime before the end stamp."""
    spans = {}
    for host, each in found.items():
        result = each.result
        seconds = max((part.runtime_s for part in result.dirs.values()), default=0.0)
        if not seconds and result.start_ms is not None and result.end_ms is not None:
            seconds = (result.end_ms - result.start_ms) / 1000
        if result.end_ms is not None and seconds > 0:
            ended = result.end_ms / 1000
            spans[host] = HostSpan(
                ended - seconds, ended, each.stamp_error_s, each.stamp_error_s, None, "tool"
            )
    return spans


def _step(plan: Plan, step: Step, found: Measured, begun: float, state: RunState) -> StepRecord:
    results = {host: each.result for host, each in found.items()}
    kind = plan.latency_kind_of(step)
    spans = {
        host: HostSpan(
            span.start_t - begun,
            span.end_t - begun,
            span.start_error_s,
            span.end_error_s,
            None,
            "tool",
        )
        for host, span in _spans(found).items()
    }
    measurement = _measurement(step, found, begun)
    # as the tools printed them, beside what the record makes of them
    state.at_step(step.index).results = results
    # logs end before their load: no rate in a window
    figures = StepFigures(results, measurement, {}, kind).record()
    metadata = _metadata(step, found, state)
    errors = [
        StepError(host=host, phase="measure", code=code, message=coded(of_tool(tool, told)))
        for host, each in found.items()
        for tool in (each.tool or step.tool,)
        for code, told in each.problems
    ]
    options = next(iter(found.values())).options
    failed = errors or any(result.errors for result in results.values())
    return StepRecord(
        index=step.index,
        name=step.name,
        tool=step.tool,
        cell=step.cell,
        profile=step.profile or None,
        latency_kind=step.latency_kind,
        options=options.values if options is not None else {},
        options_complete=options is not None and options.complete,
        state="failed" if failed else "done",
        in_flight=step.in_flight,
        runtime_s=step.runtime_s,
        measured_s=measured_s(figures.aggregate),
        headline=step_value(plan.headline_of(step), figures.aggregate, kind, metadata),
        results=figures,
        metadata=metadata,
        tasks={host: outcome_record(spans.get(host), result) for host, result in results.items()},
        timing=timing_record(spans if metadata is None else {}),
        series=series_record(measurement) if measurement is not None else None,
        errors=errors,
    )


def _metadata(step: Step, found: Measured, state: RunState) -> MetadataRecord | None:
    """Return the result of an MPI program, in the form of benchtui's own runs; None for other
    programs.
    """
    metadata = next((each.metadata for each in found.values() if each.metadata is not None), None)
    if metadata is None:
        return None
    fold(state, msgspec.structs.replace(metadata, step=step.index))
    return metadata_record(state.at_step(step.index).metadata, step)


def _measurement(step: Step, found: Measured, begun: float) -> Measurement | None:
    """Return the samples from logs as a measurement; None without samples."""
    samples = [
        (
            sample.host_time_ms / 1000 - begun,
            msgspec.structs.replace(sample, host=host, step=step.index),
        )
        for host, each in found.items()
        for sample in each.samples
    ]
    if not samples:
        return None
    tails = any(
        len(listed(part.lat).idx) > 1 for _, sample in samples for part in sample.dirs.values()
    )
    measurement = Measurement(
        Clock(),
        "measure",
        step.index,
        0.0,
        for_record=True,
        tails_open_s=CLUSTER_OPEN_S if tails else None,
    )
    measurement.has_result = set(found)
    for end_t, sample in sorted(samples, key=lambda each: each[0]):
        measurement.add(sample, max(0.0, end_t - sample.interval_s), end_t)
    return measurement


@dataclass(frozen=True, slots=True)
class ImportedRecord:
    """An imported record that is not saved yet.

    `texts`: contents of the imported files, by path relative to the run directory.
    """

    record: RunRecord
    texts: dict[str, bytes]

    def keep(self, runs: Path) -> Path:
        """Save the record as a run; return its directory. Raises BenchtuiError."""
        run_dir = runs / self.record.run_id
        try:
            for name, data in self.texts.items():
                path = run_dir / name
                path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
                path.write_bytes(data)
            save(run_dir, self.record)
        except OSError as error:
            raise BenchtuiError(
                Problem(f"cannot be written: {error.strerror}", file=str(run_dir))
            ) from error
        return run_dir


def records_of(
    paths: Sequence[Path],
    tool: str | None = None,
    note: str | None = None,
    hosts: Sequence[str] = (),
) -> list[ImportedRecord]:
    """Return the records of files, directories and archives.

    `hosts`: host names of the files, in order. Raises UsageError naming what cannot be read.
    """
    twice = next((path for path in paths if paths.count(path) > 1), None)
    if twice is not None:
        raise UsageError(
            Problem("given twice; name each file once", file=str(twice))
        )
    with within(ImportBudget()):
        room = Room()
        return _records_of([read_source(path, room) for path in paths], tool, note, hosts)


def _records_of(
    sources: Sequence[ImportSource], tool: str | None, note: str | None, hosts: Sequence[str]
) -> list[ImportedRecord]:
    made = []
    named = [source.files[0] for source in sources if not source.is_tree]
    _check_hosts(hosts, sources)
    runs = kept_runs(sources, tool, Naming(hosts))
    for run, copies in zip(runs, copies_of(runs), strict=True):
        texts = _texts(run.files)
        artefacts = [
            ArtefactRecord(path=path, sha256=hashlib.sha256(data).hexdigest(), bytes=len(data))
            for path, data in texts.items()
        ]
        tree = not any(file is each for file in run.files for each in named)
        given = (
            [hosts[at] for at, file in enumerate(named) if any(file is each for each in run.files)]
            if hosts
            else []
        )
        names = [file.name for file in run.files]
        how = ImportRecord(
            tool=tool,
            tree=tree,
            names=names,
            hosts=given,
            dated=False,
            added_phases=False,
            copies=copies,
            utc=format_utc(datetime.now(UTC)),
        )
        made.append(
            ImportedRecord(
                imported_record(run.measurements, artefacts, note, run.caveats, how), texts
            )
        )
    return made


def _check_hosts(hosts: Sequence[str], sources: Sequence[ImportSource]) -> None:
    """Raise UsageError unless all sources are files and there is one host per file."""
    if not hosts:
        return
    if tree := next((source for source in sources if source.is_tree), None):
        raise UsageError(
            Problem(
                "is a directory or an archive; --host only applies to files", file=str(tree.path)
            )
        )
    if len(hosts) != len(sources):
        raise UsageError(
            f"--host is given {len(hosts)} times for {len(sources)} files; give it once per"
            " file, in order"
        )


def read_again(run_dir: Path, record: RunRecord) -> tuple[int, RunRecord]:
    """Return the number of outputs in an imported run's files, and the record rebuilt from them.

    Files omitted at import were not saved; notes about them come from the old record. Raises
    UsageError if the files contain no run or several, OSError.
    """
    how, artefacts = record.provenance.imported, record.provenance.artefacts
    if how is None or len(how.names) != len(artefacts):
        raise UsageError(
            f"{record.run_id}: the record does not say how its files were read; import them again"
        )
    with within(ImportBudget()):
        return _made_again(run_dir, record, how)


def _made_again(run_dir: Path, record: RunRecord, how: ImportRecord) -> tuple[int, RunRecord]:
    artefacts, read, left = record.provenance.artefacts, [], MOST_BYTES
    for name, file in zip(how.names, artefacts, strict=True):
        if not is_inside(file.path):
            raise UsageError(f"{record.run_id}: {file.path!r} is not a path inside a run")
        data = read_file(run_dir / file.path, left)
        left -= len(data)
        read.append(KeptFile(name, file.path, budget().text(data, file.path, "replace")))
    sources = (
        [ImportSource(run_dir, read, is_tree=True)]
        if how.tree
        else [ImportSource(run_dir, [each], False) for each in read]
    )
    runs = kept_runs(sources, how.tool, Naming(how.hosts, dateless=not how.dated))
    if len(runs) != 1:
        raise UsageError(f"{record.run_id}: found {len(runs)} runs in its files; expected 1")
    if how.added_phases and len(runs[0].measurements) != len(record.steps):
        raise UsageError(
            f"{record.run_id}: imported before 2026-11-29, with the figures of consecutive jobs"
            " (stonewall) added up; import the files again"
        )
    caveats = [each.text for each in record.messages if each.severity == "warning"]
    outputs = sum(map(len, runs[0].measurements))
    return outputs, imported_record(runs[0].measurements, artefacts, None, caveats, how)


def _texts(files: Sequence[KeptFile]) -> dict[str, bytes]:
    """Return contents by unique relative paths, all inside the run directory."""
    found: dict[str, bytes] = {}
    for file in files:
        path = PurePosixPath(
            RAW_DIR,
            *(part for part in PurePosixPath(file.name).parts if part not in ("/", "..", ".")),
        )
        name, count = str(path), 1
        while name in found:
            count += 1
            name = str(path.with_name(f"{path.stem}#{count}{path.suffix}"))
        found[name] = file.text.encode()
    return found
