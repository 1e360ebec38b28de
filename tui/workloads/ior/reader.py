"""Read the output of IOR while it runs, and explain its messages."""

from __future__ import annotations

from collections.abc import Sequence

from tui.model.event import MetadataResult
from tui.model.plan import MpiLaunch, Step
from tui.workloads.ior.output import IorOutput
from tui.workloads.ior.plan import shape_of
from tui.workloads.messages import (
    HARMLESS,
    IN_PARTS,
    MPI,
    MUTTERED,
    NOT_WRITABLE,
    SSH,
    Explainer,
    rule,
    silent,
    unknown,
)
from tui.workloads.mpi import RanksReader, WithoutPhases

MOVED = 1e-4  # of the bytes: the summary prints tenths of a MiB
TENTH = 0.05 * (1 << 20)

_TABLES = silent(
    r"^(Options|Results): *$|^Max (Write|Read): |^Summary of all tests|^Commencing (write|read)"
    r" performance",
    r"^(Start time skew|Participating tasks|Using reorderTasks|Writing output to)|stonewall",
    # a bad option's help
    r"^(Synopsis|Flags|Optional arguments|Module \w+|  -\w|Invalid options| +--?[\w.-]+[ =])",
)
_BAD_OPTION = rule(
    r"(Error invalid argument:|invalid option --) (?P<what>.*)",
    "error",
    "IOR rejects {what}: check the profile's options against this version of IOR",
    "ior-bad-option",
)
_FILE_SYSTEM = (
    rule(
        r"No space left on device",
        "error",
        "no space left on the file system under test: {line}",
        "no-space",
    ),
    *NOT_WRITABLE,
)
STDOUT = (
    HARMLESS,
    _BAD_OPTION,
    *_FILE_SYSTEM,
    rule(
        r"^(ior )?WARNING: (?P<what>.*(statfs|gpfs_fcntl|BeeGFS|Lustre|Backend returned).*)",
        "warning",
        "IOR warns: {what}",
    ),
    rule(
        r"^(ior )?WARNING: (?P<what>.*)",
        "error",
        "IOR warns: {what}; its figures are void",
        "ior-warnings",
    ),
    *MPI,
    rule(r"\bERROR\b|assert", "error", "IOR: {line}", "ior-error"),
    _TABLES,
)
STDERR = (
    HARMLESS,
    *SSH,
    _BAD_OPTION,
    *_FILE_SYSTEM,
    *MPI,
    rule(r"\bERROR\b|Assertion|couldn't call|ior:", "error", "{line}", "ior-error"),
    MUTTERED,
)


def stdout_explainer() -> Explainer:
    """Return an explainer of the ranks' output, including IOR's messages."""
    return Explainer(STDOUT, unknown, IN_PARTS)


class IorReader(RanksReader):
    """Reads what mpiexec prints of IOR."""

    tool = "ior"
    void_on_stderr = ("ior-bad-option",)
    output: IorOutput

    def __init__(
        self, step: Step, launch: MpiLaunch, ranks: int, nodes: Sequence[int] = ()
    ) -> None:
        output = IorOutput(step.index, launch.iterations, shape_of(launch.options).phases)
        output.segments = shape_of(launch.options).segments
        output.stonewall_s = shape_of(launch.options).stonewall_s
        stderr = Explainer(STDERR, unknown, IN_PARTS)
        super().__init__(step, launch, ranks, nodes, output, (stdout_explainer(), stderr))

    def figures(self, exit_code: int | None) -> MetadataResult | None:
        """Return the results; None if no phase ended."""
        output = self.output
        if not (operations := output.results()):
            return None
        return MetadataResult(
            t=0.0,
            step=self._step.index,
            tool=self.tool,
            version=output.version,
            tasks=output.tasks,
            nodes=output.nodes,
            items=self.launch.items,
            iterations=self.launch.iterations,
            operations=operations,
            ranks_per_node=self.launch.ranks_per_host,
            final=self.succeeded(exit_code),
        )

    def _missing(self) -> list[str]:
        """Return what is missing in an incomplete run, and where it moved the wrong bytes."""
        output, asked = self.output, self.launch.iterations
        missing = []
        for name in output.phases:
            known = output.figures.get(name)
            if known is None or len(known.rates) < asked:
                missing.append(f"{name} ended {len(known.rates) if known else 0} of {asked} times")
            elif known.summary is None:
                missing.append(f"IOR gave no summary of {name}")
        if not missing and not output.finished:
            missing.append("IOR's last line is missing")
        return [*missing, *self._other_bytes()]

    def _other_bytes(self) -> list[str]:
        """Return where the summary's bytes differ from ranks x block x segments.

        With a time limit any number is correct.
        """
        if not self.launch.items:
            return []
        wanted = self.ranks * self.launch.items * self.launch.bytes_per_op
        return [
            f"{name} moved {known.moved_bytes:.0f} bytes, not {wanted}"
            for name, known in self.output.figures.items()
            if known.moved_bytes is not None
            and abs(known.moved_bytes - wanted) > TENTH + MOVED * wanted
        ]


class TrialReader(WithoutPhases, IorReader):
    """Reads a trial."""
