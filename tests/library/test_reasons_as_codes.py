"""Journals and records keep reasons as codes; those with texts are read and shown as before."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.library.test_findings_as_codes import OLD
from tui.journal.fold import fold_all
from tui.journal.reader import read_events
from tui.journal.state import RunState
from tui.library.load import load_record
from tui.library.runs import RunStore
from tui.library.verify import verify_run
from tui.model.rundir import JOURNAL_FILE
from tui.text.run_texts import run_text

WITH_TEXTS = {
    "steps": ("1 problem on hosts", ["not run, because my/a failed", "known to ±0.0 % after 3 "]),
    "stopped": ("stopped on request", ["cut off"]),
    "refused": ("preflight refused: local", []),
}


@pytest.mark.parametrize("name", WITH_TEXTS)
def test_a_run_whose_reasons_are_texts_is_listed_shown_and_verified(
    name: str, tmp_path: Path
) -> None:
    reason, of_steps = WITH_TEXTS[name]
    run_dir = tmp_path / "runs" / name
    shutil.copytree(OLD.parent / f"{name}-as-texts", run_dir)
    seen = fold_all(RunState(), read_events(run_dir / JOURNAL_FILE))
    told = [run_text(step.reason) for step in seen.steps.values() if step.reason]
    assert [
        text for text, begin in zip(told, of_steps, strict=True) if text.startswith(begin)
    ] == told
    assert run_text(seen.reason) == run_text(load_record(run_dir).reason) == reason
    (summary,) = RunStore(run_dir.parent).list()
    assert run_text(summary.reason) == reason
    # the sample is kept without the raw output
    assert [each for each in verify_run(run_dir).differs if not each.startswith("raw/")] == []
