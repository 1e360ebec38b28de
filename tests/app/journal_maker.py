"""Runs on disk for tests of the screens: journals of several hosts, made from what a real fio
printed.
"""

from __future__ import annotations

import datetime
import gzip
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import accumulate, pairwise
from math import log2
from pathlib import Path

import msgspec

from tui.metrics.buckets import index_to_value
from tui.metrics.histogram import Histogram
from tui.model.address import HostAddress
from tui.model.dense import as_kept, listed
from tui.model.event import (
    AnyEvent,
    DirectionResult,
    DirectionSample,
    FileCreated,
    HostFactsCollected,
    HostProblem,
    HostResult,
    HostState,
    HostStateName,
    LatencyResult,
    Message,
    PhaseEnded,
    PhaseName,
    PhaseStarted,
    RunEnded,
    RunStarted,
    RunStateName,
    Sample,
    TaskEnded,
    TaskStarted,
    TelemetryColumns,
    TelemetrySample,
    encode,
)
from tui.model.paths import presets_dir
from tui.model.plan import FileSpec, Headline, HostTask, Plan, ProfileRef, Step
from tui.model.rundir import PLAN_FILE
from tui.workloads.fio.plan import ARGV
from tui.workloads.fio.results import Meter, host_result
from tui.workloads.fio.snapshot import JsonSplitter, Snapshot, decode

DATA = Path(__file__).parents[1] / "data" / "fio" / "stream"
MIX = DATA / "mix-3.33.stdout.gz"
SYNCS = DATA / "fdatasync-3.33.stdout.gz"
TWO_JOBS = DATA / "two-jobs-3.33.stdout.gz"
READS = DATA / "basic-randread-2jobs-3.33.stdout.gz"
SYNCED_WRITES = DATA / "libaio-fsync-3.33.stdout.gz"
UTC = "2026-11-20T10:15:30.000000Z"
RUN_ID = "20261120T101530Z-weka-read-iops-7f3a"
FACTS: dict[str, str | int | float | bool | None] = {
    "kernel": "Linux 6.1.0-23-amd64",
    "cpus": 64,
    "fio_version": "fio-3.33",
    "target_free_bytes": 3 << 40,
    "target_fstype": "wekafs",
}


@lru_cache
def snapshots(stream: Path) -> tuple[Snapshot, ...]:
    """Return the objects of a fio status stream."""
    framer = JsonSplitter()
    data = stream.read_bytes()
    pieces = [
        *framer.feed(gzip.decompress(data) if stream.suffix == ".gz" else data),
        *framer.close(),
    ]
    return tuple(decode(piece) for piece in pieces if isinstance(piece, bytes))


@lru_cache
def real_samples(stream: Path, phase: PhaseName = "measure") -> tuple[Sample, ...]:
    """Return the samples of a fio status stream."""
    meter = Meter("host", 0, phase)
    found = [meter.feed(each) for each in snapshots(stream)]
    return tuple(sample for sample in [*found, meter.flush()] if sample is not None)


JOB_FILE = """\
[global]
ioengine=posixaio
iodepth=1
time_based=1
runtime={runtime:g}s
startdelay=5
exitall_on_error=1
group_reporting=1
create_serialize=0
clocksource=gettimeofday
disk_util=0
directory=/mnt/weka/fio/{host}
; added by benchtui
lat_percentiles=1
percentile_list=1:5:10:25:50:75:90:95:99:99.5:99.9:99.95:99.99
randrepeat=0
randseed={seed}

[read_iops]
rw=randread
bs=4k
direct=1
new_group=1
numjobs=192
filesize=4G
filename_format=$jobnum/$filenum/iops.$jobnum.$filenum
"""


def preset_text(tag: str) -> str:
    """Return the text of a preset; of other profiles, only the tag."""
    path = presets_dir() / f"{tag}.yaml"
    return path.read_text() if path.is_file() else f"profile: {tag}\n"


def plan_of(
    hosts: Sequence[str],
    directions: Sequence[str],
    runtime_s: float,
    tag: str = "weka/read-iops",
    headline: Headline | None = None,
) -> Plan:
    """Return the plan that such a run would have had; by default its headline is IOPS."""
    tasks = [
        HostTask(
            host=name,
            randseed=index + 1,
            job_file=JOB_FILE.format(runtime=runtime_s, host=name, seed=index + 1),
            argv=[*ARGV, "job.fio"],
            files=[FileSpec(f"/mnt/weka/fio/read_iops.{name}.0", 4 << 30)],
        )
        for index, name in enumerate(hosts)
    ]
    step = Step(
        index=0,
        name="read_iops",
        tool="fio",
        params={"runtime": runtime_s, "size": 4 << 30},
        tasks=tasks,
        runtime_s=runtime_s,
        directions=list(directions),
        in_flight=192 * len(hosts),
    )
    profile = ProfileRef(
        tag=tag,
        version=1,
        title="WEKA read IOPS",
        text=preset_text(tag),
        sha256="0" * 64,
        changed={"runtime": f"{runtime_s:g}s"},
    )
    direction = next(name for name in ("read", "sync", "write") if name in directions)
    return Plan(
        profile=profile,
        params={"runtime": runtime_s, "size": 4 << 30, "directory": "/mnt/weka/fio"},
        hosts=[HostAddress(name) for name in hosts],
        steps=[step],
        headline=headline or Headline("iops", direction),
        target="/mnt/weka/fio",
    )


