"""The steps of a run record: figures of one measurement on all hosts, and the conditions it ran
under.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from pydantic import Field

from tui.model.figure_record import (
    UTC_PATTERN,
    RecordPart,
    ResultsRecord,
    SeriesRecord,
    TimeSpanRecord,
    WindowRecord,
)
from tui.model.roles import in_role

Scalar = str | int | float | bool | None


class PhaseRecord(RecordPart):
    """One phase of a step, or of the run when it stands before all steps."""

    name: str = Field(description="connect, preflight, layout, barrier, measure, collect, cleanup")
    command: str | None = Field(
        None, description="the command of the first host, quoted for a shell"
    )
    start_utc: str | None = Field(None, description="begin", pattern=UTC_PATTERN)
    end_utc: str | None = Field(
        None, description="end; null: never seen to end", pattern=UTC_PATTERN
    )
    start_s: float | None = Field(None, description="begin, seconds from created_utc")
    end_s: float | None = Field(
        None, description="end, seconds from created_utc; null: never seen to end"
    )
    ok: bool | None = Field(
        None, description="whether the phase ended well; null: never seen to end"
    )


class TaskRecord(RecordPart):
    """What one host did in one step, beside the figures."""

    randseed: int | None = Field(None, description="random seed of this host in this step")
    exit_code: int | None = Field(None, description="exit code of the tool; null: unknown")
    ended: str | None = Field(
        None, description="how it ended: exit, stop, abort, lease, lost; null: never seen to end"
    )
    final: bool | None = Field(
        None, description="whether the tool came to its own end; null: it gave no result"
    )
    errors: list[int] = Field(
        default_factory=list, description="distinct error numbers (errno) that the tool reported"
    )
    tool_version: str | None = Field(None, description="what the tool calls itself")
    start_s: float | None = Field(
        None, description="begin of the measurement, seconds from created_utc"
    )
    end_s: float | None = Field(
        None, description="end of the measurement, seconds from created_utc"
    )
    usr_cpu: float | None = Field(None, description="user CPU as the tool reports it, per cent")
    sys_cpu: float | None = Field(None, description="system CPU as the tool reports it, per cent")


class HostTimingRecord(RecordPart):
    """When one host measured. Ramp and start delay are not part of it."""

    start_s: float = Field(description="first measured I/O, seconds from created_utc")
    end_s: float = Field(
        description="end of the measured load, as far as it was seen; seconds from created_utc"
    )
    start_uncertainty_s: float = Field(
        description="how exactly the tool tells the start, by the host's own clock"
    )
    end_uncertainty_s: float = Field(
        description="how exactly the tool tells the end, by the host's own clock"
    )
    clock_uncertainty_s: float | None = Field(
        None,
        description=(
            "how exactly the host's clock is known; null: never compared, times are late by a delay"
        ),
    )
    source: Literal["tool", "samples"] = Field(
        description="tool: it printed its start; samples: derived from counters"
    )


class TimingRecord(RecordPart):
    """How well the hosts of a step measured at the same time.

    Uncertainties hold in both directions.
    """

    hosts: dict[str, HostTimingRecord] = Field(
        default_factory=dict, description="by host, those that did any I/O"
    )
    start_skew_s: float | None = Field(
        None, description="last start minus first start; null: fewer than two hosts"
    )
    start_skew_uncertainty_s: float | None = Field(
        None, description="of start_skew_s, clocks included; null: unknown"
    )
    end_skew_s: float | None = Field(
        None, description="last end minus first end; null: fewer than two hosts"
    )
    end_skew_uncertainty_s: float | None = Field(
        None, description="of end_skew_s, clocks included; null: unknown"
    )
    window: WindowRecord | None = Field(
        None, description="when all these hosts measured; null: never all at once"
    )


class CoverageRecord(TimeSpanRecord):
    """How many hosts of a step measured in a span of its time."""

    hosts: int = Field(description="hosts that measured")
    of: int = Field(description="hosts that should have measured")
    missing: list[str] = Field(default_factory=list, description="hosts that did not")


class StepError(RecordPart):
    """Something that went wrong on one host in one step."""

    host: str = Field(description="host it was seen on")
    phase: str | None = Field(None, description="phase it was seen in")
    code: str = Field(description="stable name of the kind of error")
    message: str = Field(description="what happened, for people")
    fatal: bool = Field(True, description="whether the host's result is doubtful or lost by it")


class CacheDropRecord(RecordPart):
    """How a host dropped its page cache before a step."""

    host: str = Field(description="host")
    ok: bool = Field(description="whether it was dropped")
    method: str = Field(
        description="root or sudo: all of it; files: what was cached of the test files; none"
    )
    detail: str = Field("", description="what the system said")


class OperationRecord(RecordPart):
    """One operation of an MPI benchmark, operations per second over all ranks."""

    max: float | None = Field(
        None, description="as the tool printed it; its meaning depends on the tool's version"
    )
    min: float | None = Field(None, description="likewise")
    mean: float | None = Field(None, description="likewise")
    stddev: float | None = Field(
        None, description="standard deviation, likewise; null: one iteration, or not printed"
    )
    iterations: list[float] = Field(
        default_factory=list,
        description="each iteration: ranks x items / seconds, see iterations_of",
    )
    seconds: list[float] = Field(
        default_factory=list, description="seconds of each iteration, as printed"
    )
    from_iterations: bool = Field(
        False, description="max to stddev are made of the iterations: there was no summary"
    )
    bytes_per_op: int = Field(
        0, description="bytes that each operation moves: times the rate, the bandwidth; 0: none"
    )
    latency_s: list[float | None] = Field(
        default_factory=list,
        description="latency of each iteration; what it is: latency_meaning; null: printed as 0",
    )
    rank_seconds: list[float] = Field(
        default_factory=list,
        description="seconds of each rank from its open to its close, mean of the iterations",
    )
    host_seconds: dict[str, float] = Field(
        default_factory=dict, description="of the slowest rank of each host"
    )
    printed: str = Field(
        "", description="the figure as the tool printed it, with its own verdict; empty: a number"
    )


class MetadataRecord(RecordPart):
    """What an MPI benchmark measured: operations of many ranks on all hosts together, on files or
    on their data.
    """

    tool: str = Field(description="mdtest")
    version: str | None = Field(
        None, description="its version: figures of different versions are not comparable"
    )
    meaning: str = Field("", description="what max and min are in this version")
    tasks: int | None = Field(
        None, description="MPI ranks over all hosts; null: an import that does not tell it"
    )
    nodes: int | None = Field(None, description="nodes that the tool counted")
    ranks_per_host: int | None = Field(None, description="MPI ranks on each host; null: likewise")
    items_per_rank: int | None = Field(
        None, description="files, or I/Os, of each rank; null: likewise"
    )
    files: int | None = Field(None, description="files, or I/Os, over all ranks; null: likewise")
    iterations: int = Field(description="iterations that were asked for")
    shift_ranks: int | None = Field(
        None, description="ranks by which each phase moves on; null: unknown"
    )
    shift_text: str = Field("", description="the rank shift for people")
    nodemap: str = Field("", description="1: the rank is on the node of rank 0, as printed")
    final: bool = Field(False, description="whether the tool came to its own good end")
    latency_meaning: str = Field("", description="what the latency of operations is")
    iterations_of: Literal["rank 0", "all ranks"] = Field(
        "rank 0",
        description=(
            "whose clock the rates of iterations are by: that of rank 0, times the ranks, or of all"
        ),
    )
    scores: dict[str, float] = Field(
        default_factory=dict, description="the tool's: total, bandwidth, metadata"
    )
    printed: list[str] = Field(
        default_factory=list, description="what the tool says of the whole, as printed"
    )
    invalid: list[str] = Field(
        default_factory=list, description="why the tool itself calls its result invalid"
    )
    operations: dict[str, OperationRecord] = Field(
        default_factory=dict,
        description="by operation: create, stat, read, remove, tree-create, tree-remove, ...",
    )


class TelemetryColumn(RecordPart):
    """One thing that was seen of a host every second. Names: docs/telemetry.md."""

    name: str = Field(description="family.field, or family.subject.field: cpu.busy, nic.eth0.rx")
    unit: Literal[
        "percent", "core_percent", "bytes_per_s", "bytes", "per_s", "count", "ms", "number", "id"
    ] = Field(
        description="unit of the values; core_percent: 100 is one core; count: in that interval"
    )
    mean: float | None = Field(
        None, description="over the measured window, weighted by time; of a count the sum"
    )
    max: float | None = Field(None, description="the largest value in the measured window")
    values: list[float | None] | None = Field(
        None, description="one an interval, null: unknown; null alone: all of them are `constant`"
    )
    constant: float | None = Field(
        None, description="the value of all intervals, when values is null"
    )


class HostTelemetryRecord(RecordPart):
    """What one host did while a step went on."""

    host: str = Field(description="host name")
    role: Literal["client", "server"] = Field(
        "client", description="client: it generated load; server: it did not"
    )
    start_s: float | None = Field(
        None, description="begin of the measured window that mean and max are of"
    )
    end_s: float | None = Field(None, description="end of that window")
    t_s: list[float] = Field(
        default_factory=list, description="end of each interval, seconds from created_utc"
    )
    interval_s: list[float] = Field(default_factory=list, description="length of each interval")
    quiet: int = Field(
        0, description="so many intervals at the begin are of before the run loaded any host"
    )
    columns: list[TelemetryColumn] = Field(default_factory=list, description="what was seen")
    devices: dict[str, str] = Field(
        default_factory=dict,
        description="block devices of the target: top, or below: what these lie on",
    )
    unknown: dict[str, str] = Field(
        default_factory=dict, description="what the host cannot give, and why"
    )

    def column(self, name: str) -> TelemetryColumn | None:
        """Return a column; None when the host did not give it."""
        for column in self.columns:  # a loop: checks ask for many, of every host
            if column.name == name:
                return column
        return None

    def mean_of(self, name: str) -> float | None:
        """Return the mean of a column over the measured window; None when it is not known."""
        column = self.column(name)
        return column.mean if column is not None else None

    @property
    def names(self) -> list[str]:
        """The names of all columns."""
        return [column.name for column in self.columns]

    def values_of(self, name: str) -> list[float | None]:
        """Return a column second by second; empty when the host did not give it."""
        column = self.column(name)
        if column is None:
            return []
        return [column.constant] * len(self.t_s) if column.values is None else column.values

    @property
    def ends_s(self) -> Sequence[float]:
        """The end of each interval that `values_of` has a value of."""
        return self.t_s


class ProofRecord(RecordPart):
    """A counter-experiment about what limited a step: the load as it was, for a short time, then
    with one change.
    """

    run_id: str = Field(
        description="in a bottleneck: the counter-experiment; in proves: the run it is about"
    )
    step: int = Field(description="index of the step whose bottleneck it is, in its own run")
    kind: str = Field(description="kind of the bottleneck")
    change: Literal[
        "twice-in-flight", "twice-workers", "half-workers", "half-block", "half-hosts", "no-rate"
    ] = Field(description="what was changed")
    figure: Literal["iops", "bandwidth", "iops_per_host"] = Field(description="what was compared")
    predicted: str = Field(description="what the bottleneck predicts, for people")
    unchanged: float | None = Field(
        None, description="the figure without the change; null: not measured"
    )
    changed: float | None = Field(None, description="the figure with it; null: not measured")
    ratio: float | None = Field(None, description="changed / unchanged")
    spread: float | None = Field(
        None,
        description=(
            "half width of the ratio's 95 % confidence interval within these runs; null: too short"
        ),
    )
    outcome: Literal["agreed", "disagreed", "could-not-tell"] = Field(
        description="whether it bore the bottleneck out"
    )
    text: str = Field(description="all of it for people")


class BottleneckRecord(RecordPart):
    """What limited a step, as far as the run left evidence."""

    kind: Literal[
        "rate", "client-cpu", "network", "client-device", "server-cpu", "concurrency", "storage"
    ] = Field(
        description="where the limit is; storage: nothing nearer to the clients was at its limit"
    )
    text: str = Field(description="for people, with the evidence")
    proof: ProofRecord | None = Field(
        None, description="what a counter-experiment said of it; null: none was made"
    )


class ProviderRecord(RecordPart):
    """What brought a load generator that is not benchtui's own."""

    entry_point: str = Field(description="module:Class of the group benchtui.workloads")
    package: str = Field("", description="distribution package that it is of; empty: unknown")
    version: str = Field("", description="version of that package")


