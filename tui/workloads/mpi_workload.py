"""Base of load generators with the MPI executor: profile checks and readers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from tui.model.problem import UsageError
from tui.workloads.base import ExecutorName, LatencyKind, Reader, Workload

if TYPE_CHECKING:
    from tui.model.address import HostAddress
    from tui.model.event import PhaseName
    from tui.model.plan import Step
    from tui.model.problem import Problem
    from tui.model.profile import ParamValue, Profile
    from tui.model.yaml_text import YamlDocument
    from tui.text.form import Text
    from tui.workloads.mpi import StepProgram
    from tui.workloads.mpi_plan import MpiPlan


class MpiWorkload(Workload):
    """One MPI program on all hosts, called `title` in messages; `source` says where to get it.

    The program creates and removes its own files. `smallest`: fields of its smallest launch.
    """

    title: ClassVar[str]
    source: ClassVar[str]
    smallest: ClassVar[Mapping[str, Any]] = MappingProxyType({})
    job_file = "job.fio"
    executor: ExecutorName = "mpi"
    reports: Literal["samples", "operations"] = "operations"
    advice_by_code: Mapping[str, str] = MappingProxyType(
        {"mpi-address": "set it with the parameter addresses (--set addresses=...)"}
    )
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

    def plan(self) -> MpiPlan:
        """Return how the program is planned."""
        raise NotImplementedError

    def kind(self) -> type[StepProgram]:
        """Return the class of the program that a step launches."""
        raise NotImplementedError

    def build_steps(
        self,
        profile: Profile,
        params: Mapping[str, ParamValue],
        hosts: list[HostAddress],
        seeds: Mapping[str, int],
    ) -> list[Step]:
        """Return the step of a profile. Raises UsageError."""
        if not isinstance(profile.body, self.body()):
            raise UsageError(f"{profile.profile} has no {self.name}: section")
        return [self.plan().step(profile, params, hosts, seeds, self.title)]

    def program(self, step: Step) -> StepProgram:
        """Return the program that a step launches."""
        assert step.mpi is not None
        return self.kind()(step, step.mpi)

    def simplest(self) -> StepProgram:
        """Return the smallest launch, with one rank per host."""
        from tui.model.plan import MpiLaunch, Step

        fields = {"items": 1, "iterations": 1, "program": self.name, **self.smallest}
        launch = MpiLaunch("/tmp", 1, **fields)
        return self.program(Step(0, self.name, self.name, {}, [], None, mpi=launch))

    def advice(self, code: str) -> str:
        """Return where to get a missing program, or how to set addresses; empty for other codes."""
        if code == f"{self.name}-missing":
            where = "give its path in the parameter program (--set program=PATH)"
            return f"{self.source}; {where}"
        return super().advice(code)

    def texts(self) -> Mapping[str, Text]:
        """Return the texts of problems and messages by code; derived classes add their own."""
        from tui.workloads.messages import ERR_LINE, MPI_LINE, OF_MPI, texts_of
        from tui.workloads.mpi import TEXTS

        out, err = self.simplest().kind().rules
        return {
            **TEXTS,
            **texts_of(out),
            **texts_of(err, ERR_LINE),
            **texts_of(OF_MPI, MPI_LINE),
        }

    def reader(self, host: str, step: Step, phase: PhaseName, latency_kind: LatencyKind) -> Reader:
        """Return a reader for mpiexec on the first host, for a proxy on the other hosts."""
        from tui.workloads.mpi import ProxyReader

        return (
            self.program(step).reader(len(step.tasks))
            if host == step.hosts[0]
            else ProxyReader(host, step)
        )
