"""From two real fio processes at the same time to a record, held against what fio itself reports in
the end.
"""

from __future__ import annotations

import asyncio
import json
import shutil
import time
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.samples.events import write
from tests.samples.make_journals import Case, plan_of
from tui.journal.reader import read_events
from tui.library.build import build_record
from tui.metrics.histogram import Histogram
from tui.model.event import (
    AnyEvent,
    HostClock,
    HostState,
    PhaseEnded,
    PhaseStarted,
    RunEnded,
    RunStarted,
    Sample,
)
from tui.model.plan import Headline, Step
from tui.model.record import RunRecord
from tui.workloads.fio.reader import FioReader

FIO = shutil.which("fio")
JOB = "[null]\nioengine=null\nrw=randrw\nrwmixread=70\nbs=4k\nsize=1g\nrate_iops=300\ntime_based\nruntime=3\n"
ATTEMPTS = 4
LOGGED_LATE_S = 0.05  # from the start of a job to its first I/O
HOST = "HOST"  # in a job: the name of the host that runs it

pytestmark = pytest.mark.skipif(FIO is None, reason="no fio on this machine")


async def measure(
    host: str,
    step: Step,
    job: str,
    start: float,
    events: list[AnyEvent],
    raw: dict[str, bytes],
    late_s: float,
) -> None:
    """Run fio for one host and add its events as its output arrives.

    It begins `late_s` later than it could.
    """
    await asyncio.sleep(late_s)
    command = [str(FIO), "--output-format=json+", "--status-interval=1", "--eta=never", "-"]
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(*command, stdin=pipe, stdout=pipe, stderr=pipe)
    assert process.stdin is not None and process.stdout is not None
    process.stdin.write(job.replace(HOST, host).encode())
    process.stdin.close()
    reader = FioReader(host, step, "measure")
    raw[host] = b""
    while data := await process.stdout.read(1 << 16):
        raw[host] += data
        take(reader.feed(data), events, time.monotonic() - start)
    code = await process.wait()
    take(reader.flush(), events, time.monotonic() - start)
    result = reader.result(code)
    assert result is not None
    result.t = time.monotonic() - start
    events.append(result)


def take(items: list[Any], events: list[AnyEvent], t: float) -> None:
    for item in items:
        if isinstance(item, Sample):
            item.t = t
            events.append(item)


async def run_fio(
    directory: Path, late_s: dict[str, float], *, clocks: bool, job: str = JOB, ramp_s: float = 0.0
) -> tuple[RunRecord, dict[str, bytes]]:
    """Run fio for each host, some of them later, and return the record and what each fio
    printed.
    """
    plan = plan_of(Case("null", job, {}, 3, ramp_s, Headline("iops", "read")))
    zero_ms, start = time.time() * 1000, time.monotonic()
    events: list[AnyEvent] = [
        RunStarted(
            t=0.0,
            run_id="r",
            utc="2026-11-20T10:00:00Z",
            benchtui_version="0",
            profile="test/null",
            hosts=list(late_s),
        ),
        PhaseStarted(t=0.0, phase="measure", step=0, expected_s=3.0),
    ]
    for host in late_s:
        if clocks:
            events.append(
                HostClock(
                    t=0.0,
                    host=host,
                    offset_s=0.0,
                    uncertainty_s=0.001,
                    rtt_s=0.002,
                    run_zero_ms=zero_ms,
                )
            )
        events.append(HostState(t=0.0, host=host, state="running"))
    raw: dict[str, bytes] = {}
    step = plan.steps[0]
    await asyncio.gather(
        *(measure(host, step, job, start, events, raw, late) for host, late in late_s.items())
    )
    end = events[-1].t
    events += [
        PhaseEnded(t=end, phase="measure", step=0),
        RunEnded(t=end, state="complete", exit_code=0),
    ]
    (directory / "plan.json").write_bytes(msgspec.json.encode(plan))
    write(directory / "journal.jsonl", events)
    return build_record(directory), raw


def first_logged_s(directory: Path, host: str) -> float:
    """When a host's first I/O was, on the run's time line, from the time of day that fio logged
    with it.
    """
    lines = [
        line for log in directory.glob(f"{host}_lat*.log") for line in log.read_text().splitlines()
    ]
    return (min(int(line.split(",")[0]) for line in lines) - zero_ms_of(directory)) / 1000


async def holds_on_a_machine_that_is_not_held_up(
    directory: Path, is_exact: Callable[[Path], Coroutine[Any, Any, bool]]
) -> bool:
    """Tell whether a claim on times holds: a machine that holds fio up breaks it now and then, a
    defect always.
    """
    for attempt in range(ATTEMPTS):
        (directory / str(attempt)).mkdir()
        if await is_exact(directory / str(attempt)):
            return True
    return False


