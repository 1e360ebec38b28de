"""Real fio that is stopped, and a worker of it that is killed."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.patience import PATIENCE_S
from tests.workloads.fio.fixtures import step
from tests.workloads.fio.real import FIO, needs_fio
from tui.workloads.fio.jobfile import render_options
from tui.workloads.fio.reader import FioReader

LOAD = {
    "ioengine": "null",
    "rw": "randread",
    "size": "1G",
    "rate_iops": "500",
    "time_based": "1",
    "runtime": "3s",
}


def disturbed(
    where: Path, disturb: Callable[[subprocess.Popen[bytes]], None]
) -> tuple[FioReader, int]:
    """Run two workers, disturb them when the first status object is there, read to the end."""
    (where / "job.fio").write_text(render_options({**LOAD, "numjobs": "2"}, {"a": {}}, 1))
    assert FIO is not None
    command = [FIO, "--output-format=json+", "--status-interval=250ms", "--eta=never", "job.fio"]
    reader = FioReader("h1", step(), "measure")
    with subprocess.Popen(
        command, cwd=where, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        while not reader.feed(os.read(process.stdout.fileno(), 65536)):
            assert process.poll() is None
        disturb(process)
        reader.feed(process.stdout.read())
        reader.feed_stderr(process.stderr.read())
        return reader, process.wait(PATIENCE_S)


def kill_one_worker(process: subprocess.Popen[bytes]) -> None:
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    os.kill(int(children[0]), signal.SIGKILL)


@needs_fio
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_stopped_run_keeps_what_was_measured_and_is_not_final(
    tmp_path: Path, number: signal.Signals
) -> None:
    reader, exit_code = disturbed(tmp_path, lambda process: process.send_signal(number))
    result = reader.result(exit_code)
    assert exit_code == 128
    assert [code for code, _ in reader.problems(exit_code)] == ["fio-stopped-by-signal"]
    assert result is not None
    assert not result.final
    assert result.errors == []
    assert result.dirs["read"].ios > 0


@needs_fio
def test_a_killed_worker_is_noticed_although_fio_says_nothing_in_its_result(tmp_path: Path) -> None:
    reader, exit_code = disturbed(tmp_path, kill_one_worker)
    result = reader.result(exit_code)
    assert result is not None
    assert result.errors == []
    assert "fio-worker-killed" in dict(reader.problems(exit_code))
