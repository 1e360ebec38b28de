"""Base of load generators with the MPI executor: profile checks and readers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Literal

from tui.workloads.base import ExecutorName, LatencyKind, Reader, Workload

if TYPE_CHECKING:
    from tui.model.event import PhaseName
    from tui.model.plan import Step
    from tui.model.problem import Problem
    from tui.model.profile import Profile
    from tui.model.yaml_text import YamlDocument


MPI_ADVICE = {"mpi-address": "set it with the parameter addresses (--set addresses=...)"}


class MpiWorkload(Workload):
    """One MPI program on all hosts, called `title` in messages.

    The program creates and removes its own files.
    """

    title: str
    job_file = "job.fio"
    executor: ExecutorName = "mpi"
    reports: Literal["samples", "operations"] = "operations"
    within_a_run = "use its iterations instead"

    def problems(
        self, profile: Profile, document: YamlDocument, texts: Mapping[str, str]
    ) -> Iterator[Problem]:
        """Yield a problem for each key that MPI programs do not support."""
        title = self.title
        if profile.warmup is not None:
            yield document.problem(
                ("warmup",),
                f"{title} has no warm-up: it creates and removes its own files",
                key=True,
            )
        if profile.prepare.precondition is not None:
            message = f"{title} has no preconditioning: it creates and removes its own files"
            yield document.problem(("prepare", "precondition"), message, key=True)
        if not isinstance(profile.repeat, int):
            message = f"{title} requires a fixed number of repetitions; {self.within_a_run}"
            yield document.problem(("repeat", "until"), message, key=True)

    def reader(self, host: str, step: Step, phase: PhaseName, latency_kind: LatencyKind) -> Reader:
        """Return a reader for mpiexec on the first host, for a proxy on the other hosts."""
        from tui.workloads.mpi import ProxyReader

        return (
            self.program(step).reader(len(step.tasks))
            if host == step.hosts[0]
            else ProxyReader(host, step)
        )
