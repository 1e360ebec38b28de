"""What somebody does every day, by keys only, in a real terminal: a first run, a run again, who
lags, was it faster.
"""

from __future__ import annotations

import datetime
import json
import os
import shutil
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest
from msgspec.json import encode

from tests.app.scenes import Scene, begun
from tests.app.tmux import Terminal
from tests.cli.test_compare import keep
from tests.e2e.command import measures, only_run
from tests.patience import wait_until
from tests.samples.records import IOPS, run, step
from tui.engine.inputs.profiles import Catalogue
from tui.engine.plan.plan import Choices, build_plan
from tui.journal.rundir import announce, is_running, load_plan
from tui.library.build import write_record
from tui.model.address import HostAddress
from tui.model.rundir import PID_FILE

pytestmark = pytest.mark.e2e
OLD_RUN = Path(__file__).parents[1] / "data" / "runs" / "plain"
LOCAL = HostAddress(name="local", transport="local")


def terminal(folder: Path, size: str = "80x24", *arguments: str) -> Terminal:
    return Terminal(
        folder, *arguments, size=size, environ={"BENCHTUI_LOCKS": os.environ["BENCHTUI_LOCKS"]}
    )


def kept_run(home: Path, target: Path, runtime: str = "1s") -> Path:
    """A run of this machine that was kept: the record of a real one, with a plan that can be
    followed here.
    """
    overrides = {
        "directory": str(target),
        "runtime": runtime,
        "size": "1M",
        "numjobs": "1",
        "direct": "no",
    }
    loaded = Catalogue(home / "profiles").load("demo/quick")
    run_id = str(json.loads((OLD_RUN / "run.json").read_text())["run_id"])
    run_dir = home / "runs" / run_id
    shutil.copytree(OLD_RUN, run_dir)
    (run_dir / "plan.json").write_bytes(
        encode(build_plan(loaded, Choices(hosts=[LOCAL], overrides=overrides)))
    )
    return run_dir


def run_dirs(runs: Path) -> list[Path]:
    return sorted(each for each in runs.iterdir() if each.is_dir())


def lagging(home: Path) -> Scene:
    """A run that goes on since a minute, steered by this process: one of eight hosts does a quarter
    of the others.
    """
    began = datetime.datetime.now(datetime.UTC) - datetime.timedelta(seconds=60)
    maker = begun(home, utc=began.strftime("%Y-%m-%dT%H:%M:%S.%fZ"), runtime_s=120.0)
    announce(maker.run_dir, os.getpid())
    maker.pace["weka-06"] = 0.25
    return go_on(maker)


def go_on(maker: Scene) -> Scene:
    """Have the hosts report the seconds that have passed."""
    return maker.measure(int(time.time() - maker.now))


def first_host(screen: str) -> str:
    """The row under the head of the table of hosts."""
    lines = [line.strip() for line in screen.splitlines()]
    return next((below for head, below in pairwise(lines) if head.startswith("host ")), "")


def test_a_run_again_takes_three_keys(tmp_path: Path) -> None:
    (tmp_path / "target").mkdir()
    before = kept_run(tmp_path / "home", tmp_path / "target")
    with terminal(tmp_path) as screen:
        screen.wait_for("this machine")
        screen.keys("6")
        screen.wait_for("demo/quick")
        screen.keys("r")
        screen.wait_for("Enter runs on local, 1 s")
        screen.keys("Enter")
        screen.wait_until(lambda: len(run_dirs(before.parent)) == 2, "another run")
        after = run_dirs(before.parent)[1]
        wait_until(lambda: (after / "run.json").exists() and not is_running(after), "the end")
    assert load_plan(after).params == load_plan(before).params
    assert json.loads((after / "run.json").read_text())["state"] == "complete"


def test_a_profile_is_edited_and_its_new_value_is_on_review(tmp_path: Path) -> None:
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
        screen.wait_for("Directory for the test files")
        screen.keys("Tab")
        screen.wait_for("Measured time")
        screen.keys("C-a", "C-k", "45s")
        screen.wait_for("runtime: 45s")
        screen.keys("C-s")
        wait_until(
            lambda: "runtime: 45s" in own.read_text() and "# mine" in own.read_text(), "the file"
        )
        screen.keys("Escape", "Escape")
        screen.wait_for("e edit")
        screen.keys("Enter")
        screen.wait_for("Enter runs on local, 45 s")


