"""Searches for what a system sustains, for real: stopped and resumed, never met, met at full load,
a host lost.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.command import benchtui, start
from tests.e2e.test_matrix import events, last_run
from tests.e2e.test_recovery import kill_engine, record_of
from tests.lab.course import course
from tests.lab.faults import forget_on_hosts, shells
from tests.lab.sshd import SshdLab
from tests.patience import PATIENCE_S, wait_until
from tui.engine.plan.search import SearchChoice
from tui.engine.run.run import execute
from tui.journal.rundir import is_running
from tui.model.operands import clause
from tui.text.run_texts import run_text

pytestmark = pytest.mark.e2e

PROFILE = """\
profile: my/sized
title: Reads of a small file
tool: fio
params:
  directory: {default: DIRECTORY, kind: directory}
  runtime: {default: 1s, kind: duration}
  size: {default: 1M, kind: size}
  numjobs: {default: 1, kind: count}
fio:
  global: {ioengine: psync, time_based: 1, runtime: "{runtime}", size: "{size}", ramp_time: 0}
  jobs: {r: {rw: randread, bs: 4k, directory: "{directory}/{host}", numjobs: "{numjobs}"}}
prepare: {layout: true}
headline: {metric: iops, direction: read}
capacity: {limits: ["p99 < 1us", "errors = 0"], point: 1s, most: 1s, hold: 1s, points: 4}
"""


def profile(where: Path) -> Path:
    path = where / "sized.yaml"
    path.write_text(PROFILE.replace("DIRECTORY", str(where)))
    return path


def test_a_search_that_is_stopped_continues_from_its_points_and_says_that_nothing_keeps_the_limit(
    home: Path, tmp_path: Path
) -> None:
    options = ("--hosts", "local", "--no-telemetry", "--detach")
    run_dir = home / "runs" / benchtui(home, "run", profile(tmp_path), *options).stdout.strip()
    wait_until(lambda: len(events(run_dir, "point_offered")) >= 2, "the second point")
    benchtui(home, "stop", run_dir.name)
    before = events(run_dir, "point_decided")
    assert record_of(run_dir)["state"] == "partial"
    done = benchtui(home, "runs", "resume", run_dir.name)
    decided = events(run_dir, "point_decided")
    assert decided[: len(before)] == before, "what was known is measured again"
    assert done.returncode == 5, done.stderr
    record = record_of(run_dir)
    assert record["search"]["answer"]["state"] == "never-met"
    assert [point["step"] for point in record["search"]["points"]] == [
        each["point"]["step"] for each in decided
    ]
    offered = {
        each["step"]: each["planned"]["tasks"][0]["job_file"]
        for each in events(run_dir, "point_offered")
    }
    paced = [step for step, text in offered.items() if "rate_process=poisson" in text]
    assert paced, "no rate was offered"
    kept = {each["step"]: each["text"] for each in record["profile"]["job_files"]}
    assert [kept[step] for step in paced] == [offered[step] for step in paced], (
        "the record tells another load"
    )
    verified = benchtui(home, "runs", "verify", run_dir.name)
    assert verified.returncode == 0, verified.stdout


def begun(home: Path, tmp_path: Path, point_s: int) -> Path:
    """Begin a search of two points of this length, and return the directory of its run."""
    path = profile(tmp_path)
    text = PROFILE.replace("DIRECTORY", str(tmp_path))
    path.write_text(text.replace("point: 1s, most: 1s", f"point: {point_s}s, most: {point_s}s"))
    options = ("--slo", "p99<9s", "--points", "2", "--hosts", "local", "--no-telemetry", "--detach")
    return home / "runs" / benchtui(home, "capacity", path, *options).stdout.strip()


def test_a_search_whose_engine_is_killed_keeps_its_points_and_continues(
    home: Path, tmp_path: Path
) -> None:
    run_dir = begun(home, tmp_path, point_s=2)
    wait_until(partial(measured, run_dir, 0), "the first second")
    kill_engine(run_dir)
    wait_until(lambda: not shells(run_dir.name), "the end of the load and of its supervisor")
    recovered = benchtui(home, "runs", "recover", run_dir.name)
    assert recovered.returncode == 4, recovered.stderr
    record = record_of(run_dir)
    assert record["state"] == "partial"
    missing = clause("points-missing", measured=1, planned=2, run_id=run_dir.name)
    assert record["reason"] == clause("engine-died", why=missing)
    (point,) = record["search"]["points"]
    assert (point["verdict"], point["seconds"]) == ("meets", pytest.approx(2.0, abs=0.3))
    assert record["search"]["answer"]["state"] == "unfinished"
    resumed = benchtui(home, "runs", "resume", run_dir.name)
    assert resumed.returncode == 6, resumed.stdout + resumed.stderr  # not of arrivals at a rate
    record = record_of(run_dir)
    assert record["search"]["answer"]["state"] == "met-at-full-load"
    assert record["search"]["points"][0] == point, "what was known is measured again"


def measured(run_dir: Path, step: int) -> bool:
    return any(
        (each["step"], each["phase"]) == (step, "measure") for each in events(run_dir, "sample")
    )


def resumed(run_dir: Path, times: int) -> bool:
    return len(events(run_dir, "run_resumed")) >= times


@pytest.mark.slow
def test_a_search_is_taken_over_while_a_point_is_measured(home: Path, tmp_path: Path) -> None:
    run_dir = begun(home, tmp_path, point_s=6)
    recovering = []
    for point in (0, 1):  # of the last one too something must be decided
        wait_until(partial(measured, run_dir, point), "a second of a point")
        kill_engine(run_dir)
        recovering.append(start(home, "runs", "recover", run_dir.name))
        wait_until(partial(resumed, run_dir, point + 1), "another engine")
    codes = [each.communicate(timeout=PATIENCE_S) and each.returncode for each in recovering]
    assert codes[-1] == 6
    record = record_of(run_dir)
    assert (record["state"], record["search"]["answer"]["state"]) == (
        "complete",
        "met-at-full-load",
    )
    assert [each["seconds"] for each in record["search"]["points"]] == pytest.approx(
        [6.0, 6.0], abs=0.5
    )


@pytest.mark.slow
def test_a_limit_that_full_load_keeps_is_met_there(home: Path, tmp_path: Path) -> None:
    slo = ("--slo", "p99<9s", "--points", "3")
    done = benchtui(home, "capacity", profile(tmp_path), "--hosts", "local", *slo, "--json")
    assert done.returncode == 6, done.stderr  # of a closed loop only
    assert json.loads(done.stdout)["search"]["answer"]["state"] == "met-at-full-load"
    assert "full load" in done.stderr


@pytest.mark.slow
async def test_a_search_ends_with_a_clear_word_when_a_host_is_lost(
    lab: SshdLab, home: Path, tmp_path: Path
) -> None:
    path, wish = profile(tmp_path), SearchChoice("capacity", ("p99<9s",))
    lost = lab.names[1]
    async with course(
        tmp_path, lab, "1s", hosts=2, size="1M", profile=path, search=wish, lease_s=10
    ) as run:
        running = asyncio.create_task(execute(run.ctx))
        await run.seen(lambda: run.events("point_decided"))
        sessions = lab.host(lost).sessions()
        lab.host(lost).stop()
        for pid in sessions:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        try:
            end = await running
        finally:
            lab.host(lost).start()
            await asyncio.to_thread(forget_on_hosts, run.ctx.run_id)  # it was never back
    assert (end.state, end.exit_code) == ("partial", 4)
    assert lost in run_text(end.reason) and "runs resume" in run_text(end.reason)
    points: list[dict[str, Any]] = [each["point"] for each in run.events("point_decided")]
    assert points[0]["verdict"] == "meets", "what was measured before is lost"


@pytest.mark.slow
def test_a_curve_of_shares_of_full_load_that_ran_out_of_points_says_so_and_continues_with_more(
    home: Path, tmp_path: Path
) -> None:
    path = profile(tmp_path)
    path.write_text(path.read_text() + "curve: {shares: [25%, 50%, 75%], point: 2s, most: 2s}\n")
    done = benchtui(
        home, "run", path, "--hosts", "local", "--curve", "--points", "2", "--no-telemetry"
    )
    assert done.returncode == 6, done.stderr
    record = record_of(last_run(home))
    assert record["reason"]["code"] == "search-unfinished"
    assert record["reason"]["operands"]["option"] == "--points"
    (left,) = record["search"]["not_tried"]
    assert left["operands"]["shares"] and left["operands"]["why"] == clause("points-used", points=2)
    done = benchtui(home, "runs", "resume", "last", "--points", "5")
    assert done.returncode in (0, 1), done.stderr
    points = record_of(last_run(home))["search"]["points"]
    top = points[0]["iops"]
    assert sorted(round(point["offered_iops"] / top, 2) for point in points[1:]) == [
        0.25,
        0.5,
        0.75,
    ]
    for point in points[1:]:
        assert 0 < point["iops"] < 1.05 * point["offered_iops"]  # less where the machine is busy


@pytest.mark.slow
def test_full_load_of_a_curve_that_ended_with_errors_is_measured_again_and_the_shares_stay(
    home: Path, tmp_path: Path
) -> None:
    """Its file is cut off under the load, which ends it.

    Each point lays out again what is missing.
    """
    path = profile(tmp_path)
    path.write_text(path.read_text() + "curve: {shares: [50%], point: 4s, most: 4s}\n")
    options = ("--hosts", "local", "--curve", "--no-telemetry", "--detach")
    run_dir = home / "runs" / benchtui(home, "run", path, *options).stdout.strip()
    wait_until(partial(measured, run_dir, 0), "the first second")
    (data,) = (tmp_path / "local").iterdir()
    os.truncate(data, 0)
    wait_until(lambda: not is_running(run_dir), "the end of the run")
    first = record_of(run_dir)
    assert [(step["state"], step["attempt"]) for step in first["steps"][:2]] == [
        ("failed", 1),
        ("done", 1),
    ]
    told = benchtui(home, "runs", "resume", run_dir.name)
    assert (told.returncode, "--failed" in told.stderr) == (2, True), told.stderr
    before = len(events(run_dir, "point_offered"))
    done = benchtui(home, "runs", "resume", run_dir.name, "--failed")
    assert done.returncode in (0, 1), done.stderr
    offered = events(run_dir, "point_offered")[before:]
    assert [(each["step"], each["offer"].get("rate_iops")) for each in offered] == [(0, None)]
    record = record_of(run_dir)
    assert [(step["state"], step["attempt"]) for step in record["steps"][:2]] == [
        ("done", 2),
        ("done", 1),
    ]
    points = {point["step"]: point for point in record["search"]["points"]}
    assert points[1] == first["search"]["points"][1], "what was known is measured again"
    assert points[0]["seconds"] == pytest.approx(4.0, abs=0.3)
    assert record["search"]["maximum_iops"]["value"] == pytest.approx(points[0]["iops"])
