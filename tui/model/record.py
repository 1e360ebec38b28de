"""The run record: schema ``benchtui.run/1`` of ``run.json``, self-contained and readable without
benchtui.

Names contain the SI base unit (``_s``, ``_ns``, ``_bytes``, ``_bytes_per_s``). Counts and
nanoseconds are integers, timestamps are UTC in RFC 3339, unknown is null and never 0. Times named
``_s`` that are not durations count from ``created_utc``. Readers ignore unknown keys, so fields can
be added without a new schema name.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, PrivateAttr

from tui.model.check_names import check_name, reason_why, with_current_names
from tui.model.figure_record import UTC_PATTERN, CodedText, RecordPart
from tui.model.host_record import FactsRecord, HostRecord, ObjectsLeft
from tui.model.plain_data import MultiLine, plain
from tui.model.roles import in_role
from tui.model.search_record import SearchRecord
from tui.model.step_record import PhaseRecord, PreconditionRecord, ProofRecord, Scalar, StepRecord

RUN_SCHEMA = "benchtui.run/1"

CheckName = Annotated[str, BeforeValidator(check_name)]
RecordState = Literal["complete", "partial", "aborted", "failed", "running", "imported", "baseline"]
Verdict = Literal["valid", "valid-with-warnings", "invalid"]


class JobFile(RecordPart):
    """Job file of one host in one step."""

    step: int = Field(description="step index")
    host: str = Field(description="host")
    text: MultiLine = Field(description="job file content")


class MemberRecord(RecordPart):
    """A profile of a suite, as loaded."""

    tag: str = Field(description="profile name")
    version: int | None = Field(None, description="profile version")
    title: str = Field("", description="profile title")
    source: dict[str, str] = Field(
        default_factory=dict, description="source document that describes the workload"
    )
    extends: list[str] = Field(default_factory=list, description=("tags of the extended profiles"))
    text: MultiLine | None = Field(None, description="the profile's YAML as loaded")
    sha256: str | None = Field(None, description="SHA-256 of the profile's YAML")


class ProfileRecord(RecordPart):
    """The profile as loaded, with its resolved parameters and job files."""

    tag: str = Field(description="profile name, such as weka/read-iops")
    version: int | None = Field(None, description="profile version")
    title: str = Field("", description="profile title")
    source: dict[str, str] = Field(
        default_factory=dict, description="source document that describes the workload"
    )
    preset: bool | None = Field(None, description="true: a preset shipped with benchtui")
    params: dict[str, Scalar] = Field(default_factory=dict, description="resolved parameters")
    changed: dict[str, str] = Field(
        default_factory=dict, description="parameters changed from the profile's defaults"
    )
    job_files: list[JobFile] = Field(
        default_factory=list, description="rendered job files, per step and host"
    )
    text: MultiLine | None = Field(None, description="the profile's YAML as loaded")
    sha256: str | None = Field(None, description="SHA-256 of the profile's YAML")
    extends: list[str] = Field(
        default_factory=list, description="tags of the extended profiles, nearest first"
    )
    bases: list[MultiLine] = Field(
        default_factory=list, description="YAML of these profiles, in the same order"
    )
    members: list[MemberRecord] = Field(default_factory=list, description="the profiles of a suite")
    roles: dict[str, str] = Field(
        default_factory=dict, description="hosts by suite role, as chosen: 50%, h[1-2]"
    )


class HeadlineRecord(RecordPart):
    """The profile's headline figure."""

    metric: Literal["iops", "bandwidth", "latency", "ops", "score"] = Field(description="metric")
    direction: str = Field(
        description=(
            "read, write, mixed, ...; for ops the operation, such as create; for score its name"
        )
    )
    percentile: float | None = Field(
        None, description="for latency: the percentile; null for the mean"
    )
    value: float | None = Field(None, description="the figure; null if not measured")
    unit: Literal["iops", "bytes_per_s", "ns", "ops_per_s", "score"] = Field(
        description="unit of `value`"
    )
    step: int | None = Field(
        None, description="index of the headline step: the best point, the median repetition"
    )
    behind: int | None = Field(
        None,
        description=(
            "I/Os of `step` slower than the percentile; below 10 the text is n<10; null "
            "without a percentile"
        ),
    )
    request: str = Field(
        "", description="request of an object store that `direction` stands for: GET for read"
    )
    text: str | None = Field(
        None, description="the figure as text; only in older records and in `runs show --json`"
    )
    short: str | None = Field(
        None,
        description=(
            "short text for lists; empty: `text` is short; only in older records and in"
            " `runs show --json`"
        ),
    )