class StepRecord(RecordPart):
    """One measurement on all hosts at once."""

    index: int = Field(description="position in the plan, from 0")
    name: str = Field(description="name of the step")
    tool: str | None = Field(None, description="load generator: fio")
    provider: ProviderRecord | None = Field(
        None, description="the package that brought the load generator; null: benchtui, or unknown"
    )
    params: dict[str, Scalar] = Field(
        default_factory=dict, description="parameters that this step ran with"
    )
    repetition: int = Field(1, description="which repetition of the same measurement, from 1")
    profile: str | None = Field(
        None, description="tag of the profile, when it is a member of a suite"
    )
    role: str | None = Field(None, description="suite role whose hosts ran it")
    beside: list[str] = Field(
        default_factory=list, description="roles of the steps that ran at the same time"
    )
    together: int | None = Field(
        None, description="steps with the same number ran at the same time; null: alone"
    )
    cell: str | None = Field(
        None, description="cell of the matrix: the same for repetitions of one point"
    )
    point: dict[str, Scalar] = Field(
        default_factory=dict, description="values that are swept, of 'hosts' too"
    )
    warmup: bool = Field(
        False, description="whether it only warmed up: its figures count for nothing"
    )
    state: Literal["done", "failed", "cut", "skipped", "running", "missing"] | None = Field(
        None,
        description=(
            "failed: with errors, cut: stopped, skipped: known well enough without, missing:"
            " not run"
        ),
    )
    attempt: int = Field(
        1, description="how often it was begun; only the last attempt is in this record"
    )
    cache_drops: list[CacheDropRecord] = Field(
        default_factory=list, description="page caches dropped before it"
    )
    in_flight: int | None = Field(
        None, description="I/Os kept in flight over all hosts: numjobs x iodepth"
    )
    phases: list[PhaseRecord] = Field(
        default_factory=list, description="phases of the step in order"
    )
    runtime_s: float | None = Field(
        None, description="seconds that were to be measured; null: bounded by a size"
    )
    measured_s: float | None = Field(
        None, description="seconds measured, of the host that measured longest"
    )
    headline: float | None = Field(
        None, description="the headline figure of this step, unit as in headline.unit"
    )
    latency_kind: Literal["clat", "lat"] | None = Field(
        None, description="of a member of a suite: its latency kind; null: as the run's"
    )
    results: ResultsRecord = Field(default_factory=ResultsRecord, description="what was measured")
    metadata: MetadataRecord | None = Field(
        None, description="what an MPI benchmark measured; null: it is none"
    )
    tasks: dict[str, TaskRecord] = Field(
        default_factory=dict, description="by host: how its command ran"
    )
    timing: TimingRecord | None = Field(
        None, description="when each host measured; null: nothing was measured"
    )
    coverage: list[CoverageRecord] = Field(
        default_factory=list,
        description="how many hosts measured when; more than one entry: hosts dropped out",
    )
    coverage_text: str = Field(
        "", description="the loss of hosts for people: 7 of 8 hosts from 132 s on ..."
    )
    series: SeriesRecord | None = Field(
        None, description="measured load over time; null: no samples"
    )
    telemetry: list[HostTelemetryRecord] = Field(
        default_factory=list,
        description="what hosts did meanwhile, second by second; empty: no telemetry",
    )
    added_options: dict[str, str] = Field(
        default_factory=dict,
        description="options that benchtui added to those of the profile, by name",
    )
    errors: list[StepError] = Field(
        default_factory=list, description="what went wrong in this step"
    )
    limiter: BottleneckRecord | None = Field(
        None, description="what limited it; null: the hosts were not looked at"
    )

    @property
    def part(self) -> str:
        """The profile of a suite that it comes from, with its role.

        Empty: the run's own profile.
        """
        return in_role(self.profile or "", self.role, self.beside)

    @property
    def cell_key(self) -> str:
        """The point that it measures, the same for its repetitions and its warm-up."""
        return self.cell or self.name


