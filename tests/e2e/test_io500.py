"""A real IO500 over MPI on four hosts: figures as it printed them, its reports kept, files gone, a
killed rank named.

It runs where `io500` is on PATH (or named by BENCHTUI_IO500) and built with an MPI that is there.
"""

from __future__ import annotations

import gzip
import json
import os
import signal
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.command import benchtui, marked_processes, only_run, start
from tests.lab.mpi_program import is_rank, phases, real_program
from tests.lab.sshd import SshdLab
from tests.patience import PATIENCE_S, wait_until
from tui.workloads.io500.output import PHASES
from tui.workloads.mpi import REPORTS

HOSTS = ["h1", "h2", "h3", "h4"]
ADDRESSES = ",".join(f"{host}=127.0.0.{at}" for at, host in enumerate(HOSTS, 2))
FOUND = real_program("io500")
pytestmark = [
    pytest.mark.e2e,
    pytest.mark.skipif(FOUND is None, reason="no io500 on PATH that was built with an MPI here"),
]


def arguments(lab: SshdLab, target: Path, **params: str) -> list[str | Path]:
    """Return `benchtui run io500/trial` on the four hosts of a lab."""
    given = {"directory": str(target), "program": FOUND[0] if FOUND else "io500", "ranks": "1"}
    given |= {"addresses": ADDRESSES} | params
    settings = [word for name, value in given.items() for word in ("--set", f"{name}={value}")]
    return [
        "run",
        "io500/trial",
        "--hosts",
        "h[1-4]",
        "--ssh-config",
        lab.ssh_config,
        *settings,
        "--yes",
    ]


@pytest.fixture(scope="module")
def whole(
    lab: SshdLab, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Path, Path, dict[str, Any]]]:
    """A run to the end: the home, the directory under test, and the record."""
    place = tmp_path_factory.mktemp("io500")
    (target := place / "target").mkdir()
    done = benchtui(place / "home", *arguments(lab, target), "--json")
    assert done.stdout, done.stderr
    yield place / "home", target, json.loads(done.stdout)


def test_figures_are_those_that_io500_printed(whole: tuple[Path, Path, dict[str, Any]]) -> None:
    home, target, record = whole
    assert record["state"] == "complete", record["reason"]
    run_dir = only_run(home)
    lines = (
        gzip.decompress((run_dir / "raw" / "0.measure.h1.out.gz").read_bytes())
        .decode()
        .splitlines()
    )
    rows = {
        line.split("]")[1].split()[0]: line
        for line in lines
        if line.startswith(("[RESULT]", "[      ]"))
    }
    metadata = record["steps"][0]["metadata"]
    assert list(metadata["operations"]) == list(PHASES) and metadata["tasks"] == 4
    assert all(
        rows[name].endswith(each["printed"]) for name, each in metadata["operations"].items()
    )
    score = next(line for line in lines if line.startswith("[SCORE ]"))
    assert metadata["printed"] == [f"score: {score.partition('] ')[2]}"]
    assert record["headline"]["value"] == float(score.split("TOTAL ")[1].split()[0])
    assert list(target.iterdir()) == [] and marked_processes(record["run_id"]) == []


def test_phases_of_mdtest_have_the_time_of_each_host(
    whole: tuple[Path, Path, dict[str, Any]],
) -> None:
    operations = whole[2]["steps"][0]["metadata"]["operations"]
    for name in (each for each in PHASES if each.startswith("mdtest")):
        assert list(operations[name]["host_seconds"]) == HOSTS
        assert max(operations[name]["rank_seconds"]) <= operations[name]["seconds"][0] + 0.01


def test_what_io500_calls_invalid_is_a_finding(whole: tuple[Path, Path, dict[str, Any]]) -> None:
    _, _, record = whole
    (found,) = [each for each in record["findings"] if each["id"] == "own-verdict"]
    assert record["verdict"] == "invalid" and any(
        "stonewall-time 1s != 300s" in each for each in found["operands"]["quotes"]
    )


def test_reports_are_kept_and_make_the_same_result(
    whole: tuple[Path, Path, dict[str, Any]], tmp_path: Path
) -> None:
    home, _, record = whole
    with tarfile.open(only_run(home) / "raw" / "0.reports.h1.out.gz") as archive:
        archive.extractall(tmp_path, filter="data")
    names = {path.name for path in (tmp_path / REPORTS).iterdir()}
    assert {
        "result.txt",
        "result_summary.txt",
        "config.ini",
        "config-orig.ini",
        "ior-easy-write.txt",
    } <= names
    done = benchtui(home, "import", "--dry-run", "--json", str(tmp_path / REPORTS))
    metadata, own = json.loads(done.stdout)["steps"][0]["metadata"], record["steps"][0]["metadata"]
    assert all(
        metadata[key] == own[key] for key in ("scores", "printed", "invalid", "tasks", "version")
    )
    for each in own["operations"].values():
        each["host_seconds"] = {}  # the reports do not say which host a rank was on
    assert metadata["operations"] == own["operations"]
    assert benchtui(home, "runs", "verify", record["run_id"]).returncode == 0


def test_a_rank_that_is_killed_ends_all_and_files_are_named(
    lab: SshdLab, home: Path, tmp_path: Path
) -> None:
    (target := tmp_path / "target").mkdir()
    process = start(home, *arguments(lab, target), "--json")
    try:
        wait_until(
            lambda: "ior-hard-write" in phases(home) or process.poll() is not None,
            "the first phases are over",
        )
        assert process.poll() is None, process.communicate()
        run_id = only_run(home).name
        os.kill(next(pid for pid in marked_processes(run_id) if is_rank(pid)), signal.SIGKILL)
    except BaseException:
        benchtui(home, "stop", only_run(home).name, "--abort")
        raise
    out, _ = process.communicate(timeout=PATIENCE_S)
    record = json.loads(out)
    assert record["state"] == "partial" and marked_processes(run_id) == []
    assert "mpi-rank-died" in [
        each["code"] for host in record["hosts"] for each in host["problems"]
    ]
    left = [host["files_left"]["paths"] for host in record["hosts"] if host["files_left"]]
    assert left == [[str(target / f"benchtui-{run_id}")]]
    assert benchtui(home, "clean", run_id, "--yes").returncode == 0 and list(target.iterdir()) == []


@pytest.mark.slow
def test_a_run_whose_engine_died_is_taken_over_and_leaves_nothing(
    lab: SshdLab, home: Path, tmp_path: Path
) -> None:
    (target := tmp_path / "target").mkdir()
    process = start(home, *arguments(lab, target), "--json")
    wait_until(
        lambda: "ior-hard-write" in phases(home) or process.poll() is not None,
        "the first phases are over",
    )
    run_dir = only_run(home)
    os.kill(int((run_dir / "engine.pid").read_text().split()[0]), signal.SIGKILL)
    process.communicate(timeout=PATIENCE_S)
    assert benchtui(home, "runs", "recover").returncode in (0, 1)
    record = json.loads((run_dir / "run.json").read_text())
    assert record["state"] == "complete", record["reason"]
    assert list(record["steps"][0]["metadata"]["operations"]) == list(PHASES)
    assert (run_dir / "raw" / "0.reports.h1.out.gz").exists()
    assert list(target.iterdir()) == [] and marked_processes(record["run_id"]) == []
    assert "not removed" not in (run_dir / "journal.jsonl").read_text()
