"""Events: what a run appends to its journal, one JSON object a line.

`t` is seconds since the run started on the jump host's monotonic clock. Every event carries it, so
that live, replay and record see the same times. Counts are integers, latencies are nanoseconds."""

from __future__ import annotations

import json
from typing import Annotated, Literal

import msgspec
from msgspec import Struct, field

from tui.model.hostfacts import Fact
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
BucketIndex = Annotated[int, msgspec.Meta(ge=0, lt=29 * 64)]  # fio.h, FIO_IO_U_PLAT_NR
# changed bytes may have left it JSON; nothing counts so far
Count = Annotated[int, msgspec.Meta(ge=0, lt=1 << 62)]


class Buckets(Struct, frozen=True, omit_defaults=True):
    """A sparse histogram: bucket indices of fio's scheme, ascending, and their counts.

    `upper_ns`: of a tool with wider buckets, the upper edge of each, which lies in that index;
    percentiles are edges.
    """

    idx: list[BucketIndex] = field(default_factory=list)
    n: list[Count] = field(default_factory=list)
    upper_ns: list[Count] = field(default_factory=list)


class Event(Struct, tag_field="type", kw_only=True, omit_defaults=True):
    """Base of all events."""

    t: float


class RunStarted(Event, tag="run_started"):
    """First event of every journal.

    `utc` is RFC 3339, `monotonic_s` the clock that `t` counts from.
    """

    run_id: str
    utc: str
    benchtui_version: str
    profile: str
    hosts: list[str]
    jump_host: dict[str, str] = field(default_factory=dict)


class PhaseStarted(Event, tag="phase_started"):
    """A phase begins. `step` is None for phases that stand before or after all steps."""

    phase: PhaseName
    step: int | None = None
    expected_s: float | None = None
    total_bytes: int | None = None  # over all hosts: to lay out, or that a load ends with


class PhaseEnded(Event, tag="phase_ended"):
    """A phase is over."""

    phase: PhaseName
    step: int | None = None
    ok: bool = True


class HostState(Event, tag="host_state"):
    """A host changed state; `detail` says why in a few words."""

    host: str
    state: HostStateName
    detail: str = ""


class HostFactsCollected(Event, tag="host_facts"):
    """What is known of a host, by the names and in the shapes of tui/model/hostfacts.py.

    A later one adds to it.
    """

    host: str
    facts: dict[str, Fact]
    role: Literal["client", "server"] = "client"


class HostClock(Event, tag="host_clock"):
    """A host's wall clock against the jump host's: `offset_s` is host minus jump host, true within
    `uncertainty_s`.

    `run_zero_ms` is the jump host's wall clock at t = 0, so that host times can be put on the run's
    time line.
    """

    host: str
    offset_s: float
    uncertainty_s: float
    rtt_s: float
    run_zero_ms: float


class RunResumed(Event, tag="run_resumed"):
    """Another engine took the run over `gap_s` after its first one had died.

    `going_on`: to do what the run lacks.
    """

    utc: str
    gap_s: float
    going_on: bool = False


class HostProblem(Event, tag="host_problem"):
    """Something wrong on one host.

    `code` is a stable name (fio-missing, no-space, host-key-unknown, ...).
    """

    host: str
    phase: PhaseName
    code: str
    message: str
    fatal: bool = True


class StepStarted(Event, tag="step_started"):
    """A step begins.

    A step that is run again begins anew: what was seen of it before counts for nothing.
    """

    step: int
    attempt: int = 1
    hosts: list[str] = field(default_factory=list)  # of a step that runs at the same time as others


class StepEnded(Event, tag="step_ended"):
    """A step is over.

    `cut`: somebody stopped it; with `ok` it is a point of a search that was clearly over.
    `skipped`: it was not run, because the figure is known well enough without it.
    """

    step: int
    ok: bool = True
    cut: bool = False
    skipped: bool = False
    reason: str = ""


class PointOffered(Event, tag="point_offered"):
    """A search has decided what a step offers: from here on it is `planned`, in place of the plan's
    own.
    """

    step: int
    offer: Offer
    planned: Step


class PointDecided(Event, tag="point_decided"):
    """What a search takes from a point that was measured."""

    point: SearchPoint


class CacheDropped(Event, tag="cache_dropped"):
    """A host was asked to drop its page cache before a step.

    `method`: root, sudo, files (the test files alone).
    """

    host: str
    step: int
    ok: bool
    method: str
    detail: str = ""


