"""Counter-experiments of runs on disk: what one is about, and telling that run what it has shown."""

from __future__ import annotations

from pathlib import Path

from msgspec.structs import replace

from tui.journal.alive import is_running
from tui.journal.plan_file import load_plan
from tui.journal.rundir import is_run_dir
from tui.model.event import LimiterProved
from tui.model.plan import Plan
from tui.model.problem import BenchtuiError, UsageError
from tui.model.proof import Question
from tui.model.record import RunRecord
from tui.results.findings.experiments import question_about
from tui.results.findings.proof import judged
from tui.results.store.added import add_events
from tui.results.store.load import load_record


def question_of(run_dir: Path, step: int | None = None) -> tuple[Plan, Question]:
    """Return the plan of a finished run, and what is to be proved of a step: by default the headline's.

    Raises UsageError when there is nothing to prove, BenchtuiError when plan or record cannot be read.
    """
    if is_running(run_dir):
        raise UsageError(f"{run_dir.name} is running; a counter-experiment comes after it")
    record = load_record(run_dir)
    if record.state in ("imported", "baseline"):
        raise UsageError(f"{run_dir.name}: somebody else measured it: there is no plan to make again")
    plan = load_plan(run_dir)
    return plan, replace(question_about(record, plan, step), run_id=run_dir.name)


def tell_proved(run_dir: Path, record: RunRecord) -> None:
    """Have journal and record of the run that a counter-experiment is about hold what it showed.

    Nothing is done when this is no counter-experiment, or that run is not beside it any more; and one that was not
    measured whole does not replace what another one showed. Raises BenchtuiError, OSError.
    """
    proves = load_plan(run_dir).proves
    about = run_dir.with_name(proves.run_id) if proves is not None else run_dir
    if proves is None or not is_run_dir(about):
        return
    if is_running(about):
        raise BenchtuiError("it goes on just now")
    if not is_whole(record) and told_by_another(about, proves.step, run_dir.name):
        return
    add_events(about, [LimiterProved(t=0.0, result=judged(proves, record.steps, run_dir.name))])


def is_whole(record: RunRecord) -> bool:
    """Tell whether both of its loads were measured to their end."""
    return len(record.steps) > 1 and all(step.state == "done" for step in record.steps[:2])


def told_by_another(about: Path, step: int, name: str) -> bool:
    """Tell whether another counter-experiment has shown something of a step already."""
    limiter = load_record(about).steps[step].limiter
    return limiter is not None and limiter.proof is not None and limiter.proof.run_id != name
