"""A real IOR over MPI on four hosts: figures as it printed them, files gone, and a rank that is
killed is named.

It runs where `ior` is on PATH (or named by BENCHTUI_IOR) and built with an MPI that is there.
"""

from __future__ import annotations

import gzip
import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.command import benchtui, marked_processes, only_run, start
from tests.lab.mpi_program import is_rank, phases, real_program
from tests.lab.sshd import SshdLab
from tests.patience import PATIENCE_S, wait_until
from tui.workloads.reading import version_numbers

MIB = 1 << 20
SEGMENTS = "5000"  # of 8 KiB, in I/Os of 8 bytes: 320 MB that take long enough to be interrupted


HOSTS = ["h1", "h2", "h3", "h4"]
ADDRESSES = ",".join(f"{host}=127.0.0.{at}" for at, host in enumerate(HOSTS, 2))
FOUND = real_program("ior")
pytestmark = [
    pytest.mark.e2e,
    pytest.mark.skipif(FOUND is None, reason="no ior on PATH that was built with an MPI here"),
]


def arguments(lab: SshdLab, target: Path, **params: str) -> list[str | Path]:
    """Return `benchtui run ior/file-per-process` on the four hosts of a lab."""
    program = FOUND[0] if FOUND else "ior"
    given = {
        "directory": str(target),
        "program": program,
        "ranks": "2",
        "transfer": "64k",
        "block": "1m",
    }
    given |= {"segments": "2", "iterations": "2", "addresses": ADDRESSES} | params
    settings = [word for name, value in given.items() for word in ("--set", f"{name}={value}")]
    return [
        "run",
        "ior/file-per-process",
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
    place = tmp_path_factory.mktemp("ior")
    (target := place / "target").mkdir()
    done = benchtui(place / "home", *arguments(lab, target), "--json")
    assert done.stdout, done.stderr
    yield place / "home", target, json.loads(done.stdout)


def summary_of(run_dir: Path) -> dict[str, list[float]]:
    """The summary that IOR itself printed: access -> max, min, mean, std dev in MiB/s."""
    text = gzip.decompress((run_dir / "raw" / "0.measure.h1.out.gz").read_bytes()).decode()
    rows = [line.split() for line in text[text.index("Summary of all tests") :].splitlines()]
    return {
        row[0]: [float(word) for word in row[1:5]]
        for row in rows
        if row and row[0] in ("write", "read")
    }


def test_figures_are_those_that_ior_printed(whole: tuple[Path, Path, dict[str, Any]]) -> None:
    home, target, record = whole
    assert record["state"] == "complete", record["reason"]
    metadata = record["steps"][0]["metadata"]
    for name, printed in summary_of(only_run(home)).items():
        each = metadata["operations"][name]
        told = [each[key] * each["bytes_per_op"] / MIB for key in ("max", "min", "mean", "stddev")]
        assert told == pytest.approx(printed, abs=0.01)
        assert each["bytes_per_op"] == 64 << 10 and len(each["iterations"]) == 2
        if version_numbers(metadata["version"]) >= (4, 1):
            assert len(each["latency_s"]) == 2
            assert len(each["rank_seconds"]) == 8 and list(each["host_seconds"]) == HOSTS
    assert (metadata["tasks"], metadata["items_per_rank"], metadata["final"]) == (8, 32, True)
    assert (
        record["headline"]["unit"] == "bytes_per_s" and record["headline"]["direction"] == "write"
    )
    assert record["headline"]["value"] == pytest.approx(
        summary_of(only_run(home))["write"][2] * MIB, rel=0.01
    )
    assert list(target.iterdir()) == [] and marked_processes(record["run_id"]) == []


def test_ranks_read_what_the_next_host_has_written(
    whole: tuple[Path, Path, dict[str, Any]],
) -> None:
    home, _, record = whole
    metadata = record["steps"][0]["metadata"]
    assert (
        metadata["shift_ranks"] == metadata["tasks"] // (metadata["nodes"] or 2) % metadata["tasks"]
    )
    shown = benchtui(home, "runs", "show", record["run_id"]).stdout
    assert "GiB/s" in shown or "MiB/s" in shown
    assert record["headline"]["text"] in benchtui(home, "runs", "list").stdout
    assert benchtui(home, "runs", "verify", record["run_id"]).returncode == 0


def test_a_rank_that_is_killed_ends_all_and_files_are_named(
    lab: SshdLab, home: Path, tmp_path: Path
) -> None:
    (target := tmp_path / "target").mkdir()
    args = arguments(lab, target, transfer="8", block="8k", segments=SEGMENTS)
    process = start(home, *args, "--json")
    try:
        wait_until(lambda: "write" in phases(home) or process.poll() is not None, "the ranks write")
        assert process.poll() is None, process.communicate()
        run_id = only_run(home).name
        ranks = [pid for pid in marked_processes(run_id) if is_rank(pid)]
        os.kill(ranks[0], signal.SIGKILL)
    except BaseException:
        benchtui(home, "stop", only_run(home).name, "--abort")
        raise
    out, _ = process.communicate(timeout=PATIENCE_S)
    record = json.loads(out)
    assert record["state"] == "failed" and marked_processes(run_id) == []
    codes = [each["code"] for host in record["hosts"] for each in host["problems"]]
    assert "mpi-rank-died" in codes
    left = [host["files_left"]["paths"] for host in record["hosts"] if host["files_left"]]
    assert left == [[str(target / f"benchtui-{run_id}")]]
