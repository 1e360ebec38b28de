"""From two real fio processes at the same time to a record, held against what fio itself reports in the end."""

from __future__ import annotations

import asyncio
import json
import shutil
import time
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.results.make_journals import Case, plan_of
from tests.results.samples import write
from tui.metrics.histogram import Histogram
from tui.model.event import AnyEvent, HostState, PhaseEnded, PhaseStarted, RunEnded, RunStarted, Sample
from tui.model.plan import Headline, Step
from tui.results.record import build_record
from tui.workloads.fio.reader import FioReader

FIO = shutil.which("fio")
JOB = "[null]\nioengine=null\nrw=randrw\nrwmixread=70\nbs=4k\nsize=1g\nrate_iops=3000\ntime_based\nruntime=3\n"

pytestmark = pytest.mark.skipif(FIO is None, reason="no fio on this machine")


async def measure(host: str, step: Step, start: float, events: list[AnyEvent], raw: dict[str, bytes]) -> None:
    """Run fio for one host and add its events as its output arrives."""
    command = [str(FIO), "--output-format=json+", "--status-interval=1", "--eta=never", "-"]
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(*command, stdin=pipe, stdout=pipe, stderr=pipe)
    assert process.stdin is not None and process.stdout is not None
    process.stdin.write(JOB.encode())
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


async def test_a_record_agrees_with_fio(tmp_path: Path) -> None:
    case = Case("null", JOB, {}, 3, 0, Headline("iops", "read"))
    plan = plan_of(case)
    events: list[AnyEvent] = [
        RunStarted(
            t=0.0, run_id="r", utc="2026-11-20T10:00:00Z", benchtui_version="0", profile="test/null", hosts=["h1", "h2"]
        ),
        PhaseStarted(t=0.0, phase="measure", step=0, expected_s=3.0),
        *(HostState(t=0.0, host=host, state="running") for host in ("h1", "h2")),
    ]
    raw: dict[str, bytes] = {}
    start = time.monotonic()
    await asyncio.gather(*(measure(host, plan.steps[0], start, events, raw) for host in ("h1", "h2")))
    end = events[-1].t
    events += [PhaseEnded(t=end, phase="measure", step=0), RunEnded(t=end, state="complete", exit_code=0)]
    (tmp_path / "plan.json").write_bytes(msgspec.json.encode(plan))
    write(tmp_path / "journal.jsonl", events)

    record = build_record(tmp_path)

    assert record.state == "complete"
    finals = {host: json.loads(b"{\n" + data.rpartition(b"\n{\n")[2])["jobs"][0] for host, data in raw.items()}
    for direction in ("read", "write"):
        merged = Histogram()
        for host, job in finals.items():
            ours, theirs = record.steps[0].results.per_host[host][direction], job[direction]
            assert ours.clat is not None
            assert (ours.ios, ours.bytes) == (theirs["total_ios"], theirs["io_bytes"])
            printed = {float(name): value for name, value in theirs["clat_ns"]["percentile"].items()}
            for name, value in ours.clat.percentiles_ns.items():
                assert float(name) not in printed or value == printed[float(name)]
            merged.merge(Histogram.from_bins({int(key): count for key, count in theirs["clat_ns"]["bins"].items()}))
        whole = record.steps[0].results.aggregate[direction]
        assert whole.clat is not None
        assert whole.clat.percentiles_ns == merged.percentiles()
        assert whole.iops == pytest.approx(sum(job[direction]["iops"] for job in finals.values()), rel=1e-4)
        assert whole.iops_window == pytest.approx(whole.iops, rel=0.1)