async def test_two_fio_processes_that_start_2_s_apart_have_the_skew_of_their_first_ios(
    tmp_path: Path,
) -> None:
    async def skew_is_exact(directory: Path) -> bool:
        job = f"{JOB}write_lat_log={directory}/{HOST}\nlog_unix_epoch=1\n"
        record, _ = await run_fio(directory, {"h1": 0.0, "h2": 2.0}, clocks=True, job=job)

        finding = next(finding for finding in record.findings if finding.id == "start-skew")
        assert (finding.severity, finding.scope) == ("error", {"step": 0, "hosts": "h2"})
        timing = record.steps[0].timing
        assert (
            timing is not None
            and timing.start_skew_s is not None
            and timing.start_skew_uncertainty_s is not None
        )
        logged = first_logged_s(directory, "h2") - first_logged_s(directory, "h1")
        return (
            abs(timing.start_skew_s - logged) <= timing.start_skew_uncertainty_s + 2 * LOGGED_LATE_S
        )

    assert await holds_on_a_machine_that_is_not_held_up(tmp_path, skew_is_exact)


async def test_without_clocks_the_skew_is_reported_without_an_uncertainty(tmp_path: Path) -> None:
    record, _ = await run_fio(tmp_path, {"h1": 0.0, "h2": 2.0}, clocks=False)

    timing = record.steps[0].timing
    assert timing is not None and timing.start_skew_s is not None
    assert timing.start_skew_s > 1.0
    assert timing.start_skew_uncertainty_s is None


@pytest.mark.parametrize(
    "extra", ["", "ramp_time=1\n", "startdelay=1\n", "numjobs=16\ngroup_reporting\n"]
)
async def test_the_derived_start_is_as_near_to_the_first_logged_io_as_the_record_says(
    extra: str, tmp_path: Path
) -> None:
    """fio writes the time of day of every I/O into a log; it prints no start before 3.36."""

    async def start_is_exact(directory: Path) -> bool:
        job = (
            JOB.replace("runtime=3", "runtime=2")
            + extra
            + f"write_lat_log={directory}/{HOST}\nlog_unix_epoch=1\n"
        )
        record, _ = await run_fio(
            directory, {"h1": 0.0}, clocks=True, job=job, ramp_s=float("ramp" in extra)
        )

        timing = record.steps[0].timing
        assert timing is not None
        host = timing.hosts["h1"]
        if record.provenance.tool_versions["h1"] < "fio-3.36":
            assert host.source == "samples"
        return (
            abs(host.start_s - first_logged_s(directory, "h1"))
            <= host.start_uncertainty_s + LOGGED_LATE_S
        )

    assert await holds_on_a_machine_that_is_not_held_up(tmp_path, start_is_exact)


def zero_ms_of(directory: Path) -> float:
    """Return the time of day at t=0 of a run."""
    clocks = (
        event for event in read_events(directory / "journal.jsonl") if isinstance(event, HostClock)
    )
    return next(clocks).run_zero_ms


async def test_a_record_agrees_with_fio(tmp_path: Path) -> None:
    record, raw = await run_fio(tmp_path, {"h1": 0.0, "h2": 0.0}, clocks=False)

    assert record.state == "complete"
    finals = {
        host: json.loads(b"{\n" + data.rpartition(b"\n{\n")[2])["jobs"][0]
        for host, data in raw.items()
    }
    for direction in ("read", "write"):
        merged = Histogram()
        for host, job in finals.items():
            ours, theirs = record.steps[0].results.per_host[host][direction], job[direction]
            assert ours.clat is not None
            assert (ours.ios, ours.bytes) == (theirs["total_ios"], theirs["io_bytes"])
            printed = {
                float(name): value for name, value in theirs["clat_ns"]["percentile"].items()
            }
            for name, value in ours.clat.percentiles_ns.items():
                assert float(name) not in printed or value == min(
                    printed[float(name)], theirs["clat_ns"]["max"]
                )
            merged.merge(
                Histogram.from_bins(
                    {int(key): count for key, count in theirs["clat_ns"]["bins"].items()}
                )
            )
        whole = record.steps[0].results.aggregate[direction]
        assert whole.clat is not None
        assert whole.clat.percentiles_ns == merged.percentiles(at_most=whole.clat.max_ns)
        assert whole.iops == pytest.approx(
            sum(job[direction]["iops"] for job in finals.values()), rel=1e-4
        )
        assert whole.iops_window == pytest.approx(whole.iops, rel=0.1)