def paced(dirs: dict[str, DirectionSample], factor: float) -> dict[str, DirectionSample]:
    """Return the I/Os of a host at another pace and the same depth: fewer are longer."""
    if factor == 1.0:
        return dirs
    later = round(-64 * log2(factor))  # buckets: 64 each time the latency doubles
    return {name: fewer(part, factor, later) for name, part in dirs.items()}


def fewer(part: DirectionSample, factor: float, later: int) -> DirectionSample:
    """Return a share of these I/Os, each so many buckets later.

    The latency that they add up to is theirs.
    """
    reached = [round(count * factor) for count in accumulate(listed(part.lat).n, initial=0)]
    counts = {
        at + later: end - begin
        for at, (begin, end) in zip(listed(part.lat).idx, pairwise(reached), strict=True)
    }
    found = Histogram(counts).buckets
    values = [index_to_value(at) for at in found.idx]
    ios = sum(found.n)
    return msgspec.structs.replace(
        part,
        ios=ios,
        bytes=round(part.bytes * ios / max(1, part.ios)),
        lat_sum_ns=sum(value * count for value, count in zip(values, found.n, strict=True)),
        lat_max_ns=round(part.lat_max_ns / factor),
        lat=found,
    )


@dataclass
class RunMaker:
    """Writes the journal of one run, event by event, as the engine would."""

    run_dir: Path
    hosts: Sequence[str]
    stream: Path = MIX
    runtime_s: float = 60.0
    tag: str = "weka/read-iops"
    utc: str = UTC
    headline: Headline | None = None
    t: float = 0.0
    lines: list[bytes] = field(default_factory=list)
    at = 0  # step that goes on
    together: bool = False  # all hosts do the same in a second, but for their pace
    # of hosts that do less than the others, or more
    pace: dict[str, float] = field(default_factory=dict)
    # what hosts say of themselves
    looked_at: dict[str, Mapping[str, float | None]] = field(default_factory=dict)
    # by host and direction
    measured: dict[tuple[str, str], list[DirectionSample]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.run_dir.mkdir(parents=True, exist_ok=True)
        plan = plan_of(
            self.hosts,
            list(real_samples(self.stream)[-1].dirs),
            self.runtime_s,
            self.tag,
            self.headline,
        )
        (self.run_dir / PLAN_FILE).write_bytes(msgspec.json.encode(plan))
        self.journal = self.run_dir / "journal.jsonl"
        self.journal.touch()

    @property
    def now(self) -> float:
        """The wall clock at the last event."""
        return self.epoch + self.t

    @property
    def epoch(self) -> float:
        """When the run began, seconds since 1970."""
        return datetime.datetime.fromisoformat(self.utc).timestamp()

    def add(self, *events: AnyEvent) -> RunMaker:
        """Append events at their own times."""
        with self.journal.open("ab") as file:
            file.write(b"".join(encode(as_kept(event)) for event in events))
        self.t = max([self.t, *(event.t for event in events)])
        return self

    def begin(self) -> RunMaker:
        """Connect and check all hosts."""
        return self.connect().add(PhaseEnded(t=1.5, phase="preflight"))

    def connect(self) -> RunMaker:
        """Connect to all hosts, and begin the preflight."""
        start = RunStarted(
            t=0.0,
            run_id=self.run_dir.name,
            utc=self.utc,
            benchtui_version="0.1.0",
            profile=self.tag,
            hosts=list(self.hosts),
        )
        self.add(start, PhaseStarted(t=0.01, phase="connect"))
        for index, host in enumerate(self.hosts):
            self.add(HostState(t=0.02, host=host, state="connecting"))
            self.add(HostState(t=0.3 + index / 100, host=host, state="connected"))
        self.add(PhaseEnded(t=1.0, phase="connect"), PhaseStarted(t=1.0, phase="preflight"))
        for host in self.hosts:
            facts = HostFactsCollected(t=1.2, host=host, facts=dict(FACTS))
            self.add(facts, HostState(t=1.4, host=host, state="ready"))
        return self

    def layout(self, seconds: int = 4, of_seconds: int = 8, rate: int = 200 << 20) -> RunMaker:
        """Write test files for some seconds of the time it takes; `rate`: of each host."""
        total = rate * of_seconds * len(self.hosts)
        self.add(PhaseStarted(t=self.t, phase="layout", step=0, total_bytes=total))
        for host in self.hosts:
            created = FileCreated(
                t=self.t, host=host, paths=[f"/mnt/weka/fio/read_iops.{host}.0"], bytes=4 << 30
            )
            self.add(created, HostState(t=self.t, host=host, state="layout"))
        writes = next(each.dirs["write"] for each in real_samples(MIX) if "write" in each.dirs)
        start = self.t
        for second in range(1, seconds + 1):
            for host in self.hosts:
                part = msgspec.structs.replace(writes, ios=200, bytes=rate)
                self.add(self._sample(host, start + second, "layout", {"write": part}))
        if seconds >= of_seconds:
            self.add(PhaseEnded(t=self.t, phase="layout", step=0))
        return self

    def go(self) -> RunMaker:
        """Pass the barrier and begin to measure."""
        self.add(PhaseStarted(t=self.t, phase="barrier", step=0))
        for host in self.hosts:
            job = TaskStarted(
                t=self.t,
                host=host,
                step=0,
                phase="measure",
                argv=[*ARGV, "job.fio"],
                job_file="job.fio",
                remote_dir="/tmp",
            )
            self.add(job, HostState(t=self.t, host=host, state="armed"))
        self.add(PhaseEnded(t=self.t + 0.5, phase="barrier", step=0))
        self.add(PhaseStarted(t=self.t, phase="measure", step=0, expected_s=self.runtime_s))
        return self.add(*(HostState(t=self.t, host=host, state="running") for host in self.hosts))

    def measure(self, seconds: int, silent: Sequence[str] = ()) -> RunMaker:
        """Have every host but the silent ones report once a second.

        Each begins elsewhere in the real stream.
        """
        real = real_samples(self.stream)
        if self.together:
            real = real[1:-1]  # whole seconds
        start = self.t
        for second in range(seconds):
            events = []
            for index, host in enumerate(self.hosts):
                if host not in silent:
                    source = real[(second + (0 if self.together else index)) % len(real)]
                    dirs = paced(source.dirs, self.pace.get(host, 1.0))
                    for name, part in dirs.items():
                        self.measured.setdefault((host, name), []).append(part)
                    sample = self._sample(host, start + second + 1, "measure", dirs)
                    events.append(msgspec.structs.replace(sample, jobs=source.jobs))
            self.add(
                *events, *(self.telemetry(host, start + second + 1) for host in self.looked_at)
            )
        return self

    def look_at(
        self,
        host: str,
        columns: Mapping[str, float | None],
        *,
        server: bool = False,
        top: str = "nvme0n1",
    ) -> RunMaker:
        """From here on a host says this of itself every second, or something else than before."""
        self.looked_at[host] = columns
        step = self.step_of(host)
        head = TelemetryColumns(t=self.t, host=host, step=step, columns=list(columns))
        head.role, head.devices = ("server", {}) if server else ("client", {top: "top"})
        return self.add(head)

    def telemetry(self, host: str, t: float) -> TelemetrySample:
        """Return what a host says of the second that ends at `t`."""
        millis = round((self.epoch + t) * 1000)
        step, values = self.step_of(host), list(self.looked_at[host].values())
        return TelemetrySample(
            t=t, host=host, step=step, host_time_ms=millis, interval_s=1.0, values=values
        )

    def step_of(self, _: str) -> int:
        """Return the step that a host takes part in: all hosts in the same."""
        return self.at

    def _sample(self, host: str, t: float, phase: PhaseName, dirs: dict) -> Sample:  # type: ignore[type-arg]
        millis = round((self.epoch + t) * 1000)
        return Sample(
            t=t, host=host, step=0, phase=phase, host_time_ms=millis, interval_s=1.0, dirs=dirs
        )

    def end_loads(self, *hosts: str, exit_code: int = 0) -> RunMaker:
        """The load of these hosts ends; the others go on."""
        return self.add(*(self._end(host, exit_code) for host in hosts))

    def _end(self, host: str, exit_code: int = 0) -> TaskEnded:
        return TaskEnded(t=self.t, host=host, step=0, phase="measure", exit_code=exit_code,
            reason="exit",
                         stdout_bytes=1, stderr_bytes=0)  # fmt: skip

    def fail(self, host: str, code: str, message: str) -> RunMaker:
        """One host breaks."""
        problem = HostProblem(t=self.t, host=host, phase="measure", code=code, message=message)
        state: HostStateName = "lost" if code == "host-lost" else "failed"
        return self.add(problem, HostState(t=self.t, host=host, state=state, detail=message))

    def say(self, text: str, severity: str = "info", host: str | None = None) -> RunMaker:
        """One message."""
        return self.add(Message(t=self.t, severity=severity, text=text, host=host))  # type: ignore[arg-type]

    def result(self, host: str, *, final: bool = True) -> HostResult:
        """Return the result of the real stream as this host's: as many I/Os in as many seconds as
        it reported.
        """
        found = host_result(snapshots(self.stream)[-1], host, 0, final=final)
        dirs = {name: self.reported(host, name, figures) for name, figures in found.dirs.items()}
        return msgspec.structs.replace(found, t=self.t, dirs=dirs)

    def reported(self, host: str, name: str, figures: DirectionResult) -> DirectionResult:
        """Return a direction's figures with the I/Os and seconds of this host's samples.

        As they are without any.
        """
        parts = self.measured.get((host, name), [])
        seconds = len(parts) + self.hosts.index(host) / 1_000_000  # no two hosts take the same time
        ios = sum(part.ios for part in parts)
        if not ios:
            return figures
        made = made_of(figures, ios, sum(part.bytes for part in parts), seconds)
        kind = "clat" if made.clat is not None else "lat"
        return msgspec.structs.replace(made, **{kind: measured_latency(parts, getattr(made, kind))})

    def finish(
        self, state: RunStateName = "complete", reason: str = "", broken: Sequence[str] = ()
    ) -> RunMaker:
        """Collect the results and close the journal."""
        self.add(
            PhaseEnded(t=self.t + 0.2, phase="measure", step=0),
            PhaseStarted(t=self.t, phase="collect", step=0),
        )
        for host in self.hosts:
            if host in broken:
                continue
            self.add(
                self._end(host), self.result(host), HostState(t=self.t, host=host, state="done")
            )
        self.add(PhaseEnded(t=self.t + 0.3, phase="collect", step=0))
        exit_code = 0 if state == "complete" else 4
        return self.add(RunEnded(t=self.t, state=state, exit_code=exit_code, reason=reason))


def made_of(figures: DirectionResult, ios: int, size: int, seconds: float) -> DirectionResult:
    """Return figures of so many I/Os and bytes in so many seconds, with latencies distributed as
    they were.
    """
    kinds = {kind: latency_of(getattr(figures, kind), ios) for kind in ("slat", "clat", "lat")}
    return msgspec.structs.replace(
        figures,
        ios=ios,
        bytes=size,
        runtime_s=seconds,
        iops=ios / seconds,
        bw_bytes_per_s=size / seconds,
        **kinds,
    )


def measured_latency(parts: Sequence[DirectionSample], latency: LatencyResult) -> LatencyResult:
    """Return the latency of these samples, as Live adds them up.

    The percentiles are those that `latency` has.
    """
    found = Histogram()
    for part in parts:
        found.add(listed(part.lat))
    return distributed(
        found, sum(part.lat_sum_ns for part in parts) / found.total, latency.percentiles_ns
    )


def latency_of(latency: LatencyResult | None, ios: int) -> LatencyResult | None:
    """Return a latency of so many I/Os, distributed as it was.

    The fullest bucket takes what rounding leaves.
    """
    if latency is None or latency.buckets is None or not latency.n:
        return latency
    counts = {
        at: round(count * ios / latency.n)
        for at, count in Histogram.from_buckets(latency.buckets).items()
    }
    counts[max(counts, key=lambda at: counts[at])] += ios - sum(counts.values())
    found = Histogram({at: count for at, count in counts.items() if count})
    mean = sum(index_to_value(at) * count for at, count in found.items()) / ios
    return distributed(found, mean, latency.percentiles_ns)


def distributed(found: Histogram, mean_ns: float, percentiles: Iterable[str]) -> LatencyResult:
    """Return a latency of this distribution.

    Minimum and maximum are in the middle of their buckets.
    """
    values = [(index_to_value(at), count) for at, count in found.items() if count]
    deviation = (
        sum(count * (value - mean_ns) ** 2 for value, count in values) / found.total
    ) ** 0.5
    shares = [float(name) for name in percentiles]
    return LatencyResult(
        n=found.total,
        min_ns=values[0][0],
        max_ns=values[-1][0],
        mean_ns=mean_ns,
        stddev_ns=deviation,
        percentiles_ns=found.percentiles(shares),
        buckets=found.buckets,
    )


def host_names(count: int) -> list[str]:
    """Return weka-01, weka-02, ..."""
    return [f"weka-{number:02}" for number in range(1, count + 1)]


def make_run(home: Path, day: int, tag: str, hosts: int = 2) -> RunMaker:
    """Return a run of a day of November 2026 that has measured for five seconds."""
    run_id = f"202611{day:02}T101530Z-{tag.replace('/', '-')}-00{day:02}"
    utc = f"2026-11-{day:02}T10:15:30.000000Z"
    maker = RunMaker(home / "runs" / run_id, host_names(hosts), READS, tag=tag, utc=utc)
    maker.begin().go().measure(5)
    return maker