def test_a_straggler_is_seen_while_the_run_continues_looked_into_and_found_again_in_its_result(
    tmp_path: Path,
) -> None:
    maker = lagging(tmp_path / "home")

    def sees(true: Callable[[str], bool], what: str) -> None:
        screen.wait_until(lambda: true(screen.screen()) if go_on(maker) else False, what)

    with terminal(tmp_path, "80x24", "attach", "last") as screen:
        sees(lambda text: "straggler: weka-06" in text, "the straggler in the health line")
        sees(
            lambda text: first_host(text).startswith("▼ weka-06"),
            "the straggler, first of the hosts",
        )
        assert "7 hosts within ±" in screen.screen()
        screen.keys("Enter")
        sees(
            lambda text: "Enter all hosts" in text and "clat · weka-06" in text,
            "that host alone in all panels",
        )
        screen.keys("Escape")
        sees(lambda text: "7 hosts within ±" in text, "all hosts again")
        write_record(maker.finish().run_dir)
        (maker.run_dir / PID_FILE).unlink()
        # Live says that it is complete, then Result that it ended before its planned time
        screen.wait_until(
            lambda: any(word in screen.screen() for word in ("COMPLETE", "ENDED EARLY")), "the end"
        )
        screen.keys("5")
        screen.wait_for("▼ weka-06 at 25 % of median")
        screen.keys("f")
        screen.wait_for("IOPS far below the median host")


def test_two_runs_are_compared_and_the_slower_one_exported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, after = "20260101T000000Z-test-p-000a", "20260102T000000Z-test-p-000b"
    slower = run(step(IOPS * 0.8, seed=3), run_id=after)
    slower.created_utc = "2026-01-02T00:00:00Z"
    for record in (run(run_id=before), slower):
        keep(tmp_path / "home" / "runs", record)
    monkeypatch.chdir(tmp_path)  # where exports go
    with terminal(tmp_path) as screen:
        screen.wait_for("this machine")
        screen.keys("6")
        screen.wait_for("test/p")
        screen.keys("Space", "Space", "c")
        screen.wait_for("Inconclusive: B does 20 % fewer read IOPS than A")
        assert "read IOPS" in screen.screen() and "-20" in screen.screen()
        screen.keys("Escape")
        screen.wait_for("c compare")
        screen.keys("g", "e")
        screen.wait_for("backfilling Prometheus")
        screen.wait_for(str(tmp_path)[:40])  # the path that is proposed
        screen.keys("Enter")
        exported = tmp_path / f"{after}.csv" / "summary.csv"
        screen.wait_until(exported.exists, "the file")
        screen.wait_for("written: ")
    assert exported.read_text().splitlines()[1].startswith(after)


def test_a_run_outlives_the_terminal_and_can_be_stopped_later(tmp_path: Path) -> None:
    (tmp_path / "target").mkdir()
    before = kept_run(tmp_path / "home", tmp_path / "target", "60s")
    with terminal(tmp_path) as screen:
        screen.wait_for("this machine")
        screen.keys("6")
        screen.wait_for("demo/quick")
        screen.keys("r")
        screen.wait_for("Enter runs on local, 1 min")
        screen.keys("Enter")
        screen.wait_until(lambda: len(run_dirs(before.parent)) == 2, "another run")
        after = run_dirs(before.parent)[1]
        screen.wait_until(lambda: measures(after), "the load")
        app = Path(f"/proc/{screen.pid()}")
        screen.tmux("kill-session", "-t", "t")  # the window is closed
        wait_until(lambda: not app.exists(), "the end of the screens")
    assert is_running(after)
    with terminal(tmp_path) as screen:
        screen.wait_for("is still running; press 4 to watch")
        screen.keys("4")
        screen.wait_for("RUNNING")
        screen.keys("x")
        screen.wait_for("Stop the run now?")
        screen.keys("y")
        wait_until(lambda: (after / "run.json").exists() and not is_running(after), "the end")
        screen.wait_for("PARTIAL")
    record = json.loads((after / "run.json").read_text())
    assert record["state"] == "partial" and record["headline"]["value"] > 0


@pytest.mark.slow
def test_the_first_run_from_an_empty_home_takes_three_keys(tmp_path: Path) -> None:
    with terminal(tmp_path) as screen:
        screen.wait_for("this machine")
        screen.keys("Enter")
        screen.wait_for("Ten seconds of mixed")
        screen.keys("Enter")
        screen.wait_for("Enter runs on local, 10 s")
        screen.keys("Enter")
        screen.wait_for("COMPLETE")
        run_dir = only_run(tmp_path / "home")
        wait_until(lambda: (run_dir / "run.json").exists() and not is_running(run_dir), "the end")
    assert json.loads((run_dir / "run.json").read_text())["state"] == "complete"