class AttestationRecord(RecordPart):
    """A condition that only a person can confirm, with the answer."""

    id: str = Field(description="name of the condition in the profile")
    question: str = Field(description="the question")
    answer: Literal["yes", "no", "unknown"] = Field(
        description="the answer; unknown: none was given"
    )
    by: str | None = Field(None, description="user and machine that gave the answer")
    utc: str | None = Field(None, description="launch time")


class CellRecord(RecordPart):
    """One point of a matrix, over all of its repetitions."""

    key: str = Field(description="name: the profile and the swept values")
    profile: str | None = Field(None, description="profile tag, for a suite member")
    role: str | None = Field(None, description="suite role of the hosts that ran it")
    beside: list[str] = Field(default_factory=list, description="roles of concurrent steps")
    point: dict[str, Scalar] = Field(
        default_factory=dict, description="swept values, including 'hosts'"
    )
    steps: list[int] = Field(description="step indices, without warm-ups")
    state: Literal["done", "failed", "cut", "running", "missing"] = Field(
        description="worst step state"
    )
    headline: HeadlineRecord | None = Field(
        None, description="median of the repetitions; `step` is the repetition closest to it"
    )
    values: list[float | None] = Field(
        default_factory=list, description="figure by repetition; null if not measured"
    )
    ci_relative: float | None = Field(
        None,
        description=(
            "half-width of the mean's 95 % confidence interval, relative to the mean; "
            "null with too few repetitions"
        ),
    )

    @property
    def part(self) -> str:
        """The suite member that the point belongs to: profile and role; empty without a suite."""
        return in_role(self.profile or "", self.role, self.beside)


class MatrixRecord(RecordPart):
    """The points of a sweep, the profiles of a suite, or the repetitions of one measurement."""

    axes: list[str] = Field(
        default_factory=list,
        description="swept parameters, the slowest-varying first; 'hosts': number of hosts",
    )
    cells: list[CellRecord] = Field(default_factory=list, description="in plan order")
    until_relative: float | None = Field(
        None, description="repetitions stop at this ci_relative; null for a fixed number"
    )


class LeftOutRecord(RecordPart):
    """Requested steps of a profile that were not run: a load generator was missing."""

    profile: str = Field(description="profile tag")
    steps: int = Field(description="number of steps")
    reason: str | None = Field(
        None, description="reason as text; only in older records and in `runs show --json`"
    )
    hosts: list[str] = Field(default_factory=list, description="affected hosts")
    missing: str = Field("", description="load generator that these hosts do not have")

    @property
    def why(self) -> str:
        """The reason as text: ``mdtest is missing``."""
        return self.reason or f"{self.missing} is missing"


class HostSourceRecord(RecordPart):
    """Hosts that a source resolved to (docs/sources.md)."""

    spec: str = Field(description="as typed: ansible:inventory.ini:clients")
    hosts: list[str] = Field(
        description="hosts returned, in that order; the run may have excluded some"
    )
    utc: str = Field(description="query time", pattern=UTC_PATTERN)
    how: str = Field("", description="program or file that was queried")
    left_s: float | None = Field(
        None, description="seconds from the query to the end of the allocation; null if unknown"
    )


