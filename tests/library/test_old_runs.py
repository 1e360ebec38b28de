"""Runs as the program of 0.1.0 left them still open, replay, list, resume, and give the record they
had.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tui.app.screens.live_feed import ReplayFeed
from tui.engine.session.history import read_history
from tui.journal.fold import fold_all
from tui.journal.reader import read_events
from tui.journal.rundir import load_plan
from tui.journal.state import RunState
from tui.library.build import build_record
from tui.library.load import load_record
from tui.library.runs import RunStore
from tui.library.unfinished import is_unfinished
from tui.record.headline import told_headline

OLD = Path(__file__).parents[1] / "data" / "runs"
RUNS = ("plain", "sweep", "aborted", "recovered", "mdtest")
COMPARED = (
    "state",
    "phases",
    "hosts",
    "steps",
    "resumed",
    "notes",
    "messages",
    "run_id",
    "duration_s",
    "latency_kind",
)
STEP = (
    "state",
    "attempt",
    "phases",
    "results",
    "metadata",
    "tasks",
    "timing",
    "coverage",
    "series",
    "errors",
)


def changed(old: Any, new: Any, at: str = "") -> Iterator[str]:
    """Yield what the new document does not say as the old one did; it may say more."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key, value in old.items():
            # p99_ns: of a last interval without the middle of a second, once merged into that
            # second; meaning: follows from other fields, and is no longer stored; shift_text: a code
            if key not in ("p99_ns", "meaning", "shift_text"):
                yield from changed(value, new.get(key), f"{at}.{key}")
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for place, pair in enumerate(zip(old, new, strict=True)):
            yield from changed(*pair, f"{at}[{place}]")
    elif old != new:
        yield f"{at}: {old!r} -> {new!r}"


def compared(record: dict[str, Any]) -> dict[str, Any]:
    kept = {key: record[key] for key in COMPARED}
    kept["steps"] = [{key: step[key] for key in STEP} for step in record["steps"]]
    return kept


@pytest.mark.parametrize("run", RUNS)
def test_the_record_derived_again_is_that_of_then(run: str) -> None:
    then = json.loads((OLD / run / "run.json").read_text())
    now = json.loads(build_record(OLD / run).to_json())
    assert list(changed(compared(then), compared(now))) == []


@pytest.mark.parametrize("run", [*RUNS, "contradicted"])
def test_the_record_of_then_opens_and_is_listed(run: str, tmp_path: Path) -> None:
    shutil.copytree(OLD / run, tmp_path / "runs" / run)
    record = load_record(tmp_path / "runs" / run)
    (summary,) = RunStore(tmp_path / "runs").list()
    assert (summary.state, summary.headline) == (
        record.state,
        told_headline(record),
    )
    assert not is_unfinished(tmp_path / "runs" / run)


@pytest.mark.parametrize("run", RUNS)
def test_it_plays_again_to_its_end(run: str) -> None:
    feed = ReplayFeed(OLD / run, speed=float("inf"), now=lambda: 0.0)
    while feed.advance():
        pass
    assert feed.finished
    assert feed.state.state == json.loads((OLD / run / "run.json").read_text())["state"]


@pytest.mark.parametrize("run", RUNS)
def test_what_it_lacks_is_still_known(run: str) -> None:
    history = read_history(OLD / run / "journal.jsonl")
    missing = [step.index for step in history.missing(load_plan(OLD / run), failed=False)]
    assert missing == ([0] if run == "aborted" else [])
    assert history.ended


def test_a_step_that_was_made_again_shows_what_its_newest_attempt_did() -> None:
    state = fold_all(RunState(), read_events(OLD / "sweep" / "journal.jsonl"))
    again = state.steps[1]
    assert (again.attempt, again.state) == (2, "done")
    assert {task.remote_dir.rpartition("/")[2] for task in again.commands} == {"1.measure.2"}
