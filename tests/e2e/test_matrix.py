"""Sweeps, suites and repetitions for real: on this machine and on real sshd hosts, cut off,
resumed, past failures.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.command import benchtui, marked_processes
from tests.e2e.test_recovery import kill_engine, record_of
from tests.lab.sshd import SshdLab
from tests.patience import wait_until
from tui.journal.rundir import is_running
from tui.text.run_texts import run_text

pytestmark = pytest.mark.e2e

PROFILE = """\
profile: my/sweep
title: A sweep of short reads
tool: fio
params:
  directory: {default: DIRECTORY, kind: directory}
  bs: {default: 4k, kind: size}
  jobs: {default: 1, kind: count}
  runtime: {default: 1s, kind: duration}
fio:
  global: {ioengine: psync, time_based: 1, runtime: "{runtime}", size: 1M, group_reporting: 1,
    rate_iops: 10}
  jobs: {r: {rw: randread, direct: 0, filename: "{directory}/data", bs: "{bs}", numjobs: "{jobs}"}}
prepare: {layout: true}
headline: {metric: bandwidth, direction: read}
"""


def profile(tmp_path: Path, more: str = "") -> Path:
    path = tmp_path / "sweep.yaml"
    path.write_text(PROFILE.replace("DIRECTORY", str(tmp_path)) + more)
    return path


def last_run(home: Path) -> Path:
    return max((home / "runs").iterdir())


def states(record: dict[str, Any]) -> list[tuple[str, str]]:
    return [
        (step["name"].removeprefix("my/sweep").strip(), step["state"]) for step in record["steps"]
    ]


def wait_for_the_end(run_dir: Path) -> None:
    """Wait until a run has its record and its engine is gone: before, it cannot be resumed."""
    wait_until(
        lambda: (run_dir / "run.json").exists() and not is_running(run_dir), "the end of the run"
    )


def events(run_dir: Path, kind: str) -> list[dict[str, Any]]:
    journal = run_dir / "journal.jsonl"
    lines = journal.read_text().split("\n")[:-1] if journal.exists() else []
    return [event for event in map(json.loads, lines) if event["type"] == kind]


def test_a_sweep_is_measured_point_by_point_and_its_record_is_a_matrix(
    home: Path, tmp_path: Path
) -> None:
    path = profile(tmp_path, "sweep: {grid: {bs: [4k, 64k]}}\n")
    done = benchtui(home, "run", path, "--hosts", "local", "--repeat", "2")
    assert done.returncode == 0, done.stderr
    matrix = record_of(last_run(home))["matrix"]
    assert matrix["axes"] == ["bs"]
    assert [(cell["point"], cell["steps"], cell["state"]) for cell in matrix["cells"]] == [
        ({"bs": 4096}, [0, 1], "done"),
        ({"bs": 65536}, [2, 3], "done"),
    ]
    for cell in matrix["cells"]:
        assert cell["headline"]["value"] == pytest.approx(sum(cell["values"]) / 2)
        assert cell["headline"]["unit"] == "bytes_per_s"


@pytest.mark.slow
def test_a_sweep_that_is_killed_in_the_middle_is_resumed_and_what_was_done_stays(
    home: Path, tmp_path: Path
) -> None:
    path = profile(tmp_path, "sweep: {grid: {bs: [4k, 8k, 16k, 32k]}}\n")
    started = benchtui(home, "run", path, "--hosts", "local", "--detach")
    run_dir = home / "runs" / started.stdout.strip()
    wait_until(lambda: len(events(run_dir, "step_ended")) >= 1, "the end of a step")
    kill_engine(run_dir)
    before = {event["step"] for event in events(run_dir, "step_ended")}
    results = [event for event in events(run_dir, "host_result") if event["step"] in before]
    resumed = benchtui(home, "runs", "resume", run_dir.name)
    assert resumed.returncode == 0, resumed.stderr
    record = record_of(run_dir)
    assert record["state"] == "complete"
    assert states(record) == [(f"bs={size}", "done") for size in ("4k", "8k", "16k", "32k")]
    for result in results:
        step = record["steps"][result["step"]]
        assert step["attempt"] == 1
        assert step["results"]["per_host"]["local"]["read"]["ios"] == result["dirs"]["read"]["ios"]
    assert not marked_processes(run_dir.name)
    assert not list(Path("/tmp").glob(f".benchtui-*/{run_dir.name}"))


@pytest.mark.slow
def test_a_sweep_that_was_stopped_is_resumed_in_the_step_that_was_cut(
    home: Path, tmp_path: Path
) -> None:
    path = profile(tmp_path, "sweep: {grid: {bs: [4k, 8k]}}\n")
    started = benchtui(home, "run", path, "--hosts", "local", "--detach", "--set", "runtime=12s")
    run_dir = home / "runs" / started.stdout.strip()
    wait_until(lambda: any(event["step"] == 0 for event in events(run_dir, "sample")), "samples")
    assert benchtui(home, "stop", run_dir.name).returncode == 0
    wait_for_the_end(run_dir)
    assert [state for _, state in states(record_of(run_dir))] == ["cut", "missing"]
    assert benchtui(home, "runs", "resume", run_dir.name).returncode == 0
    record = record_of(run_dir)
    assert record["state"] == "complete"
    assert [(step["state"], step["attempt"]) for step in record["steps"]] == [
        ("done", 2),
        ("done", 1),
    ]


def test_a_point_that_fails_leaves_the_others_their_turn_and_may_be_measured_again(
    home: Path, tmp_path: Path
) -> None:
    """fio cannot read 64k blocks of half a file of 32k, whose size nobody knows before it runs."""
    path = profile(tmp_path, "sweep: {grid: {bs: [64k, 4k]}}\n")
    path.write_text(
        path.read_text().replace("size: 1M,", "size: 50%,").replace("layout: true", "layout: false")
    )
    (tmp_path / "data").write_bytes(bytes(32768))
    done = benchtui(home, "run", path, "--hosts", "local")
    assert done.returncode == 4
    run_dir = last_run(home)
    assert states(record_of(run_dir)) == [("bs=64k", "failed"), ("bs=4k", "done")]
    told = benchtui(home, "runs", "resume", run_dir.name)
    assert told.returncode == 2
    assert (
        told.stderr.strip()
        == f"benchtui: nothing to resume in {run_dir.name}; 1 step ended with errors: use --failed"
        " to repeat them"
    )
    assert benchtui(home, "runs", "resume", "--failed", run_dir.name).returncode == 4
    record = record_of(run_dir)
    assert [(step["state"], step["attempt"]) for step in record["steps"]] == [
        ("failed", 2),
        ("done", 1),
    ]


def test_repetitions_end_when_the_figure_is_known(home: Path, tmp_path: Path) -> None:
    path = profile(tmp_path, "repeat: {until: 99%, min: 3, max: 9}\n")
    done = benchtui(home, "run", path, "--hosts", "local")
    assert done.returncode == 0, done.stderr
    record = record_of(last_run(home))
    assert [state for _, state in states(record)] == ["done"] * 3 + ["skipped"] * 6
    (cell,) = record["matrix"]["cells"]
    assert len(cell["values"]) == 3
    assert cell["ci_relative"] < 0.99


def test_a_warm_up_is_run_and_does_not_count(home: Path, tmp_path: Path) -> None:
    path = profile(tmp_path, "warmup: 1s\npause: 1s\n")
    done = benchtui(home, "run", path, "--hosts", "local")
    assert done.returncode == 0, done.stderr
    record = record_of(last_run(home))
    assert [(step["warmup"], step["state"]) for step in record["steps"]] == [
        (True, "done"),
        (False, "done"),
    ]
    assert record["matrix"]["cells"][0]["steps"] == [1]
    assert record["headline"]["step"] == 1
    (pause,) = [phase for phase in record["steps"][1]["phases"] if phase["name"] == "pause"]
    assert pause["end_s"] - pause["start_s"] >= 0.99


@pytest.mark.slow
def test_a_sweep_over_hosts_measures_with_the_first_ones(
    lab: SshdLab, home: Path, tmp_path: Path
) -> None:
    path = profile(tmp_path, "sweep: {hosts: [1, all]}\n")
    done = benchtui(home, "run", path, "--hosts", "h[1-2]", "--ssh-config", str(lab.ssh_config))
    assert done.returncode == 0, done.stderr
    record = record_of(last_run(home))
    hosts = [sorted(step["results"]["per_host"]) for step in record["steps"]]
    assert hosts == [["h1"], ["h1", "h2"]]


def test_how_the_page_cache_was_dropped_is_in_the_record(home: Path, tmp_path: Path) -> None:
    path = profile(tmp_path, "drop_caches: try\nrepeat: 2\n")
    done = benchtui(home, "run", path, "--hosts", "local")
    assert done.returncode == 0, done.stderr
    drops = [step["cache_drops"] for step in record_of(last_run(home))["steps"]]
    assert [[each["host"] for each in step] for step in drops] == [["local"], ["local"]]
    assert all(each["ok"] or each["detail"] for step in drops for each in step)


def test_a_profile_that_needs_a_failed_one_is_not_run_and_the_next_one_is(
    home: Path, tmp_path: Path
) -> None:
    own = home / "profiles"
    own.mkdir(parents=True)
    (own / "sweep.yaml").write_text(profile(tmp_path).read_text())
    (own / "slow.yaml").write_text(  # below this rate fio ends with an error after 2 s
        "profile: my/slow\nextends: my/sweep\nfio: {global: {rate_min: 100g}}\n"
    )
    (own / "all.yaml").write_text(
        "profile: my/all\ntitle: Three\ntool: suite\nsuite:\n- {profile: my/slow, set: {runtime: 4s}}\n"
        "- {profile: my/sweep, needs: [my/slow]}\n- {profile: my/sweep, set: {bs: 8k}}\n"
    )
    assert benchtui(home, "run", "my/all", "--hosts", "local").returncode == 4
    record = record_of(last_run(home))
    assert [step["state"] for step in record["steps"]] == ["failed", "failed", "done"]
    assert not record["steps"][1]["results"]["per_host"]
    assert any("because my/slow failed" in run_text(each["text"]) for each in record["messages"])


def test_a_suite_has_a_figure_for_each_of_its_profiles(home: Path, tmp_path: Path) -> None:
    profile(tmp_path)
    own = home / "profiles"
    own.mkdir(parents=True)
    (own / "sweep.yaml").write_text(profile(tmp_path).read_text())
    (own / "lat.yaml").write_text(
        "profile: my/lat\nextends: my/sweep\nheadline: {metric: latency, direction: read}\n"
    )
    (own / "all.yaml").write_text(
        "profile: my/all\ntitle: Both\ntool: suite\nsuite: [my/sweep, my/lat]\n"
    )
    done = benchtui(home, "run", "my/all", "--hosts", "local")
    assert done.returncode == 0, done.stderr
    record = record_of(last_run(home))
    assert record["headline"] is None
    assert [(cell["profile"], cell["headline"]["unit"]) for cell in record["matrix"]["cells"]] == [
        ("my/sweep", "bytes_per_s"),
        ("my/lat", "ns"),
    ]