class TaskStarted(Event, tag="task_started"):
    """A command began on a host: what exactly, with the files it was given."""

    host: str
    step: int
    phase: PhaseName
    argv: list[MultiLine]
    job_file: MultiLine
    remote_dir: str
    # what else than the host's one load of this phase it is, such as an MPI proxy beside mpiexec
    role: str = ""


class TaskEnded(Event, tag="task_ended"):
    """A command ended. `exit_code` None means unknown. `reason`: exit, stop, abort, lease, lost."""

    host: str
    step: int
    phase: PhaseName
    exit_code: int | None
    reason: str
    stdout_bytes: int
    stderr_bytes: int
    collected: bool = True  # everything the host spooled has arrived
    role: str = ""


class DirectionSample(Struct, omit_defaults=True):
    """What one direction did in one interval of one host.

    Of a tool that prints means alone, `lat` is empty.
    """

    ios: Count
    bytes: Count
    lat_sum_ns: Count = 0  # of a mean without a histogram: the mean times `ios`
    lat_max_ns: Count = 0  # exact maximum since the start of the measurement
    lat: Buckets = field(default_factory=Buckets)
    # as the tool printed them: never merged
    printed_ns: dict[PercentileName, Count] = field(default_factory=dict)


class Sample(Event, tag="sample"):
    """One interval of one host, from two consecutive cumulative snapshots.

    The interval is (host_time_ms - interval_s * 1000, host_time_ms] on the host's own clock. `ramp`
    marks load that is not measured; `restart` says that totals before this sample do not count (end
    of ramp). `jobs` splits `dirs` by job name when there is more than one; None: all of that
    direction is this job's.
    """

    host: str
    step: int
    phase: PhaseName
    host_time_ms: int
    interval_s: float
    dirs: dict[str, DirectionSample]
    ramp: bool = False
    restart: bool = False
    jobs: dict[str, dict[str, DirectionSample | None]] = field(default_factory=dict)

    def of_jobs(self) -> dict[str, dict[str, DirectionSample]]:
        """Return what each job did, by name and direction; empty when there is one job alone."""
        return {
            job: {
                name: part
                for name, own in dirs.items()
                if (part := own or self.dirs.get(name)) is not None
            }
            for job, dirs in self.jobs.items()
        }


