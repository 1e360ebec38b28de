"""IO500 as one MPI program: its ini file and its trial launch."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from tui.metrics import units
from tui.model.event import MetadataResult
from tui.workloads.base import LogLine
from tui.workloads.io500.ini import FILE, TRIAL, ini_text, settings_of
from tui.workloads.io500.output import PHASES
from tui.workloads.io500.plan import not_submittable
from tui.workloads.io500.reader import Io500Reader, TrialReader
from tui.workloads.mpi import REPORTS, StepProgram, Tried

TRIED = ("ior-easy-write", "mdtest-easy-write", "ior-hard-write")
FEW_INODES = 64  # of its reports; how many files are under test is known at the end


@dataclass(frozen=True, slots=True)
class Io500Program(StepProgram):
    """Implements `tui.workloads.mpi.MpiProgram`."""

    def trial(self) -> Io500Program:
        """Return a launch with one rank per host, and one I/O and one file in each phase."""
        settings = settings_of(self.launch.options) | TRIAL
        settings |= {f"{name}.run": "FALSE" for name in PHASES if name not in TRIED}
        options = tuple(f"{name}={value}" for name, value in settings.items())
        return Io500Program(
            self.step, replace(self.launch, ranks_per_host=1, options=options), is_trial=True
        )

    def files(self, directory: str) -> Mapping[str, str]:
        """Return the ini file: rank 0 reads it."""
        return {FILE: ini_text(self.launch, directory)}

    def words(self, directory: str, hosts: int, tried: Tried) -> list[str]:
        """Return IO500's argument."""
        return [posixpath.join(directory, REPORTS, FILE)]

    def reader(self, hosts: int, nodes: Sequence[int] = ()) -> Io500Reader:
        """Return a reader; for a trial it reports no phases."""
        kind = TrialReader if self.is_trial else Io500Reader
        return kind(self.step, self.launch, self.launch.ranks(hosts), nodes)

    def inodes(self, hosts: int) -> int:
        """Return the minimum number of files and directories: those of the reports."""
        return FEW_INODES

    def intent(self, hosts: int, tried: Tried) -> list[LogLine]:
        """Return the version found, and whether its result can be submitted."""
        ranks = (
            f"{units.plural(hosts, 'host')} x {units.plural(self.launch.ranks_per_host, 'rank')}"
        )
        said: list[LogLine] = [("info", f"IO500 {tried.version or 'of unknown version'}, {ranks}")]
        return [
            *said,
            *(("warning", text) for text in not_submittable(settings_of(self.launch.options))),
        ]

    def complete(self, result: MetadataResult, hosts: int, tried: Tried) -> list[tuple[str, str]]:
        """Return no problems: IO500 does not print how its ranks were placed."""
        return []
