"""mdtest as a load generator: the face that the engine sees. It is one MPI program over all hosts of a step."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal

from tui.model.event import PhaseName
from tui.model.plan import HostAddress, Step
from tui.workloads.base import CourseName, LatencyKind, Reader, Workload

if TYPE_CHECKING:
    from tui.model.problem import Problem
    from tui.model.profile import ParamValue, Profile
    from tui.model.yaml_text import Document
    from tui.workloads.mdtest.body import Mdtest

MINIMUM_VERSION = (1, 9)


class MdtestWorkload(Workload):
    """mdtest on all hosts at once."""

    name = "mdtest"
    minimum_version = MINIMUM_VERSION
    job_file = "job.fio"
    course: CourseName = "mpi"
    reports: Literal["samples", "operations"] = "operations"

    stand_in = MappingProxyType({"directory": "/", "ranks_per_host": 1, "items": 1})

    def body(self) -> type[Mdtest]:
        """Return the model of an mdtest command."""
        from tui.workloads.mdtest.body import Mdtest

        return Mdtest

    def problems(self, profile: Profile, document: Document, texts: Mapping[str, str]) -> Iterator[Problem]:
        """Yield what goes with other load generators only."""
        if profile.warmup is not None:
            yield document.problem(("warmup",), "mdtest has no warm-up: it makes and removes its own files", key=True)
        if not isinstance(profile.repeat, int):
            message = "mdtest is repeated a number of times; within one run it has iterations of its own"
            yield document.problem(("repeat", "until"), message, key=True)

    def build_steps(
        self, profile: Profile, params: Mapping[str, ParamValue], hosts: list[HostAddress], seeds: Mapping[str, int]
    ) -> list[Step]:
        """Return the one step of an mdtest profile. Raises UsageError."""
        from tui.workloads.mdtest.plan import build_steps

        return build_steps(profile, params, hosts, seeds)

    def reader(self, host: str, step: Step, phase: PhaseName, latency_kind: LatencyKind) -> Reader:
        """Return a reader: of mpiexec on the first host, of a proxy on the others."""
        from tui.workloads.mdtest.reader import MdtestReader, ProxyReader

        if step.mpi is None or host != step.tasks[0].host:
            return ProxyReader(host, step)
        return MdtestReader(step, step.mpi, step.mpi.ranks(len(step.tasks)))
