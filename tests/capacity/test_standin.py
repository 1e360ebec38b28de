"""The stand-in for fio says what its system does, as fio would say it."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tests.capacity.systems import System
from tests.lab import fio_standin
from tui.workloads.fio.snapshot import Snapshot, decode

JOB = """[global]
rw=randrw
rwmixread=70
ramp_time=1s
runtime=2s
time_based=1
group_reporting=1
[a]
numjobs=2
iodepth=4
rate_iops=350,150
"""


def said(output: bytes) -> list[Snapshot]:
    found, text = [], output.decode().strip()
    while text:
        _, end = json.JSONDecoder().raw_decode(text)
        found.append(decode(text[:end].encode()))
        text = text[end:].strip()
    return found


def test_stand_in_offers_its_rate_and_tells_it_cumulatively(tmp_path: Path) -> None:
    program = fio_standin.install(tmp_path, System(), real="/bin/echo")
    (tmp_path / "job").write_text(JOB)
    done = subprocess.run(
        [program, "--status-interval=1", tmp_path / "job"], capture_output=True, check=True
    )
    last = said(done.stdout)[-1].jobs[0]
    assert last.read is not None and last.write is not None and last.read.lat is not None
    assert last.read.total_ios + last.write.total_ios == pytest.approx(2000, rel=0.12)
    assert last.read.total_ios == pytest.approx(1400, rel=0.15)
    assert sum((last.read.lat.bins or {}).values()) == last.read.total_ios
    totals = [
        each.jobs[0].read.total_ios for each in said(done.stdout) if each.jobs[0].read is not None
    ]
    assert totals == sorted(totals)
    asked = subprocess.run([program, "--version"], capture_output=True, check=True)
    assert b"echo" in asked.stdout  # left to the real one
