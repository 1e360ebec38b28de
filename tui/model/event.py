"""Events that a run appends to its journal, one JSON object per line.

`t` is seconds since the run started, on the jump host's monotonic clock. Every event has it, so
that live view, replay and record show the same times. Counts are integers, latencies are
nanoseconds.
"""

from __future__ import annotations

import json
from typing import Annotated, Literal

import msgspec
from msgspec import Struct, field

from tui.model.hostfacts import Fact
from tui.model.operands import Clause
from tui.model.plain_data import MultiLine, PercentileName, PlainDecoder
from tui.model.plan import Identities, Step
from tui.model.search import Offer, ProofResult, SearchPoint

PhaseName = Literal[
    "connect", "preflight", "pause", "layout", "barrier", "measure", "collect", "cleanup"
]
HostStateName = Literal[
    "waiting", "connecting", "connected", "checking", "ready", "layout", "armed", "running",
    "collecting", "done",
    "failed", "lost",
]  # fmt: skip
RunStateName = Literal["complete", "partial", "aborted", "failed"]
Severity = Literal["info", "warning", "error"]
ALLOCATION_ENDED = "allocation-ended"  # a problem, and the end of a task, on nodes of a scheduler
ALL_BUCKETS = 29 * 64  # fio.h, FIO_IO_U_PLAT_NR
BucketIndex = Annotated[int, msgspec.Meta(ge=0, lt=ALL_BUCKETS)]
# a damaged line may still be JSON; ignore such counts
Count = Annotated[int, msgspec.Meta(ge=0, lt=1 << 62)]
# the same for times: longer than any run or interval, and stamps that no clock gives
RunTime = Annotated[float, msgspec.Meta(ge=0, lt=1e11)]
Length = Annotated[float, msgspec.Meta(ge=0, lt=1e6)]
Stamp = Annotated[int, msgspec.Meta(ge=-(1 << 62), lt=1 << 62)]


class Buckets(Struct, frozen=True, omit_defaults=True):
    """A sparse histogram: bucket indices of fio's scheme in ascending order, and their counts.

    `upper_ns`, for a tool with wider buckets: upper edge of each bucket; percentiles are then upper
    edges.
    """

    idx: list[BucketIndex] = field(default_factory=list)
    n: list[Count] = field(default_factory=list)
    upper_ns: list[Count] = field(default_factory=list)


Latencies = Buckets | bytes
"""Latencies of a sample: lists, or dense as in journals (`tui/model/dense.py`)."""


class Event(Struct, tag_field="type", kw_only=True, omit_defaults=True):
    """Base of all events."""

    t: RunTime


class RunStarted(Event, tag="run_started"):
    """First event of every journal. `utc` is the start time in RFC 3339."""

    run_id: str
    utc: str
    benchtui_version: str
    profile: str
    hosts: list[str]
    jump_host: dict[str, str] = field(default_factory=dict)


class PhaseStarted(Event, tag="phase_started"):
    """A phase began. `step` is None for phases before or after all steps."""

    phase: PhaseName
    step: int | None = None
    expected_s: float | None = None
    total_bytes: int | None = None  # over all hosts: to lay out, or of a load bounded by size


class PhaseEnded(Event, tag="phase_ended"):
    """A phase ended."""

    phase: PhaseName
    step: int | None = None
    ok: bool = True


class HostState(Event, tag="host_state"):
    """A host changed state; `detail` gives the reason."""

    host: str
    state: HostStateName
    detail: Clause | str = ""  # text in older journals


class HostFactsCollected(Event, tag="host_facts"):
    """Facts of a host, with names and types of tui/model/hostfacts.py.

    Later events add to earlier ones.
    """

    host: str
    facts: dict[str, Fact]
    role: Literal["client", "server"] = "client"


class HostClock(Event, tag="host_clock"):
    """A host's wall clock minus the jump host's: `offset_s`, accurate to `uncertainty_s`.

    `run_zero_ms` is the jump host's wall clock at t = 0, which maps host times to the run's
    timeline.
    """

    host: str
    offset_s: float
    uncertainty_s: float
    rtt_s: float
    run_zero_ms: float


class RunResumed(Event, tag="run_resumed"):
    """Another engine took over, `gap_s` seconds after the last event of the engine that died.

    `going_on`: the new engine measures missing steps, instead of only collecting what is left.
    """

    utc: str
    gap_s: float
    going_on: bool = False


