"""IOR as a load generator: one MPI program over all hosts of a step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING

from tui.workloads.base import FromTerms, ImportedOutput, OperationFinding
from tui.workloads.mpi_workload import MpiWorkload

if TYPE_CHECKING:
    from tui.model.event import MetadataResult
    from tui.model.operands import Clause
    from tui.text.form import Text
    from tui.workloads.ior.body import Ior
    from tui.workloads.ior.program import IorProgram
    from tui.workloads.mpi_plan import MpiPlan


class IorWorkload(MpiWorkload):
    """IOR, one program on all hosts."""

    name = "ior"
    title = "IOR"
    source = "build it from github.com/hpc/ior"
    smallest = MappingProxyType(
        {"options": ("-a POSIX", "-t 4096", "-b 4096", "-s 1", "-w", "-F"), "bytes_per_op": 4096}
    )
    # ior.c, ReduceIterResults
    latency_meaning = "mean over the I/Os of a rank, minimum over the ranks"

    stand_in = MappingProxyType(
        {"directory": "/", "ranks_per_host": 1, "transfer": "1m", "block": "1m"}
    )

    def body(self) -> type[Ior]:
        """Return the model of the profile's ior section."""
        from tui.workloads.ior.body import Ior

        return Ior

    def plan(self) -> MpiPlan:
        """Return how IOR is planned."""
        from tui.workloads.ior.plan import PLAN

        return PLAN

    def kind(self) -> type[IorProgram]:
        """Return the class of the program that a step launches."""
        from tui.workloads.ior.program import IorProgram

        return IorProgram

    def meaning(self, version: str, *, from_iterations: bool) -> str:
        """Return the meaning of max and min, the same in all versions: first open to last close
        over all ranks.
        """
        clock = "each from the first open to the last close of all ranks"
        made = "completed iterations" if from_iterations else "iterations"
        return f"max and min are over {made}, {clock}"

    def spread(self, result: MetadataResult) -> Clause | None:
        """Return whose data each rank reads; None if unknown, or if there are no reads."""
        from tui.workloads.ior.program import spread

        return spread(result)

    def operation_findings(self, result: MetadataResult) -> list[OperationFinding]:
        """Return a finding if clients read data that they wrote themselves."""
        from tui.workloads.ior.program import own_data_findings

        return own_data_findings(result)

    def texts(self) -> Mapping[str, Text]:
        """Return the texts of findings, problems, messages and of `spread`, by code."""
        from tui.workloads.ior.program import TEXTS

        return {**super().texts(), **TEXTS}

    def contradiction_texts(self) -> Mapping[str, str]:
        """Return the texts of contradictions by code."""
        from tui.workloads.ior.contradictions import TEXTS

        return TEXTS

    def import_output(self, text: str, file: str) -> Sequence[ImportedOutput]:
        """Return the IOR outputs in a text: tables or JSON."""
        from tui.workloads.ior.kept import import_output

        return import_output(text, file)

    def from_terms(self) -> FromTerms:
        """Return the builder of jobs from IOR options."""
        from tui.workloads.ior.body import JOBS

        return JOBS
