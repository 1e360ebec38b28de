"""IO500 as a load generator: one MPI program over all hosts of a step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING

from tui.workloads.base import ImportedOutput, KeptFile, KeptRun
from tui.workloads.mpi_workload import MpiWorkload

if TYPE_CHECKING:
    from tui.text.form import Text
    from tui.workloads.io500.body import Io500
    from tui.workloads.io500.program import Io500Program
    from tui.workloads.mpi_plan import MpiPlan


class Io500Workload(MpiWorkload):
    """IO500, one program on all hosts."""

    name = "io500"
    title = "IO500"
    source = "build it from github.com/IO500/io500"
    smallest = MappingProxyType({"items": 0, "options": ("debug.stonewall-time=1",)})
    within_a_run = "each phase runs once per run"

    stand_in = MappingProxyType({"directory": "/", "ranks_per_host": 1})

    def body(self) -> type[Io500]:
        """Return the model of the profile's io500 section."""
        from tui.workloads.io500.body import Io500

        return Io500

    def plan(self) -> MpiPlan:
        """Return how IO500 is planned."""
        from tui.workloads.io500.plan import PLAN

        return PLAN

    def kind(self) -> type[Io500Program]:
        """Return the class of the program that a step launches."""
        from tui.workloads.io500.program import Io500Program

        return Io500Program

    def meaning(self, version: str, *, from_iterations: bool) -> str:
        """Return what IO500's figures mean."""
        return "one run of each phase: IOR bandwidth, mdtest and find rates, as printed by IO500"

    def texts(self) -> Mapping[str, Text]:
        """Return the texts of problems and messages by code."""
        from tui.workloads.io500.program import TEXTS

        return {**super().texts(), **TEXTS}

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
