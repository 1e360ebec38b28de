"""Facts of a Slurm job, by squeue and scontrol: nodes, state, time left."""

from __future__ import annotations

import re
from typing import NamedTuple

from tui.model.distributions import not_installed
from tui.model.hostspec import MOST_KNOWN, expand
from tui.model.problem import UsageError
from tui.model.quantities import seconds_of
from tui.sources.base import SourceContext
from tui.sources.run_command import output_of, output_or_error, program

JOB_ID = re.compile(r"\d{1,10}([_+]\d{1,7})?", re.ASCII)
FIELDS = "%i|%T|%N|%L|%P|%r"


class SlurmJob(NamedTuple):
    """One job of the queue. `left_s` None: no limit, or unknown."""

    job_id: str
    state: str
    nodes: str  # in Slurm's notation: n[1-4]
    left_s: float | None
    partition: str
    reason: str


def slurm_program(name: str, context: SourceContext) -> str:
    """Return the path of a Slurm command. Raises UsageError if it is not installed."""
    found = program(name, context)
    if found is None:
        raise UsageError(not_installed(name))
    return found


def job_of(job_id: str, context: SourceContext) -> SlurmJob | None:
    """Return a job; None if Slurm no longer knows it.

    Raises UsageError if Slurm does not answer.
    """
    argv = [
        slurm_program("squeue", context),
        "--noheader",
        f"--jobs={job_id}",
        f"--format={FIELDS}",
    ]
    done = output_of(argv, context)
    if done.code != 0 and "Invalid job id" not in done.stderr:
        raise UsageError(f"squeue: {done.last_words or f'exit code {done.code}'}")
    return job_in(done.stdout)


def job_in(printed: str) -> SlurmJob | None:
    """Return the first job that squeue printed."""
    lines = [line.split("|") for line in printed.splitlines()]
    found = next((line for line in lines if len(line) == FIELDS.count("|") + 1), None)
    if found is None:
        return None
    job_id, state, nodes, left, partition, reason = found
    return SlurmJob(job_id, state, nodes, seconds_of(left), partition, reason)


def own_jobs(context: SourceContext) -> list[str]:
    """Return the ids of this user's running jobs. Raises UsageError."""
    argv = [
        slurm_program("squeue", context),
        "--me",
        "--noheader",
        "--states=RUNNING",
        "--format=%i",
    ]
    return [
        line.strip()
        for line in output_or_error(argv, context).splitlines()
        if JOB_ID.fullmatch(line.strip())
    ]


def partitions(context: SourceContext) -> list[str]:
    """Return the names of all partitions. Raises UsageError."""
    printed = output_or_error(
        [slurm_program("sinfo", context), "--noheader", "--format=%R"], context
    )
    return list(dict.fromkeys(line.strip() for line in printed.splitlines() if line.strip()))


def node_names(folded: str, context: SourceContext) -> list[str]:
    """Return the nodes of ``n[1-4],m7``, expanded by scontrol, which knows all of Slurm's notation.

    Raises UsageError.
    """
    printed = output_or_error(
        [slurm_program("scontrol", context), "show", "hostnames", folded], context
    )
    names = [name for line in printed.split() for name in expand(line)]
    if len(names) > MOST_KNOWN:
        raise UsageError(f"more than {MOST_KNOWN} nodes")
    return names
