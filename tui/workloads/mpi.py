"""What a load generator with executor "mpi" offers: one program, launched once over all hosts by mpiexec.

The engine launches, watches and ends it; only the load generator's folder knows what the program is, prints and means.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from tui.model.event import HostResult, MetadataResult
from tui.model.plan import MpiLaunch, Step
from tui.workloads.messages import mpi_explainer, unreachable
from tui.workloads.reading import LineSplitter, LogLine, Reader

LAUNCH = ("HYDRA_LAUNCH: ", "BT-LAUNCH ")  # lines by which mpiexec asks for a proxy on a host
LAUNCH_END = "HYDRA_LAUNCH_END"
KEPT_PROBLEMS = 6
SIGNALS = 128  # the shell adds this to the number of a signal


@dataclass(frozen=True, slots=True)
class Tried:
    """What a trial told of a program: its own version, and how many nodes it counts; 0 and empty: not known."""

    version: str = ""
    nodes: int = 0


class ProgramReader(Reader, Protocol):
    """Reads what mpiexec hands on of all ranks.

    `launches` are lines that ask for proxies, `launches_end` whether these were all; `notify` is called after every
    piece.
    """

    launches: list[str]
    launches_end: bool
    notify: Callable[[], None]

    @property
    def started(self) -> bool:
        """Whether the ranks run."""

    @property
    def unreachable(self) -> str:
        """Why ranks will never meet, when MPI has said so; empty: it has not."""

    @property
    def wrong_launch(self) -> str:
        """What is wrong with how the ranks were launched, as soon as that is known; empty: nothing."""

    def tried(self) -> Tried:
        """Return what it has told of itself."""

    def succeeded(self, exit_code: int | None) -> bool:
        """Tell whether the program came to its own good end."""

    def figures(self, exit_code: int | None) -> MetadataResult | None:
        """Return what was measured over all hosts; None when nothing was."""


class MpiProgram(Protocol):
    """A program as a step launches it."""

    @property
    def launch(self) -> MpiLaunch:
        """What is launched, and how."""

    def trial(self) -> MpiProgram:
        """Return the same with as little to do as possible: one rank a host."""

    def words(self, directory: str, hosts: int, tried: Tried) -> list[str]:
        """Return its arguments; it works in `directory`."""

    def reader(self, hosts: int, nodes: Sequence[int] = ()) -> ProgramReader:
        """Return a reader of its output, which is on one of these numbers of nodes."""

    def inodes(self, hosts: int) -> int:
        """Return how many files and directories exist at once."""

    def intent(self, hosts: int, tried: Tried) -> list[LogLine]:
        """Return what is going to run, and what is doubtful about it."""

    def complete(self, result: MetadataResult, hosts: int, tried: Tried) -> list[tuple[str, str]]:
        """Put into a result what the program does not print; return (code, message) of what is not as expected."""


class ProxyReader:
    """Reads an MPI proxy on one host: it has nothing to say but errors; the ranks' output is mpiexec's."""

    def __init__(self, host: str, step: Step) -> None:
        self.host = host
        self._step = step
        self._explainer = mpi_explainer()
        self._out, self._err = LineSplitter(), LineSplitter()

    def feed(self, data: bytes) -> list[LogLine]:
        """Return explained lines."""
        return self._explainer.explain_all(self._out.feed(data))

    def feed_stderr(self, data: bytes) -> list[LogLine]:
        """Return explained lines."""
        return self._explainer.explain_all(self._err.feed(data))

    def flush(self) -> list[LogLine]:
        """Return what the end of both streams completes."""
        return self._explainer.explain_all([*self._out.close(), *self._err.close()])

    def result(self, exit_code: int | None) -> HostResult:
        """Return that the host took part; figures are of all hosts together."""
        return host_result(self.host, self._step, "", final=exit_code == 0)

    @property
    def unreachable(self) -> str:
        """Why it cannot reach the others, when it has said so."""
        return unreachable(self._explainer.codes)

    def problems(self, exit_code: int | None) -> list[tuple[str, str]]:
        """Return (code, message) of what was wrong; the program as a whole may have ended well all the same."""
        problems = list(self._explainer.codes.items())[:KEPT_PROBLEMS]
        return problems if problems or exit_code in (0, None) else [("mpi-proxy", f"its MPI proxy {how(exit_code)}")]


def host_result(host: str, step: Step, version: str, *, final: bool) -> HostResult:
    """Return that a host took part in a measurement whose figures are of all hosts together."""
    return HostResult(t=0.0, host=host, step=step.index, dirs={}, tool_version=version, final=final)


def how(exit_code: int | None) -> str:
    """Return an exit code for people; the shell counts signals from 128."""
    if exit_code is None:
        return "ended in an unknown way"
    signal = exit_code - SIGNALS
    return f"was killed by signal {signal}" if 0 < signal <= 64 else f"ended with code {exit_code}"
