"""mdtest as the one MPI program of a step: its arguments, its trial, and what its rank shift comes to. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from tui.model.event import MetadataResult
from tui.model.plan import MpiLaunch, Step
from tui.workloads.base import LogLine
from tui.workloads.mdtest.command import arguments, inodes_needed, trial_options
from tui.workloads.mdtest.reader import MdtestReader, TrialReader
from tui.workloads.mdtest.shift import Placement, Shift, shift_of, shift_warning, stride_for
from tui.workloads.mpi import Tried


@dataclass(frozen=True, slots=True)
class MdtestProgram:
    """Implements `tui.workloads.mpi.MpiProgram`."""

    step: Step
    launch: MpiLaunch
    is_trial: bool = False

    def trial(self) -> MdtestProgram:
        """Return one rank a host with one file each, with the profile's own options."""
        options = trial_options(self.launch)
        small = replace(self.launch, ranks_per_host=1, items=1, iterations=1, stride="1", options=options)
        return MdtestProgram(self.step, small, is_trial=True)

    def words(self, directory: str, hosts: int, tried: Tried) -> list[str]:
        """Return mdtest's arguments."""
        return arguments(self.launch, str(self.shift(hosts, tried).stride), directory)

    def reader(self, hosts: int, nodes: Sequence[int] = ()) -> MdtestReader:
        """Return a reader; the phases of a trial are nobody's business."""
        kind = TrialReader if self.is_trial else MdtestReader
        return kind(self.step, self.launch, self.launch.ranks(hosts), nodes)

    def inodes(self, hosts: int) -> int:
        """Return how many files and directories exist at once."""
        return inodes_needed(self.launch, hosts)

    def shift(self, hosts: int, tried: Tried) -> Shift:
        """Return what -N does with this version on these hosts, of which several can be one node."""
        nodes = tried.nodes or hosts
        placement = Placement(nodes, self.launch.ranks(hosts) // nodes)
        return shift_of(stride_for(self.launch.stride, tried.version, placement), tried.version, placement)

    def intent(self, hosts: int, tried: Tried) -> list[LogLine]:
        """Return the version that was found and what its rank shift means."""
        shift = self.shift(hosts, tried)
        ranks = f"{hosts} hosts x {self.launch.ranks_per_host} ranks"
        said: list[LogLine] = [
            ("info", f"mdtest {tried.version or 'of unknown version'}, {ranks}; -N {shift.stride}: {shift.text()}")
        ]
        return [*said, ("warning", warning)] if (warning := shift_warning(shift)) else said

    def complete(self, result: MetadataResult, hosts: int, tried: Tried) -> list[tuple[str, str]]:
        """Put the rank shift into a result: as mdtest printed it, else as computed; they must agree."""
        expected = self.shift(hosts, tried)
        result.ranks_per_node = expected.placement.per_node
        if result.shift < 0:
            result.shift = expected.ranks
            return []
        result.shift %= max(result.tasks, 1)
        if result.shift == expected.ranks:
            return []
        text = f"mdtest shifts ranks by {result.shift}, {expected.ranks} were expected for version {result.version}"
        return [("shift-unexpected", text)]
