"""What somebody does every day, by keys only, in a real terminal: a first run, a run again."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest
from msgspec.json import encode

from tests.app.tmux import Terminal
from tests.e2e.command import only_run
from tests.patience import wait_until
from tui.engine.planning.plan import Choices, build_plan
from tui.engine.process.launch import load_plan
from tui.engine.profiles.catalogue import Catalogue
from tui.model.plan import HostAddress
from tui.results.store.alive import is_running

pytestmark = pytest.mark.e2e
OLD_RUN = Path(__file__).parents[1] / "data" / "runs" / "plain"
LOCAL = HostAddress(name="local", transport="local")


def terminal(folder: Path, size: str = "80x24") -> Terminal:
    return Terminal(folder, size=size, environ={"BENCHTUI_LOCKS": os.environ["BENCHTUI_LOCKS"]})


def kept_run(home: Path, target: Path) -> Path:
    """A run of this machine that was kept: the record of a real one, with a plan that can be followed here."""
    overrides = {"directory": str(target), "runtime": "1s", "size": "1M", "numjobs": "1", "direct": "no"}
    loaded = Catalogue(home / "profiles").load("demo/quick")
    run_id = str(json.loads((OLD_RUN / "run.json").read_text())["run_id"])
    run_dir = home / "runs" / run_id
    shutil.copytree(OLD_RUN, run_dir)
    (run_dir / "plan.json").write_bytes(encode(build_plan(loaded, Choices(hosts=[LOCAL], overrides=overrides))))
    return run_dir


def run_dirs(runs: Path) -> list[Path]:
    return sorted(each for each in runs.iterdir() if each.is_dir())


def test_a_run_again_takes_three_keys(tmp_path: Path) -> None:
    (tmp_path / "target").mkdir()
    before = kept_run(tmp_path / "home", tmp_path / "target")
    with terminal(tmp_path) as screen:
        screen.wait_for("this machine")
        screen.keys("6")
        screen.wait_for("demo/quick")
        screen.keys("r")
        screen.wait_for("Enter runs on local, 00:01")
        screen.keys("Enter")
        screen.wait_until(lambda: len(run_dirs(before.parent)) == 2, "another run")
        after = run_dirs(before.parent)[1]
        wait_until(lambda: (after / "run.json").exists() and not is_running(after), "the end")
    assert load_plan(after).params == load_plan(before).params
    assert json.loads((after / "run.json").read_text())["state"] == "complete"


def test_a_profile_is_edited_and_its_new_value_stands_on_review(tmp_path: Path) -> None:
    own = tmp_path / "home" / "profiles" / "my" / "reads.yaml"
    own.parent.mkdir(parents=True)
    own.write_text("profile: my/reads\nextends: demo/quick  # mine\nparams:\n  runtime: 30s\n")
    with terminal(tmp_path, "120x36") as screen:
        screen.wait_for("this machine")
        screen.keys("Enter")
        screen.wait_for("demo/quick")
        screen.keys("/", "my/reads")
        screen.wait_for("1 of ")
        screen.keys("Enter")
        screen.wait_for("Enter choose")
        screen.keys("e")
        screen.wait_for("Ctrl+S save")
        screen.keys("F5")
        screen.wait_for("Where the test files go")
        screen.keys("Tab")
        screen.wait_for("Measured time")
        screen.keys("C-a", "C-k", "45s")
        screen.wait_for("runtime: 45s")
        screen.keys("C-s")
        wait_until(lambda: "runtime: 45s" in own.read_text() and "# mine" in own.read_text(), "the file")
        screen.keys("Escape", "Escape")
        screen.wait_for("e edit")
        screen.keys("Enter")
        screen.wait_for("Enter runs on local, 00:45")


@pytest.mark.slow
def test_the_first_run_from_an_empty_home_takes_three_keys(tmp_path: Path) -> None:
    with terminal(tmp_path) as screen:
        screen.wait_for("this machine")
        screen.keys("Enter")
        screen.wait_for("Ten seconds of mixed")
        screen.keys("Enter")
        screen.wait_for("Enter runs on local, 00:10")
        screen.keys("Enter")
        screen.wait_for("COMPLETE")
        run_dir = only_run(tmp_path / "home")
        wait_until(lambda: (run_dir / "run.json").exists() and not is_running(run_dir), "the end")
    assert json.loads((run_dir / "run.json").read_text())["state"] == "complete"
