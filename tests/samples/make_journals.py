"""Makes tests/data/journals from recorded output of real fio commands, through the reader of the
engine.

python -m tests.samples.make_journals STREAMS LAYOUT: STREAMS holds NAME.stdout of `fio
--status-interval=1`, LAYOUT l1.out and l2.out of a job that writes files. Only the events around
the output are written by hand.
"""

from __future__ import annotations

import hashlib
import heapq
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import msgspec

from tui.model.address import HostAddress
from tui.model.event import (
    Artefact,
    Event,
    FileCreated,
    HostFactsCollected,
    HostProblem,
    HostState,
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
    encode,
)
from tui.model.plan import FileSpec, Headline, HostTask, Plan, ProfileRef, Step
from tui.workloads.fio.reader import FioReader

DATA = Path(__file__).parents[1] / "data" / "journals"
ARGV = ["fio", "--output-format=json+", "--status-interval=1", "--eta=never", "job.fio"]
DELAYS = (0.012, 0.035, 0.009, 0.071)  # seconds from fio's stamp to the jump host
HOSTS = ("h1", "h2")


@dataclass
class Case:
    """One journal: what ran, and the recorded output of each host."""

    name: str
    job: str
    streams: dict[str, Path]
    runtime_s: float
    ramp_s: float
    headline: Headline
    layout: dict[str, Path] | None = None
    cut: dict[str, int] | None = None  # bytes of a host's output that arrived before it was lost
    state: RunStateName = "complete"


def plan_of(case: Case) -> Plan:
    text = f"profile: test/{case.name}\nversion: 1\n"
    hosts = [HostAddress(name=name, groups=("clients",)) for name in HOSTS]
    tasks = [
        HostTask(
            host=host.name,
            randseed=1000 + index,
            job_file=f"{case.job}randrepeat=0\nrandseed={1000 + index}\n",
            argv=ARGV,
            directories=["/mnt/test"],
            files=[FileSpec(f"/mnt/test/{host.name}.0", 48 << 20)],
            layout=case.layout is not None,
        )
        for index, host in enumerate(hosts)
    ]
    step = Step(
        index=0,
        name=case.name,
        tool="fio",
        params={"runtime": f"{case.runtime_s:g}s", "bs": "8k"},
        tasks=tasks,
        runtime_s=case.runtime_s,
        ramp_s=case.ramp_s,
        in_flight=4,
    )
    profile = ProfileRef(
        tag=f"test/{case.name}",
        version=1,
        title=f"Recorded {case.name}",
        text=text,
        sha256=hashlib.sha256(text.encode()).hexdigest(),
        source={"document": "recorded output"},
        changed={"runtime": f"{case.runtime_s:g}s"},
    )
    return Plan(
        profile=profile,
        params=step.params,
        hosts=hosts,
        steps=[step],
        headline=case.headline,
        target="test storage",
        note="a recorded run",
        tags={"lab": "a"},
    )


def host_events(
    case: Case, host: str, start_t: float, phase: PhaseName, step: Step, path: Path
) -> Iterator[Event]:
    """Yield what one command on one host puts into the journal."""
    data = path.read_bytes()
    limit = (case.cut or {}).get(host) if phase == "measure" else None
    reader = FioReader(host, step, phase)
    yield TaskStarted(
        t=start_t,
        host=host,
        step=0,
        phase=phase,
        argv=ARGV,
        job_file=case.job,
        remote_dir=f"/tmp/benchtui/0.{phase}",
    )
    yield HostState(
        t=start_t + 0.01, host=host, state="running" if phase == "measure" else "layout"
    )
    first_ms, t = None, start_t + 1.0
    for count, piece in enumerate(pieces(data[:limit])):
        for item in reader.feed(piece):
            if isinstance(item, Sample):
                first_ms = item.host_time_ms if first_ms is None else first_ms
                item.t = round(t_of(item, start_t, first_ms, count), 4)
                t = item.t
                yield item
            else:
                yield Message(t=t, severity=item[0], text=item[1], host=host)
    if limit is not None:
        yield HostState(t=t + 5.0, host=host, state="lost", detail="no connection for 5s")
        yield HostProblem(
            t=t + 5.0,
            host=host,
            phase="measure",
            code="host-lost",
            message="no connection to the end",
        )
        return
    for item in reader.flush():
        if isinstance(item, Sample):
            item.t = t = round(t_of(item, start_t, first_ms or item.host_time_ms, 0), 4)
            yield item
    yield TaskEnded(
        t=t + 0.05,
        host=host,
        step=0,
        phase=phase,
        exit_code=0,
        reason="exit",
        stdout_bytes=len(data),
        stderr_bytes=0,
    )
    if phase == "measure":
        result = reader.result(0)
        assert result is not None
        result.t = t + 0.4
        yield result
        yield HostState(t=t + 0.41, host=host, state="done")
    else:
        yield HostState(t=t + 0.41, host=host, state="ready", detail="laid out")


def t_of(sample: Sample, start_t: float, first_ms: int, count: int) -> float:
    return start_t + 1.0 + (sample.host_time_ms - first_ms) / 1000 + DELAYS[count % len(DELAYS)]


