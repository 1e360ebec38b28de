"""Steps of a run record: figures and conditions of one measurement on all hosts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Literal

from pydantic import Field

from tui.model.figure_record import (
    UTC_PATTERN,
    CodedText,
    RecordPart,
    ResultsRecord,
    SeriesRecord,
    TimeSpanRecord,
    WindowRecord,
)
from tui.model.operands import Told, clause
from tui.model.roles import in_role

Scalar = str | int | float | bool | None
Applies = Callable[[Mapping[str, float]], bool]  # whether a condition holds in an interval


class PhaseRecord(RecordPart):
    """A phase of a step, or a run phase before or after all steps."""

    name: str = Field(
        description="connect, preflight, pause, layout, barrier, measure, collect or cleanup"
    )
    command: str | None = Field(None, description="the first host's command, quoted for a shell")
    start_utc: str | None = Field(None, description="start time", pattern=UTC_PATTERN)
    end_utc: str | None = Field(None, description="end time; null if unknown", pattern=UTC_PATTERN)
    start_s: float | None = Field(None, description="start, seconds from created_utc")
    end_s: float | None = Field(None, description="end, seconds from created_utc; null if unknown")
    ok: bool | None = Field(None, description="whether the phase succeeded; null if unknown")


class TaskRecord(RecordPart):
    """Part of a step on one host, without the figures."""

    randseed: int | None = Field(None, description="random seed")
    exit_code: int | None = Field(None, description="tool exit code; null if unknown")
    ended: str | None = Field(
        None,
        description=(
            "how the command ended: exit, stop, abort, lease, lost or allocation-ended; null if"
            " unknown"
        ),
    )
    final: bool | None = Field(
        None, description="true: the tool finished on its own; null without a result"
    )
    errors: list[int] = Field(
        default_factory=list, description="distinct error numbers (errno) reported by the tool"
    )
    tool_version: str | None = Field(None, description="name and version as printed by the tool")
    start_s: float | None = Field(None, description="measurement start, seconds from created_utc")
    end_s: float | None = Field(None, description="measurement end, seconds from created_utc")
    usr_cpu: float | None = Field(None, description="user CPU as reported by the tool, per cent")
    sys_cpu: float | None = Field(None, description="system CPU as reported by the tool, per cent")


class HostTimingRecord(RecordPart):
    """Time during which one host measured, without ramp and start delay."""

    start_s: float = Field(description="first measured I/O, seconds from created_utc")
    end_s: float = Field(
        description="last known end of the measured load, seconds from created_utc"
    )
    start_uncertainty_s: float = Field(
        description="uncertainty of start_s, without that of the host's clock"
    )
    end_uncertainty_s: float = Field(
        description="uncertainty of end_s, without that of the host's clock"
    )
    clock_uncertainty_s: float | None = Field(
        None,
        description=(
            "uncertainty of the host's clock; null if never compared: times then include "
            "the network delay"
        ),
    )
    source: Literal["tool", "samples"] = Field(
        description="tool: printed by the tool; samples: derived from counters"
    )


class TimingRecord(RecordPart):
    """Synchronisation of a step's hosts.

    Uncertainties apply in both directions.
    """

    hosts: dict[str, HostTimingRecord] = Field(
        default_factory=dict, description="spans by host, only for hosts that did I/O"
    )
    start_skew_s: float | None = Field(
        None, description="last start minus first start; null with fewer than two hosts"
    )
    start_skew_uncertainty_s: float | None = Field(
        None, description="uncertainty of start_skew_s, including clocks; null if unknown"
    )
    end_skew_s: float | None = Field(
        None, description="last end minus first end; null with fewer than two hosts"
    )
    end_skew_uncertainty_s: float | None = Field(
        None, description="uncertainty of end_skew_s, including clocks; null if unknown"
    )
    window: WindowRecord | None = Field(
        None, description="time in which all these hosts measured; null if there is none"
    )


class CoverageRecord(TimeSpanRecord):
    """Number of hosts that measured during a part of a step."""

    hosts: int = Field(description="hosts that measured")
    of: int = Field(description="hosts that should have measured")
    missing: list[str] = Field(default_factory=list, description="hosts that did not measure")


class StepError(RecordPart):
    """An error on one host in one step."""

    host: str = Field(description="host")
    phase: str | None = Field(None, description="phase")
    code: str = Field(description="stable error name")
    message: CodedText | str = Field(description="message for the user")
    fatal: bool = Field(True, description="true: the host's result is doubtful or lost")

    @property
    def told(self) -> Told:
        """The message as an operand."""
        told = self.message
        return told if isinstance(told, str) else clause(told.code, **told.operands)

    @property
    def is_contradiction(self) -> bool:
        """Whether figures of imported output contradict each other, rather than the load having
        failed.

        Only earlier versions recorded contradictions as errors.
        """
        return self.code.endswith("-contradiction")


class CacheDropRecord(RecordPart):
    """How a host dropped its page cache before a step."""

    host: str = Field(description="host")
    ok: bool = Field(description="true: the cache was dropped")
    method: str = Field(
        description="root or sudo: the whole cache; files: only the test files; none: nothing"
    )
    detail: str = Field("", description="the host's error message")


class OperationRecord(RecordPart):
    """An operation of an MPI benchmark, in operations per second over all ranks."""

    max: float | None = Field(
        None, description="as printed by the tool; its meaning depends on the tool's version"
    )
    min: float | None = Field(None, description="as printed by the tool, like max")
    mean: float | None = Field(None, description="as printed by the tool")
    stddev: float | None = Field(
        None,
        description=(
            "standard deviation as printed by the tool; null for one iteration, or not printed"
        ),
    )
    iterations: list[float] = Field(
        default_factory=list,
        description="rate of each iteration: ranks x items / seconds, see iterations_of",
    )
    seconds: list[float] = Field(
        default_factory=list, description="seconds of each iteration, as printed"
    )
    from_iterations: bool = Field(
        False,
        description=(
            "true: benchtui computed max to stddev from the iterations; there was no summary"
        ),
    )
    bytes_per_op: int = Field(
        0, description="bytes per operation; bandwidth is this times the rate; 0: no data moved"
    )
    latency_s: list[float | None] = Field(
        default_factory=list,
        description="latency of each iteration, see latency_meaning; null if printed as 0",
    )
    rank_seconds: list[float] = Field(
        default_factory=list,
        description="seconds of each rank from open to close, mean over iterations",
    )
    host_seconds: dict[str, float] = Field(
        default_factory=dict, description="seconds of the slowest rank of each host"
    )
    printed: str = Field(
        "", description="the figure as printed by the tool, with its verdict; empty: a plain number"
    )


class MetadataRecord(RecordPart):
    """Results of an MPI benchmark: operations of many ranks on all hosts, on files or on their
    data.
    """

    tool: str = Field(description="mdtest")
    version: str | None = Field(
        None, description="program version; figures of different versions are not comparable"
    )
    meaning: str | None = Field(
        None,
        description=(
            "meaning of max and min in this version; only in older records and in"
            " `runs show --json`"
        ),
    )
    tasks: int | None = Field(
        None, description="MPI ranks over all hosts; null if unknown (imports)"
    )
    nodes: int | None = Field(None, description="nodes counted by the tool")
    ranks_per_host: int | None = Field(None, description="MPI ranks per host; null if unknown")
    items_per_rank: int | None = Field(
        None, description="files, or I/Os, per rank; null if unknown"
    )
    files: int | None = Field(None, description="files, or I/Os, over all ranks; null if unknown")
    iterations: int = Field(description="requested iterations")
    shift_ranks: int | None = Field(None, description="rank shift between phases; null if unknown")
    shift_text: CodedText | str = Field("", description="the rank shift; empty if unknown")
    nodemap: str = Field("", description="map printed by the tool; 1: the rank is on rank 0's node")
    final: bool = Field(False, description="whether the tool finished successfully")
    latency_meaning: str | None = Field(
        None,
        description=(
            "meaning of the operation latencies; only in older records and in `runs show --json`"
        ),
    )
    iterations_of: Literal["rank 0", "all ranks"] = Field(
        "rank 0",
        description=(
            "how the iterations' rates were timed: rank 0's rate times the ranks, or all ranks"
        ),
    )
    scores: dict[str, float] = Field(
        default_factory=dict, description="scores printed by the tool: total, bandwidth, metadata"
    )
    printed: list[str] = Field(
        default_factory=list, description="overall result, as printed by the tool"
    )
    invalid: list[str] = Field(
        default_factory=list, description="reason why the tool itself calls the result invalid"
    )
    mpi: str = Field(
        "", description="name and version of the MPI that launched the ranks; empty: unknown"
    )
    operations: dict[str, OperationRecord] = Field(
        default_factory=dict,
        description="by operation: create, stat, read, remove, tree-create, tree-remove, ...",
    )


class TelemetryColumn(RecordPart):
    """One telemetry column of a host. Names: docs/telemetry.md."""

    name: str = Field(description="family.field, or family.subject.field: cpu.busy, nic.eth0.rx")
    unit: Literal[
        "percent", "core_percent", "bytes_per_s", "bytes", "per_s", "count", "ms", "number", "id"
    ] = Field(
        description=(
            "unit of the values; core_percent: 100 is one core; count: number in that interval"
        )
    )
    mean: float | None = Field(
        None, description="mean over the measured window, weighted by time; for counts the sum"
    )
    max: float | None = Field(None, description="the largest value in the measured window")
    values: list[float | None] | None = Field(
        None,
        description=("one value per interval, null if unknown; no list: every value is `constant`"),
    )
    constant: float | None = Field(
        None, description="the value of every interval, if values is null"
    )


class HostTelemetryRecord(RecordPart):
    """Telemetry of one host during a step."""

    host: str = Field(description="host name")
    role: Literal["client", "server"] = Field(
        "client", description="client: generated load; server: did not"
    )
    start_s: float | None = Field(None, description=("start of the window that mean and max cover"))
    end_s: float | None = Field(None, description="end of the window that mean and max cover")
    t_s: list[float] = Field(
        default_factory=list, description="end of each interval, seconds from created_utc"
    )
    interval_s: list[float] = Field(default_factory=list, description="length of each interval")
    quiet: int = Field(0, description="number of initial intervals, before the run loaded any host")
    columns: list[TelemetryColumn] = Field(default_factory=list, description="columns")
    devices: dict[str, str] = Field(
        default_factory=dict,
        description="block devices of the target: the top one, and those below it",
    )
    unknown: dict[str, str] = Field(
        default_factory=dict, description="columns that the host cannot provide, with the reasons"
    )

    def column(self, name: str) -> TelemetryColumn | None:
        """Return a column by name; None if the host did not provide it."""
        for column in self.columns:  # a loop: checks read many columns of every host
            if column.name == name:
                return column
        return None

    def mean_of(self, name: str) -> float | None:
        """Return the mean of a column over the measured window; None if unknown."""
        column = self.column(name)
        return column.mean if column is not None else None

    @property
    def names(self) -> list[str]:
        """Names of all columns."""
        return [column.name for column in self.columns]

    def values_of(self, name: str) -> list[float | None]:
        """Return the values of a column over time; empty if the host did not provide it."""
        column = self.column(name)
        if column is None:
            return []
        return [column.constant] * len(self.t_s) if column.values is None else column.values

    @property
    def ends_s(self) -> Sequence[float]:
        """End of each interval of `values_of`, in seconds of run time."""
        return self.t_s

    def seconds_where(self, columns: Sequence[str], applies: Applies) -> float:
        """Return for how many seconds of the measured window a condition on columns applied.

        `applies` gets the known values of an interval by column.
        """
        if self.start_s is None or self.end_s is None:
            return 0.0
        values = {each: self.values_of(each) for each in columns if self.column(each)}
        found = 0.0
        for row in range(self.quiet, len(self.t_s)):
            end_s = self.t_s[row]
            inside_s = min(end_s, self.end_s) - max(end_s - self.interval_s[row], self.start_s)
            if inside_s > 0 and applies(known_in(values, row)):
                found += inside_s
        return found


def known_in(columns: Mapping[str, Sequence[float | None]], row: int) -> dict[str, float]:
    """Return the known values of a row, by column."""
    return {
        name: value
        for name, values in columns.items()
        if (value := values[row]) is not None and value == value
    }


class ProofRecord(RecordPart):
    """Counter-experiment on the bottleneck of a step: the unchanged load for a short time, then one
    change.
    """

    run_id: str = Field(
        description="in a bottleneck: ID of the counter-experiment; in proves: ID of the tested run"
    )
    step: int = Field(description="index of the tested step")
    kind: str = Field(description="bottleneck kind")
    change: Literal[
        "twice-in-flight", "twice-workers", "half-workers", "half-block", "half-hosts", "no-rate"
    ] = Field(description="load change")
    figure: Literal["iops", "bandwidth", "iops_per_host"] = Field(
        description="figure that is compared"
    )
    predicted: CodedText | str = Field(description="prediction")
    unchanged: float | None = Field(
        None, description="figure of the unchanged load; null if not measured"
    )
    changed: float | None = Field(
        None, description=("figure of the changed load; null if not measured")
    )
    ratio: float | None = Field(None, description="changed / unchanged")
    spread: float | None = Field(
        None,
        description=(
            "half-width of the ratio's 95 % confidence interval; null if the steps were too short"
        ),
    )
    outcome: Literal["agreed", "disagreed", "could-not-tell"] = Field(
        description="whether the experiment confirmed the bottleneck"
    )
    why: CodedText | str | None = Field(None, description="why the experiment could not tell")
    text: str | None = Field(
        None, description="the result as text; only in older records and in `runs show --json`"
    )


class BottleneckRecord(RecordPart):
    """Bottleneck of a step, according to the evidence of the run."""

    kind: Literal[
        "rate", "client-cpu", "network", "client-device", "server-cpu", "concurrency", "storage"
    ] = Field(description="location of the bottleneck; storage: no other found, storage or depth")
    text: CodedText | str = Field(description="the bottleneck with the evidence")
    proof: ProofRecord | None = Field(
        None, description="counter-experiment result; null if none was run"
    )


class ProviderRecord(RecordPart):
    """Provider of a load generator that is not part of benchtui."""

    entry_point: str = Field(
        description="entry point in the group benchtui.workloads, as module:Class"
    )
    package: str = Field("", description="plug-in's distribution package; empty if unknown")
    version: str = Field("", description="package version")


class StepRecord(RecordPart):
    """One measurement on all hosts at once."""

    index: int = Field(description="position in the plan, from 0")
    name: str = Field(description="step name")
    tool: str | None = Field(None, description="load generator: fio")
    provider: ProviderRecord | None = Field(
        None,
        description="package that provides the load generator; null if benchtui's own, or unknown",
    )
    params: dict[str, Scalar] = Field(default_factory=dict, description="step parameters")
    options: dict[str, str] = Field(
        default_factory=dict,
        description=(
            "options of an imported load that affect its figures, by the load generator's names"
        ),
    )
    options_complete: bool = Field(
        False,
        description=(
            "whether options of an imported load that are not in `options` have their defaults;"
            " false: unknown"
        ),
    )
    repetition: int = Field(1, description="repetition number, from 1")
    profile: str | None = Field(None, description="profile tag, for a suite member")
    role: str | None = Field(None, description="suite role of the hosts that ran it")
    beside: list[str] = Field(default_factory=list, description="roles of concurrent steps")
    together: int | None = Field(
        None, description="steps with the same number ran at the same time; null if not concurrent"
    )
    cell: str | None = Field(None, description="matrix cell: the same for repetitions of one point")
    point: dict[str, Scalar] = Field(
        default_factory=dict, description="swept values, including 'hosts'"
    )
    warmup: bool = Field(False, description="true: a warm-up, whose figures do not count")
    state: Literal["done", "failed", "cut", "skipped", "running", "missing"] | None = Field(
        None,
        description=(
            "failed: ended with errors; cut: stopped; skipped: precise enough without it;"
            " missing: not run"
        ),
    )
    attempt: int = Field(1, description="number of attempts; the record contains only the last one")
    cache_drops: list[CacheDropRecord] = Field(
        default_factory=list, description="page caches dropped before the step"
    )
    in_flight: int | None = Field(
        None, description="I/Os in flight over all hosts: numjobs x iodepth"
    )
    requests: dict[str, str] = Field(
        default_factory=dict,
        description="requests of an object store by direction: write is PUT, read is GET",
    )
    phases: list[PhaseRecord] = Field(default_factory=list, description="step phases, in order")
    runtime_s: float | None = Field(
        None, description="planned seconds of measurement; null if bounded by size"
    )
    measured_s: float | None = Field(
        None, description="seconds measured by the host that measured longest"
    )
    headline: float | None = Field(
        None, description="the step's headline figure, unit as in headline.unit"
    )
    latency_kind: Literal["clat", "lat"] | None = Field(
        None, description="latency kind of a suite member; null if the run's applies"
    )
    results: ResultsRecord = Field(default_factory=ResultsRecord, description="results")
    metadata: MetadataRecord | None = Field(
        None, description="MPI benchmark results; null for other load generators"
    )
    tasks: dict[str, TaskRecord] = Field(
        default_factory=dict, description="how the command ran, by host"
    )
    timing: TimingRecord | None = Field(
        None, description="time span measured by each host; null if nothing was measured"
    )
    coverage: list[CoverageRecord] = Field(
        default_factory=list,
        description="number of measuring hosts over time; more than one entry: hosts were lost",
    )
    coverage_text: str | None = Field(
        None, description="host losses as text; only in older records and in `runs show --json`"
    )
    series: SeriesRecord | None = Field(
        None, description="measured load over time; null without samples"
    )
    telemetry: list[HostTelemetryRecord] = Field(
        default_factory=list,
        description="host telemetry; empty without telemetry",
    )
    added_options: dict[str, str] = Field(
        default_factory=dict,
        description="options that benchtui added to the profile's, by name",
    )
    errors: list[StepError] = Field(default_factory=list, description="errors in this step")
    bottleneck: BottleneckRecord | None = Field(
        None, validation_alias="limiter", description="bottleneck; null without telemetry"
    )

    @property
    def part(self) -> str:
        """The suite member that the step belongs to: profile and role; empty without a suite."""
        return in_role(self.profile or "", self.role, self.beside)

    @property
    def lost_hosts(self) -> bool:
        """Whether some hosts did not measure all the time."""
        return any(part.missing for part in self.coverage)

    @property
    def cell_key(self) -> str:
        """Key of the measured point, equal for its repetitions and warm-up."""
        return self.cell or self.name

    def called(self, direction: str) -> str:
        """Return the name of a direction, or of the requests of a store: ``GET`` for ``read``."""
        return self.requests.get(direction, direction)


class FillRecord(RecordPart):
    """Sequential writes of all files of a profile before the measurement."""

    step: int = Field(description="step index")
    times: int = Field(description="number of passes")
    bytes: int | None = Field(
        None, description="total planned bytes; null for whole devices of unknown size"
    )
    duration_s: float | None = Field(None, description="seconds; null if not completed")
    whole: bool = Field(description="true: every host wrote all its files")


class RoundsRecord(RecordPart):
    """Preconditioning rounds of one point's load, until it was steady."""

    cell: str = Field(description="the point, as in steps[].cell")
    steps: list[int] = Field(default_factory=list, description="indices of the rounds that ran")
    values: list[float | None] = Field(
        default_factory=list,
        description="the point's headline figure over all hosts, by round; null if not measured",
    )
    most: int = Field(description="maximum number of rounds")
    window: int = Field(description="number of consecutive rounds that had to be steady")
    range: float | None = Field(
        None, description="largest minus smallest in the last window, as a share of its mean"
    )
    slope: float | None = Field(
        None,
        description="drift of the last window along its regression line, as a share of the mean",
    )
    range_limit: float = Field(description="maximum range")
    slope_limit: float = Field(description="maximum slope")
    attained: bool | None = Field(
        None, description="true: steady; null if it ended before this was decided"
    )
    text: str | None = Field(
        None, description="result as text; only in older records and in `runs show --json`"
    )


class PreconditionRecord(RecordPart):
    """Preconditioning before the measurements."""

    left_out: bool = Field(False, description="true: preconditioning was skipped at launch")
    fills: list[FillRecord] = Field(default_factory=list, description="fills")
    rounds: list[RoundsRecord] = Field(default_factory=list, description="rounds by point")
