"""Engines die.

What they steered is found again, taken over while it lives, collected afterwards.
"""

from __future__ import annotations

import asyncio
import gzip
import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.command import benchtui, marked_processes, measures, start
from tests.e2e.test_survival import arguments
from tests.lab.sshd import SshdLab
from tests.patience import PATIENCE_S, wait_until
from tui.engine.recover import execute_rest
from tui.engine.run.run import open_run
from tui.engine.session.history import read_history
from tui.engine.session.task import TaskRun
from tui.journal.rundir import load_plan
from tui.library.build import build_record
from tui.model.rundir import JOURNAL_FILE
from tui.remote.connections import Connections
from tui.text.run_texts import run_text

pytestmark = pytest.mark.e2e


def kill_engine(run_dir: Path) -> None:
    """End the engine as a power cut would, and wait until it is gone."""
    pid = int((run_dir / "engine.pid").read_text().split()[0])
    os.kill(pid, signal.SIGKILL)
    wait_until(lambda: has_ended(pid), "the end of the engine")


def has_ended(pid: int) -> bool:
    """Whether a process is gone, or nobody has asked for its end yet: one look, for it may go in
    between.
    """
    try:
        return ") Z " in Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return True


def begin(lab: SshdLab, home: Path, target: Path, runtime: str, *more: str) -> Path:
    """Start a run and return its directory once it measures."""
    started = benchtui(home, *arguments(lab, target, runtime, "--detach", *more))
    run_dir = home / "runs" / started.stdout.strip()
    wait_until(lambda: measures(run_dir), "live samples")
    return run_dir


def record_of(run_dir: Path) -> dict[str, Any]:
    record: dict[str, Any] = json.loads((run_dir / "run.json").read_text())
    return record


def last_total(run_dir: Path, host: str, step: int = 0) -> int:
    text = gzip.decompress(
        (run_dir / "raw" / f"{step}.measure.{host}.out.gz").read_bytes()
    ).decode()
    total: int = json.loads(text[text.rindex("\n{\n") :])["jobs"][0]["read"]["total_ios"]
    return total


def test_run_is_taken_over_while_its_load_continues_and_nothing_is_lost(
    lab: SshdLab, home: Path, tmp_path: Path
) -> None:
    run_dir = begin(lab, home, tmp_path, "8s")
    kill_engine(run_dir)
    recovered = benchtui(home, "runs", "recover")
    assert recovered.returncode == 0, recovered.stdout + recovered.stderr
    record = record_of(run_dir)
    assert record["state"] == "complete"
    for host, results in record["steps"][0]["results"]["per_host"].items():
        assert results["read"]["ios"] == last_total(run_dir, host)


async def test_an_internal_error_on_one_host_does_not_affect_the_takeover_of_others(
    lab: SshdLab, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_dir = begin(lab, home, tmp_path, "5s")
    kill_engine(run_dir)
    reopen = TaskRun.reopen

    async def failing(run: TaskRun, sampled_ms: int, away_s: float) -> None:
        if run.session.name == "h1":
            raise KeyError("offset")
        await reopen(run, sampled_ms, away_s)

    monkeypatch.setattr(TaskRun, "reopen", failing)
    async with Connections(ssh_config=lab.ssh_config) as connections:
        history = read_history(run_dir / JOURNAL_FILE)
        ctx = open_run(run_dir, load_plan(run_dir), connections, history)
        end = await execute_rest(ctx, history)
        ctx.journal.close()
    assert (end.state, end.exit_code) == ("partial", 4)
    assert [
        host for (_, host), result in ctx.results.items() if result is not None and result.final
    ] == ["h2"]
    record = build_record(run_dir)
    told = {host.name: [run_text(problem.message) for problem in host.problems] for host in record.hosts}
    assert "internal error: KeyError: 'offset'" in told["h1"][0] and told["h2"] == []
    assert f"benchtui runs recover {run_dir.name}" in run_text(
        end.reason
    ) and "results of h1" in run_text(end.reason)
    recovered = await asyncio.to_thread(benchtui, home, "runs", "recover", run_dir.name)
    assert recovered.returncode == 4, recovered.stderr
    results = record_of(run_dir)["steps"][0]["results"]["per_host"]
    assert {host: result["read"]["ios"] for host, result in results.items()} == {
        host: last_total(run_dir, host) for host in ("h1", "h2")
    }


def test_what_a_dead_engine_left_is_collected_after_the_lease(
    lab: SshdLab, home: Path, tmp_path: Path
) -> None:
    run_dir = begin(lab, home, tmp_path, "900s", "--lease", "10s")
    kill_engine(run_dir)
    wait_until(lambda: not marked_processes(run_dir.name), "no process with the run's mark")
    recovered = benchtui(home, "runs", "recover", run_dir.name, "--json")
    assert recovered.returncode == 4, recovered.stderr
    record = record_of(run_dir)
    assert record["state"] == "partial"
    told = {"run_id": run_dir.name, "exit_code": 4, "state": "partial", "problem": None}
    assert json.loads(recovered.stdout) == [told]
    assert sorted(record["steps"][0]["results"]["per_host"]) == ["h1", "h2"]
    assert {problem["code"] for host in record["hosts"] for problem in host["problems"]} == {
        "lease-expired"
    }
    assert not list(Path("/tmp").glob(f".benchtui-*/{run_dir.name}"))


@pytest.mark.slow
def test_later_repetitions_continue_after_a_takeover(
    lab: SshdLab, home: Path, tmp_path: Path
) -> None:
    run_dir = begin(lab, home, tmp_path, "20s", "--repeat", "2")
    kill_engine(run_dir)
    recovered = benchtui(home, "runs", "recover")
    assert recovered.returncode == 0, recovered.stdout + recovered.stderr
    record = record_of(run_dir)
    assert [step["repetition"] for step in record["steps"] if step["results"]["aggregate"]] == [
        1,
        2,
    ]


@pytest.mark.slow
def test_running_run_is_not_recovered(lab: SshdLab, home: Path, tmp_path: Path) -> None:
    run_dir = begin(lab, home, tmp_path, "900s")
    refused = benchtui(home, "runs", "recover", run_dir.name)
    assert refused.returncode == 2
    assert "is still running" in refused.stderr
    benchtui(home, "stop", run_dir.name, "--abort")


@pytest.mark.slow
def test_host_in_use_refuses_a_second_run(lab: SshdLab, home: Path, tmp_path: Path) -> None:
    run_dir = begin(lab, home, tmp_path, "900s")
    second = benchtui(home, *arguments(lab, tmp_path, "5s"))
    assert second.returncode == 3
    assert f"in use by run {run_dir.name} of " in second.stderr
    assert "stop the other run, or use --wait or --take-locks" in second.stderr
    benchtui(home, "stop", run_dir.name, "--abort")
    third = start(home, *arguments(lab, tmp_path, "2s"))
    _, err = third.communicate(timeout=PATIENCE_S)
    assert third.returncode == 0, err


@pytest.mark.slow
def test_host_in_use_can_be_taken_when_asked(lab: SshdLab, home: Path, tmp_path: Path) -> None:
    run_dir = begin(lab, home, tmp_path, "900s")
    second = benchtui(home, *arguments(lab, tmp_path, "2s", "--take-locks"))
    assert second.returncode == 0, second.stderr
    assert "running beside it, as asked" in second.stderr
    benchtui(home, "stop", run_dir.name, "--abort")
