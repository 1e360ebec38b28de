"""A plan: everything that a run will do, computed in advance."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Literal

from msgspec import Struct, field

from tui.model.address import HostAddress
from tui.model.check_names import with_current_names
from tui.model.objects import REQUESTS, ObjectSet
from tui.model.operands import Clause
from tui.model.plain_data import MultiLine, PlainDecoder
from tui.model.roles import in_role
from tui.model.search import Proof, Search


class Provider(Struct, frozen=True, omit_defaults=True):
    """Provider of a load generator. Package and version are empty if unknown."""

    entry_point: str
    package: str = ""
    version: str = ""

    def text(self) -> str:
        """Return the provider as text: ``other 1.0, entry point other.workload:Other``."""
        package = f"{self.package} {self.version}".strip()
        return ", ".join(part for part in (package, f"entry point {self.entry_point}") if part)


class DirectoryIdentity(Struct, frozen=True):
    """Identity of a directory: path without symbolic links, and FILE-SYSTEM INODE STAMP as in
    tui/remote/sh/made.sh.
    """

    real: str
    mark: str


class Identities(Struct):
    """Identities of created files by path: INODE STAMP, or a checksum for numbered files.

    Also those of their parent directories, by path.
    """

    files: dict[str, str] = field(default_factory=dict)
    directories: dict[str, DirectoryIdentity] = field(default_factory=dict)

    def take(self, other: Identities) -> None:
        """Merge other identities; newer ones replace older ones."""
        self.files.update(other.files)
        self.directories.update(other.directories)

    def forget(self, paths: Iterable[str]) -> None:
        """Remove paths that no longer exist."""
        for path in paths:
            self.files.pop(path, None)


Answer = Literal["yes", "no", "unknown"]
PLAN_SCHEMA = "benchtui.plan/1"
OVERTIME_S = 60.0  # how long a host may exceed the plan before the engine ends its load


# in a path: any number from 0, so that one path stands for many files
FILE_NUMBER = "$filenum"


class FileSpec(Struct, frozen=True, omit_defaults=True):
    """One test file on a host: absolute path and full size in bytes.

    A path with FILE_NUMBER stands for `count` files of that size, numbered 0 <= n < `count`;
    `count` 0 means an unknown number. A device is not touched before `start_bytes`; None means that
    only the host can compute it.
    """

    path: str
    size_bytes: int
    count: int = 0
    start_bytes: int | None = 0

    @property
    def total_bytes(self) -> int:
        """Size of all its files in bytes."""
        return self.size_bytes * max(self.count, 1)


HARMLESS = ("/dev/null", "/dev/zero", "/dev/full")  # writing to these loses no data


def is_device(path: str) -> bool:
    """Return whether a path is a device: below /dev, but not in /dev/shm, which contains files."""
    return path.startswith("/dev/") and not path.startswith("/dev/shm/")


class Headline(Struct, frozen=True, omit_defaults=True):
    """The headline of a profile: its main figure."""

    metric: Literal["iops", "bandwidth", "latency", "ops", "score"]
    # read, write, trim, sync, mixed; of ops: create, stat, read, remove; of score: total, ...
    direction: str
    percentile: float | None = None


class Until(Struct, frozen=True):
    """Rule that ends repetitions: the 95 % confidence interval is within ±`width` of the mean."""

    width: float
    least: int
    most: int


class Precondition(Struct, frozen=True, omit_defaults=True):
    """Preconditioning done by a step: a fill of all files, `times` times, or round `number` of the
    load.

    At most `rounds` rounds run; rounds after the first steady window are skipped. A window of
    `window` rounds is steady if the largest and smallest figure differ by at most `range` of the
    mean, and the drift is at most `slope` of it.
    """

    kind: Literal["fill", "round"]
    times: int = 0
    number: int = 0
    rounds: int = 0
    window: int = 5
    range: float = 0.2
    slope: float = 0.1


class Attestation(Struct, frozen=True, omit_defaults=True):
    """A condition that only a person can confirm, with answer, author and time (UTC)."""

    id: str
    question: str
    answer: Answer = "unknown"
    by: str = ""
    utc: str = ""


class MpiLaunch(Struct, frozen=True, omit_defaults=True):
    """Launch of one MPI program over all hosts of a step, from its first host; preflight detects
    the MPI.

    `options` are passed to the program in addition to benchtui's. `stride`: "next-client", or a
    number of ranks.
    """

    directory: str  # of the file system under test; the run creates its own folder in it
    ranks_per_host: int
    items: int  # files per rank, or I/Os of `bytes_per_op` per rank
    iterations: int
    stride: str = "next-client"
    options: tuple[str, ...] = ()
    program: str = "mdtest"
    family: Literal["auto", "mpich", "openmpi"] = "auto"
    launcher: Literal["benchtui", "plain"] = "benchtui"
    addresses: str = "auto"
    env: dict[str, str] = field(default_factory=dict)
    bytes_per_op: int = 0  # moved by each operation; 0: the load is files only

    def ranks(self, hosts: int) -> int:
        """Return the number of ranks over this many hosts."""
        return self.ranks_per_host * hosts


class BlockShare(Struct, frozen=True, omit_defaults=True):
    """I/O sizes from `low` to `high` bytes, and their share of a job's I/Os; None if unknown."""

    low: int
    high: int
    share: float | None = None


