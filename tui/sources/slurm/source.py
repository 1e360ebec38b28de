"""`slurm:JOBID`, `slurm:` inside a job, `slurm:@PARTITION,nodes=N`: nodes of a Slurm job."""

from __future__ import annotations

from collections.abc import Iterable

from tui.model.address import HostAddress
from tui.model.distributions import not_installed
from tui.model.problem import UsageError, did_you_mean, suggestion
from tui.sources.base import FoundHosts, HostSource, SourceContext, wrong
from tui.sources.run_command import program
from tui.sources.slurm.allocation import FORM, KEYS, allocate, parse_wanted
from tui.sources.slurm.jobs import JOB_ID, job_of, node_names, own_jobs

ALLOCATES = "only run, capacity, ab and hosts check allocate nodes"
TOOLS = ("squeue", "scontrol")


WAYS = {"srun": "slurm", "ssh": "ssh"}  # and their transports


class SlurmSource(HostSource):
    """Nodes of jobs."""

    form = f"slurm:JOBID[,via=ssh], slurm: inside a job, or {FORM}"
    title = "nodes of a running Slurm job, or of an allocation for the run"

    def find(self, text: str, context: SourceContext) -> FoundHosts:
        """Return the nodes of a job."""
        text, transport = without_way(text)
        found = self._nodes(text, context)
        job = found.how.rpartition(" ")[2] if transport == "slurm" else None
        hosts = (HostAddress(host.name, transport, job) for host in found.hosts)
        return found._replace(hosts=tuple(hosts))

    def _nodes(self, text: str, context: SourceContext) -> FoundHosts:
        if not text:
            return self._of_environment(context)
        if text.startswith("@"):
            return self._allocated(text[1:], context)
        job, *options = text.split(",")
        if not JOB_ID.fullmatch(job):
            partition = suggestion([f"slurm:@{text[:60]}"]) if job.isidentifier() else ""
            raise wrong(self.form, f"'{job[:60]}' is not a job id{partition}")
        for option in options:
            key = option.partition("=")[0]
            if key in KEYS:
                raise wrong(self.form, f"'{key}' is an option of slurm:@PARTITION, not of a job")
            hint = did_you_mean(key, ["via"])
            raise UsageError(f"unknown option '{key[:60]}'{hint}; allowed is via=ssh")
        return self._of_job(job, context)

    def complete(self, text: str, context: SourceContext) -> Iterable[str]:
        """Return the job that this shell runs in."""
        job = context.environ.get("SLURM_JOB_ID", "")
        return [job] if JOB_ID.fullmatch(job) else ()

    def state(self, context: SourceContext) -> str:
        """Return which Slurm commands are missing."""
        missing = [name for name in TOOLS if program(name, context) is None]
        return not_installed(missing[0]) if missing else str(program(TOOLS[0], context))

    def _of_environment(self, context: SourceContext) -> FoundHosts:
        job, nodes = (
            context.environ.get(name, "") for name in ("SLURM_JOB_ID", "SLURM_JOB_NODELIST")
        )
        if not JOB_ID.fullmatch(job) or not nodes:
            raise UsageError(f"not inside a Slurm job (no SLURM_JOB_ID); allowed is {self.form}")
        known = job_of(job, context)
        return self._found(job, nodes, context, known.left_s if known else None)

    def _of_job(self, job_id: str, context: SourceContext) -> FoundHosts:
        job = job_of(job_id, context)
        if job is None:
            running = own_jobs(context)
            there = f"; your running jobs: {', '.join(running[:20]) or 'none'}"
            raise UsageError(f"Slurm has no job {job_id}{did_you_mean(job_id, running)}{there}")
        if job.state != "RUNNING":
            why = f" ({job.reason})" if job.reason not in ("", "None") else ""
            raise UsageError(
                f"job {job_id} is {job.state.lower()}{why}; it has no nodes until it is running"
            )
        return self._found(job_id, job.nodes, context, job.left_s)

    def _allocated(self, text: str, context: SourceContext) -> FoundHosts:
        wanted = parse_wanted(text)
        if not context.may_allocate:
            raise UsageError(f"{ALLOCATES}; here give a job: slurm:JOBID")
        job = allocate(wanted, context)
        return self._found(job.job_id, job.nodes, context, job.left_s)

    def _found(
        self, job_id: str, folded: str, context: SourceContext, left_s: float | None
    ) -> FoundHosts:
        hosts = tuple(HostAddress(name) for name in node_names(folded, context))
        return FoundHosts(hosts=hosts, how=f"Slurm job {job_id}", left_s=left_s)


def without_way(text: str) -> tuple[str, str]:
    """Split a text into the part without ``via=``, and its transport. Raises UsageError."""
    parts = text.split(",")
    named = [part.removeprefix("via=") for part in parts if part.startswith("via=")]
    for way in named:
        if not way:
            raise UsageError("no way after 'via='; allowed are srun and ssh")
        if way not in WAYS:
            hint = did_you_mean(way, WAYS)
            raise UsageError(f"via: '{way[:40]}' is not allowed{hint}; allowed are srun and ssh")
    rest = ",".join(part for part in parts if not part.startswith("via="))
    return rest, WAYS[named[-1]] if named else "slurm"
