"""Telemetry of a real run: real sshd hosts, real fio.

In the journal, in the record, and gone from the hosts.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.command import benchtui
from tests.lab.sshd import SshdLab
from tui.journal.reader import read_events
from tui.model.event import TelemetryColumns, TelemetrySample

pytestmark = pytest.mark.e2e

DATA = Path(__file__).parents[1] / "data" / "profiles"
SETTINGS = ["--set", "numjobs=2", "--set", "size=8m", "--set", "runtime=12s", "--set", "rate=200"]


def run(lab: SshdLab, home: Path, target: Path, *more: str) -> dict[str, Any]:
    hosts = ["--hosts", "h[1-2]", "--ssh-config", str(lab.ssh_config)]
    profile = str(DATA / "mix-70-30.yaml")
    done = benchtui(
        home, "run", profile, *hosts, "--set", f"directory={target}", *SETTINGS, *more, "--json"
    )
    assert done.returncode == 0, done.stderr
    record: dict[str, Any] = json.loads(done.stdout)
    return record


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="module")
def record(lab: SshdLab, home: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return run(lab, home, tmp_path_factory.mktemp("target"))


def column(record: dict[str, Any], host: str, name: str) -> dict[str, Any]:
    seen = next(each for each in record["steps"][0]["telemetry"] if each["host"] == host)
    return next(each for each in seen["columns"] if each["name"] == name)


def test_every_host_has_a_series_with_units(record: dict[str, Any]) -> None:
    seen = record["steps"][0]["telemetry"]
    assert [each["host"] for each in seen] == ["h1", "h2"]
    for each in seen:
        assert len(each["t_s"]) == len(each["interval_s"]) >= 8
        assert {each["role"] for each in seen} == {"client"}
        assert all(
            len(one["values"]) == len(each["t_s"])
            for one in each["columns"]
            if one["values"] is not None
        )
    assert column(record, "h1", "cpu.busy")["unit"] == "percent"


def test_the_load_is_seen_with_its_processes_and_bytes(record: dict[str, Any]) -> None:
    """fio's own count of bytes and that of the kernel agree, as far as seconds at the edges let
    them.
    """
    for host in ("h1", "h2"):
        results = record["steps"][0]["results"]["per_host"][host]
        assert column(record, host, "gen.procs")["max"] == 3  # fio, and a worker a job
        assert column(record, host, "gen.cpu")["mean"] > 1
        moved = sum(results[direction]["bw_bytes_per_s"] for direction in ("read", "write"))
        seen = sum(column(record, host, name)["mean"] for name in ("gen.rchar", "gen.wchar"))
        assert 0.5 * moved < seen < 2 * moved


def test_hosts_were_looked_at_before_the_first_load(record: dict[str, Any]) -> None:
    step = record["steps"][0]
    pause = next(phase for phase in step["phases"] if phase["name"] == "pause")
    layout = next(phase for phase in step["phases"] if phase["name"] == "layout")
    assert pause["end_s"] - pause["start_s"] >= 1.2 and pause["end_s"] <= layout["start_s"]
    for each in step["telemetry"]:
        assert all(t <= pause["end_s"] for t in each["t_s"][: each["quiet"]])


def test_means_are_of_the_measured_window(record: dict[str, Any]) -> None:
    for each in record["steps"][0]["telemetry"]:
        timing = record["steps"][0]["timing"]["hosts"][each["host"]]
        assert each["start_s"] == pytest.approx(timing["start_s"], abs=0.01)
        assert each["end_s"] == pytest.approx(timing["end_s"], abs=0.01)


def test_the_journal_is_compact(record: dict[str, Any], home: Path) -> None:
    """Below 2 KB a second and host, the names of the columns included."""
    journal = home / "runs" / record["run_id"] / "journal.jsonl"
    lines = [line for line in journal.read_bytes().splitlines() if b'"type":"telemetry' in line]
    seconds = sum(len(each["t_s"]) for each in record["steps"][0]["telemetry"])
    assert sum(map(len, lines)) / seconds < 2000
    kinds = [type(event) for event in read_events(journal)]
    assert kinds.count(TelemetrySample) == seconds and kinds.count(TelemetryColumns) >= 2


@pytest.mark.slow
def test_it_can_be_left_out(lab: SshdLab, home: Path, tmp_path: Path) -> None:
    record = run(lab, home, tmp_path, "--no-telemetry", "--set", "runtime=1s")
    assert record["steps"][0]["telemetry"] == []
    assert "pause" not in [phase["name"] for phase in record["steps"][0]["phases"]]
