"""The run record: schema ``benchtui.run/1`` of ``run.json``, self-contained and readable without
benchtui.

SI base units stand in the names (``_s``, ``_ns``, ``_bytes``, ``_bytes_per_s``), counts and
nanoseconds are integers, times of day are UTC in RFC 3339, unknown is null and never 0. Times named
``_s`` that are not durations count from ``created_utc``. Readers ignore unknown keys, so that
fields may be added without a new schema name."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, PrivateAttr

from tui.model.check_names import check_name, with_current_names
from tui.model.figure_record import UTC_PATTERN, RecordPart
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
    """The job file that one host was given in one step."""

    step: int = Field(description="index of the step")
    host: str = Field(description="host")
    text: MultiLine = Field(description="the file, whole")


class MemberRecord(RecordPart):
    """A profile of a suite, as it was read."""

    tag: str = Field(description="name of the profile")
    version: int | None = Field(None, description="version of the profile")
    title: str = Field("", description="title for people")
    source: dict[str, str] = Field(
        default_factory=dict, description="document the workload comes from"
    )
    extends: list[str] = Field(
        default_factory=list, description="tags of the profiles that it changes"
    )
    text: MultiLine | None = Field(None, description="the profile's YAML as it was read")
    sha256: str | None = Field(None, description="SHA-256 of the profile's YAML")


class ProfileRecord(RecordPart):
    """What was run: the profile as it was read, and what it was turned into."""

    tag: str = Field(description="name of the profile, e.g. weka/read-iops")
    version: int | None = Field(None, description="version of the profile")
    title: str = Field("", description="title for people")
    source: dict[str, str] = Field(
        default_factory=dict, description="document the workload comes from"
    )
    preset: bool | None = Field(None, description="whether it is one of the shipped presets")
    params: dict[str, Scalar] = Field(default_factory=dict, description="parameters, all resolved")
    changed: dict[str, str] = Field(
        default_factory=dict, description="parameters changed from the profile's defaults"
    )
    job_files: list[JobFile] = Field(
        default_factory=list, description="rendered job files, per step and host"
    )
    text: MultiLine | None = Field(None, description="the profile's YAML as it was read")
    sha256: str | None = Field(None, description="SHA-256 of the profile's YAML")
    extends: list[str] = Field(
        default_factory=list, description="tags of the profiles that it changes, nearest first"
    )
    bases: list[MultiLine] = Field(
        default_factory=list, description="the YAML of these, same order"
    )
    members: list[MemberRecord] = Field(default_factory=list, description="the profiles of a suite")
    roles: dict[str, str] = Field(
        default_factory=dict, description="hosts by role of a suite, as chosen: 50%, h[1-2]"
    )


class HeadlineRecord(RecordPart):
    """The one figure the profile is about."""

    metric: Literal["iops", "bandwidth", "latency", "ops", "score"] = Field(
        description="what it is"
    )
    direction: str = Field(
        description="read, write or mixed; with ops: the operation, such as create"
    )
    percentile: float | None = Field(
        None, description="for latency: which percentile; null: the mean"
    )
    value: float | None = Field(None, description="the figure; null: not measured")
    unit: Literal["iops", "bytes_per_s", "ns", "ops_per_s", "score"] = Field(
        description="unit of value"
    )
    step: int | None = Field(
        None, description="index of the step it comes from: the best point, the median repetition"
    )
    behind: int | None = Field(
        None,
        description=(
            "I/Os slower than a percentile, of `step`; below 10 its text is n<10; null: no"
            " percentile"
        ),
    )
    text: str = Field("", description="the figure for people")
    short: str = Field("", description="the same in few words, for lists; empty: `text` is short")


class AttestationRecord(RecordPart):
    """A condition that only a person knows."""

    id: str = Field(description="its name in the profile")
    question: str = Field(description="what was asked")
    answer: Literal["yes", "no", "unknown"] = Field(
        description="the answer; unknown: none was given"
    )
    by: str | None = Field(None, description="user and machine that it was given on")
    utc: str | None = Field(None, description="when the run was launched with it")


class CellRecord(RecordPart):
    """One point of a matrix over all its repetitions."""

    key: str = Field(description="name: the profile and the swept values")
    profile: str | None = Field(
        None, description="tag of the profile, when it is a member of a suite"
    )
    role: str | None = Field(None, description="suite role whose hosts ran it")
    beside: list[str] = Field(
        default_factory=list, description="roles of the steps that ran at the same time"
    )
    point: dict[str, Scalar] = Field(
        default_factory=dict, description="values that are swept, of 'hosts' too"
    )
    steps: list[int] = Field(description="indices of its steps, warm-ups left out")
    state: Literal["done", "failed", "cut", "running", "missing"] = Field(
        description="the worst of its steps"
    )
    headline: HeadlineRecord | None = Field(
        None, description="the median of its repetitions; step: the one nearest"
    )
    values: list[float | None] = Field(
        default_factory=list, description="figure by repetition; null: not measured"
    )
    ci_relative: float | None = Field(
        None,
        description=(
            "half width of the 95 % confidence interval of the mean, as a share of it; null:"
            " too few"
        ),
    )

    @property
    def part(self) -> str:
        """The profile of a suite that it comes from, with its role.

        Empty: the run's own profile.
        """
        return in_role(self.profile or "", self.role, self.beside)


class MatrixRecord(RecordPart):
    """The points of a sweep, the profiles of a suite, or the repetitions of one measurement."""

    axes: list[str] = Field(
        default_factory=list, description="what is swept, the slowest first; 'hosts': their number"
    )
    cells: list[CellRecord] = Field(default_factory=list, description="in the order of the plan")
    until_relative: float | None = Field(
        None, description="repetitions end at this ci_relative; null: a fixed number"
    )


class LeftOutRecord(RecordPart):
    """Steps of a profile that were asked for and not run."""

    profile: str = Field(description="tag of the profile")
    steps: int = Field(description="how many steps of it")
    reason: str = Field(description="why, for people")
    hosts: list[str] = Field(default_factory=list, description="hosts for which that holds")


class HostSourceRecord(RecordPart):
    """What a source of hosts resolved to: docs/sources.md."""

    spec: str = Field(description="as it was named: ansible:inventory.ini:clients")
    hosts: list[str] = Field(
        description="hosts it named, in its order; the run may have left some out"
    )
    utc: str = Field(description="when it was asked", pattern=UTC_PATTERN)
    how: str = Field("", description="the program or file that said so")
    left_s: float | None = Field(
        None, description="seconds from then until its hosts are taken away; null: not known"
    )


class Finding(RecordPart):
    """One validity check and what it found."""

    id: CheckName = Field(description="name of the check: docs/findings.md")
    severity: Literal["info", "warning", "error"] = Field(description="how bad")
    scope: dict[str, Scalar] = Field(
        default_factory=dict, description="host, step, phase it holds for"
    )
    measured: Scalar = Field(None, description="what was measured")
    threshold: Scalar = Field(None, description="what would have been right")
    message: str = Field(description="for people")


class ResumedRecord(RecordPart):
    """The run's engine died, and another one took the run over."""

    utc: str = Field(description="when", pattern=UTC_PATTERN)
    gap_s: float = Field(
        description="seconds without an engine: what was not spooled on the hosts is unknown"
    )
    t_s: float | None = Field(None, description="when, seconds from created_utc")


