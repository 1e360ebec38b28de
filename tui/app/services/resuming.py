"""Runs that lack steps, because they were stopped, cut off, failed in part, or spent: measuring what is missing."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from tui.app.dialogs.confirm import Answer, Confirm
from tui.app.services.recovery import BEGIN_S, until
from tui.model.problem import UsageError

if TYPE_CHECKING:
    from textual.app import App

    from tui.app.dialogs.more import Bounds
    from tui.engine.process.launch import EngineMode
    from tui.engine.process.questions import Questions
    from tui.engine.recovery.more import Spent


class Lacking(Struct, frozen=True):
    """What a run could measure: steps it lacks, these with those that ended with errors, points of a spent search."""

    missing: int
    with_failed: int
    spent: Spent | None

    def __bool__(self) -> bool:
        return bool(self.with_failed or self.spent)


def lacking(run_dir: Path) -> Lacking:
    """Return what a run lacks.

    Raises UsageError when it is going on, BenchtuiError when its plan or journal cannot be read.
    """
    from tui.engine.recovery.more import wants_more
    from tui.journal.alive import is_running

    running = is_running(run_dir)
    missing, with_failed = (_count(run_dir, failed=failed, running=running) for failed in (False, True))
    return Lacking(missing, with_failed, wants_more(run_dir))


def _count(run_dir: Path, *, failed: bool, running: bool) -> int:
    from tui.engine.process.launch import resume_mode

    try:
        return resume_mode(run_dir, failed=failed, running=running)[1]
    except UsageError:
        if running:
            raise
        return 0


async def ask(app: App[Any], run_dir: Path, found: Lacking) -> EngineMode | None:
    """Ask what to measure of a run, and return how an engine does that; None: nothing. Raises BenchtuiError."""
    from tui.app.dialogs.more import MoreDialog

    answer = await app.push_screen_wait(question(run_dir.name, found)) if found.with_failed else "more"
    if answer == "more" and found.spent is not None:
        bounds = await app.push_screen_wait(MoreDialog(found.spent, spent_text(found.spent)))
        if bounds is None:
            return None
        await asyncio.to_thread(give, run_dir, bounds)
        return "resume"
    return "resume" if answer == "resume" else "resume-failed" if answer == "resume-failed" else None


def question(name: str, found: Lacking) -> Confirm:
    """Return the question what to measure: the answer is an engine mode, ``more`` of a search, or ``cancel``."""
    answers = [Answer("cancel", "n", "Not now")]
    if found.missing:
        answers.append(Answer("resume", "y", f"Measure {steps(found.missing)}"))
    if found.with_failed > found.missing:
        answers.append(Answer("resume-failed", "f", f"Failed ones too: {steps(found.with_failed)}"))
    if found.spent is not None:
        answers.append(Answer("more", "m", "More points or time"))
    body = f"{name}\nWhat is done stays as it is; the record is made again when the rest is measured."
    return Confirm("Resume this run?", body, tuple(answers))


def steps(count: int) -> str:
    """Return ``1 step``, ``12 steps``."""
    return f"{count} step{'' if count == 1 else 's'}"


def spent_text(spent: Spent) -> str:
    """Return what a search has cost, and why it went no further."""
    from tui.metrics.units import duration
    from tui.sizing.search import spent_s, why_over

    cost = f"{len(spent.points)} of {spent.search.points} points in {duration(spent_s(spent.points))}"
    return f"{spent.name}\nmeasured  {cost}; all of it stays\nended     {why_over(spent.search, spent.points)}"


def give(run_dir: Path, bounds: Bounds) -> None:
    """Let the search of a run cost more in all. Raises UsageError when it is going on, and as `give_more` does."""
    from tui.engine.recovery.more import give_more
    from tui.journal.alive import is_running

    if is_running(run_dir):
        raise UsageError(f"run {run_dir.name} is going on")
    give_more(run_dir, bounds.points, bounds.within_s)


async def resume(
    run_dir: Path, mode: EngineMode, begun: Callable[[Path], object], asked: Callable[[Questions], object]
) -> None:
    """Start an engine for what a run lacks. `begun` hears when it is up, `asked` of what it asks to log in."""
    from tui.engine.process.launch import spawn_asking
    from tui.journal.alive import is_running

    questions = await asyncio.to_thread(spawn_asking, run_dir, mode)
    await until(lambda: is_running(run_dir), BEGIN_S)
    begun(run_dir)
    asked(questions)