class Skew(Struct, frozen=True, omit_defaults=True):
    """Non-uniform distribution of random I/O over blocks.

    `zones`: (share of the I/Os, share of the blocks), where 1 is all.
    """

    text: str  # in the load generator's syntax: "zipf:1.2"
    kind: Literal["zipf", "pareto", "normal", "zoned"]
    value: float = 0.0  # theta, h, deviation in per cent
    zones: tuple[tuple[float, float], ...] = ()


class JobLoad(Struct, frozen=True, omit_defaults=True):
    """Load of one job of a step on each host, in terms that suit all load generators, for checks.

    `held` are I/Os in flight on one host, workers x iodepth. Offered rates are also per host.
    """

    name: str
    # read, write, trim; not additional ones such as syncs
    directions: tuple[str, ...]
    workers: int = 1
    held: int = 1
    most_held: int = 0  # if the tool rounds a depth up; 0: `held`
    wave: int = 0  # jobs of one wave run together, waves one after the other
    bound_s: float | None = None  # seconds after which it ends; None: bounded by data
    queues: bool = False  # asynchronous: I/O is submitted, and completed later
    direct: bool = False
    # the engine uses no files of the host, and so none of its page cache
    fileless: bool = False
    # moves data to or from storage, unlike the null engine and file operations
    stores: bool = True
    # why none of its I/O reaches any storage: "ioengine=null"
    no_storage: str = ""
    # throttled by a rate, think time or another job: not always `held` in flight
    paced: bool = False
    # pause of a worker after each I/O, which then has one in flight; 0: none, or not so simple
    think_s: float = 0.0
    rate_iops: dict[str, float] = field(default_factory=dict)  # offered, by direction
    rate_bytes_per_s: dict[str, float] = field(default_factory=dict)
    random: bool = False
    random_share: float = 1.0  # of its I/Os, if random; the others follow or repeat the one before
    ordered_by: str = ""  # the options that make it less than 1: "rw=randread:16"
    # range of each I/O stream: a worker's part of a file; None: unknown
    range_bytes: int | None = None
    ranges: int = 0  # number of such streams per host
    sharing: int = 1  # workers whose streams cover the same range of the same file
    # by direction; without one, the distribution is uniform
    skew: dict[str, Skew] = field(default_factory=dict)
    each_once: bool = False  # every block is used once before any repeats
    same_offsets: bool = False  # same random offsets on every host and in every worker
    reducible: str = ""  # why an array may store less than is written: "zero_buffers=1"
    # durability during the load: "fdatasync=1"; empty: not before the end
    durable: str = ""
    synced_every: int = 0  # writes of a worker per sync; 0: none, or an older plan
    # durability at the end, within the runtime that fio divides by: "end_fsync=1"
    flushed: str = ""
    block_bytes: int | None = None  # of each I/O; None: mixed, or unknown
    # by direction, for mixed sizes
    blocks: dict[str, tuple[BlockShare, ...]] = field(default_factory=dict)
    poisson: bool = False  # arrivals of the offered rate are random
    # bytes of each worker after which it draws the same sizes and arrivals again; None: never
    redrawn_bytes: int | None = None
    same_draws: bool = False  # every host draws the same sizes and arrivals
    whole_blocks: bool = False  # no I/O is shorter than its block, not even at the end of a file
    # options without effect, as a text of the load generator; a plain text in older plans
    in_vain: Clause | str = ""
    # job file lines without effect with this engine: "iodepth=16"
    idle: tuple[str, ...] = ()
    objects: bool = False  # of a store, outside the host's page cache, file systems and devices
    reopens: bool = False  # has more files than it keeps open: opens and closes them between I/Os

    @property
    def at_most(self) -> int:
        """The largest number of I/Os in flight on one host."""
        return max(self.held, self.most_held)