class NoteRecord(RecordPart):
    """A remark that somebody added."""

    utc: str | None = Field(None, description="when", pattern=UTC_PATTERN)
    text: str = Field(description="the remark")


class MessageRecord(RecordPart):
    """A line of the engine, or of a tool's stderr when host is set."""

    t_s: float = Field(description="when, seconds from created_utc")
    severity: Literal["info", "warning", "error"] = Field(description="how bad")
    host: str | None = Field(None, description="host it came from; null: the engine")
    text: str = Field(description="the line")


class CommandRecord(RecordPart):
    """A command as it was started on a host."""

    host: str = Field(description="host")
    step: int = Field(description="index of the step")
    phase: str = Field(description="phase")
    argv: list[MultiLine] = Field(description="the command and its arguments")
    remote_dir: str | None = Field(None, description="directory it ran in")


class ArtefactRecord(RecordPart):
    """A file kept beside run.json."""

    path: str = Field(description="path, relative to run.json")
    sha256: str = Field(description="SHA-256 of the stored bytes")
    bytes: int = Field(description="size of the stored bytes")
    host: str | None = Field(None, description="host it came from")


class JournalRecord(RecordPart):
    """How much of the journal this record was derived from."""

    events: int = Field(description="events read")
    unread_bytes: int = Field(
        0, description="bytes that were not read: damaged lines, and an incomplete last one"
    )
    damaged_lines: int = Field(0, description="lines of it that could not be read")
    ended: bool = Field(description="whether the journal was closed properly")


