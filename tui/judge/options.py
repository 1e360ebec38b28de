"""Checks of what the options of a job say about its I/O: whether it reaches storage, and whether
random I/O is random.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tui.judge.check import CheckResult, Severity, StepEvidence, UnknownError, step_check
from tui.judge.severity import Moot
from tui.metrics import units

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tui.model.operands import Operands

MOSTLY = 0.5  # of the I/Os of a random job


@step_check(
    "no-storage",
    "I/O reaches storage",
    rule="no job has an engine that reports I/O but does none (null, page_fault)",
    advice="Choose an engine that does I/O: this figure is the load generator's own speed.",
    source="ioengine",
)
def no_storage(at: StepEvidence) -> Iterator[CheckResult]:
    """Without I/O, a load generator reports millions of I/Os per second, in the same form."""
    if not at.step.jobs:
        raise UnknownError("job-parameters")
    options = list(dict.fromkeys(job.no_storage for job in at.step.jobs if job.no_storage))
    if options:
        operands: Operands = {"options": options}
        yield CheckResult("error", "engine", ", ".join(options), "none", operands=operands)


@step_check(
    "random-share",
    "Random I/O is random",
    rule=(
        "all I/Os of a random job go to random blocks; otherwise a note, or a warning if fewer than"
        f" {units.share(MOSTLY)} do"
    ),
    advice=(
        "Remove the options, or quote the share with the figure: read-ahead and caches serve I/Os"
        " that follow or repeat the one before."
    ),
    source="rw=randread:N (N I/Os for each random block), percentage_random",
)
def random_share(at: StepEvidence) -> Iterator[CheckResult]:
    """For most of its I/Os, a random job may continue from its current position or repeat its
    block.
    """
    if not at.step.jobs:
        raise UnknownError("job-parameters")
    jobs = [job for job in at.step.jobs if job.random and job.stores]
    if not jobs:
        raise UnknownError(Moot.RANDOM)
    least = min(jobs, key=lambda job: job.random_share)
    if least.random_share < 1:
        operands: Operands = {"share": least.random_share, "options": least.ordered_by}
        severity: Severity = "warning" if least.random_share < MOSTLY else "info"
        yield CheckResult(severity, "ordered", least.random_share, 1.0, operands=operands)


OPTION_CHECKS = (no_storage, random_share)
