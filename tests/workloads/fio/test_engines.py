"""Which engines of a job a host may lack, and how fio says so."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from tui.workloads.fio.engine_kinds import NO_OPTIONS, engines_of, trial_of

needs_fio = pytest.mark.skipif(shutil.which("fio") is None, reason="no fio on this machine")


def test_engines_are_read_from_all_sections_each_once() -> None:
    jobs = [
        "[global]\nioengine=libaio\n[a]\nioengine = rbd\n[b]\nioengine=psync\n",
        "[global]\nioengine=libaio\n",
    ]
    assert engines_of(jobs) == ["libaio", "rbd"]


def test_a_job_without_a_word_of_engines_needs_none() -> None:
    assert engines_of(["[global]\nbs=4k\n; ioengine=rbd\n"]) == []


@needs_fio
@pytest.mark.parametrize(
    ("engine", "works"),
    [
        ("posixaio", True),
        ("mmap", True),
        ("filecreate", True),
        ("external:/nowhere/engine.so", False),
    ],
)
def test_fio_tells_whether_an_engine_works(engine: str, works: bool) -> None:
    done = subprocess.run(
        ["fio", *trial_of(engine)], capture_output=True, text=True, check=False, cwd="/"
    )
    assert (done.returncode == 0 or NO_OPTIONS in done.stdout + done.stderr) is works, done.stderr
