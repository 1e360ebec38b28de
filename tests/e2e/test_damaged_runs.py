"""Runs whose files were damaged while hosts still held the data: a clear word, the rest collected,
hosts clean.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.command import benchtui, journal_has, marked_processes
from tests.e2e.test_recovery import begin, kill_engine, last_total, record_of
from tests.lab import tmpfs
from tests.lab.sshd import SshdLab
from tests.patience import wait_until
from tui.text.run_texts import run_text

pytestmark = pytest.mark.e2e


def cut_off(lab: SshdLab, home: Path, target: Path) -> Path:
    """Return the directory of a run whose engine died, and whose load its lease has ended."""
    run_dir = begin(lab, home, target, "90s", "--lease", "10s")
    kill_engine(run_dir)
    wait_until(lambda: not marked_processes(run_dir.name), "no process with the run's mark")
    return run_dir


def assert_collected(run_dir: Path) -> None:
    results = record_of(run_dir)["steps"][0]["results"]["per_host"]
    assert sorted(results) == ["h1", "h2"]
    for host, directions in results.items():
        assert directions["read"]["ios"] == last_total(run_dir, host)
        assert not directions["read"]["from_samples"]
    assert not list(Path("/tmp").glob(f".benchtui-*/{run_dir.name}"))


@pytest.mark.slow
def test_what_hosts_hold_is_collected_although_the_journal_is_empty_and_raw_is_gone(
    lab: SshdLab, home: Path, tmp_path: Path
) -> None:
    run_dir = cut_off(lab, home, tmp_path)
    (run_dir / "journal.jsonl").write_bytes(b"")
    shutil.rmtree(run_dir / "raw")
    recovered = benchtui(home, "runs", "recover")
    assert "Traceback" not in recovered.stderr + (run_dir / "engine.log").read_text()
    assert recovered.returncode == 4, recovered.stderr
    assert record_of(run_dir)["state"] == "partial"
    assert_collected(run_dir)


@pytest.mark.slow
def test_damaged_and_newer_lines_survive_a_recovery_and_what_they_hid_is_asked_from_the_hosts(
    lab: SshdLab, home: Path, tmp_path: Path
) -> None:
    run_dir = cut_off(lab, home, tmp_path)
    journal = run_dir / "journal.jsonl"
    newer = b'{"type":"weather","t":1.0,"cpu":3}\n'
    lines = [
        line.replace(b"task_started", b"task_\xff\xfe")
        if b'"phase":"measure"' in line and b"task_s" in line
        else line
        for line in journal.read_bytes().splitlines(keepends=True)
    ]
    before = b"".join([*lines[:5], newer, *lines[5:]])
    journal.write_bytes(before)
    recovered = benchtui(home, "runs", "recover", run_dir.name)
    assert recovered.returncode == 4, recovered.stderr
    assert journal.read_bytes().startswith(before)
    record = record_of(run_dir)
    assert record["provenance"]["journal"]["damaged_lines"] == 2
    assert [each["text"] for each in record["messages"] if "cannot be read" in each["text"]] == [
        "2 unreadable journal lines ignored"
    ]
    assert_collected(run_dir)


@pytest.fixture
def small_home(tmp_path: Path) -> Iterator[Path]:
    if not tmpfs.possible():
        pytest.skip("mounting a tmpfs needs root")
    with tmpfs.small_tmpfs(tmp_path / "home", "6m") as path:
        yield path


def test_a_jump_host_whose_disk_fills_up_ends_the_load_in_order_and_collects_later(
    lab: SshdLab, small_home: Path, tmp_path: Path
) -> None:
    run_dir = begin(lab, small_home, tmp_path, "90s", "--lease", "30s")
    pid = int((run_dir / "engine.pid").read_text().split()[0])
    filler = tmpfs.fill(small_home)
    wait_until(lambda: not Path(f"/proc/{pid}").exists(), "the end of the engine")
    assert not marked_processes(run_dir.name)
    assert journal_has(run_dir, "No space left on device")
    assert "No space left on device" in (run_dir / "engine.log").read_text()
    assert "Traceback" not in (run_dir / "engine.log").read_text()
    filler.unlink()
    recovered = benchtui(small_home, "runs", "recover")
    assert recovered.returncode == 4, recovered.stderr
    record = record_of(run_dir)
    assert (record["state"], "No space left on device" in run_text(record["reason"])) == (
        "partial",
        True,
    )
    assert_collected(run_dir)