class HostTask(Struct, omit_defaults=True):
    """Part of a step on one host: job file, command, files in use."""

    host: str
    randseed: int
    job_file: MultiLine
    argv: list[MultiLine]
    directories: list[str] = field(default_factory=list)
    files: list[FileSpec] = field(default_factory=list)
    layout: bool = False
    # upper bound of bytes the measurement overwrites or creates; None: unbounded
    writes_bytes: int | None = None
    # bytes that it reads, writes and trims until it ends; None: bounded by time, or unknown
    moves_bytes: int | None = None
    required_dir: str | None = None  # must exist and be writable before anything starts
    # paths that a writing task leaves unchanged
    only_read: list[str] = field(default_factory=list)
    # images of a storage cluster that are written to, bypassing the host's storage
    images: list[str] = field(default_factory=list)
    images_used: list[str] = field(default_factory=list)  # images that are read or written
    # objects of a store that are put, read or deleted
    objects: list[ObjectSet] = field(default_factory=list)
    # expected state of files, for jobs that only create, stat or remove
    expects: Literal["", "absent", "present"] = ""
    # created by the measurement itself, parents first
    makes_directories: list[str] = field(default_factory=list)
    # its own jobs, in imports whose hosts ran different ones; empty: those of the step
    jobs: list[JobLoad] = field(default_factory=list)

    @property
    def written(self) -> list[FileSpec]:
        """Files and devices that the measurement overwrites, not counting layout."""
        if self.writes_bytes == 0:
            return []
        spared = set(self.only_read)
        return [spec for spec in self.files if spec.path not in spared]

    @property
    def stores_changed(self) -> list[str]:
        """Stores in which the measurement overwrites or deletes objects, without duplicates."""
        return list(dict.fromkeys(each.store for each in self.objects if each.changes))


class Step(Struct, omit_defaults=True):
    """One measurement on all of its hosts at once; hosts without a task are idle.

    Steps with the same `cell` repeat one point of a matrix. `point`: swept values, including the
    number of hosts. None means the plan's value.
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
    jobs: list[JobLoad] = field(default_factory=list)  # of the first host; empty: unknown
    repetition: int = 1
    mpi: MpiLaunch | None = None  # one program over all hosts, instead of one on each
    profile: str = ""  # tag of its profile, for a member of a suite
    target: str = ""  # directory or device of such a member
    needs: list[str] = field(default_factory=list)  # profiles that must have succeeded before
    cell: str = ""
    point: dict[str, str | int | float | bool] = field(default_factory=dict)
    warmup: bool = False  # its result is not used
    precondition: Precondition | None = None  # such a step is a warm-up too
    pause_s: float = 0.0  # idle time before it
    attempt: int = 1  # the engine increments it when a resumed run repeats a step
    # a repetition that runs only while the headline is too uncertain
    optional: bool = False
    until: Until | None = None  # of a member of a suite
    headline: Headline | None = None
    latency_kind: Literal["clat", "lat"] | None = None
    drop_caches: Literal["no", "try", "require"] | None = None
    # options that benchtui adds to the profile's job, by name
    added_options: dict[str, str] = field(default_factory=dict)
    # who provides the load generator, if another package
    provider: Provider | None = None
    role: str = ""  # of the suite; its hosts run it
    beside: list[str] = field(default_factory=list)  # roles of the steps that run at the same time
    # steps with the same non-zero number run at the same time on different hosts
    together: int = 0

    @property
    def cell_key(self) -> str:
        """Key of the measured point, equal for its repetitions and warm-up."""
        return self.cell or self.name

    @property
    def requests(self) -> dict[str, str]:
        """Names of the requests of a store, by direction; empty for files and devices."""
        if not self.tasks or not all(task.objects for task in self.tasks):
            return {}
        return {name: REQUESTS[name] for name in self.directions if name in REQUESTS}

    @property
    def does(self) -> str:
        """Directions, or the requests of a store, as text: ``read/write``, ``PUT``."""
        return "/".join(self.requests.get(name, name) for name in self.directions)

    @property
    def part(self) -> str:
        """The suite member that the step belongs to: profile and role; empty without a suite."""
        return in_role(self.profile, self.role, self.beside)

    @property
    def is_fill(self) -> bool:
        """Whether the step only fills its files."""
        return self.precondition is not None and self.precondition.kind == "fill"

    @property
    def is_round(self) -> bool:
        """Whether the step is a preconditioning round."""
        return self.precondition is not None and self.precondition.kind == "round"

    @property
    def jobs_by_host(self) -> dict[str, list[JobLoad]]:
        """The jobs that each host runs."""
        return {task.host: task.jobs or self.jobs for task in self.tasks}

    @property
    def hosts(self) -> list[str]:
        """Names of the step's hosts."""
        return [task.host for task in self.tasks]

    @property
    def bound_bytes(self) -> int | None:
        """Maximum number of bytes the step moves; None if it is bounded by time, or unknown."""
        moved = [task.moves_bytes for task in self.tasks]
        known = [each for each in moved if each is not None]
        return sum(known) or None if len(known) == len(moved) else None

    @property
    def expected_s(self) -> float | None:
        """Seconds from the release of the load to the end of the measurement; None if the step is
        not bounded by time.
        """
        return None if self.runtime_s is None else self.startdelay_s + self.ramp_s + self.runtime_s