class HostProblem(Event, tag="host_problem"):
    """A problem on one host.

    `code` is a stable name (fio-missing, no-space, host-key-unknown, ...).
    """

    host: str
    phase: PhaseName
    code: str
    message: Clause | str  # text in older journals
    fatal: bool = True


class StepStarted(Event, tag="step_started"):
    """A step began.

    If the step is repeated, its earlier events no longer count.
    """

    step: int
    attempt: int = 1
    hosts: list[str] = field(default_factory=list)  # if steps run at the same time


class StepEnded(Event, tag="step_ended"):
    """A step ended.

    `cut`: stopped early; with `ok`, this is a point of a search whose verdict was certain.
    `skipped`: not run, because the figure was already known well enough.
    """

    step: int
    ok: bool = True
    cut: bool = False
    skipped: bool = False
    reason: Clause | str = ""  # text in older journals


class PointOffered(Event, tag="point_offered"):
    """A search set the load of a step; `planned` replaces the step in the plan."""

    step: int
    offer: Offer
    planned: Step


class PointDecided(Event, tag="point_decided"):
    """The search's verdict on a measured point."""

    point: SearchPoint


class CacheDropped(Event, tag="cache_dropped"):
    """Result of asking a host to drop its page cache before a step.

    `method`: root, sudo, or files (the test files only).
    """

    host: str
    step: int
    ok: bool
    method: str
    detail: str = ""


class TaskStarted(Event, tag="task_started"):
    """A command began on a host, with its exact arguments and files."""

    host: str
    step: int
    phase: PhaseName
    argv: list[MultiLine]
    job_file: MultiLine
    remote_dir: str
    # if not the host's one load of this phase: e.g. an MPI proxy next to mpiexec
    role: str = ""


class TaskEnded(Event, tag="task_ended"):
    """A command ended. `exit_code` None means unknown. `reason`: exit, stop, abort, lease, lost,
    allocation-ended.
    """

    host: str
    step: int
    phase: PhaseName
    exit_code: int | None
    reason: str
    stdout_bytes: int
    stderr_bytes: int
    collected: bool = True  # the complete spool has arrived
    role: str = ""


class DirectionSample(Struct, omit_defaults=True, gc=False):
    """One direction in one interval of one host.

    `lat` is empty for a tool that prints only means. Load generators give `Buckets`.
    """

    ios: Count
    bytes: Count
    lat_sum_ns: Count = 0  # for a mean without a histogram: the mean times `ios`
    lat_max_ns: Count = 0  # exact maximum since the start of the measurement
    lat: Latencies = field(default_factory=Buckets)
    # as the tool printed them: never merged
    printed_ns: dict[PercentileName, Count] = field(default_factory=dict)


class Sample(Event, tag="sample", gc=False):
    """One interval of one host, from two consecutive cumulative snapshots.

    The interval is (host_time_ms - interval_s * 1000, host_time_ms] on the host's own clock. `ramp`
    marks load that is not measured; `restart` discards all totals before this sample (end of ramp).
    `jobs` splits `dirs` by job name if there are several jobs; None means that this job did all I/O
    in the direction.
    """

    host: str
    step: int
    phase: PhaseName
    host_time_ms: Stamp
    interval_s: Length
    dirs: dict[str, DirectionSample]
    ramp: bool = False
    restart: bool = False
    jobs: dict[str, dict[str, DirectionSample | None]] = field(default_factory=dict)

    def of_jobs(self) -> dict[str, dict[str, DirectionSample]]:
        """Return samples by job name and direction; empty if there is only one job."""
        return {
            job: {
                name: part
                for name, own in dirs.items()
                if (part := own or self.dirs.get(name)) is not None
            }
            for job, dirs in self.jobs.items()
        }


class LatencyResult(Struct, omit_defaults=True):
    """One latency kind of one direction: exact count, min, max, mean, stddev; percentiles by fio's
    rule.

    In imports the count may be unknown (0), and the deviation None or nan. `bucket_width`:
    percentiles are upper edges of the tool's own buckets, above the true value by at most this
    share; None: fio's scheme, ±0.78 %.
    """

    n: Count
    min_ns: Count
    max_ns: Count
    mean_ns: float
    stddev_ns: float | None
    percentiles_ns: dict[PercentileName, Count] = field(default_factory=dict)  # "99.5" -> ns
    buckets: Buckets | None = None
    bucket_width: float | None = None


