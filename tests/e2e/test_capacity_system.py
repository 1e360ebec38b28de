"""A whole search, engine and all, of a system of known capacity: fio's stand-in over a queue."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from tests.capacity.systems import System, capacity_of_mmc
from tests.e2e.command import benchtui, only_run
from tests.e2e.test_recovery import record_of
from tests.lab import fio_standin

pytestmark = pytest.mark.e2e

# 20,000 I/Os a second at most; 17,697 with a p99 of 2 ms. A point has to be long beside the time
# that a queue takes to grow and to empty (0.02 s there): between two long queues it shows less
# latency than there is
SERVICE_S, LIMIT_S = 0.00005, 0.002
CAPACITY = capacity_of_mmc(1, SERVICE_S, LIMIT_S)
PROFILE = """\
profile: my/queue
title: Reads of a queue
tool: fio
params:
  directory: {default: DIRECTORY, kind: directory}
  runtime: {default: 1s, kind: duration}
fio:
  global: {ioengine: libaio, iodepth: 64, time_based: 1, runtime: "{runtime}", size: 1M, ramp_time: 0}
  jobs: {r: {rw: randread, bs: 4k, directory: "{directory}"}}
prepare: {layout: true}
headline: {metric: iops, direction: read}
capacity: {limits: ["p99 < 2ms"], point: 1s, most: 2s, hold: 2s, tolerance: 5%}
"""


def searched(
    home: Path,
    tmp_path: Path,
    patch: pytest.MonkeyPatch,
    *options: str,
    ends: tuple[int, ...] = (0,),
) -> dict[str, Any]:
    """Search on this machine, with the stand-in as its fio, and return the record."""
    programs = tmp_path / "programs"
    programs.mkdir()
    fio_standin.install(programs, System(service_s=SERVICE_S))
    patch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    path = tmp_path / "queue.yaml"
    path.write_text(PROFILE.replace("DIRECTORY", str(tmp_path)))
    done = benchtui(home, "capacity", path, "--hosts", "local", "--no-telemetry", *options)
    assert done.returncode in ends, done.stderr
    return record_of(only_run(home))


@pytest.mark.slow
def test_a_search_closes_in_on_the_capacity_of_a_queue(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # four may be too few
    search = searched(home, tmp_path, monkeypatch, "--points", "4", ends=(0, 6))["search"]
    full, *paced = search["points"]
    assert full["iops"] == pytest.approx(1 / SERVICE_S, rel=0.1)
    assert (full["offered_iops"], full["verdict"]) == (None, "breaks")
    for point in paced:
        assert point["iops"] == pytest.approx(point["offered_iops"], rel=0.1)
        told = point["offered_iops"] / CAPACITY
        assert point["verdict"] not in (
            ["meets"] if told > 1.05 else ["breaks"] if told < 0.95 else []
        )
    found = search["answer"]["capacity"]
    assert found["low"] <= CAPACITY * 1.05 and found["high"] >= CAPACITY * 0.95


@pytest.mark.slow
def test_a_search_finds_the_capacity_of_a_queue(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = searched(
        home, tmp_path, monkeypatch, "--points", "15", "--point", "3s", "--most", "4s"
    )
    answer = record["search"]["answer"]
    assert answer["state"] == "found"
    assert answer["capacity"]["value"] == pytest.approx(CAPACITY, rel=0.05)
    assert answer["binding"] == "p99 < 2ms"