class LatencyResult(Struct, omit_defaults=True):
    """One latency kind of one direction: exact N, min, max, mean, stddev; percentiles by fio's
    rule.

    N may be unknown, 0 (imports), and the deviation: None, or nan. `bucket_width`: percentiles are
    upper edges of the tool's own buckets, at most this share above the true value; None: fio's
    scheme, 0.78 % to either side.
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

    `rounded` names those of these that are known only as they were printed, with fewer digits than
    were counted.
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
    # of parts that were added up and ran for unlike times, the least; 0: all ran as long
    shortest_s: float = 0.0


class HostResult(Event, tag="host_result"):
    """The last complete object a tool printed on one host.

    `final` is False when the tool did not come to its own end. `errors` are the distinct non-zero
    error numbers, `failed_ios` the I/Os that failed; None: the tool does not count them.
    """

    host: str
    step: int
    dirs: dict[str, DirectionResult]
    # by job name, when more than one
    jobs: dict[str, dict[str, DirectionResult]] = field(default_factory=dict)
    tool_version: str = ""
    errors: list[int] = field(default_factory=list)
    failed_ios: int | None = None
    final: bool = True
    start_ms: int | None = None  # host clock, when the tool says it
    end_ms: int | None = None
    usr_cpu: float | None = None
    sys_cpu: float | None = None


class MetadataPhase(Event, tag="metadata_phase"):
    """A phase of an MPI benchmark begins; empty: ranks are launched.

    `ALL_OVER`: all has been said.
    """

    step: int
    phase: str
    iteration: int  # from 1
    iterations: int
    ended: str = ""  # the phase before; empty: none
    ops: int = 0  # operations of that phase over all ranks
    seconds: float | None = None  # that it took, as far as arrival times tell: an estimate


ALL_OVER = "end"
# operations that one rank does: their rate is not that of all
ONE_RANK = ("tree-create", "tree-remove")


class MetadataIteration(Event, tag="metadata_iteration"):
    """One operation of one iteration is over, in the tool's own words: its seconds, and operations
    per second.
    """

    step: int
    operation: str
    iteration: int
    seconds: float
    rate: float
    bytes_per_op: int = 0


class OperationResult(Struct, omit_defaults=True):
    """One operation in operations per second.

    `max` to `stddev` as the tool printed them, None when it did not.
    """

    max: float | None = None
    min: float | None = None
    mean: float | None = None
    stddev: float | None = None
    # ranks x items / seconds of each iteration
    iterations: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    bytes_per_op: int = 0  # that each operation moves; rates are then shown as bandwidth
    # of each iteration, as the tool defines it
    latency_s: list[float | None] = field(default_factory=list)
    # of each rank, the mean of its iterations
    rank_seconds: list[float] = field(default_factory=list)
    printed: str = ""  # the figure as the tool printed it, with its own verdict


class MetadataResult(Event, tag="metadata_result"):
    """What an MPI metadata benchmark measured over all hosts."""

    step: int
    tool: str
    version: str  # it says what max and min mean: versions differ
    tasks: int
    nodes: int
    items: int  # files, or I/Os, of each rank
    iterations: int
    operations: dict[str, OperationResult]
    shift: int = -1  # by how many ranks each phase moves on, -1 unknown
    ranks_per_node: int = 0
    nodemap: str = ""
    final: bool = True
    dealt: bool = False  # ranks lie round the nodes in turn, not in blocks
    # that the tool makes of its operations: total, ...
    scores: dict[str, float] = field(default_factory=dict)
    # what it says of the whole, as it printed that
    printed: list[str] = field(default_factory=list)
    invalid: list[str] = field(default_factory=list)  # why the tool itself calls the result invalid


class TelemetryColumns(Event, tag="telemetry_columns"):
    """What the telemetry of a host gives from here on. Names: tui/metrics/telemetry.py.

    `devices`: block devices of the target, "top", or "below" these. `unknown`: what this host
    cannot give, and why.
    """

    host: str
    step: int
    columns: list[str]
    devices: dict[str, str] = field(default_factory=dict)
    unknown: dict[str, str] = field(default_factory=dict)
    role: Literal["client", "server"] = "client"


class TelemetrySample(Event, tag="telemetry"):
    """One value a column for one interval of one host, that which ended at `host_time_ms` on its
    clock.

    `quiet`: nothing of the run was on any host, the run had not begun to load them.
    """

    host: str
    step: int
    host_time_ms: int
    interval_s: float
    values: list[float | None]
    quiet: bool = False


class Artefact(Event, tag="artefact"):
    """A file kept in the run directory, relative path, size and SHA-256 of the stored bytes."""

    path: str
    bytes: int
    sha256: str
    host: str | None = None


class FileCreated(Event, tag="file_created"):
    """Files and directories that the run created on a host and that stay behind.

    Told again with what they are.
    """

    host: str
    paths: list[str]
    bytes: int
    known: Identities | None = None


class FilesRemoved(Event, tag="files_removed"):
    """Paths that an earlier FileCreated named, and that are gone now; `bytes` is what they held."""

    host: str
    paths: list[str]
    bytes: int = 0


class Message(Event, tag="message"):
    """A line for the operator: from the engine, or from a tool's stderr when `host` is set."""

    severity: Severity
    text: str
    host: str | None = None


class NoteAdded(Event, tag="note"):
    """A remark that somebody added."""

    text: str


class BottleneckProved(Event, tag="limiter_proved"):
    """What a counter-experiment, a run of its own, said about what limited a step of this run."""

    result: ProofResult


class StopRequested(Event, tag="stop_requested"):
    """Somebody asked to stop (keep what was measured) or to abort.

    `reason`: why the engine itself did.
    """

    mode: Literal["stop", "abort"]
    by: str = ""
    reason: str = ""


ONLY_SAMPLES = "no host gave its result: the figures are made of the samples that had arrived"


class RunEnded(Event, tag="run_ended"):
    """Last event of a journal that was closed properly."""

    state: RunStateName
    exit_code: int
    reason: str = ""


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

# may follow a run's last event; do not extend it
AFTERWORDS = (NoteAdded, FilesRemoved, BottleneckProved)

_encoder = msgspec.json.Encoder()
_decoder: PlainDecoder[AnyEvent] = PlainDecoder(AnyEvent)  # type: ignore[arg-type]


def encode(event: Event) -> bytes:
    """Return the journal line of an event, newline included."""
    try:
        return _encoder.encode(event) + b"\n"
    except UnicodeEncodeError:  # a note of somebody whose terminal speaks no UTF-8
        return (
            json.dumps(msgspec.to_builtins(event), ensure_ascii=False).encode(errors="replace")
            + b"\n"
        )


def decode(line: bytes) -> AnyEvent:
    """Return the event of a journal line. Raises msgspec.DecodeError when it is not one."""
    return _decoder.decode(line)
