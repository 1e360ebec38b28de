"""Which counter-experiment confirms a limiter, and what it predicts: each is a prediction that can fail."""

from __future__ import annotations

from tui.model.plan import Plan, Step
from tui.model.problem import UsageError
from tui.model.proof import Experiment, Prediction, Question
from tui.model.record import RunRecord
from tui.model.step_record import StepRecord
from tui.results.findings.proof import figures_of

MORE = Prediction("iops", least=1.3, below=1.1)  # twice as much of what was short gives a good part of twice
NO_MORE = Prediction("iops", most=1.1, above=1.25)
SAME_BYTES = Prediction("bandwidth", least=0.9, most=1.1, below=0.75, above=1.25)
SAME_IOPS = Prediction("iops", most=1.15, above=1.3)  # at half the block size: bytes were not the limit
HALF = Prediction("iops", most=0.75, above=0.9)
MORE_EACH = Prediction("iops_per_host", least=1.3, below=1.1)  # what the others leave
SAME_EACH = Prediction("iops_per_host", least=0.9, most=1.1, above=1.25)  # each host is its own limit
UNPACED = Prediction("iops", least=1.1, below=1.03)


def question_about(record: RunRecord, plan: Plan, step: int | None = None) -> Question:
    """Return what is to be proved of a step of a run: by default the headline's. Raises UsageError for none."""
    if plan.proves is not None:
        raise UsageError(f"{record.run_id} is itself a counter-experiment, about {plan.proves.run_id}")
    shown = chosen(record, step)
    limiter = shown.limiter
    if limiter is None:
        raise UsageError(f"{record.run_id}: {shown.name}: what limits it is not known: its hosts were not looked at")
    tried = experiments(limiter.kind, plan.steps[shown.index], cores(record))
    if not tried:
        why = "more workers than cores on one client: only more clients can tell"
        raise UsageError(f"{record.run_id}: {shown.name}: {why}")
    return Question(record.run_id, shown.index, limiter.kind, limiter.text, tuple(tried), figures_of(shown))


def chosen(record: RunRecord, step: int | None) -> StepRecord:
    """Return the step to prove: the one asked for, or the headline's, or the first with a limiter."""
    if step is not None:
        if not 0 <= step < len(record.steps):
            raise UsageError(f"{record.run_id} has no step {step + 1}; it has {len(record.steps)}")
        if record.steps[step].warmup:
            raise UsageError(f"{record.run_id}: step {step + 1} only prepares: its figures count for nothing")
        return record.steps[step]
    best = record.headline.step if record.headline is not None else None
    wanted = [record.steps[best]] if best is not None and best < len(record.steps) else []
    known = [each for each in (*wanted, *record.steps) if each.limiter is not None and not each.warmup]
    if not known:
        raise UsageError(f"{record.run_id}: what limits it is not known: its hosts were not looked at")
    return known[0]


def cores(record: RunRecord) -> int:
    """Return the cores of the smallest client; 0: not known."""
    known = [host.facts.get("cpus") for host in record.hosts]
    return min((count for count in known if isinstance(count, int)), default=0)


def experiments(kind: str, step: Step, cpus: int) -> list[Experiment]:
    """Return the experiments that can tell, best first; none when only more clients could."""
    several = len(step.tasks) > 1
    fewer = [Experiment("half-hosts", MORE_EACH)] if several else []
    if kind == "rate":
        return [Experiment("no-rate", UNPACED)]
    if kind == "concurrency":
        return [Experiment("twice-in-flight", MORE)]
    if kind == "client-device":
        return [Experiment("twice-in-flight", NO_MORE)]
    if kind == "network":
        return [Experiment("half-block", SAME_BYTES), Experiment("twice-in-flight", NO_MORE)]
    if kind == "server-cpu":
        return [*fewer, Experiment("half-block", SAME_IOPS)]
    if kind == "client-cpu":
        return [Experiment("half-hosts", SAME_EACH)] if several else _of_one_client(step, cpus)
    return [*fewer, Experiment("twice-in-flight", NO_MORE)]


def _of_one_client(step: Step, cpus: int) -> list[Experiment]:
    """Return what shows that the workers of one client are held up by their cores: each does the same alone."""
    workers = sum(job.workers for job in step.jobs)
    if 0 < 2 * workers <= cpus:
        return [Experiment("twice-workers", MORE)]
    return [Experiment("half-workers", HALF)] if 1 < workers <= cpus else []
