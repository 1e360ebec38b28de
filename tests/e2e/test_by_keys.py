"""The whole job by keys only, in a real terminal, on real hosts: choose, change, launch, watch,
read, find again.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
from pathlib import Path
from typing import Any

import pytest

from tests.app.tmux import Terminal
from tests.e2e.command import journal_has, only_run
from tests.lab.course import LOAD
from tests.lab.sshd import SshdLab
from tests.patience import wait_until
from tui.library.summary import summarize

pytestmark = pytest.mark.e2e


def app(lab: SshdLab, folder: Path, size: str) -> Terminal:
    own = folder / "home" / "profiles"
    own.mkdir(parents=True)
    shutil.copy(LOAD, own / "load.yaml")
    locks = {"BENCHTUI_LOCKS": os.environ["BENCHTUI_LOCKS"]}
    return Terminal(folder, "--ssh-config", str(lab.ssh_config), size=size, environ=locks)


def set_field(terminal: Terminal, value: str) -> None:
    """Replace the text of the field that has the focus, and go to the next one."""
    terminal.keys("C-a", "C-k")
    terminal.keys(value)
    terminal.keys("Tab")


def launch(terminal: Terminal, target: Path, runtime: str) -> None:
    """From the first screen to a launched run: hosts h1 and h2, a light load, four small files."""
    terminal.wait_for("h2")
    terminal.keys("Space", "j", "Space")
    terminal.wait_for("2 hosts")
    terminal.keys("Enter")
    terminal.wait_for("demo/quick")
    terminal.keys("/")
    terminal.keys("fault-load")
    terminal.wait_until(lambda: "demo/quick" not in terminal.screen(), "the filtered list")
    terminal.keys("Enter")
    terminal.keys("Enter")
    terminal.wait_for("Parameters")
    terminal.keys("e")
    for value in (str(target), runtime, "8m", "3"):
        set_field(terminal, value)
    terminal.wait_for("4 changed")
    terminal.keys("Escape")
    terminal.wait_for("Ctrl+S save")  # the footer of the screen, not of a field
    terminal.keys("Enter")


def goes_on(run_dir: Path) -> bool:
    summary = summarize(run_dir)
    return summary is not None and summary.state == "running"


def samples(run_dir: Path) -> list[dict[str, Any]]:
    events = [json.loads(line) for line in (run_dir / "journal.jsonl").read_text().splitlines()]
    return [
        e
        for e in events
        if e["type"] == "sample" and e["phase"] == "measure" and "read" in e["dirs"]
    ]


@pytest.mark.parametrize("size", ["80x24", pytest.param("120x36", marks=pytest.mark.slow)])
def test_the_whole_job(lab: SshdLab, tmp_path: Path, size: str) -> None:
    target = tmp_path / "target"
    target.mkdir()
    home = tmp_path / "home"
    with app(lab, tmp_path, size) as terminal:
        launch(terminal, target, "8s")
        terminal.wait_until(
            lambda: (home / "runs").exists() and any((home / "runs").iterdir()), "a run"
        )
        run_dir = only_run(home)
        wait_until(
            lambda: journal_has(run_dir, '"phase":"measure"') and bool(samples(run_dir)),
            "measured samples",
        )
        terminal.wait_until(
            lambda: "p99" in terminal.screen() and "µs" in terminal.screen(), "live percentiles"
        )
        terminal.wait_for("COMPLETE")
        terminal.keys("6")
        terminal.wait_for("headline")  # a column of the list
        terminal.keys("Enter")
        terminal.wait_for("COMPLETE")
        wait_until(lambda: not goes_on(run_dir), "the end of the engine")  # until then q asks
        terminal.keys("q")
        assert terminal.exit_code() == 0
    record = json.loads((run_dir / "run.json").read_text())
    assert record["state"] == "complete"
    assert sorted(record["steps"][0]["results"]["per_host"]) == ["h1", "h2"]
    assert record["profile"]["params"]["runtime"] == 8.0


@pytest.mark.slow
def test_run_continues_when_the_app_is_killed_and_is_shown_again(
    lab: SshdLab, tmp_path: Path
) -> None:
    target = tmp_path / "target"
    target.mkdir()
    home = tmp_path / "home"
    with app(lab, tmp_path, "80x24") as terminal:
        launch(terminal, target, "14s")
        terminal.wait_until(
            lambda: (home / "runs").exists() and any((home / "runs").iterdir()), "a run"
        )
        run_dir = only_run(home)
        wait_until(lambda: journal_has(run_dir, '"phase":"measure"'), "the measurement")
        os.kill(terminal.pid(), signal.SIGKILL)
        assert terminal.exit_code() == 128 + signal.SIGKILL
    again = tmp_path / "again"
    again.mkdir()
    with Terminal(again, "attach", "last", environ={"BENCHTUI_HOME": str(home)}) as terminal:
        terminal.wait_for("RUNNING")
        terminal.wait_for("COMPLETE")
    wait_until(lambda: (run_dir / "run.json").exists(), "the record")
    assert json.loads((run_dir / "run.json").read_text())["state"] == "complete"


@pytest.mark.slow
def test_what_hosts_lack_is_shown_in_the_app(lab: SshdLab, tmp_path: Path) -> None:
    with app(lab, tmp_path, "80x24") as terminal:
        launch(terminal, Path("/no-such-place"), "6s")
        terminal.wait_for("/no-such-place does not exist")
        terminal.wait_for("FAILED")


def test_wrong_value_is_reported_at_its_field_and_blocks_the_launch(
    lab: SshdLab, tmp_path: Path
) -> None:
    with Terminal(tmp_path, "--hosts", "local", "--profile", "demo/quick", "--review") as terminal:
        terminal.wait_for("runs on local")
        terminal.keys("e", "Tab")
        set_field(terminal, "0")
        terminal.wait_for("'0' is not allowed")
        terminal.keys("Escape")
        terminal.wait_for("d defaults")
        terminal.keys("Enter")
        terminal.wait_for("cannot start: runtime")
        assert not (tmp_path / "home" / "runs").exists()