def at_once(steps: Iterable[Step]) -> Iterator[list[Step]]:
    """Yield the steps in order, in groups that run at the same time."""
    for number, group in groupby(steps, key=lambda step: step.together):
        found = list(group)
        yield from [found] if number else ([step] for step in found)


def span_s(steps: Iterable[Step]) -> float | None:
    """Return the seconds of load and pauses of these steps; None if a step is bounded by size."""
    total = 0.0
    for group in at_once(steps):
        spans = [step.expected_s for step in group]
        known = [span for span in spans if span is not None]
        if len(known) < len(spans):
            return None
        total += max(known) + max(step.pause_s for step in group)
    return total


class ProfileRef(Struct, omit_defaults=True):
    """Complete profile of a plan, so that the record is self-contained."""

    tag: str
    version: int
    title: str
    text: MultiLine  # the YAML as it was read
    sha256: str
    source: dict[str, str] = field(default_factory=dict)
    # parameters changed from the profile's defaults
    changed: dict[str, str] = field(default_factory=dict)
    preset: bool = True
    # tags of the profiles it extends, nearest first
    extends: list[str] = field(default_factory=list)
    bases: list[MultiLine] = field(default_factory=list)  # their YAML, same order


class LeftOut(Struct, frozen=True, omit_defaults=True):
    """Steps of a profile that are not run because a load generator is missing on hosts."""

    profile: str
    steps: int
    reason: str = ""  # in older plans
    hosts: list[str] = field(default_factory=list)
    missing: str = ""  # load generator

    def text(self) -> str:
        """Return the omission as text: ``weka/mdtest, 1 step: mdtest is missing on h1, h2``."""
        steps = f"{self.steps} step{'' if self.steps == 1 else 's'}"
        why = self.reason or f"{self.missing} is missing"
        return f"{self.profile}, {steps}: {why} on {', '.join(self.hosts)}"


class CarriedProgram(Struct, frozen=True, omit_defaults=True):
    """A user's program that is copied to hosts for the run. `machine`: as printed by `uname -m`.

    `path` is on the jump host. `dynamic`: it needs shared libraries of the host.
    """

    name: str
    path: str
    sha256: str
    bytes: int
    machine: str
    dynamic: bool = False


def of_machine(programs: Iterable[CarriedProgram], machine: str) -> dict[str, CarriedProgram]:
    """Return the programs for one architecture (`uname -m`), by name."""
    return {each.name: each for each in programs if each.machine == machine}


class SourceUse(Struct, frozen=True, omit_defaults=True):
    """Hosts that a source resolved to, and the time (UTC). `how`: the program or file queried.

    `left_s`: seconds from the query to the end of the allocation; None if unknown, or without a
    limit.
    """

    spec: str
    hosts: tuple[str, ...]
    utc: str
    how: str = ""
    left_s: float | None = None