class ImportRecord(RecordPart):
    """How kept output was read, so that it can be read the same way again."""

    tool: str | None = Field(
        None, description="the one load generator or format it was read as; null: whichever fits"
    )
    tree: bool = Field(
        False,
        description="whether it lay in a directory or an archive; else each file is another host",
    )
    names: list[str] = Field(
        default_factory=list, description="what its files were called, in the order of artefacts"
    )
    hosts: list[str] = Field(
        default_factory=list, description="their hosts as given with --host, in the same order"
    )
    dated: bool = Field(
        True,
        description="whether dates in file names are part of host names; false since 2026-11-24",
    )


class CarriedRecord(RecordPart):
    """A load generator of the user's own that was copied to the hosts for the run."""

    name: str = Field(description="name of the program: fio")
    path: str = Field(description="path on the jump host")
    sha256: str = Field(description="its checksum, also on the hosts")
    bytes: int = Field(description="its size")
    machine: str = Field(description="the machine that it is for, as uname -m names it")


class ProvenanceRecord(RecordPart):
    """Where the figures come from."""

    benchtui_version: str | None = Field(None, description="version that made the run")
    tool_versions: dict[str, str] = Field(
        default_factory=dict, description="version of the load generator, by host"
    )
    jump_host: dict[str, str] = Field(
        default_factory=dict, description="the machine that led the run"
    )
    carried: list[CarriedRecord] = Field(
        default_factory=list, description="load generators copied to the hosts"
    )
    commands: list[CommandRecord] = Field(
        default_factory=list, description="every command, in order"
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
            "how kept output was read; null: not imported, or by a version that did not say"
        ),
    )


