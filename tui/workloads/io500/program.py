"""IO500 as an MPI program: trial launch, output while it runs, explained messages."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping
from typing import Self

from tui.model.event import MetadataResult
from tui.model.operands import Clause, Told, clause
from tui.text.form import Text
from tui.workloads.io500.output import PHASES, Io500Output, add_rank_seconds, easy_bytes_of
from tui.workloads.io500.plan import (
    FILE,
    NOT_SUBMITTABLE,
    TRIAL,
    ini_text,
    not_submittable,
    settings_of,
    skipped,
)
from tui.workloads.messages import rule, rules_of_program
from tui.workloads.mpi import REPORTS, RanksReader, StepProgram, Tried

TRIED = ("ior-easy-write", "mdtest-easy-write", "ior-hard-write")
FEW_INODES = 64  # of its reports; the number of files under test is only known at the end
RULES = rules_of_program(
    (
        rule(r"^ERROR INVALID (\([^()]*\) )?(?P<what>.+)", "warning", "IO500: invalid: {what}"),
        rule(
            r"^FATAL( \([^()]*\))?:? *(?P<what>.*)",
            "error",
            "IO500 gave up: {what}",
            "io500-fatal",
        ),
        rule(r"^WARNING( \([^()]*\))?:? (?P<what>.*)", "warning", "IO500 warns: {what}"),
    ),
    on_stdout=[rule(r"\bERROR\b|assert", "error", "IO500: {line}", "io500-error")],
)

TEXTS: Mapping[str, Text] = {
    "no-score": "IO500 ended before printing its score",
    "score-not-printed": "IO500 printed no score",
    "not-finished": "IO500 did not finish {phases:all}",
    "score": (
        "the score has {told:.6g} {unit}, but the geometric mean of the phases is {other:.6g}"
    ),
    **NOT_SUBMITTABLE,
}


class Io500Program(StepProgram):
    """IO500 as the engine launches it."""

    title = "IO500"

    def trial(self) -> Self:
        """Return a launch with one rank per host that runs three write phases, each with one I/O or
        one file per rank.
        """
        settings = settings_of(self.launch.options) | TRIAL
        settings |= {f"{name}.run": "FALSE" for name in PHASES if name not in TRIED}
        return self.as_trial(options=tuple(f"{name}={value}" for name, value in settings.items()))

    def files(self, directory: str) -> Mapping[str, str]:
        """Return the ini file, which rank 0 reads."""
        return {FILE: ini_text(self.launch, directory)}

    def words(self, directory: str, hosts: int, tried: Tried) -> list[str]:
        """Return IO500's argument: the path of the ini file."""
        return [posixpath.join(directory, REPORTS, FILE)]

    def kind(self) -> type[Io500Reader]:
        """Return the class that reads IO500's output."""
        return Io500Reader

    def inodes(self, hosts: int) -> int:
        """Return the minimum number of inodes: those of the report files."""
        return FEW_INODES

    def warnings(self, hosts: int, tried: Tried) -> list[Clause]:
        """Return why the result cannot be submitted."""
        return not_submittable(settings_of(self.launch.options))

    def reported(self, result: MetadataResult, reports: Mapping[str, str]) -> None:
        """Add the times of ranks in mdtest's phases."""
        add_rank_seconds(result.operations, reports, result.tasks)


class Io500Reader(RanksReader):
    """Reads IO500's output, as passed on by mpiexec."""

    tool = "io500"
    rules = RULES
    void_on_stderr = ("io500-fatal",)
    output: Io500Output

    def new_output(self) -> Io500Output:
        """Return the parser of IO500's output."""
        settings = settings_of(self.launch.options)
        skip, easy_bytes = skipped(settings), easy_bytes_of(settings)
        return Io500Output(self.step.index, self.ranks, skip, easy_bytes)

    def figures(self, exit_code: int | None) -> MetadataResult | None:
        """Return the results; None if no phase has done any work."""
        result = self.output.metadata(final=self.succeeded(exit_code))
        if result is not None:
            result.ranks_per_node = self.launch.ranks_per_host
        return result

    def problems(self, exit_code: int | None) -> list[tuple[str, Told]]:
        """Return reasons to doubt or reject the result, as (code, message).

        IO500's own verdict is reported as the finding own-verdict.
        """
        wrong = () if self.is_trial else self.output.wrong_means()
        scores = [
            clause("score", unit=each.names[0], told=each.told, other=each.expected)
            for each in wrong
        ]
        return [*super().problems(exit_code), *(("io500-score", told) for told in scores)]

    def _missing(self) -> list[Told]:
        """Return which parts of a complete run are missing; a trial only has to finish."""
        output = self.output
        if self.is_trial:
            return [] if output.score_text else [clause("no-score")]
        lost = [name for name in self.step.directions if name not in output.phases]
        missing: list[Told] = [clause("not-finished", phases=lost)] if lost else []
        if not missing and not output.score_text:
            missing.append(clause("score-not-printed"))
        return missing