class Finding(RecordPart):
    """Finding of a check."""

    id: CheckName = Field(description="check name: docs/findings.md")
    severity: Literal["info", "warning", "error"] = Field(description="severity")
    scope: dict[str, Scalar] = Field(
        default_factory=dict, description="host, step, phase it applies to"
    )
    measured: Scalar = Field(None, description="what was measured")
    threshold: Scalar = Field(None, description="expected value")
    code: str | None = Field(
        None, description="what was found: one of the check's codes; null in older records"
    )
    operands: dict[str, Any] = Field(
        default_factory=dict, description="figures and names of the finding, in base units"
    )
    message: str | None = Field(
        None, description="the finding as text; only in older records and in `runs show --json`"
    )


class StepsNotChecked(RecordPart):
    """Steps for which a check had no data, although it ran for others."""

    steps: list[int] = Field(description="indices of the steps")
    why: Annotated[CodedText | str, BeforeValidator(reason_why)] = Field(
        description="why, as a code; as text in `runs show --json`"
    )


class HostsNotChecked(RecordPart):
    """Hosts for which a check had no data, although it had data for others."""

    hosts: list[str] = Field(description="names of the hosts")
    steps: list[int] = Field(
        default_factory=list, description="indices of the steps; empty for a check of the run"
    )
    why: Annotated[CodedText | str, BeforeValidator(reason_why)] = Field(
        description="why, as a code; as text in `runs show --json`"
    )


class ResumedRecord(RecordPart):
    """Takeover of the run by another engine after the first one died."""

    utc: str = Field(description="time of the takeover", pattern=UTC_PATTERN)
    gap_s: float = Field(
        description="seconds without an engine: only data spooled on the hosts is known"
    )
    t_s: float | None = Field(
        None, description="time of the takeover, in seconds since created_utc"
    )


class NoteRecord(RecordPart):
    """A note that a user added."""

    utc: str | None = Field(None, description="time of the note", pattern=UTC_PATTERN)
    text: str = Field(description="note text")


class MessageRecord(RecordPart):
    """A line from the engine, or from a tool's stderr."""

    t_s: float = Field(description="time of the message, in seconds since created_utc")
    severity: Literal["info", "warning", "error"] = Field(description="severity")
    host: str | None = Field(None, description="host that it is about; null for the whole run")
    text: CodedText | str = Field(description="message; a string if it is only what a tool printed")


class CommandRecord(RecordPart):
    """A command as it was started on a host."""

    host: str = Field(description="host")
    step: int = Field(description="step index")
    phase: str = Field(description="phase")
    argv: list[MultiLine] = Field(description="the command and its arguments")
    remote_dir: str | None = Field(None, description="working directory")


class ArtefactRecord(RecordPart):
    """A file saved next to run.json."""

    path: str = Field(description="path, relative to run.json")
    sha256: str = Field(description="SHA-256 of the stored bytes")
    bytes: int = Field(description="number of stored bytes")
    host: str | None = Field(None, description="host that the file came from")


class JournalRecord(RecordPart):
    """The part of the journal from which this record was made."""

    events: int = Field(description="events read")
    unread_bytes: int = Field(
        0, description="bytes not read: damaged lines, and an incomplete last line"
    )
    damaged_lines: int = Field(0, description="unreadable lines")
    ended: bool = Field(description="whether the journal was closed properly")


class CopyRecord(RecordPart):
    """A result that is a copy of one in another run of the same import."""

    host: str = Field(description="host that produced the result")
    step: int = Field(description="index of its step")
    of: str = Field(description="files of the other run with the same result")
    equal: int = Field(0, description="number of histogram counts that are equal in both")
    counts: int = Field(0, description="number of histogram counts in either of them")
    expected: float = Field(0.0, description="number of equal histogram counts expected by chance")
    factor: float | None = Field(
        None,
        description="common factor of mean, deviation and maximum latency; null if there is none",
    )
    figures: int = Field(0, description="number of operation rates equal to the last digit")