class RunRecord(RecordPart):
    """A run of benchtui: what ran, where, what came out, and what is doubtful about it."""

    _judged_since: bool = PrivateAttr(default=False)

    schema_name: Literal["benchtui.run/1"] = Field(
        "benchtui.run/1", alias="schema", description="name of this schema"
    )
    run_id: str = Field(description="name of the run, sorts by time")
    created_utc: str | None = Field(None, description="when the run started", pattern=UTC_PATTERN)
    ended_utc: str | None = Field(
        None, description="when its last event was recorded", pattern=UTC_PATTERN
    )
    duration_s: float | None = Field(None, description="from the start to the last event, seconds")
    state: RecordState = Field(
        description="complete: every host of every step has a final result without errors"
    )
    reason: str = Field("", description="why the state is what it is, for people")
    exit_code: int | None = Field(
        None, description="exit code of the run; null: it was never closed"
    )
    headline: HeadlineRecord | None = Field(None, description="the figure the profile is about")
    profile: ProfileRecord = Field(description="what was run")
    target: str | None = Field(None, description="the storage under test, as the operator names it")
    latency_kind: Literal["clat", "lat"] = Field(
        "clat", description="latency kind of the series and the headline"
    )
    hosts: list[HostRecord] = Field(default_factory=list, description="hosts of the run")
    servers: list[HostRecord] = Field(
        default_factory=list,
        description="storage nodes that were looked at, with their facts; they generate no load",
    )
    facts: FactsRecord | None = Field(
        None,
        description=(
            "the hosts' facts beside each other; null: of an older version, see hosts[].facts"
        ),
    )
    phases: list[PhaseRecord] = Field(
        default_factory=list, description="phases that stand before or after all steps"
    )
    steps: list[StepRecord] = Field(default_factory=list, description="measurements in order")
    proves: ProofRecord | None = Field(
        None,
        description=(
            "of a counter-experiment: what it tests, of which run, and the outcome; null: an"
            " ordinary run"
        ),
    )
    sources: list[HostSourceRecord] = Field(
        default_factory=list,
        description="where hosts are from, beside those that were typed or in the inventory",
    )
    left_out: list[LeftOutRecord] = Field(
        default_factory=list, description="what was not run because hosts lack it"
    )
    matrix: MatrixRecord | None = Field(
        None, description="the steps as a matrix; null: there was one step alone"
    )
    search: SearchRecord | None = Field(
        None, description="what it found that the system sustains; null: no search"
    )
    precondition: PreconditionRecord | None = Field(
        None,
        description=(
            "what was done for the state of the storage; null: the profile asks for nothing"
        ),
    )
    objects_left: list[ObjectsLeft] = Field(
        default_factory=list,
        description="objects that stay in stores; benchtui clean does not remove them",
    )
    attested: list[AttestationRecord] = Field(
        default_factory=list,
        description="conditions that only a person knows, and what was answered",
    )
    findings: list[Finding] = Field(
        default_factory=list, description="what the validity checks found"
    )
    checks: list[CheckName] | None = Field(
        None,
        description=(
            "ids of the checks that were made; null: of an older version, which did not say"
        ),
    )
    checks_not_made: dict[CheckName, str] | None = Field(
        None,
        description="why other checks could not be made, by their id; null: of an older version",
    )
    thresholds: Annotated[dict[str, float], BeforeValidator(with_current_names)] = Field(
        default_factory=dict,
        description="thresholds of checks that the profile changed, by name: docs/findings.md",
    )
    criteria: list[str] = Field(
        default_factory=list,
        description="what must not be, by `thresholds` of the profile: docs/comparing.md",
    )
    verdict: Verdict | None = Field(
        None,
        description=(
            "invalid: a finding of severity error; null: nothing was measured, or not judged"
        ),
    )
    resumed: list[ResumedRecord] = Field(
        default_factory=list, description="when another engine took the run over"
    )
    notes: list[NoteRecord] = Field(default_factory=list, description="remarks")
    tags: dict[str, str] = Field(default_factory=dict, description="tags given at launch")
    messages: list[MessageRecord] = Field(
        default_factory=list, description="what was said during the run"
    )
    provenance: ProvenanceRecord = Field(
        default_factory=ProvenanceRecord, description="where the figures come from"
    )

    @property
    def judged_since(self) -> bool:
        """Whether verdict or findings are others than those that were sealed at the end of the run.

        Not stored.
        """
        return self._judged_since

    @judged_since.setter
    def judged_since(self, value: bool) -> None:
        self._judged_since = value

    def latency_kind_of(self, step: StepRecord) -> Literal["clat", "lat"]:
        """Return the latency kind of a step's figures."""
        return step.latency_kind or self.latency_kind

    def to_json(self) -> str:
        """Return the text of run.json: one JSON object, newline at the end."""
        return self.model_dump_json(by_alias=True) + "\n"


def run_json_schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of run.json."""
    schema = RunRecord.model_json_schema(by_alias=True, mode="serialization")
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": RUN_SCHEMA, **schema}


def parse_record(text: bytes) -> RunRecord:
    """Return the record that stands in run.json, with printable text only.

    Raises pydantic's ValidationError.
    """
    return plain(RunRecord.model_validate_json(text))
