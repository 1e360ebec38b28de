"""Runs that lack steps, because they were stopped, cut off, or failed in part: measuring what is missing."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from tui.app.dialogs.confirm import Answer, Confirm
from tui.app.services.recovery import BEGIN_S, until
from tui.model.problem import UsageError

if TYPE_CHECKING:
    from tui.engine.process.launch import EngineMode
    from tui.engine.process.questions import Questions


def lacking(run_dir: Path, *, running: bool) -> tuple[int, int]:
    """Return how many steps a run lacks, and how many with those that ended with errors.

    Raises UsageError when it is going on, BenchtuiError when its plan or journal cannot be read.
    """
    return _count(run_dir, failed=False, running=running), _count(run_dir, failed=True, running=running)


def _count(run_dir: Path, *, failed: bool, running: bool) -> int:
    from tui.engine.process.launch import resume_mode

    try:
        return resume_mode(run_dir, failed=failed, running=running)[1]
    except UsageError:
        if running:
            raise
        return 0


def question(name: str, missing: int, with_failed: int) -> Confirm:
    """Return the question what to measure: the answer is an engine mode, or ``cancel``."""
    answers = [Answer("cancel", "n", "Not now")]
    if missing:
        answers.append(Answer("resume", "y", f"Measure {steps(missing)}"))
    if with_failed > missing:
        answers.append(Answer("resume-failed", "f", f"Failed ones too: {steps(with_failed)}"))
    body = f"{name}\nWhat is done stays as it is; the record is made again when the rest is measured."
    return Confirm("Resume this run?", body, tuple(answers))


def steps(count: int) -> str:
    """Return ``1 step``, ``12 steps``."""
    return f"{count} step{'' if count == 1 else 's'}"


async def resume(
    run_dir: Path, mode: EngineMode, begun: Callable[[Path], object], asked: Callable[[Questions], object]
) -> None:
    """Start an engine for what a run lacks. `begun` hears when it is up, `asked` of what it asks to log in."""
    from tui.engine.process.launch import spawn_asking
    from tui.results.store.alive import is_running

    questions = await asyncio.to_thread(spawn_asking, run_dir, mode)
    await until(lambda: is_running(run_dir), BEGIN_S)
    begun(run_dir)
    asked(questions)