class DirectionResult(Struct, omit_defaults=True):
    """One direction of one host over the whole measurement, as fio counted it.

    `rounded`: fields known only with the few digits printed.
    """

    ios: Count
    bytes: Count
    runtime_s: float
    iops: float
    bw_bytes_per_s: float
    short_ios: Count = 0
    drop_ios: Count = 0
    slat: LatencyResult | None = None
    clat: LatencyResult | None = None
    lat: LatencyResult | None = None
    rounded: list[str] = field(default_factory=list)
    # of merged parts with different runtimes, the shortest; 0: all equal
    shortest_s: float = 0.0
    apart: bool = False  # reads that did not run at the same time as the writes


class Contradiction(Struct, omit_defaults=True):
    """Two figures of one output that cannot both be true.

    `about`: a code whose text the load generator has; `names`: what the figures belong to.
    """

    about: str
    told: float
    expected: float
    job: str = ""
    direction: str = ""
    names: tuple[str, ...] = ()


class HostResult(Event, tag="host_result"):
    """Result of the last complete output of a tool on one host.

    `final` is False if the tool did not finish. `errors` are the distinct non-zero error numbers.
    `failed_ios` is the number of failed I/Os; None if the tool does not count them.
    """

    host: str
    step: int
    dirs: dict[str, DirectionResult]
    # by job name, if more than one
    jobs: dict[str, dict[str, DirectionResult]] = field(default_factory=dict)
    tool_version: str = ""
    errors: list[int] = field(default_factory=list)
    failed_ios: int | None = None
    final: bool = True
    start_ms: int | None = None  # host clock, if the tool prints it
    end_ms: int | None = None
    usr_cpu: float | None = None
    sys_cpu: float | None = None
    # of imported output: each of several entries with the same job name, as "log 2 of 3"
    entries: dict[str, dict[str, DirectionResult]] = field(default_factory=dict)
    # in the tool's output; None: not searched for
    contradictions: list[Contradiction] | None = None


class MetadataPhase(Event, tag="metadata_phase"):
    """A phase of an MPI benchmark began; an empty name means that ranks are being launched.

    `ALL_OVER`: all output is complete.
    """

    step: int
    phase: str
    iteration: int  # from 1
    iterations: int
    ended: str = ""  # the previous phase; empty: none
    ops: int = 0  # operations of that phase over all ranks
    seconds: float | None = None  # its duration, estimated from arrival times


ALL_OVER = "end"
# operations of one rank, so not the total rate
ONE_RANK = ("tree-create", "tree-remove")


class MetadataIteration(Event, tag="metadata_iteration"):
    """One operation of one iteration ended: seconds and operations per second, as printed."""

    step: int
    operation: str
    iteration: int
    seconds: float
    rate: float
    bytes_per_op: int = 0


class OperationResult(Struct, omit_defaults=True):
    """One operation in operations per second.

    `max` to `stddev` are as printed by the tool, None if not printed.
    """

    max: float | None = None
    min: float | None = None
    mean: float | None = None
    stddev: float | None = None
    # ranks x items / seconds of each iteration
    iterations: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    bytes_per_op: int = 0  # moved by each operation; rates are then shown as bandwidth
    # of each iteration, as the tool defines it
    latency_s: list[float | None] = field(default_factory=list)
    # of each rank, mean over iterations
    rank_seconds: list[float] = field(default_factory=list)
    printed: str = ""  # the figure and its verdict, as the tool printed them


class MetadataResult(Event, tag="metadata_result"):
    """Result of an MPI metadata benchmark over all hosts."""

    step: int
    tool: str
    version: str  # the version defines max and min
    tasks: int
    nodes: int
    items: int  # files, or I/Os, per rank
    iterations: int
    operations: dict[str, OperationResult]
    shift: int = -1  # ranks by which each phase is shifted, -1 unknown
    ranks_per_node: int = 0
    nodemap: str = ""
    final: bool = True
    dealt: bool = False  # ranks are distributed round-robin over nodes, not in blocks
    # that the tool computes from its operations: total, ...
    scores: dict[str, float] = field(default_factory=dict)
    # its overall result, as printed
    printed: list[str] = field(default_factory=list)
    invalid: list[str] = field(default_factory=list)  # why the tool itself calls the result invalid
    mpi: str = ""  # name and version of the MPI that launched it