class ImportRecord(RecordPart):
    """How imported output was read, so that it can be read again in the same way."""

    tool: str | None = Field(
        None, description="the load generator or format given at import; null if detected"
    )
    tree: bool = Field(
        False,
        description="true: from a directory or an archive; false: each file is a host",
    )
    names: list[str] = Field(
        default_factory=list, description="original file names, in the order of artefacts"
    )
    hosts: list[str] = Field(
        default_factory=list, description="hosts given with --host, in the same order"
    )
    dated: bool = Field(
        True,
        description="true: dates in file names are part of host names; false since 2026-11-24",
    )
    added_phases: bool = Field(
        True,
        description=(
            "true: jobs of one output are one step, even if they ran one after the other (fio's"
            " stonewall); false since 2026-11-29: one step each"
        ),
    )
    copies: list[CopyRecord] = Field(
        default_factory=list, description="results that also occur in other runs of the import"
    )
    utc: str | None = Field(
        None, description="time of the import; null before 2026-12-01", pattern=UTC_PATTERN
    )


class CarriedRecord(RecordPart):
    """A user's load generator that was copied to the hosts for the run."""

    name: str = Field(description="program name, such as fio")
    path: str = Field(description="path on the jump host")
    sha256: str = Field(description="SHA-256 of the program, verified on the hosts")
    bytes: int = Field(description="program size")
    machine: str = Field(description="program architecture, as printed by uname -m")


class ProvenanceRecord(RecordPart):
    """Origin of the figures."""

    benchtui_version: str | None = Field(None, description="benchtui version that ran it")
    tool_versions: dict[str, str] = Field(
        default_factory=dict, description="load generator version, by host"
    )
    jump_host: dict[str, str] = Field(
        default_factory=dict, description="machine that benchtui ran on"
    )
    carried: list[CarriedRecord] = Field(
        default_factory=list, description="load generators copied to the hosts"
    )
    commands: list[CommandRecord] = Field(
        default_factory=list, description="all commands, in order"
    )
    artefacts: list[ArtefactRecord] = Field(
        default_factory=list, description="files kept in the run directory"
    )
    journal: JournalRecord | None = Field(
        None, description="the journal that the record was derived from"
    )
    imported: ImportRecord | None = Field(
        None,
        description=(
            "how imported output was read; null if not imported, or imported by an older version"
        ),
    )


