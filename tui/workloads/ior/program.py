"""IOR as an MPI program: arguments, trial launch, whose data each host reads, output."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Self

from tui.metrics import units
from tui.model.event import MetadataResult
from tui.model.operands import Clause, Told, clause
from tui.text.form import Text
from tui.workloads.base import OperationFinding
from tui.workloads.ior.output import IorOutput
from tui.workloads.ior.plan import CACHE_WARNINGS, arguments, cache_warning, files_needed, shape_of
from tui.workloads.messages import (
    HELP,
    rejected_option,
    rule,
    rules_of_program,
    silent,
    warnings,
)
from tui.workloads.mpi import RanksReader, StepProgram, Tried
from tui.workloads.reading import version_numbers

RANKS_CSV_SINCE = (4, 0)  # the option for figures of each rank
IOS_OF_A_TRIAL = 2  # the fewest that can be shuffled
MOVED = 1e-4  # of the bytes: the summary prints tenths of a MiB
TENTH = 0.05 * (1 << 20)

_TABLES = silent(
    r"^(Options|Results): *$|^Max (Write|Read): |^Summary of all tests|^Commencing (write|read)"
    r" performance",
    r"^(Start time skew|Participating tasks|Using reorderTasks|Writing output to)|stonewall",
    HELP,
)
RULES = rules_of_program(
    [rejected_option("IOR", "ior-bad-option")],
    warnings(
        "IOR",
        "ior-warnings",
        "statfs|gpfs_fcntl|BeeGFS|Lustre|Backend returned",
        "its figures are invalid",
    ),
    [rule(r"\bERROR\b|assert", "error", "IOR: {line}", "ior-error"), _TABLES],
    [rule(r"\bERROR\b|Assertion|couldn't call|ior:", "error", "{line}", "ior-error")],
)


class IorProgram(StepProgram):
    """IOR as the engine launches it."""

    title = "IOR"

    def trial(self) -> Self:
        """Return a launch with the profile's options, one rank per host, and at most two I/Os per
        rank.
        """
        shape = shape_of(self.launch.options)
        block = min(shape.block, IOS_OF_A_TRIAL * shape.transfer)
        small = {"-b": f"-b {block}", "-s": "-s 1"}
        options = tuple(small.get(option.split()[0], option) for option in self.launch.options)
        return self.as_trial(items=block // shape.transfer, iterations=1, options=options)

    def words(self, directory: str, hosts: int, tried: Tried) -> list[str]:
        """Return IOR's arguments, with figures per rank if this version supports them."""
        return arguments(
            self.launch, directory, by_rank=version_numbers(tried.version)[:2] >= RANKS_CSV_SINCE
        )

    def kind(self) -> type[IorReader]:
        """Return the class that reads IOR's output."""
        return IorReader

    def inodes(self, hosts: int) -> int:
        """Return the maximum number of inodes."""
        return files_needed(self.launch, hosts)

    def work(self, hosts: int, tried: Tried) -> Clause:
        """Return the work of each rank."""
        shape = shape_of(self.launch.options)
        return clause(
            "rank-work",
            bytes_per_rank=shape.bytes_per_rank,
            transfer=shape.transfer,
            stonewall_s=shape.stonewall_s,
        )

    def warnings(self, hosts: int, tried: Tried) -> list[Clause]:
        """Return a warning if caches may serve reads."""
        warning = cache_warning(shape_of(self.launch.options), tried.nodes or hosts)
        return [warning] if warning else []

    def complete(self, result: MetadataResult, hosts: int, tried: Tried) -> list[tuple[str, Told]]:
        """Add the ranks per node to the result, and the rank shift of reads that caches may serve:
        the number of ranks per node with -C, else 0. Ranks are placed in blocks.

        With direct I/O, -Z or -Q the shift stays unknown. Returns no problems.
        """
        shape, nodes = shape_of(self.launch.options), tried.nodes or result.nodes or hosts
        result.ranks_per_node = self.launch.ranks(hosts) // nodes
        if "read" in shape.phases and not shape.direct and not _otherwise(self.launch.options):
            result.shift = result.ranks_per_node % max(result.tasks, 1) if shape.reorder else 0
        return []


def _otherwise(options: Sequence[str]) -> bool:
    """Return whether ranks are reordered randomly (-Z), or by a given number of tasks (-Q)."""
    return any(option.startswith(("-Z", "-Q")) for option in options)


def _rank_work(bytes_per_rank: int, transfer: int, stonewall_s: int) -> str:
    size, each = units.size(bytes_per_rank), units.size(transfer)
    wall = f", {stonewall_s} s per phase" if stonewall_s else ""
    return f", {'up to ' if stonewall_s else ''}{size} per rank in I/Os of {each}{wall}"


TEXTS: Mapping[str, Text] = {
    "own-data": "0 ranks: every rank reads its own data",
    "next-node": "{ranks} ranks: every rank reads data written on the next node",
    "no-summary": "IOR printed no summary; it reached iteration {iteration}",
    "no-summary-for": "IOR printed no summary for {phase}",
    "no-last-line": "the last line of IOR's output is missing",
    "phase-cut": "{phase} completed {completed} of {iterations} iterations",
    "other-bytes": "{phase} moved {moved_bytes:.0f} bytes; expected {expected}",
    "rank-work": _rank_work,
    **CACHE_WARNINGS,
    "own-client": "each client reads its own data, which its cache may serve",
}


def spread(result: MetadataResult) -> Clause | None:
    """Return whose data each rank reads; None if unknown, or if there are no reads."""
    if result.shift < 0:
        return None
    return clause("next-node", ranks=result.shift) if result.shift else clause("own-data")


def own_data_findings(result: MetadataResult) -> list[OperationFinding]:
    """Return a finding if clients read their own data, which their caches may have served."""
    if result.shift != 0 or "read" not in result.operations:
        return []
    return [OperationFinding("own-client", {}, ("read",), 0, max(result.ranks_per_node, 1))]


class IorReader(RanksReader):
    """Reads IOR's output, as passed on by mpiexec."""

    tool = "ior"
    rules = RULES
    void_on_stderr = ("ior-bad-option",)
    output: IorOutput

    def new_output(self) -> IorOutput:
        """Return the parser of IOR's output."""
        shape = shape_of(self.launch.options)
        output = IorOutput(self.step.index, self.launch.iterations, shape.phases)
        output.segments, output.stonewall_s = shape.segments, shape.stonewall_s
        return output

    def _missing(self) -> list[Told]:
        """Return which parts of a complete run are missing, and which phases moved a wrong number
        of bytes.
        """
        output, asked = self.output, self.launch.iterations
        missing: list[Told] = []
        for name in output.phases:
            known = output.figures.get(name)
            if known is None or len(known.rates) < asked:
                completed = len(known.rates) if known else 0
                told = clause("phase-cut", phase=name, completed=completed, iterations=asked)
                missing.append(told)
            elif known.summary is None:
                missing.append(clause("no-summary-for", phase=name))
        if not missing and not output.finished:
            missing.append(clause("no-last-line"))
        return [*missing, *self._other_bytes()]

    def _other_bytes(self) -> list[Clause]:
        """Return phases whose bytes in the summary differ from ranks x block x segments.

        With a time limit any number is correct.
        """
        if not self.launch.items:
            return []
        wanted = self.ranks * self.launch.items * self.launch.bytes_per_op
        return [
            clause("other-bytes", phase=name, moved_bytes=known.moved_bytes, expected=wanted)
            for name, known in self.output.figures.items()
            if known.moved_bytes is not None
            and abs(known.moved_bytes - wanted) > TENTH + MOVED * wanted
        ]
