"""Journals of sweeps and suites for tests of the screens: real fio's results with figures of their
own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import log2
from pathlib import Path

import msgspec

from tests.app.journal_maker import READS, RUN_ID, RunMaker, distributed, host_names, made_of
from tui.metrics.buckets import index_to_value
from tui.metrics.histogram import Histogram
from tui.model.event import (
    DirectionResult,
    HostProblem,
    HostResult,
    HostState,
    LatencyResult,
    PhaseEnded,
    PhaseName,
    PhaseStarted,
    RunEnded,
    RunStateName,
    Sample,
    StepEnded,
    StepStarted,
)
from tui.model.plan import Headline, Plan, Step
from tui.model.rundir import PLAN_FILE

BLOCKS = ("4k", "16k", "64k", "256k")
JOBS = ("1", "2", "4", "8", "16")
FIGURES = {  # thousands of IOPS over jobs, by block size
    "4k": (31.0, 62.0, 118.0, 201.0, 214.0),
    "16k": (27.0, 53.0, 96.0, 141.0, 146.0),
    "64k": (18.0, 34.0, 52.0, 55.0, 54.0),
    "256k": (8.1, 11.9, 12.3, 12.2, 12.4),
}
SIZES = {f"{2**n}k": 2 ** (n + 10) for n in range(12)}
BUCKETS_AN_OCTAVE = 64  # latencies double from one to the next
EIO = "read error: Input/output error (EIO)"
SUITE = (
    ("weka/read-throughput", Headline("bandwidth", "read")),
    ("weka/read-iops", Headline("iops", "read")),
    ("weka/read-latency", Headline("latency", "read")),
)


class MatrixMaker(RunMaker):
    """A run of many steps.

    `flight`: I/Os that a host keeps in flight, by step, from which latencies follow; without it
    they are those of the real result. `sizes`: bytes of an I/O, by step.
    """

    flight: Mapping[int, float] = {}
    sizes: Mapping[int, int] = {}

    def plan_matrix(self, steps: Sequence[Step], **changes: object) -> MatrixMaker:
        """Give the run these steps, numbered in order."""
        plan = msgspec.json.decode((self.run_dir / PLAN_FILE).read_bytes(), type=Plan)
        numbered = [msgspec.structs.replace(step, index=index) for index, step in enumerate(steps)]
        self.plan = msgspec.structs.replace(plan, steps=numbered, **changes)
        (self.run_dir / PLAN_FILE).write_bytes(msgspec.json.encode(self.plan))
        return self

    @property
    def first_step(self) -> Step:
        """The step that every other one is made of."""
        return msgspec.json.decode((self.run_dir / PLAN_FILE).read_bytes(), type=Plan).steps[0]

    def start_step(self, index: int, attempt: int = 1) -> MatrixMaker:
        """Begin to measure a step."""
        self.add(StepStarted(t=self.t + 1.0, step=index, attempt=attempt))
        self.at = index
        self.add(
            PhaseStarted(t=self.t + 0.5, phase="measure", step=index, expected_s=self.runtime_s)
        )
        self.add(*(HostState(t=self.t, host=host, state="running") for host in self.hosts))
        return self

    def _sample(self, host: str, t: float, phase: PhaseName, dirs: dict) -> Sample:  # type: ignore[type-arg]
        size = int(self.plan.steps[self.at].point.get("bs", 4096))
        sized = {
            name: msgspec.structs.replace(part, bytes=part.ios * size) if part.bytes else part
            for name, part in dirs.items()
        }
        return msgspec.structs.replace(super()._sample(host, t, phase, sized), step=self.at)

    def end_step(self, index: int, iops: float, *, broken: bool = False) -> MatrixMaker:
        """End a step with a result of each host, or with a problem."""
        self.t += self.runtime_s
        if broken:
            self.add(
                HostProblem(
                    t=self.t, host=self.hosts[0], phase="measure", code="fio-error", message=EIO
                )
            )
        else:
            self.add(
                *(self.step_result(host, index, iops / len(self.hosts)) for host in self.hosts)
            )
        self.add(PhaseEnded(t=self.t + 0.5, phase="measure", step=index))
        self.add(StepEnded(t=self.t, step=index, ok=not broken, reason=EIO if broken else ""))
        return self

    def finish(
        self, state: RunStateName = "complete", reason: str = "", broken: Sequence[str] = ()
    ) -> MatrixMaker:
        """Close the journal."""
        self.add(RunEnded(t=self.t + 1.0, state=state, exit_code=4 if broken else 0, reason=reason))
        return self

    def step_result(self, host: str, index: int, iops: float) -> HostResult:
        """Return the real result with another rate."""
        self.measured.clear()
        found = self.result(host)
        size = self.sizes.get(index, int(self.plan.steps[index].point.get("bs", 4096)))
        # no two hosts take the same time
        seconds = self.runtime_s + self.hosts.index(host) / 1_000_000
        ios = round(iops * seconds)
        read = made_of(found.dirs["read"], ios, ios * size, seconds)
        if index in self.flight:
            read = slowed(read, self.flight[index] / iops * 1e9)
        return msgspec.structs.replace(found, step=index, dirs={"read": read}, t=self.t)

    def skip(self, *indices: int) -> MatrixMaker:
        """Leave out steps that were not needed."""
        self.add(
            *(StepEnded(t=self.t, step=index, skipped=True, reason="steady") for index in indices)
        )
        return self

    def steps_done(self, figures: Mapping[int, float]) -> MatrixMaker:
        """Measure some steps whole."""
        for index, iops in figures.items():
            self.start_step(index).end_step(index, iops)
        return self


def slowed(figures: DirectionResult, mean_ns: float) -> DirectionResult:
    """Return figures with another mean latency, distributed as it was."""
    assert figures.clat is not None
    places = round(BUCKETS_AN_OCTAVE * log2(mean_ns / figures.clat.mean_ns))
    kinds = {kind: moved(getattr(figures, kind), places) for kind in ("slat", "clat", "lat")}
    return msgspec.structs.replace(figures, **kinds)


def moved(latency: LatencyResult | None, places: int) -> LatencyResult | None:
    """Return a latency whose I/Os are so many buckets higher."""
    if latency is None or latency.buckets is None:
        return latency
    counts = {
        at + places: count for at, count in Histogram.from_buckets(latency.buckets).items()
    }
    mean_ns = sum(index_to_value(at) * count for at, count in counts.items()) / latency.n
    return distributed(Histogram(counts), mean_ns, latency.percentiles_ns)


def maker_in(home: Path, tag: str, hosts: int = 2) -> MatrixMaker:
    """Return a run on some hosts that have been reached and checked."""
    return MatrixMaker(home / "runs" / RUN_ID, host_names(hosts), READS, runtime_s=20.0, tag=tag)


def sweep(
    home: Path, blocks: Sequence[str] = BLOCKS, jobs: Sequence[str] = JOBS, times: int = 1
) -> MatrixMaker:
    """Return a run over block sizes and jobs."""
    maker = maker_in(home, "lab/randread")
    steps = [
        msgspec.structs.replace(
            maker.first_step,
            name=f"lab/randread bs={bs} numjobs={n}",
            cell=f"lab/randread bs={bs} numjobs={n}",
            point={"bs": SIZES[bs], "numjobs": int(n)},
            repetition=repetition,
        )
        for bs in blocks
        for n in jobs
        for repetition in range(1, times + 1)
    ]
    maker.plan_matrix(steps, axes=["bs", "numjobs"]).begin()
    return maker


def line_sweep(home: Path) -> MatrixMaker:
    """Return a run over jobs alone."""
    maker = maker_in(home, "lab/randread")
    steps = [
        msgspec.structs.replace(
            maker.first_step,
            name=f"lab/randread numjobs={n}",
            cell=f"lab/randread numjobs={n}",
            point={"numjobs": int(n)},
        )
        for n in JOBS
    ]
    maker.plan_matrix(steps, axes=["numjobs"]).begin()
    return maker


def suite(home: Path) -> MatrixMaker:
    """Return a run of three profiles, each with a headline of its own."""
    maker = maker_in(home, "lab/all")
    steps = [
        msgspec.structs.replace(
            maker.first_step, name=tag, cell=tag, profile=tag, headline=headline
        )
        for tag, headline in SUITE
    ]
    maker.plan_matrix(steps, headline=None)
    title = msgspec.structs.replace(maker.plan.profile, title="Rates and latency of the lab")
    maker.plan_matrix(steps, headline=None, profile=title).begin()
    return maker


def figures_of(blocks: Sequence[str] = BLOCKS) -> list[float]:
    """Return the IOPS of a sweep in the order of its steps."""
    return [figure * 1000 for bs in blocks for figure in FIGURES[bs]]