def pieces(data: bytes) -> Iterator[bytes]:
    """Yield the output one status object at a time."""
    for part in data.split(b"\n}\n"):
        yield part + b"\n}\n" if part.strip() else b""


def phase_events(
    case: Case,
    phase: PhaseName,
    start_t: float,
    plan: Plan,
    streams: dict[str, Path],
    total_bytes: int | None,
) -> list[Event]:
    step = plan.steps[0]
    expected = step.expected_s if phase == "measure" else None
    begin = PhaseStarted(
        t=start_t, phase=phase, step=0, expected_s=expected, total_bytes=total_bytes
    )
    parts = [
        list(host_events(case, host, start_t + 0.02, phase, step, path))
        for host, path in streams.items()
    ]
    merged = list(heapq.merge(*parts, key=lambda event: event.t))
    return [begin, *merged, PhaseEnded(t=merged[-1].t + 0.02, phase=phase, step=0)]


def journal_of(case: Case, plan: Plan) -> list[Event]:
    events: list[Event] = [
        RunStarted(
            t=0.0,
            run_id=f"20261120T101530Z-test-{case.name}-0001",
            utc="2026-11-20T10:15:30.250000Z",
            benchtui_version="0.1.0",
            profile=plan.profile.tag,
            hosts=list(HOSTS),
            jump_host={"hostname": "jump", "cpus": "2"},
        ),
        PhaseStarted(t=0.01, phase="connect"),
    ]
    for host in HOSTS:
        events.append(HostState(t=0.1, host=host, state="connecting"))
        events.append(HostState(t=0.3, host=host, state="connected"))
    events += [PhaseEnded(t=0.31, phase="connect"), PhaseStarted(t=0.32, phase="preflight")]
    for host in HOSTS:
        events.append(
            HostFactsCollected(
                t=0.4, host=host, facts={"kernel": "6.1.0", "cpus": 2, "fio_version": "3.33"}
            )
        )
        events.append(FileCreated(t=0.42, host=host, paths=["/mnt/test"], bytes=0))
        events.append(HostState(t=0.43, host=host, state="ready"))
    events.append(PhaseEnded(t=0.5, phase="preflight"))
    t = 0.6
    if case.layout is not None:
        for host in HOSTS:
            events.append(
                FileCreated(t=t, host=host, paths=[f"/mnt/test/{host}.0"], bytes=48 << 20)
            )
        events += phase_events(case, "layout", t, plan, case.layout, 2 * (48 << 20))
        t = events[-1].t + 0.1
    events.append(PhaseStarted(t=t, phase="barrier", step=0))
    events += [HostState(t=t + 0.02, host=host, state="armed") for host in HOSTS]
    events.append(PhaseEnded(t=t + 0.05, phase="barrier", step=0))
    events += phase_events(case, "measure", t + 0.06, plan, case.streams, None)
    t = events[-1].t
    for host, path in case.streams.items():
        data = path.read_bytes()
        digest = hashlib.sha256(data).hexdigest()
        events.append(
            Artefact(
                t=t, path=f"raw/0.measure.{host}.out.gz", bytes=len(data), sha256=digest, host=host
            )
        )
    code = 0 if case.state == "complete" else 4
    events.append(
        RunEnded(
            t=t + 0.1, state=case.state, exit_code=code, reason="" if not code else "h2 was lost"
        )
    )
    return events


def cases(streams: Path, layout: Path) -> list[Case]:
    def pair(one: str, other: str) -> dict[str, Path]:
        return {"h1": streams / f"{one}.stdout", "h2": streams / f"{other}.stdout"}

    lost = streams / "basic-randread-2jobs-3.42.stdout"
    return [
        Case(
            "mix",
            "[mix]\nrw=randrw\nrwmixread=70\nbs=8k\n",
            pair("mix-3.33", "mix-master"),
            3,
            0,
            Headline("iops", "mixed"),
            layout={"h1": layout / "l1.out", "h2": layout / "l2.out"},
        ),
        Case(
            "ramp",
            "[ramp]\nrw=randread\nramp_time=3\nbs=8k\n",
            pair("ramp-3.33", "ramp-master"),
            3,
            3,
            Headline("latency", "read", 99.5),
        ),
        Case(
            "lost",
            "[rd]\nrw=randread\nnumjobs=2\nbs=8k\n",
            pair("basic-randread-2jobs-3.33", "basic-randread-2jobs-3.42"),
            4,
            0,
            Headline("bandwidth", "read"),
            cut={"h2": lost.stat().st_size // 2},
            state="partial",
        ),
    ]


def main() -> None:
    for case in cases(Path(sys.argv[1]), Path(sys.argv[2])):
        plan = plan_of(case)
        directory = DATA / case.name
        directory.mkdir(parents=True, exist_ok=True)
        (directory / "plan.json").write_bytes(msgspec.json.format(msgspec.json.encode(plan)))
        (directory / "journal.jsonl").write_bytes(b"".join(map(encode, journal_of(case, plan))))


if __name__ == "__main__":
    main()
