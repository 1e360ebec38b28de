"""IOR as one MPI program: arguments, trial launch, and which host reads which host's data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from tui.metrics import units
from tui.model.event import MetadataResult
from tui.workloads.base import Doubt, LogLine
from tui.workloads.ior.output import version_of
from tui.workloads.ior.plan import arguments, cache_warning, files_needed, shape_of
from tui.workloads.ior.reader import IorReader, TrialReader
from tui.workloads.mpi import StepProgram, Tried

RANKS_CSV_SINCE = (4, 0)  # the option for figures of each rank
IOS_OF_A_TRIAL = 2  # the fewest that can be shuffled


@dataclass(frozen=True, slots=True)
class IorProgram(StepProgram):
    """Implements `tui.workloads.mpi.MpiProgram`."""

    def trial(self) -> IorProgram:
        """Return a launch with one rank per host and two I/Os, with the profile's options."""
        shape = shape_of(self.launch.options)
        block = min(shape.block, IOS_OF_A_TRIAL * shape.transfer)
        small = {"-b": f"-b {block}", "-s": "-s 1"}
        options = tuple(small.get(option.split()[0], option) for option in self.launch.options)
        items = block // shape.transfer
        launch = replace(self.launch, ranks_per_host=1, items=items, iterations=1, options=options)
        return IorProgram(self.step, launch, is_trial=True)

    def words(self, directory: str, hosts: int, tried: Tried) -> list[str]:
        """Return IOR's arguments, with figures per rank if this version supports them."""
        return arguments(
            self.launch, directory, by_rank=version_of(tried.version)[:2] >= RANKS_CSV_SINCE
        )

    def reader(self, hosts: int, nodes: Sequence[int] = ()) -> IorReader:
        """Return a reader; for a trial it reports no phases."""
        kind = TrialReader if self.is_trial else IorReader
        return kind(self.step, self.launch, self.launch.ranks(hosts), nodes)

    def inodes(self, hosts: int) -> int:
        """Return the maximum number of files and directories."""
        return files_needed(self.launch, hosts)

    def intent(self, hosts: int, tried: Tried) -> list[LogLine]:
        """Return the version found, each rank's work, and whether its reads can be trusted."""
        shape = shape_of(self.launch.options)
        ranks = (
            f"{units.plural(hosts, 'host')} x {units.plural(self.launch.ranks_per_host, 'rank')}"
        )
        wall = f", {shape.stonewall_s} s a phase" if shape.stonewall_s else ""
        most = "up to " if shape.stonewall_s else ""
        each = (
            f"{most}{units.size(shape.bytes_per_rank)} a rank in I/Os of"
            f" {units.size(shape.transfer)}{wall}"
        )
        said: list[LogLine] = [
            ("info", f"IOR {tried.version or 'of unknown version'}, {ranks}, {each}")
        ]
        warning = cache_warning(shape, tried.nodes or hosts)
        return [*said, ("warning", warning)] if warning else said

    def complete(self, result: MetadataResult, hosts: int, tried: Tried) -> list[tuple[str, str]]:
        """Add the rank shift of reads to a result: one node's ranks (-C), with ranks in blocks."""
        shape, nodes = shape_of(self.launch.options), tried.nodes or result.nodes or hosts
        result.ranks_per_node = self.launch.ranks(hosts) // nodes
        if "read" in shape.phases and not shape.direct and not _otherwise(self.launch.options):
            result.shift = result.ranks_per_node % max(result.tasks, 1) if shape.reorder else 0
        return []


def _otherwise(options: Sequence[str]) -> bool:
    """Return whether ranks are reordered differently: at random, or by another number of nodes."""
    return any(option.startswith(("-Z", "-Q")) for option in options)


def spread_text(result: MetadataResult) -> str:
    """Return which rank's data is read; empty if unknown, or nothing was read."""
    if result.shift < 0:
        return ""
    if result.shift == 0:
        return "0 ranks: every rank reads what it has written itself"
    return f"{result.shift} ranks: every rank reads what a rank of the next node has written"


def doubts_of(result: MetadataResult) -> list[Doubt]:
    """Return the doubt about reads of a client's own data, which its cache may have answered."""
    if result.shift != 0 or "read" not in result.operations:
        return []
    text = "each client reads what it has written itself, which its cache may answer"
    return [Doubt("rank-shift", text, ("read",), 0, max(result.ranks_per_node, 1))]
