"""mdtest as a load generator: one MPI program over all hosts of a step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal

from tui.workloads.base import FromTerms, ImportedOutput, OperationFinding
from tui.workloads.mpi_workload import MpiWorkload

if TYPE_CHECKING:
    from tui.model.event import MetadataResult
    from tui.model.operands import Clause
    from tui.text.form import Text
    from tui.workloads.mdtest.body import Mdtest
    from tui.workloads.mdtest.program import MdtestProgram
    from tui.workloads.mpi_plan import MpiPlan


class MdtestWorkload(MpiWorkload):
    """mdtest, one program on all hosts."""

    name = "mdtest"
    title = "mdtest"
    source = "it is part of IOR (github.com/hpc/ior)"
    iterations_of: Literal["rank 0", "all ranks"] = "rank 0"

    stand_in = MappingProxyType({"directory": "/", "ranks_per_host": 1, "items": 1})

    def body(self) -> type[Mdtest]:
        """Return the model of the profile's mdtest section."""
        from tui.workloads.mdtest.body import Mdtest

        return Mdtest

    def plan(self) -> MpiPlan:
        """Return how mdtest is planned."""
        from tui.workloads.mdtest.program import PLAN

        return PLAN

    def kind(self) -> type[MdtestProgram]:
        """Return the class of the program that a step launches."""
        from tui.workloads.mdtest.program import MdtestProgram

        return MdtestProgram

    def meaning(self, version: str, *, from_iterations: bool) -> str:
        """Return the meaning of max and min in this version."""
        from tui.workloads.mdtest.output import iterations_meaning, summary_meaning

        return iterations_meaning(version) if from_iterations else summary_meaning(version)

    def spread(self, result: MetadataResult) -> Clause | None:
        """Return the rank shift; None if unknown."""
        from tui.workloads.mdtest.program import shift_of_result

        shift = shift_of_result(result)
        return shift.told() if shift else None

    def operation_findings(self, result: MetadataResult) -> list[OperationFinding]:
        """Return findings if clients use files of their own, or share a host name."""
        from tui.workloads.mdtest.program import rank_shift_finding, same_names

        return [
            found for found in (rank_shift_finding(result), same_names(result)) if found is not None
        ]

    def texts(self) -> Mapping[str, Text]:
        """Return the texts of findings, problems, messages and of `spread`, by code."""
        from tui.workloads.mdtest.program import TEXTS

        return {**super().texts(), **TEXTS}

    def contradiction_texts(self) -> Mapping[str, str]:
        """Return the texts of contradictions by code."""
        from tui.workloads.mdtest.contradictions import TEXTS

        return TEXTS

    def import_output(self, text: str, file: str) -> Sequence[ImportedOutput]:
        """Return the mdtest outputs in a text."""
        from tui.workloads.mdtest.reader import import_output

        return import_output(text, file)

    def from_terms(self) -> FromTerms:
        """Return the builder of jobs from mdtest options."""
        from tui.workloads.mdtest.body import JOBS

        return JOBS
