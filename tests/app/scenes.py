"""Scenes for pictures of the screens: a run as it stands at one moment, on a clock that stands
still.

Not a test: ``python -m tests.app.scenes SCENE [--hosts 64] [--theme dark] [--replay 1]``. Scenes:
plain (all well), lag (one host at a quarter), stall (all hosts stand still for some seconds), lost
(one host is gone), troubled (all of that, and a silent host).
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from tests.app.journal_maker import (
    MIX,
    READS,
    RUN_ID,
    UTC,
    RunMaker,
    host_names,
    paced,
    real_samples,
)
from tests.app.stage import Stage
from tui.metrics.buckets import index_to_value
from tui.metrics.histogram import Histogram
from tui.model.dense import listed
from tui.model.event import (
    DirectionResult,
    DirectionSample,
    HostClock,
    HostFactsCollected,
    HostResult,
    HostState,
    PhaseName,
    Sample,
    TaskEnded,
    TelemetrySample,
)
from tui.model.hostfacts import Fact
from tui.model.operands import clause
from tui.model.plan import Headline

SCENES = ("plain", "lag", "stall", "lost", "troubled")
SEED = 7
# of the rate of all hosts from second to second; of a host in a second
MEMORY, DRIFT, APART = 0.8, 0.012, 0.006
AT_REST, STANDING = 1.0, 0.03
LEASE_S, SILENT_S = 30, 8
RARE, NEAR = 3, 48  # I/Os in a bucket; buckets
RUNTIME_S = 180
BLOCK = 4096
BUSY = {
    "cpu.busy": 34.0,
    "core.busy": 61.0,
    "core.softirq": 5.0,
    "core.number": 3.0,
    "gen.cpu": 110.0,
}
BUSY |= {"gen.thread": 55.0, "gen.procs": 3.0, "nic.eth0.rx": 1.03e8, "nic.eth0.tx": 4.1e6}
CPUS = 8  # of a client, a third of them busy, as fio and the network have it
NIC: dict[str, str | int | float | bool | None] = {
    "name": "eth0",
    "kind": "physical",
    "state": "up",
    "mtu": 9000,
}
NIC |= {"speed_mbit": 100_000, "driver": "mlx5_core"}
COUNTED = ("gen.procs", "core.number")  # the same on all hosts and in all seconds
WITH_THE_LOAD = ("nic.", "gen.cpu", "cpu.busy")
IDLE_LINK = 1e6  # bytes/s: less is not of the load
CLOCK_ERROR_S, CLOCK_STEP_MS, CLOCK_SPAN_MS = 0.0004, 3, 7
OVERHEAD, ANSWERS = 1.04, 0.03  # of the bytes moved: headers; answers the other way


@dataclass
class Scene(RunMaker):
    """A run whose hosts drift together from second to second, and whose results are what its
    seconds add up to.
    """

    drift: float = 0.0
    slowed: float = AT_REST  # all hosts at once
    larger: int = 1  # how many blocks of 4 KiB an I/O has, as the job file says
    moved: dict[str, tuple[int, int]] = field(default_factory=dict)  # by host: bytes in and out

    def __post_init__(self) -> None:
        super().__post_init__()
        self.chance, self.tails = random.Random(SEED), random.Random(SEED)
        real = real_samples(self.stream)[1:-1]  # whole seconds
        self.usual = sum(each.ios for sample in real for each in sample.dirs.values()) / len(real)

    def begin(self) -> RunMaker:
        """Connect, compare the clocks, which are some milliseconds apart, and check all hosts."""
        super().begin()
        return self.add(*(self._clock(host) for host in self.hosts))

    def _clock(self, host: str) -> HostClock:
        return HostClock(
            t=self.t,
            host=host,
            offset_s=self.ahead_ms(host) / 1000,
            uncertainty_s=CLOCK_ERROR_S,
            rtt_s=2 * CLOCK_ERROR_S,
            run_zero_ms=self.epoch * 1000,
        )

    def ahead_ms(self, host: str) -> int:
        """Return how far a host's clock is ahead of the jump host's."""
        return self.hosts.index(host) * CLOCK_STEP_MS % CLOCK_SPAN_MS - CLOCK_SPAN_MS // 2

    def _sample(
        self, host: str, t: float, phase: PhaseName, dirs: dict[str, DirectionSample]
    ) -> Sample:
        found = super()._sample(host, t, phase, dirs)
        return msgspec.structs.replace(found, host_time_ms=found.host_time_ms + self.ahead_ms(host))

    def measure(self, seconds: int, silent: Sequence[str] = ()) -> Scene:
        """Have every host but the silent ones report once a second."""
        start, real = self.t, real_samples(self.stream)[1:-1]
        for second in range(1, seconds + 1):
            self.drift = MEMORY * self.drift + self.chance.gauss(0, DRIFT)
            events: list[Sample | TelemetrySample] = []
            for host in self.hosts:
                source = self.chance.choice(real)
                rate = self.usual * self.slowed * self.pace.get(host, 1.0) * (1 + self.drift)
                rate *= self.chance.gauss(1, APART)
                if host not in silent:
                    dirs = paced(source.dirs, rate / sum(each.ios for each in source.dirs.values()))
                    dirs = {name: self.sized(part) for name, part in dirs.items()}
                    read, written = (
                        dirs[name].bytes if name in dirs else 0 for name in ("read", "write")
                    )
                    self.moved[host] = read, written
                    for name, part in dirs.items():
                        self.measured.setdefault((host, name), []).append(part)
                    events.append(self._sample(host, start + second, "measure", dirs))
                    events += (
                        [self.telemetry(host, start + second)] if host in self.looked_at else []
                    )
            self.add(*events)
        return self

    def sized(self, part: DirectionSample) -> DirectionSample:
        """Return I/Os of the size that the job file says, syncs none, with rare tails apart."""
        size = part.ios * BLOCK * self.larger if part.bytes else 0
        return msgspec.structs.replace(smeared(part, self.tails), bytes=size)

    def telemetry(self, host: str, t: float) -> TelemetrySample:
        """Return the telemetry of one second, scaled with the host's share of the load."""
        found = super().telemetry(host, t)
        share = self.slowed * self.pace.get(host, 1.0)
        values = [
            value
            and value
            * (share if name.startswith(WITH_THE_LOAD) else 1.0)
            * (self.chance.gauss(1, 0.02) ** (name not in COUNTED))
            for name, value in zip(self.looked_at[host], found.values, strict=True)
        ]
        whole = [
            value and min(value, 100.0)
            if name.endswith(".busy")
            else self.carried(host, name, value, asked)
            for name, value, asked in zip(self.looked_at[host], values, found.values, strict=True)
        ]
        at_ms = found.host_time_ms + (self.ahead_ms(host) if host in self.hosts else 0)
        return msgspec.structs.replace(found, values=whole, host_time_ms=at_ms)

    def carried(
        self, host: str, name: str, value: float | None, asked: float | None
    ) -> float | None:
        """Return what a client's link carries: the I/Os of that second, with headers and answers."""
        if host not in self.moved or not name.startswith("nic.") or not value or not asked:
            return value
        if asked < IDLE_LINK:
            return value
        read, written = self.moved[host]
        over = OVERHEAD + abs(value / asked - 1) / 4
        return over * (
            read + ANSWERS * written if name.endswith(".rx") else written + ANSWERS * read
        )

    def result(self, host: str, *, final: bool = True) -> HostResult:
        """Return what the seconds of a host add up to; nothing is said of its jobs, of the real
        run's times, nor of latencies whose distribution is unknown.
        """
        found = super().result(host, final=final)
        dirs = {name: known_latencies(figures) for name, figures in found.dirs.items()}
        return msgspec.structs.replace(found, dirs=dirs, jobs={}, start_ms=None, end_ms=None)