class FillRecord(RecordPart):
    """All files of a profile, written whole."""

    step: int = Field(description="index of the step")
    times: int = Field(description="how often each was written")
    bytes: int | None = Field(
        None, description="written in all by plan; null: whole devices, of unknown size"
    )
    duration_s: float | None = Field(
        None, description="seconds it took; null: it did not come to its end"
    )
    whole: bool = Field(description="whether every host wrote all of its files")


class RoundsRecord(RecordPart):
    """The load of one point, put on in rounds until it was steady."""

    cell: str = Field(description="the point, as in steps[].cell")
    steps: list[int] = Field(
        default_factory=list, description="indices of the rounds that were made"
    )
    values: list[float | None] = Field(
        default_factory=list,
        description="the point's headline figure over all hosts, by round; null: not measured",
    )
    most: int = Field(description="rounds that would have been made at most")
    window: int = Field(description="so many rounds one after the other had to be steady")
    range: float | None = Field(
        None, description="largest minus smallest of the last window, as a share of its mean"
    )
    slope: float | None = Field(
        None, description="excursion of the line through it, as a share of its mean"
    )
    range_limit: float = Field(description="range may be this at most")
    slope_limit: float = Field(description="slope may be this at most")
    attained: bool | None = Field(
        None, description="whether it was steady; null: neither that nor the last round"
    )
    text: str = Field("", description="for people")


class PreconditionRecord(RecordPart):
    """What was done for the state of the storage before anything was measured."""

    left_out: bool = Field(
        False, description="whether the launch left out what the profile asks for"
    )
    fills: list[FillRecord] = Field(default_factory=list, description="what was filled")
    rounds: list[RoundsRecord] = Field(default_factory=list, description="rounds, point by point")