class Plan(Struct, omit_defaults=True):
    """Complete plan of a run."""

    profile: ProfileRef
    params: dict[str, str | int | float | bool]
    hosts: list[HostAddress]
    steps: list[Step]
    headline: Headline | None = None  # None: a suite, with a headline per step
    latency_kind: Literal["clat", "lat"] = "clat"
    target: str | None = None
    cleanup: bool = False
    allow_device: bool = False
    lease_s: float = 60.0
    # monitored while the hosts generate load
    servers: list[HostAddress] = field(default_factory=list)
    # whether hosts are monitored; plans from before telemetry had none
    telemetry: bool = False
    on_host_loss: Literal["continue", "stop"] = "continue"
    take_locks: bool = False  # run on hosts that are locked by another run
    wait_s: float = 0.0  # how long to wait for locked hosts
    # devices, files, directories of files that the user confirmed to overwrite
    destroy: tuple[str, ...] = ()
    drop_caches: Literal["no", "try", "require"] = "no"
    # swept names, the slowest first; may contain "hosts"
    axes: list[str] = field(default_factory=list)
    until: Until | None = None
    members: list[ProfileRef] = field(default_factory=list)  # the profiles of a suite
    texts: dict[str, str] = field(default_factory=dict)  # the parameters as people write them
    # worth knowing before it runs; texts in older plans
    caveats: list[Clause | str] = field(default_factory=list, name="remarks")
    # requested steps that are not in `steps`
    left_out: list[LeftOut] = field(default_factory=list)
    # programs copied to hosts for the run
    carried: list[CarriedProgram] = field(default_factory=list)
    # environment variables with secret values
    secrets: list[str] = field(default_factory=list)
    # the profile asks for preconditioning, but the launch skipped it
    no_precondition: bool = False
    # hosts by role of a suite, from the profile or the launch
    roles: dict[str, str] = field(default_factory=dict)
    # every condition that the profile asks about
    attested: list[Attestation] = field(default_factory=list)
    # of checks, changed by the profile
    thresholds: dict[str, float] = field(default_factory=dict)
    criteria: list[str] = field(
        default_factory=list
    )  # conditions that must not be true, from the profile
    note: str | None = None
    tags: dict[str, str] = field(default_factory=dict)
    proves: Proof | None = None  # of a counter-experiment: the run it is about, and what it tests
    search: Search | None = None  # its steps are points that are decided during the run
    # base directory of relative names in the SSH configuration and inventory
    launched_in: str | None = None
    # sources of hosts, besides typed names
    sources: list[SourceUse] = field(default_factory=list)
    schema: str = PLAN_SCHEMA

    def __post_init__(self) -> None:
        self.thresholds = with_current_names(self.thresholds)

    @property
    def expected_s(self) -> float | None:
        """Seconds of load and pauses in all steps, without layout and fills; None if a step is
        bounded by size.
        """
        return span_s(step for step in self.steps if not step.is_fill)

    @property
    def slots(self) -> list[Step]:
        """Steps in which a search measures its points; empty if the run is not a search."""
        return [] if self.search is None else [step for step in self.steps if not step.warmup]

    @property
    def objects(self) -> list[ObjectSet]:
        """Objects that the steps use, in order."""
        return [each for step in self.steps for task in step.tasks for each in task.objects]

    def headline_of(self, step: Step) -> Headline | None:
        """Return a step's headline, or the plan's if the step has none; None if neither has one."""
        return step.headline or self.headline

    def latency_kind_of(self, step: Step) -> Literal["clat", "lat"]:
        """Return which latency a step reports: its own setting, else the plan's."""
        return step.latency_kind or self.latency_kind

    def drop_caches_before(self, step: Step) -> Literal["no", "try", "require"]:
        """Return whether page caches are dropped before a step, and whether failure to do so ends
        the run.
        """
        return step.drop_caches or self.drop_caches


# at import time: concurrent first use from two threads crashes
_decoder = PlainDecoder[Plan](Plan)


def parse_plan(data: bytes) -> Plan:
    """Parse plan.json. Raises the exceptions in `NO_JSON`, also if steps are not in order."""
    plan = _decoder.decode(data)
    for place, step in enumerate(plan.steps):
        if step.index != place:  # steps are looked up by it
            raise ValueError(f"steps.{place}.index: found {step.index}, allowed: {place}")
    return plan


def written_devices(plan: Plan) -> list[str]:
    """Return the names of devices, images and stores that the plan writes to."""
    tasks = [task for step in plan.steps for task in step.tasks]
    written = dict.fromkeys(spec.path for task in tasks for spec in task.written)
    beyond = dict.fromkeys(name for task in tasks for name in (*task.images, *task.stores_changed))
    return [*(path for path in written if is_device(path) and path not in HARMLESS), *beyond]
