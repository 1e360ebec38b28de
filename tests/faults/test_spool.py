"""A host whose spool directory is full: the record says so, and nothing hangs."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.lab.faults_check import problem_codes, violations
from tests.lab.faults_run import LiveRun
from tests.lab.sshd import SshdLab

pytestmark = pytest.mark.e2e

AGENT_KIB = 40  # the agent, the job file and the small files beside them


@contextmanager
def small_spool(root: Path, size_kib: int) -> Iterator[SshdLab]:
    """Two hosts; the private directory of h1 is on a file system of this size, in a mount namespace of its sshd."""
    place = f"/tmp/.benchtui-{os.getuid()}"
    mount = f"mkdir -p -m 700 {place}; mount -t tmpfs -o size={size_kib}k,mode=700 tmpfs {place}"
    wrapper = ["unshare", "--mount", "sh", "-c", f'set -e; {mount}; exec "$@"', "sh"]
    if subprocess.run([*wrapper, "true"], check=False, capture_output=True).returncode != 0:
        pytest.skip("no mount namespaces here")
    lab = SshdLab(root, hosts=2)
    lab.host("h1").wrapper = wrapper
    with lab:
        yield lab


def begin(lab: SshdLab, home: Path, target: Path, runtime: str) -> LiveRun:
    h1 = lab.host("h1").process
    assert h1 is not None
    roots = {"h1": Path(f"/proc/{h1.pid}/root")}
    return LiveRun.begin(home, lab, target, {"runtime": runtime}, root_of=lambda host: roots.get(host, Path("/")))


def test_spool_that_fills_up_while_it_measures(home: Path, tmp_path: Path, target: Path) -> None:
    with small_spool(tmp_path / "lab", AGENT_KIB + 180) as lab, begin(lab, home, target, "12s") as run:
        record = run.finished()
        assert record["state"] == "partial"
        assert problem_codes(record, "h1") != set()
        assert problem_codes(record, "h2") == set()
        assert violations(run, record) == []
        assert run.spool.of("h2").whole
        run.no_process_left()
        told = [problem["message"] for problem in record["hosts"][0]["problems"]]
        assert any("no space" in text.lower() for text in told), told


def test_spool_without_room_for_the_agent(home: Path, tmp_path: Path, target: Path) -> None:
    with small_spool(tmp_path / "lab", 12) as lab, begin(lab, home, target, "4s") as run:
        record = run.finished()
        assert record["state"] == "failed"
        told = " ".join(problem["message"] for problem in record["hosts"][0]["problems"])
        assert "cannot write" in told
        assert violations(run, record) == []
        run.no_process_left()