def known_latencies(figures: DirectionResult) -> DirectionResult:
    """Return figures with those latencies only that have a distribution of as many I/Os."""
    kinds = {kind: getattr(figures, kind) for kind in ("slat", "clat", "lat")}
    kept = {
        kind: each
        if each is not None and each.buckets is not None and each.n == figures.ios
        else None
        for kind, each in kinds.items()
    }
    return msgspec.structs.replace(figures, **kept)


def smeared(part: DirectionSample, chance: random.Random) -> DirectionSample:
    """Return I/Os of which the rare slow ones are in buckets near by: a few real seconds, drawn
    again and again, have the same few rare latencies.
    """
    counts: Counter[int] = Counter()
    found = listed(part.lat)
    middle = found.idx[len(found.idx) // 2] if found.idx else 0
    for at, count in zip(found.idx, found.n, strict=True):
        if count > RARE or at < middle + NEAR:
            counts[at] += count
        else:
            counts.update(at - chance.randrange(NEAR) for _ in range(count))
    shift_ns = sum(index_to_value(at) * count for at, count in counts.items()) - sum(
        index_to_value(at) * count for at, count in zip(found.idx, found.n, strict=True)
    )
    buckets = Histogram(counts).buckets
    return msgspec.structs.replace(part, lat=buckets, lat_sum_ns=part.lat_sum_ns + shift_ns)


def begun(
    home: Path,
    hosts: int = 8,
    stream: Path = READS,
    *,
    utc: str = UTC,
    run_id: str = RUN_ID,
    tag: str = "weka/read-iops",
    runtime_s: float = RUNTIME_S,
    busy: Mapping[str, float] = BUSY,
    headline: Headline | None = None,
) -> Scene:
    """Return a run that begins to measure, hosts looked at."""
    maker = Scene(
        home / "runs" / run_id,
        host_names(hosts),
        stream,
        runtime_s=runtime_s,
        tag=tag,
        utc=utc,
        headline=headline,
    )
    maker.begin()
    known: dict[str, Fact] = {
        "nics": [NIC],
        "cpus": CPUS,
        "governor": "performance",
        "clocksource": "tsc",
    }
    maker.add(*(HostFactsCollected(t=1.2, host=host, facts=known) for host in maker.hosts)).layout(
        2, 2
    ).go()
    maker.pace = {host: maker.chance.gauss(1.0, 0.008) for host in maker.hosts}
    for host in maker.hosts:
        maker.look_at(
            host,
            {
                key: value * maker.chance.uniform(0.9, 1.1) ** (key not in COUNTED)
                for key, value in busy.items()
            },
        )
    return maker


def scene(
    name: str,
    home: Path,
    hosts: int = 8,
    seconds: int = 100,
    stream: Path = READS,
    *,
    runtime_s: float = RUNTIME_S,
) -> Scene:
    """Return a run in the middle of its load."""
    maker = begun(home, hosts, stream, runtime_s=runtime_s)
    if name in ("lag", "troubled") and hosts > 2:
        maker.pace[maker.hosts[hosts * 2 // 3]] = 0.25
    maker.measure(seconds // 2)
    left = seconds - seconds // 2
    if name in ("stall", "troubled"):
        stall(maker, 4)
        left -= 4
    if name not in ("lost", "troubled") or hosts < 2:
        return maker.measure(left)
    lost, silent = maker.hosts[-1:], maker.hosts[1:2] if name == "troubled" and hosts > 2 else []
    away_s = max(1, min(LEASE_S, left - 2 * SILENT_S))
    lose(maker, lost[0], away_s)
    return maker.measure(left - away_s - SILENT_S, silent=lost).measure(
        SILENT_S, silent=[*lost, *silent]
    )


def lose(maker: Scene, host: str, lease_s: int) -> Scene:
    """Break the connection to a host, and give it up after a lease."""
    why = "connection timed out"
    maker.add(HostState(t=maker.t, host=host, state="connecting", detail=f"connection lost: {why}"))
    maker.measure(lease_s, silent=[host])
    end = TaskEnded(
        t=maker.t,
        host=host,
        step=0,
        phase="measure",
        exit_code=None,
        reason="lost",
        stdout_bytes=0,
        stderr_bytes=0,
        collected=False,
    )
    given_up = HostState(
        t=maker.t, host=host, state="lost", detail=clause("no-contact", quote=why, lease_s=lease_s)
    )
    maker.add(given_up, end)
    return maker


def stall(maker: Scene, seconds: int) -> Scene:
    """Let all hosts stand still."""
    maker.slowed = STANDING
    maker.measure(seconds)
    maker.slowed = AT_REST
    return maker


def main(argv: Sequence[str]) -> int:
    """Open the app on a scene."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("scene", choices=SCENES)
    parser.add_argument("--hosts", type=int, default=8)
    parser.add_argument("--seconds", type=int, default=100)
    parser.add_argument("--mix", action="store_true", help="reads and writes")
    parser.add_argument("--end", action="store_true", help="the run is over")
    parser.add_argument("--theme", default="dark")
    parser.add_argument("--symbols", default=None)
    parser.add_argument("--replay", type=float, default=None)
    args = parser.parse_args(argv)
    with tempfile.TemporaryDirectory() as folder:
        maker = scene(
            args.scene, Path(folder), args.hosts, args.seconds, MIX if args.mix else READS
        )
        if args.end:
            maker.finish()
        app = Stage(
            Path(folder), maker.run_dir, args.replay, theme=args.theme, symbols=args.symbols
        )
        app.wall = maker.now
        app.run()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
