"""A host whose spool directory is full: the record says so, and nothing hangs."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from tests.lab.faults_check import problem_codes, violations
from tests.lab.faults_run import LiveRun
from tests.lab.small_tmp import narrow
from tests.lab.sshd import SshdLab
from tui.text.run_texts import run_text

pytestmark = pytest.mark.e2e

AGENT_KIB = 40  # the agent, the job file and the small files beside them


@contextmanager
def small_spool(root: Path, size_kib: int, target: Path) -> Iterator[SshdLab]:
    """Two hosts.

    /tmp of h1 is a file system of this size, in which only the files of these tests are the
    machine's.
    """
    lab = SshdLab(root, hosts=2)
    if not narrow(lab.host("h1"), size_kib, target.parent):
        pytest.skip("no mount namespaces here")
    with lab:
        yield lab


def root_of_h1(lab: SshdLab) -> Path:
    h1 = lab.host("h1").process
    assert h1 is not None
    return Path(f"/proc/{h1.pid}/root")


def begin(lab: SshdLab, home: Path, target: Path, runtime: str) -> LiveRun:
    roots = {"h1": root_of_h1(lab)}
    return LiveRun.begin(
        home, lab, target, {"runtime": runtime}, root_of=lambda host: roots.get(host, Path("/"))
    )


def test_spool_that_fills_up_while_it_measures(home: Path, tmp_path: Path, target: Path) -> None:
    with (
        small_spool(tmp_path / "lab", AGENT_KIB + 180, target) as lab,
        begin(lab, home, target, "12s") as run,
    ):
        record = run.finished()
        assert record["state"] == "partial"
        assert problem_codes(record, "h1") != set()
        assert problem_codes(record, "h2") == set()
        assert violations(run, record) == []
        assert run.spool.of("h2").whole
        run.no_process_left()
        told = [run_text(problem["message"]) for problem in record["hosts"][0]["problems"]]
        assert any("no space" in text.lower() for text in told), told


def test_spool_without_room_for_the_agent(home: Path, tmp_path: Path, target: Path) -> None:
    with small_spool(tmp_path / "lab", 12, target) as lab, begin(lab, home, target, "4s") as run:
        record = run.finished()
        assert record["state"] == "failed"
        told = " ".join(run_text(problem["message"]) for problem in record["hosts"][0]["problems"])
        assert "cannot write" in told
        assert violations(run, record) == []
        run.no_process_left()


@contextmanager
def no_room(place: Path) -> Iterator[None]:
    """Take all room of a file system, and whatever anybody gives free, as soon as that is there."""
    over = threading.Event()

    def take() -> None:
        with (place / "filler").open("wb", buffering=0) as file:
            while not over.is_set():
                with suppress(OSError):
                    file.write(bytes(4096))

    taker = threading.Thread(target=take)
    taker.start()
    try:
        yield
    finally:
        over.set()
        taker.join()
        (place / "filler").unlink()


def test_spool_on_which_others_take_every_byte_that_is_given_free(
    home: Path, tmp_path: Path, target: Path
) -> None:
    with (
        small_spool(tmp_path / "lab", AGENT_KIB + 400, target) as lab,
        begin(lab, home, target, "12s") as run,
    ):
        run.measuring()
        with no_room(root_of_h1(lab) / "tmp"):
            record = run.finished()
        assert problem_codes(record, "h1") == {"spool-full"}
        assert violations(run, record) == []
