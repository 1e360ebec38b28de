"""IO500 as an MPI program: trial launch, output while it runs, explained messages."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from tui.metrics import units
from tui.model.event import MetadataResult
from tui.model.plan import MpiLaunch, Step
from tui.workloads.base import LogLine
from tui.workloads.io500.contradictions import TEXTS
from tui.workloads.io500.output import PHASES, Io500Output, add_rank_seconds, easy_bytes_of
from tui.workloads.io500.plan import FILE, TRIAL, ini_text, not_submittable, settings_of, skipped
from tui.workloads.messages import (
    HARMLESS,
    IN_PARTS,
    MPI,
    MUTTERED,
    NOT_WRITABLE,
    SSH,
    Explainer,
    rule,
    unknown,
)
from tui.workloads.mpi import REPORTS, RanksReader, StepProgram, Tried, WithoutPhases

TRIED = ("ior-easy-write", "mdtest-easy-write", "ior-hard-write")
FEW_INODES = 64  # of its reports; how many files are under test is known at the end
_OWN = (
    rule(r"^ERROR INVALID (\([^()]*\) )?(?P<what>.+)", "warning", "IO500: invalid: {what}"),
    rule(
        r"No space left on device",
        "error",
        "no space left on the file system under test: {line}",
        "no-space",
    ),
    *NOT_WRITABLE,
    rule(r"^FATAL( \([^()]*\))?:? *(?P<what>.*)", "error", "IO500 gave up: {what}", "io500-fatal"),
    rule(r"^WARNING( \([^()]*\))?:? (?P<what>.*)", "warning", "IO500 warns: {what}"),
)
STDOUT = (HARMLESS, *_OWN, *MPI, rule(r"\bERROR\b|assert", "error", "IO500: {line}", "io500-error"))
STDERR = (HARMLESS, *SSH, *_OWN, *MPI, MUTTERED)


@dataclass(frozen=True, slots=True)
class Io500Program(StepProgram):
    """IO500 as the engine launches it. Implements `tui.workloads.mpi.MpiProgram`."""

    def trial(self) -> Io500Program:
        """Return a launch with one rank per host that runs three write phases, each with one I/O or
        one file per rank.
        """
        settings = settings_of(self.launch.options) | TRIAL
        settings |= {f"{name}.run": "FALSE" for name in PHASES if name not in TRIED}
        options = tuple(f"{name}={value}" for name, value in settings.items())
        return Io500Program(
            self.step, replace(self.launch, ranks_per_host=1, options=options), is_trial=True
        )

    def files(self, directory: str) -> Mapping[str, str]:
        """Return the ini file, which rank 0 reads."""
        return {FILE: ini_text(self.launch, directory)}

    def words(self, directory: str, hosts: int, tried: Tried) -> list[str]:
        """Return IO500's argument: the path of the ini file."""
        return [posixpath.join(directory, REPORTS, FILE)]

    def reader(self, hosts: int, nodes: Sequence[int] = ()) -> Io500Reader:
        """Return a reader of the output; the reader of a trial reports no phases."""
        kind = Io500TrialReader if self.is_trial else Io500Reader
        return kind(self.step, self.launch, self.launch.ranks(hosts), nodes)

    def inodes(self, hosts: int) -> int:
        """Return the minimum number of inodes: those of the report files."""
        return FEW_INODES

    def intent(self, hosts: int, tried: Tried) -> list[LogLine]:
        """Return the version found, and warnings why the result cannot be submitted."""
        ranks = (
            f"{units.plural(hosts, 'host')} x {units.plural(self.launch.ranks_per_host, 'rank')}"
        )
        warnings = not_submittable(settings_of(self.launch.options))
        return [
            ("info", f"IO500 {tried.version or '(unknown version)'}, {ranks}"),
            *(("warning", text) for text in warnings),
        ]

    def complete(self, result: MetadataResult, hosts: int, tried: Tried) -> list[tuple[str, str]]:
        """Return no problems: IO500 does not print the placement of ranks."""
        return []

    def reported(self, result: MetadataResult, reports: Mapping[str, str]) -> None:
        """Add the times of ranks in mdtest's phases."""
        add_rank_seconds(result.operations, reports, result.tasks)


class Io500Reader(RanksReader):
    """Reads IO500's output, as passed on by mpiexec."""

    tool = "io500"
    void_on_stderr = ("io500-fatal",)
    output: Io500Output

    def __init__(
        self, step: Step, launch: MpiLaunch, ranks: int, nodes: Sequence[int] = ()
    ) -> None:
        settings = settings_of(launch.options)
        output = Io500Output(step.index, ranks, skipped(settings), easy_bytes_of(settings))
        explainers = (Explainer(STDOUT, unknown, IN_PARTS), Explainer(STDERR, unknown, IN_PARTS))
        super().__init__(step, launch, ranks, nodes, output, explainers)

    def figures(self, exit_code: int | None) -> MetadataResult | None:
        """Return the results; None if no phase has done any work."""
        result = self.output.result(final=self.succeeded(exit_code))
        if result is not None:
            result.ranks_per_node = self.launch.ranks_per_host
        return result

    def problems(self, exit_code: int | None) -> list[tuple[str, str]]:
        """Return (code, message) of reasons to doubt or reject the result.

        IO500's own verdict is reported as the finding own-verdict.
        """
        wrong = [
            ("io500-score", TEXTS["score"].format(*each.names, told=each.told, other=each.expected))
            for each in self.output.wrong_means()
        ]
        return [*super().problems(exit_code), *wrong]

    def _missing(self) -> list[str]:
        """Return which parts of a complete run are missing."""
        output = self.output
        lost = [name for name in self._step.directions if name not in output.phases]
        missing = [f"IO500 did not finish {', '.join(lost)}"] if lost else []
        if not missing and not output.score_text:
            missing.append("IO500 printed no score")
        return missing


class Io500TrialReader(WithoutPhases, Io500Reader):
    """Reads a trial, which only has to finish; figures are ignored."""

    def _missing(self) -> list[str]:
        """Return the problem if the score, with which IO500 ends, is missing."""
        return [] if self.output.score_text else ["IO500 ended before printing its score"]

    def problems(self, exit_code: int | None) -> list[tuple[str, str]]:
        """Return (code, message) of reasons why the launch failed."""
        return RanksReader.problems(self, exit_code)