class TelemetryColumns(Event, tag="telemetry_columns"):
    """The telemetry columns of a host from this event on. Names: tui/metrics/telemetry.py.

    `devices`: block devices of the target, marked "top" if used directly, "below" if underneath.
    `unknown`: values that the host cannot provide, with the reason.
    """

    host: str
    step: int
    columns: list[str]
    devices: dict[str, str] = field(default_factory=dict)
    unknown: dict[str, str] = field(default_factory=dict)
    role: Literal["client", "server"] = "client"


class TelemetrySample(Event, tag="telemetry"):
    """Telemetry of one interval of one host, one value per column; the interval ended at
    `host_time_ms` (host clock).

    `quiet`: sampled before the run loaded any host.
    """

    host: str
    step: int
    host_time_ms: Stamp
    interval_s: Annotated[float, msgspec.Meta(gt=0, lt=1e6)]
    values: list[float | None]
    quiet: bool = False


class Artefact(Event, tag="artefact"):
    """A file kept in the run directory: relative path, size and SHA-256 of the stored bytes."""

    path: str
    bytes: int
    sha256: str
    host: str | None = None


class FileCreated(Event, tag="file_created"):
    """Files and directories that the run created on a host and that remain there.

    Repeated once their identities are known.
    """

    host: str
    paths: list[str]
    bytes: int
    known: Identities | None = None


class FilesRemoved(Event, tag="files_removed"):
    """Paths of an earlier FileCreated that have been removed; `bytes` is their former size.

    `absent`: benchtui removed nothing; the load did not create them, or removed them itself.
    """

    host: str
    paths: list[str]
    bytes: int = 0
    absent: bool = False


class Message(Event, tag="message"):
    """A line for the operator, from the engine or a tool's stderr. `host`: the host that it is
    about; None for the whole run.
    """

    severity: Severity
    text: Clause | str  # text in older journals
    host: str | None = None


class NoteAdded(Event, tag="note"):
    """A note that a user added."""

    text: str


class BottleneckProved(Event, tag="limiter_proved"):
    """Result of a counter-experiment (a run of its own) on the bottleneck of a step in this run."""

    result: ProofResult


class StopRequested(Event, tag="stop_requested"):
    """A user asked to stop (keep the measurements) or to abort.

    `reason`: set if the engine itself decided.
    """

    mode: Literal["stop", "abort"]
    by: str = ""
    reason: Clause | str = ""  # text in older journals


class RunEnded(Event, tag="run_ended"):
    """Last event of a properly closed journal."""

    state: RunStateName
    exit_code: int
    reason: Clause | str = ""  # text in older journals


AnyEvent = (
    RunStarted
    | PhaseStarted
    | PhaseEnded
    | HostState
    | HostFactsCollected
    | HostClock
    | RunResumed
    | StepStarted
    | StepEnded
    | PointOffered
    | PointDecided
    | CacheDropped
    | HostProblem
    | TaskStarted
    | TaskEnded
    | Sample
    | HostResult
    | MetadataPhase
    | MetadataIteration
    | MetadataResult
    | TelemetryColumns
    | TelemetrySample
    | Artefact
    | FileCreated
    | FilesRemoved
    | Message
    | NoteAdded
    | BottleneckProved
    | StopRequested
    | RunEnded
)

# may follow a run's last event; do not extend this
AFTERWORDS = (NoteAdded, FilesRemoved, BottleneckProved)

_encoder = msgspec.json.Encoder()
_decoder: PlainDecoder[AnyEvent] = PlainDecoder(AnyEvent)  # type: ignore[arg-type]


def encode(event: Event) -> bytes:
    """Return the journal line of an event, including the newline."""
    try:
        return _encoder.encode(event) + b"\n"
    except UnicodeEncodeError:  # a note typed in a terminal without UTF-8
        return (
            json.dumps(msgspec.to_builtins(event), ensure_ascii=False).encode(errors="replace")
            + b"\n"
        )


def decode(line: bytes) -> AnyEvent:
    """Return the event on a journal line. Raises msgspec.DecodeError if the line is invalid."""
    return _decoder.decode(line)
