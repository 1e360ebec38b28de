"""Read the output of IO500 while it runs, and explain its messages."""

from __future__ import annotations

from collections.abc import Sequence

from tui.model.event import MetadataResult
from tui.model.plan import MpiLaunch, Step
from tui.workloads.io500.ini import settings_of, skipped
from tui.workloads.io500.output import Io500Output, easy_bytes_of
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
from tui.workloads.mpi import RanksReader, WithoutPhases

_OWN = (
    rule(r"^ERROR INVALID (\([^()]*\) )?(?P<what>.+)", "warning", "IO500 calls it invalid: {what}"),
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


class Io500Reader(RanksReader):
    """Reads IO500's output from mpiexec."""

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
        """Return the results; None if no phase ended."""
        result = self.output.result(final=self.succeeded(exit_code))
        if result is not None:
            result.ranks_per_node = self.launch.ranks_per_host
        return result

    def problems(self, exit_code: int | None) -> list[tuple[str, str]]:
        """Return reasons to doubt or reject the result.

        IO500's own verdict is a finding: own-verdict.
        """
        return [*super().problems(exit_code), *self.output.wrong_means()]

    def _missing(self) -> list[str]:
        """Return what is missing compared with a complete run."""
        output = self.output
        lost = [name for name in self._step.directions if name not in output.phases]
        missing = [f"IO500 did not finish {', '.join(lost)}"] if lost else []
        if not missing and not output.said:
            missing.append("IO500 gave no score")
        return missing


class TrialReader(WithoutPhases, Io500Reader):
    """Reads a trial, which only has to reach its end; figures are ignored."""

    def _missing(self) -> list[str]:
        """Return the problem if the score, which IO500 prints last, is missing."""
        return [] if self.output.said else ["IO500 ended before its score"]

    def problems(self, exit_code: int | None) -> list[tuple[str, str]]:
        """Return what makes a launch fail."""
        return RanksReader.problems(self, exit_code)
