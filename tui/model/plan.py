"""A plan: everything a run will do, computed before anything is done."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import TYPE_CHECKING, Literal

from msgspec import Struct, field

from tui.model.address import HostAddress
from tui.model.check_names import with_current_names
from tui.model.objects import ObjectSet
from tui.model.plain_data import MultiLine, PlainDecoder
from tui.model.roles import in_role
from tui.model.search import Proof, Search

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint


class Provider(Struct, frozen=True, omit_defaults=True):
    """What brought a load generator: its entry point, and the distribution package and its version.

    Empty: unknown.
    """

    entry_point: str
    package: str = ""
    version: str = ""

    def text(self) -> str:
        """Return it for people: ``benchtui-other 1.0, entry point
        benchtui_other.workload:Other``.
        """
        package = f"{self.package} {self.version}".strip()
        return ", ".join(part for part in (package, f"entry point {self.entry_point}") if part)


def provider_of(point: EntryPoint) -> Provider:
    """Return what an entry point is of."""
    dist = point.dist
    if dist is None:
        return Provider(point.value)
    return Provider(point.value, dist.name or "", dist.version or "")


class DirectoryIdentity(Struct, frozen=True):
    """A directory: its path without symbolic links, and FILE-SYSTEM INODE STAMP as
    tui/remote/sh/made.sh tells them.
    """

    real: str
    mark: str


class Identities(Struct):
    """What was made: INODE STAMP by path, a checksum for numbered files.

    And the directories they lie in, by path.
    """

    files: dict[str, str] = field(default_factory=dict)
    directories: dict[str, DirectoryIdentity] = field(default_factory=dict)

    def take(self, other: Identities) -> None:
        """Add others; what is known of a path anew replaces what was known before."""
        self.files.update(other.files)
        self.directories.update(other.directories)

    def forget(self, paths: Iterable[str]) -> None:
        """Drop paths that are gone."""
        for path in paths:
            self.files.pop(path, None)


Answer = Literal["yes", "no", "unknown"]
PLAN_SCHEMA = "benchtui.plan/1"


# in a path: any number from 0, so that one path stands for very many files
FILE_NUMBER = "$filenum"


class FileSpec(Struct, frozen=True, omit_defaults=True):
    """One test file on a host: absolute path and full size in bytes.

    A path with FILE_NUMBER stands for `count` files of that size, with numbers 0 <= n < `count`; 0:
    not known how many. What is before `start_bytes` of a device is left alone; None: only the host
    can tell where that is.
    """

    path: str
    size_bytes: int
    count: int = 0
    start_bytes: int | None = 0

    @property
    def total_bytes(self) -> int:
        """Bytes of all files that it stands for."""
        return self.size_bytes * max(self.count, 1)


HARMLESS = ("/dev/null", "/dev/zero", "/dev/full")  # nothing in them is lost


def is_device(path: str) -> bool:
    """Tell whether a path names a device: it is read and written, but never laid out or removed."""
    return path.startswith("/dev/") and not path.startswith("/dev/shm/")


class Headline(Struct, frozen=True, omit_defaults=True):
    """The one figure a profile is about."""

    metric: Literal["iops", "bandwidth", "latency", "ops", "score"]
    # read, write, trim, sync, mixed; of ops: create, stat, read, remove; of score: total, ...
    direction: str
    percentile: float | None = None


class Until(Struct, frozen=True):
    """Repetitions end when the mean's 95 % confidence interval is at most `width` of it to each
    side.
    """

    width: float
    least: int
    most: int


class Precondition(Struct, frozen=True, omit_defaults=True):
    """What a step does for the state of the storage: it fills all files `times` over, or is round
    `number` of its load.

    Of `rounds` at most, those after the first that are steady are not made: within the last
    `window` of them the largest and the smallest figure are at most `range` of the mean apart, and
    they drift by `slope` of it at most.
    """

    kind: Literal["fill", "round"]
    times: int = 0
    number: int = 0
    rounds: int = 0
    window: int = 5
    range: float = 0.2
    slope: float = 0.1


class Attestation(Struct, frozen=True, omit_defaults=True):
    """A condition that only a person knows, what was answered, by whom and when (UTC)."""

    id: str
    question: str
    answer: Answer = "unknown"
    by: str = ""
    utc: str = ""


class MpiLaunch(Struct, frozen=True, omit_defaults=True):
    """One MPI program over all hosts of a step, started from the first one. Which MPI it is, the
    preflight finds.

    `options` are the program's own beside those that benchtui writes. `stride`: "next-client", or a
    number of ranks.
    """

    directory: str  # of the file system under test; the run makes a folder of its own in it
    ranks_per_host: int
    items: int  # files of each rank, or its I/Os of `bytes_per_op`
    iterations: int
    stride: str = "next-client"
    options: tuple[str, ...] = ()
    program: str = "mdtest"
    family: Literal["auto", "mpich", "openmpi"] = "auto"
    launcher: Literal["benchtui", "plain"] = "benchtui"
    addresses: str = "auto"
    env: dict[str, str] = field(default_factory=dict)
    bytes_per_op: int = 0  # that each operation moves; 0: files are all that it is about

    def ranks(self, hosts: int) -> int:
        """Return the number of ranks over so many hosts."""
        return self.ranks_per_host * hosts


class BlockShare(Struct, frozen=True, omit_defaults=True):
    """Sizes of I/Os from `low` to `high` bytes, and which share of a job's I/Os has them.

    None: nobody said.
    """

    low: int
    high: int
    share: float | None = None


class Skew(Struct, frozen=True, omit_defaults=True):
    """Which blocks random I/O wants more than others.

    `zones`: shares of the I/Os, and of the blocks (1 is all).
    """

    text: str  # as the load generator takes it: "zipf:1.2"
    kind: Literal["zipf", "pareto", "normal", "zoned"]
    value: float = 0.0  # theta, h, deviation in per cent
    zones: tuple[tuple[float, float], ...] = ()


class JobLoad(Struct, frozen=True, omit_defaults=True):
    """One job of a step as each host runs it, in the field's words: what judging its figures takes.

    `held` are I/Os in flight on one host, workers x iodepth. Offered rates are of one host too.
    """

    name: str
    # read, write, trim; what it does beside them, such as syncs, is not listed
    directions: tuple[str, ...]
    workers: int = 1
    held: int = 1
    wave: int = 0  # jobs of one wave run together, one wave after the other
    bound_s: float | None = None  # seconds after which it ends; None: it ends with its data
    queues: bool = False  # I/O is submitted, and completed later
    direct: bool = False
    # moves data from or to storage, as the null engine and file operations do not
    stores: bool = True
    # held back by a rate, think time or another job: not always `held` in flight
    paced: bool = False
    rate_iops: dict[str, float] = field(default_factory=dict)  # offered, by direction
    rate_bytes_per_s: dict[str, float] = field(default_factory=dict)
    random: bool = False
    # what each I/O stream goes over: a worker's part of a file; None: not known
    range_bytes: int | None = None
    ranges: int = 0  # how many such streams one host has
    # by direction; without one all blocks are wanted alike
    skew: dict[str, Skew] = field(default_factory=dict)
    each_once: bool = False  # no block again before every one was used
    same_offsets: bool = False  # on every host and in every worker the same random offsets
    reducible: str = ""  # why an array may store less than is written: "zero_buffers=1"
    # how writes are made durable as they go: "fdatasync=1"; empty: never before the end
    durable: str = ""
    # how they are at the end, within the run time that fio divides by: "end_fsync=1"
    flushed: str = ""
    block_bytes: int | None = None  # of each I/O; None: they differ, or nobody said
    # by direction, where sizes differ
    blocks: dict[str, tuple[BlockShare, ...]] = field(default_factory=dict)
    poisson: bool = False  # the offered rate comes at random times
    whole_blocks: bool = False  # no I/O is shorter than its block, at the end of a file neither
    # what is asked for and does not act: "iodepth has no effect with psync: it is synchronous"
    in_vain: str = ""
    # lines of the job file that change nothing with this engine: "iodepth=16"
    idle: tuple[str, ...] = ()
    objects: bool = False  # of a store, past page cache, file systems and devices of the host


class HostTask(Struct, omit_defaults=True):
    """What one host does in one step: its job file, its command, the files it uses."""

    host: str
    randseed: int
    job_file: MultiLine
    argv: list[MultiLine]
    directories: list[str] = field(default_factory=list)
    files: list[FileSpec] = field(default_factory=list)
    layout: bool = False
    # most bytes the measurement can overwrite or create; None: no bound
    writes_bytes: int | None = None
    # bytes that it reads, writes and trims until it ends; None: it ends by time, or not known
    moves_bytes: int | None = None
    required_dir: str | None = None  # must exist and be writable before anything starts
    # paths that a task which writes leaves as they are
    only_read: list[str] = field(default_factory=list)
    # images of a storage cluster that are written to, past the host
    images: list[str] = field(default_factory=list)
    images_used: list[str] = field(default_factory=list)  # images that are read or written
    # objects of a store that are put, got or deleted
    objects: list[ObjectSet] = field(default_factory=list)
    # how files must be found, for jobs that only create, stat or remove
    expects: Literal["", "absent", "present"] = ""
    # those that the measurement itself makes, parents first
    makes_directories: list[str] = field(default_factory=list)

    @property
    def written(self) -> list[FileSpec]:
        """Files and devices that the measurement writes to, so that what they hold is lost.

        Layout is not counted.
        """
        if self.writes_bytes == 0:
            return []
        spared = set(self.only_read)
        return [spec for spec in self.files if spec.path not in spared]

    @property
    def stores_changed(self) -> list[str]:
        """Stores in which the measurement overwrites or deletes objects, each once."""
        return list(dict.fromkeys(each.store for each in self.objects if each.changes))


class Step(Struct, omit_defaults=True):
    """One measurement on all of its hosts at once. Hosts of the plan without a task here sit it
    out.

    Steps with the same `cell` repeat one point of a matrix; `point`: swept values, hosts too. None:
    as the plan says.
    """

    index: int
    name: str
    tool: str
    params: dict[str, str | int | float | bool]
    tasks: list[HostTask]
    runtime_s: float | None
    ramp_s: float = 0.0
    startdelay_s: float = 0.0
    directions: list[str] = field(default_factory=list)
    in_flight: int | None = None  # numjobs x iodepth over all hosts
    jobs: list[JobLoad] = field(default_factory=list)  # of the first host; empty: not known
    repetition: int = 1
    mpi: MpiLaunch | None = None  # one program over all hosts, in place of one on each
    profile: str = ""  # tag of the profile it comes from, when that is a member of a suite
    cell: str = ""
    point: dict[str, str | int | float | bool] = field(default_factory=dict)
    warmup: bool = False  # its result counts for nothing
    precondition: Precondition | None = None  # such a step is a warm-up too
    pause_s: float = 0.0  # time without load before it
    attempt: int = 1  # the engine counts it up when a step of a resumed run is made again
    # a repetition that is made only while the headline is not known well enough
    optional: bool = False
    until: Until | None = None  # of a member of a suite
    headline: Headline | None = None
    latency_kind: Literal["clat", "lat"] | None = None
    drop_caches: Literal["no", "try", "require"] | None = None
    # what benchtui adds to the profile's job, by name
    added_options: dict[str, str] = field(default_factory=dict)
    # what brought the load generator, when that is another package
    provider: Provider | None = None
    role: str = ""  # of the suite, whose hosts run it
    beside: list[str] = field(default_factory=list)  # roles of the steps that run at the same time
    # steps with the same number, other than 0, run at the same time on different hosts
    together: int = 0

    @property
    def cell_key(self) -> str:
        """The point that it measures, the same for its repetitions and its warm-up."""
        return self.cell or self.name

    @property
    def part(self) -> str:
        """The profile of a suite that it comes from, with its role.

        Empty: the plan's own profile.
        """
        return in_role(self.profile, self.role, self.beside)

    @property
    def is_fill(self) -> bool:
        """Whether it fills its files, for the state of the storage alone."""
        return self.precondition is not None and self.precondition.kind == "fill"

    @property
    def is_round(self) -> bool:
        """Whether it is a round of its load that is made until the storage is steady."""
        return self.precondition is not None and self.precondition.kind == "round"

    @property
    def hosts(self) -> list[str]:
        """Names of the hosts that take part."""
        return [task.host for task in self.tasks]

    @property
    def bound_bytes(self) -> int | None:
        """Bytes over all hosts with which it ends, at the latest; None: by time, or not known."""
        moved = [task.moves_bytes for task in self.tasks]
        known = [each for each in moved if each is not None]
        return sum(known) or None if len(known) == len(moved) else None

    @property
    def expected_s(self) -> float | None:
        """Seconds from GO to the end of the measurement, when the tool is bounded by time."""
        return None if self.runtime_s is None else self.startdelay_s + self.ramp_s + self.runtime_s


def at_once(steps: Iterable[Step]) -> Iterator[list[Step]]:
    """Yield steps in order, those that run at the same time in one list."""
    for number, group in groupby(steps, key=lambda step: step.together):
        found = list(group)
        yield from [found] if number else ([step] for step in found)


def span_s(steps: Iterable[Step]) -> float | None:
    """Return the seconds of load and pauses of steps; None when one is bounded by size."""
    total = 0.0
    for group in at_once(steps):
        spans = [step.expected_s for step in group]
        known = [span for span in spans if span is not None]
        if len(known) < len(spans):
            return None
        total += max(known) + max(step.pause_s for step in group)
    return total


class ProfileRef(Struct, omit_defaults=True):
    """Which profile a plan was made from, whole, so that the record is self-contained."""

    tag: str
    version: int
    title: str
    text: MultiLine  # the YAML as it was read
    sha256: str
    source: dict[str, str] = field(default_factory=dict)
    # parameters that differ from the profile's defaults
    changed: dict[str, str] = field(default_factory=dict)
    preset: bool = True
    # tags of the profiles that it changes, nearest first
    extends: list[str] = field(default_factory=list)
    bases: list[MultiLine] = field(default_factory=list)  # their YAML, same order


class LeftOut(Struct, frozen=True, omit_defaults=True):
    """Steps of a profile that are not run, and why: hosts lack what they need."""

    profile: str
    steps: int
    reason: str
    hosts: list[str]

    def text(self) -> str:
        """Return it for people: ``weka/mdtest, 1 step: mdtest is missing on h1, h2``."""
        steps = f"{self.steps} step{'' if self.steps == 1 else 's'}"
        return f"{self.profile}, {steps}: {self.reason} on {', '.join(self.hosts)}"


class CarriedProgram(Struct, frozen=True, omit_defaults=True):
    """A program of the user's own that hosts get for the time of the run. `machine`: as `uname -m`
    names it.

    `path` is on the jump host; `dynamic`: it needs libraries of the host.
    """

    name: str
    path: str
    sha256: str
    bytes: int
    machine: str
    dynamic: bool = False


def of_machine(programs: Iterable[CarriedProgram], machine: str) -> dict[str, CarriedProgram]:
    """Return the programs for a machine (`uname -m`), by name."""
    return {each.name: each for each in programs if each.machine == machine}


class SourceUse(Struct, frozen=True, omit_defaults=True):
    """What a source of hosts resolved to, and when (UTC). `how`: by which program or file.

    `left_s`: seconds from then until its hosts are taken away, as an allocation is; None: not
    known, or never.
    """

    spec: str
    hosts: tuple[str, ...]
    utc: str
    how: str = ""
    left_s: float | None = None


class Plan(Struct, omit_defaults=True):
    """The whole run."""

    profile: ProfileRef
    params: dict[str, str | int | float | bool]
    hosts: list[HostAddress]
    steps: list[Step]
    headline: Headline | None = None  # None: a suite, whose steps have headlines of their own
    latency_kind: Literal["clat", "lat"] = "clat"
    target: str | None = None
    cleanup: bool = False
    allow_device: bool = False
    lease_s: float = 60.0
    # they are looked at while the hosts generate load
    servers: list[HostAddress] = field(default_factory=list)
    # what hosts do is looked at once a second; plans of before telemetry had none
    telemetry: bool = False
    on_host_loss: Literal["continue", "stop"] = "continue"
    take_locks: bool = False  # run on hosts that another run has locked
    wait_s: float = 0.0  # how long to wait for hosts that another run has locked
    # devices, files, directories of files that somebody named to be overwritten
    destroy: tuple[str, ...] = ()
    drop_caches: Literal["no", "try", "require"] = "no"
    # names that a sweep varies, the slowest first; may hold "hosts"
    axes: list[str] = field(default_factory=list)
    until: Until | None = None
    members: list[ProfileRef] = field(default_factory=list)  # the profiles of a suite
    texts: dict[str, str] = field(default_factory=dict)  # the parameters as people write them
    remarks: list[str] = field(default_factory=list)  # what to know before it is run
    # steps that were asked for and are not in `steps`
    left_out: list[LeftOut] = field(default_factory=list)
    # programs that hosts get for the time of the run
    carried: list[CarriedProgram] = field(default_factory=list)
    # environment variables whose values are never written
    secrets: list[str] = field(default_factory=list)
    # the profile asks for preconditioning, and whoever launched the run did not want it
    no_precondition: bool = False
    # hosts by role of a suite, as the profile or the launch says
    roles: dict[str, str] = field(default_factory=dict)
    # every condition that the profile asks about
    attested: list[Attestation] = field(default_factory=list)
    # of checks, those that the profile changes
    thresholds: dict[str, float] = field(default_factory=dict)
    criteria: list[str] = field(default_factory=list)  # what must not be, by the profile's own word
    note: str | None = None
    tags: dict[str, str] = field(default_factory=dict)
    proves: Proof | None = None  # a counter-experiment: about which run, and what it is to show
    search: Search | None = None  # its steps are points that are decided while it runs
    # the directory: relative names in the SSH configuration and inventory are there
    launched_in: str | None = None
    # where its hosts are from, beside names that were typed
    sources: list[SourceUse] = field(default_factory=list)
    schema: str = PLAN_SCHEMA

    def __post_init__(self) -> None:
        self.thresholds = with_current_names(self.thresholds)

    @property
    def expected_s(self) -> float | None:
        """Seconds of load and pauses in all steps, without layout and fills.

        None when a step is bounded by size.
        """
        return span_s(step for step in self.steps if not step.is_fill)

    @property
    def slots(self) -> list[Step]:
        """The steps that a search measures its points in; none of other plans."""
        return [] if self.search is None else [step for step in self.steps if not step.warmup]

    @property
    def objects(self) -> list[ObjectSet]:
        """The objects that all steps use, in their order."""
        return [each for step in self.steps for task in step.tasks for each in task.objects]

    def headline_of(self, step: Step) -> Headline | None:
        """Return what a step is about."""
        return step.headline or self.headline

    def latency_kind_of(self, step: Step) -> Literal["clat", "lat"]:
        """Return which of fio's latencies a step shows."""
        return step.latency_kind or self.latency_kind

    def drop_caches_before(self, step: Step) -> Literal["no", "try", "require"]:
        """Return whether page caches are dropped before a step."""
        return step.drop_caches or self.drop_caches


# made once, on import: two threads that make the first one at once crash
_decoder = PlainDecoder[Plan](Plan)


def parse_plan(data: bytes) -> Plan:
    """Return the plan that stands in plan.json.

    Raises msgspec.DecodeError, and ValueError of damaged text.
    """
    plan = _decoder.decode(data)
    for place, step in enumerate(plan.steps):
        if step.index != place:  # steps are found by it
            raise ValueError(f"steps.{place}.index: found {step.index}, allowed is {place}")
    return plan


def written_devices(plan: Plan) -> list[str]:
    """Return the devices that the plan writes to, as far as their names say so, images of clusters,
    and stores.
    """
    tasks = [task for step in plan.steps for task in step.tasks]
    written = dict.fromkeys(spec.path for task in tasks for spec in task.written)
    beyond = dict.fromkeys(name for task in tasks for name in (*task.images, *task.stores_changed))
    return [*(path for path in written if is_device(path) and path not in HARMLESS), *beyond]
