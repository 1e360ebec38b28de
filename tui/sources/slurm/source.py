"""`slurm:JOBID`, and `slurm:` inside of a job: the nodes of a job of Slurm that is running."""

from __future__ import annotations

from collections.abc import Iterable

from tui.model.address import HostAddress
from tui.model.problem import UsageError, did_you_mean
from tui.sources.base import FoundHosts, HostSource, SourceContext, wrong
from tui.sources.run_command import program
from tui.sources.slurm.jobs import JOB_ID, job_of, node_names, own_jobs

TOOLS = ("squeue", "scontrol")


class SlurmSource(HostSource):
    """Nodes of jobs."""

    form = "slurm:JOBID, or slurm: inside of a job"
    title = "nodes of a running Slurm job"

    def find(self, text: str, context: SourceContext) -> FoundHosts:
        """Return the nodes of a job."""
        if not text:
            return self._of_environment(context)
        if not JOB_ID.fullmatch(text):
            raise wrong(self.form, f"'{text[:60]}' is not a job id")
        return self._of_job(text, context)

    def complete(self, text: str, context: SourceContext) -> Iterable[str]:
        """Return the job that this shell is in."""
        job = context.environ.get("SLURM_JOB_ID", "")
        return [job] if JOB_ID.fullmatch(job) else ()

    def state(self, context: SourceContext) -> str:
        """Return which commands of Slurm there are."""
        missing = [name for name in TOOLS if program(name, context) is None]
        return f"not installed: {', '.join(missing)}" if missing else str(program(TOOLS[0], context))

    def _of_environment(self, context: SourceContext) -> FoundHosts:
        job, nodes = (context.environ.get(name, "") for name in ("SLURM_JOB_ID", "SLURM_JOB_NODELIST"))
        if not JOB_ID.fullmatch(job) or not nodes:
            raise UsageError(f"not inside of a Slurm job (no SLURM_JOB_ID); allowed is {self.form}")
        return self._found(job, nodes, context)

    def _of_job(self, job_id: str, context: SourceContext) -> FoundHosts:
        job = job_of(job_id, context)
        if job is None:
            running = own_jobs(context)
            there = f"; your running jobs: {', '.join(running[:20]) or 'none'}"
            raise UsageError(f"Slurm has no job {job_id}{did_you_mean(job_id, running)}{there}")
        if job.state != "RUNNING":
            why = f" ({job.reason})" if job.reason not in ("", "None") else ""
            raise UsageError(f"job {job_id} is {job.state.lower()}{why}; its nodes are known once it is running")
        return self._found(job_id, job.nodes, context)

    def _found(self, job_id: str, folded: str, context: SourceContext) -> FoundHosts:
        names = node_names(folded, context)
        return FoundHosts(hosts=tuple(HostAddress(name) for name in names), how=f"Slurm, job {job_id}")