class RunRecord(RecordPart):
    """Record of a run: profile, hosts, results, and findings about them."""

    _not_as_sealed: bool = PrivateAttr(default=False)

    schema_name: Literal["benchtui.run/1"] = Field(
        "benchtui.run/1", alias="schema", description="schema name"
    )
    run_id: str = Field(description="run ID; IDs sort by time")
    created_utc: str | None = Field(None, description="start of the run", pattern=UTC_PATTERN)
    ended_utc: str | None = Field(None, description="time of the last event", pattern=UTC_PATTERN)
    duration_s: float | None = Field(None, description="from the start to the last event, seconds")
    state: RecordState = Field(
        description="complete: every host of every step has a final result without errors"
    )
    reason: CodedText | str = Field("", description="reason for the state")
    exit_code: int | None = Field(
        None, description="exit code of the run; null if the journal was never closed"
    )
    headline: HeadlineRecord | None = Field(None, description="the headline")
    profile: ProfileRecord = Field(description="the profile that was run")
    target: str | None = Field(None, description="directory or device under test")
    latency_kind: Literal["clat", "lat"] = Field(
        "clat", description="latency kind of series and headline"
    )
    hosts: list[HostRecord] = Field(
        default_factory=list, description=("hosts that generated the load")
    )
    servers: list[HostRecord] = Field(
        default_factory=list,
        description="monitored storage nodes with their facts; they generate no load",
    )
    facts: FactsRecord | None = Field(
        None,
        description=("comparison of the hosts' facts; null in older records, see hosts[].facts"),
    )
    phases: list[PhaseRecord] = Field(
        default_factory=list, description="phases before and after the steps"
    )
    steps: list[StepRecord] = Field(default_factory=list, description="measurements in order")
    proves: ProofRecord | None = Field(
        None,
        description=(
            "for a counter-experiment: the tested bottleneck, its run, and the outcome; "
            "null for an ordinary run"
        ),
    )
    sources: list[HostSourceRecord] = Field(
        default_factory=list,
        description="host sources, in addition to typed names and the inventory",
    )
    left_out: list[LeftOutRecord] = Field(
        default_factory=list,
        description="steps not run because the load generator is not installed",
    )
    matrix: MatrixRecord | None = Field(
        None, description="the steps as a matrix; null with a single step"
    )
    search: SearchRecord | None = Field(None, description=("search result; null without a search"))
    precondition: PreconditionRecord | None = Field(
        None,
        description=("storage preconditioning; null if the profile requests none"),
    )
    objects_left: list[ObjectsLeft] = Field(
        default_factory=list,
        description="objects left in stores; benchtui clean does not remove them",
    )
    attested: list[AttestationRecord] = Field(
        default_factory=list,
        description="conditions that benchtui cannot check, with the user's answers",
    )
    findings: list[Finding] = Field(default_factory=list, description="check findings")
    checks: list[CheckName] | None = Field(
        None,
        description=("names of the checks that ran; null in older records"),
    )
    checks_not_made: (
        dict[CheckName, Annotated[CodedText | str, BeforeValidator(reason_why)]] | None
    ) = Field(
        None,
        description=(
            "why checks did not run, by check name: mostly missing evidence; null in older records"
        ),
    )
    steps_not_checked: dict[CheckName, list[StepsNotChecked]] | None = Field(
        None,
        description=(
            "steps for which a check had no data although it ran for others, by check name; null in"
            " older records"
        ),
    )
    hosts_not_checked: dict[CheckName, list[HostsNotChecked]] | None = Field(
        None,
        description=(
            "hosts for which a check had no data although it ran for others, by check name; null in"
            " older records"
        ),
    )
    thresholds: Annotated[dict[str, float], BeforeValidator(with_current_names)] = Field(
        default_factory=dict,
        description="check thresholds that the profile changed, by name: docs/findings.md",
    )
    criteria: list[str] = Field(
        default_factory=list,
        description=(
            "conditions that fail a run, from the profile's `thresholds`: docs/comparing.md"
        ),
    )
    verdict: Verdict | None = Field(
        None,
        description=(
            "invalid: a finding of severity error; null if nothing was measured, or the "
            "run was not judged"
        ),
    )
    resumed: list[ResumedRecord] = Field(
        default_factory=list, description="takeovers by another engine"
    )
    notes: list[NoteRecord] = Field(default_factory=list, description="notes that users added")
    tags: dict[str, str] = Field(default_factory=dict, description="tags given at launch")
    messages: list[MessageRecord] = Field(
        default_factory=list, description="messages during the run"
    )
    provenance: ProvenanceRecord = Field(
        default_factory=ProvenanceRecord,
        description="programs, commands and files behind the figures",
    )

    @property
    def not_as_sealed(self) -> bool:
        """Whether the seal made at the end of the run is missing, or verdict, findings or figures
        differ from it; not stored in the file.
        """
        return self._not_as_sealed

    @not_as_sealed.setter
    def not_as_sealed(self, value: bool) -> None:
        self._not_as_sealed = value

    @property
    def steps_run(self) -> int:
        """Number of steps without those skipped because the figure was precise enough."""
        return sum(step.state != "skipped" for step in self.steps)

    def requests_of(self, step: int | None) -> Mapping[str, str]:
        """Return the requests of a store by direction in a step; empty for None."""
        return {} if step is None else self.steps[step].requests

    def latency_kind_of(self, step: StepRecord) -> Literal["clat", "lat"]:
        """Return the latency kind of the figures of a step."""
        return step.latency_kind or self.latency_kind

    def to_json(self) -> str:
        """Return the text of run.json: one JSON object and a final newline."""
        return self.model_dump_json(by_alias=True) + "\n"


def run_json_schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of run.json."""
    schema = RunRecord.model_json_schema(by_alias=True, mode="serialization")
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": RUN_SCHEMA, **schema}


def parse_record(text: bytes) -> RunRecord:
    """Parse run.json, and make all text printable. Raises pydantic's ValidationError."""
    return plain(RunRecord.model_validate_json(text))
