"""IO500 as a load generator: one MPI program over all hosts of a step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING

from tui.workloads.base import ImportedOutput, KeptFile, KeptRun
from tui.workloads.mpi_workload import MPI_ADVICE, MpiWorkload

if TYPE_CHECKING:
    from tui.model.address import HostAddress
    from tui.model.plan import Step
    from tui.model.profile import ParamValue, Profile
    from tui.workloads.io500.body import Io500
    from tui.workloads.io500.program import Io500Program

ADVICE = {
    "io500-missing": (
        "build it from github.com/IO500/io500; give its path in the parameter program (--set"
        " program=PATH)"
    ),
}


class Io500Workload(MpiWorkload):
    """IO500, one program on all hosts."""

    name = "io500"
    advice_by_code = MPI_ADVICE | ADVICE
    title = "IO500"
    within_a_run = "each phase runs once per run"

    stand_in = MappingProxyType({"directory": "/", "ranks_per_host": 1})

    def body(self) -> type[Io500]:
        """Return the model of the profile's io500 section."""
        from tui.workloads.io500.body import Io500

        return Io500

    def build_steps(
        self,
        profile: Profile,
        params: Mapping[str, ParamValue],
        hosts: list[HostAddress],
        seeds: Mapping[str, int],
    ) -> list[Step]:
        """Return the step of an IO500 profile. Raises UsageError."""
        from tui.workloads.io500.plan import build_steps

        return build_steps(profile, params, hosts, seeds)

    def program(self, step: Step) -> Io500Program:
        """Return the program that a step launches."""
        from tui.workloads.io500.program import Io500Program

        assert step.mpi is not None
        return Io500Program(step, step.mpi)

    def simplest(self) -> Io500Program:
        """Return a launch with one rank per host."""
        from tui.model.plan import MpiLaunch, Step
        from tui.workloads.io500.program import Io500Program

        options = ("debug.stonewall-time=1",)
        launch = MpiLaunch("/tmp", 1, 0, 1, options=options, program=self.name)
        return Io500Program(Step(0, self.name, self.name, {}, [], None, mpi=launch), launch)

    def meaning(self, version: str, *, from_iterations: bool) -> str:
        """Return what IO500's figures mean."""
        return "one run of each phase: IOR bandwidth, mdtest and find rates, as printed by IO500"

    def contradiction_texts(self) -> Mapping[str, str]:
        """Return the texts of contradictions by code."""
        from tui.workloads.io500.contradictions import TEXTS

        return TEXTS

    def import_output(self, text: str, file: str) -> Sequence[ImportedOutput]:
        """Return the results of IO500 in a text."""
        from tui.workloads.io500.kept import import_output

        return import_output(text, file)

    def import_tree(self, files: Sequence[KeptFile]) -> Sequence[KeptRun]:
        """Return the runs in IO500 result directories."""
        from tui.workloads.io500.kept import import_tree

        return import_tree(files)
