"""Runs outlive their watchers; loads do not outlive their controllers."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import pytest

from tests.e2e.command import benchtui, journal_has, marked_processes, measures, only_run, start
from tests.lab.sshd import SshdLab
from tests.patience import PATIENCE_S, wait_until

pytestmark = pytest.mark.e2e


# at full speed a load that outlives its engine takes the processors from all other tests
LOAD = Path(__file__).parents[1] / "faults" / "load.yaml"


def arguments(lab: SshdLab, target: Path, runtime: str, *more: str) -> list[str]:
    settings = [f"directory={target}", "numjobs=2", "size=8m", f"runtime={runtime}"]
    hosts = ["--hosts", "h[1-2]", "--ssh-config", str(lab.ssh_config)]
    return ["run", str(LOAD), *hosts, *(part for s in settings for part in ("--set", s)), *more]


@pytest.mark.slow
def test_run_completes_when_its_watcher_is_killed(lab: SshdLab, home: Path, tmp_path: Path) -> None:
    watcher = start(home, *arguments(lab, tmp_path, "6s"))
    wait_until(
        lambda: (home / "runs").exists() and any((home / "runs").iterdir()), "a run directory"
    )
    run_dir = only_run(home)
    wait_until(lambda: journal_has(run_dir, '"phase":"measure"'), "the measurement")
    os.kill(watcher.pid, signal.SIGKILL)
    watcher.communicate()
    attached = benchtui(home, "attach", "last", "--json")
    record = json.loads(attached.stdout)
    assert attached.returncode == 0, attached.stderr
    assert record["state"] == "complete"
    assert sorted(record["steps"][0]["results"]["per_host"]) == ["h1", "h2"]


def test_no_load_outlives_a_killed_engine_by_more_than_the_lease(
    lab: SshdLab, home: Path, tmp_path: Path
) -> None:
    started = benchtui(home, *arguments(lab, tmp_path, "900s", "--lease", "10s", "--detach"))
    run_dir = home / "runs" / started.stdout.strip()
    wait_until(lambda: measures(run_dir), "live samples")
    wait_until(lambda: len(marked_processes(run_dir.name)) >= 2, "load on the hosts")
    os.kill(int((run_dir / "engine.pid").read_text().split()[0]), signal.SIGKILL)
    wait_until(lambda: not marked_processes(run_dir.name), "no process with the run's mark")
    shown = benchtui(home, "runs", "show", run_dir.name, "--json")
    assert json.loads(shown.stdout)["state"] == "partial"
    # what was collected is partial, and the hosts are clean
    assert benchtui(home, "runs", "recover").returncode == 4


def test_stop_keeps_what_was_measured_and_leaves_no_process(
    lab: SshdLab, home: Path, tmp_path: Path
) -> None:
    started = benchtui(home, *arguments(lab, tmp_path, "900s", "--detach"))
    run_dir = home / "runs" / started.stdout.strip()
    wait_until(lambda: measures(run_dir), "live samples")
    stopped = benchtui(home, "stop", run_dir.name)
    assert stopped.returncode == 0, stopped.stderr
    record = json.loads((run_dir / "run.json").read_text())
    assert record["state"] == "partial"
    assert record["steps"][0]["results"]["aggregate"]["read"]["ios"] > 0
    assert not marked_processes(run_dir.name)


def test_abort_ends_at_once_and_leaves_no_process(lab: SshdLab, home: Path, tmp_path: Path) -> None:
    started = benchtui(home, *arguments(lab, tmp_path, "900s", "--detach"))
    run_dir = home / "runs" / started.stdout.strip()
    wait_until(lambda: journal_has(run_dir, '"running"'), "the load")
    benchtui(home, "stop", run_dir.name, "--abort")
    assert json.loads((run_dir / "run.json").read_text())["state"] == "aborted"
    assert not marked_processes(run_dir.name)


def test_ctrl_c_stops_the_run_and_saves_it(lab: SshdLab, home: Path, tmp_path: Path) -> None:
    watcher = start(home, *arguments(lab, tmp_path, "900s"))
    wait_until(
        lambda: (home / "runs").exists() and any((home / "runs").iterdir()), "a run directory"
    )
    run_dir = only_run(home)
    wait_until(lambda: measures(run_dir), "live samples")
    watcher.send_signal(signal.SIGINT)
    out, err = watcher.communicate(timeout=PATIENCE_S)
    assert watcher.returncode == 130, err
    assert run_dir.name in out
    assert json.loads((run_dir / "run.json").read_text())["state"] == "partial"


@pytest.mark.slow
def test_one_host_is_stopped_alone_and_the_others_continue(
    lab: SshdLab, home: Path, tmp_path: Path
) -> None:
    started = benchtui(home, *arguments(lab, tmp_path, "12s", "--detach"))
    run_dir = home / "runs" / started.stdout.strip()
    wait_until(lambda: measures(run_dir), "live samples")
    assert benchtui(home, "stop", run_dir.name, "--host", "h2").returncode == 0
    benchtui(home, "attach", run_dir.name, "--json")
    record = json.loads((run_dir / "run.json").read_text())
    results = record["steps"][0]["results"]["per_host"]
    assert results["h1"]["read"]["runtime_s"] > 11
    assert 0 < results["h2"]["read"]["runtime_s"] < 9
    assert record["state"] == "partial"
    assert [problem["code"] for problem in record["hosts"][1]["problems"]] == ["stopped-alone"]


def test_lease_of_zero_is_for_those_who_are_sure(lab: SshdLab, home: Path, tmp_path: Path) -> None:
    refused = benchtui(home, *arguments(lab, tmp_path, "5s", "--lease", "0"))
    assert refused.returncode == 2
    assert "add --yes" in refused.stderr
    planned = benchtui(
        home, *arguments(lab, tmp_path, "5s", "--lease", "0", "--yes", "--dry-run", "--json")
    )
    assert json.loads(planned.stdout)["lease_s"] > 86400
