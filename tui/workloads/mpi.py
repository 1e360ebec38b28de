"""The interface of load generators with executor "mpi": one program, launched by mpiexec over all
hosts.

The engine launches, watches and ends it; only the load generator's folder knows what the program
is, prints and means.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol

from tui.model.event import HostResult, MetadataIteration, MetadataPhase, MetadataResult
from tui.model.plan import MpiLaunch, Step
from tui.workloads.messages import Explainer, mpi_explainer, unreachable
from tui.workloads.reading import Item, LineSplitter, LogLine, Reader

LAUNCH = ("HYDRA_LAUNCH: ", "BT-LAUNCH ")  # lines by which mpiexec asks for a proxy on a host
LAUNCH_END = "HYDRA_LAUNCH_END"
KEPT_PROBLEMS = 6
REPORTS = "benchtui-reports"  # folder in a program's directory, of what it reads and reports
SIGNALS = 128  # the shell adds this to the number of a signal


@dataclass(frozen=True, slots=True)
class Tried:
    """The result of a trial: the program's version, and how many nodes it counts.

    0 and empty: unknown.
    """

    version: str = ""
    nodes: int = 0


class ProgramReader(Reader, Protocol):
    """Reads the output of all ranks from mpiexec.

    `launches` are lines that request proxies, `launches_end` whether these were all; `notify` is
    called after every chunk.
    """

    launches: list[str]
    launches_end: bool
    notify: Callable[[], None]

    @property
    def started(self) -> bool:
        """Whether the ranks are running."""

    @property
    def unreachable(self) -> str:
        """Why ranks will never connect, according to MPI; empty: no message."""

    @property
    def wrong_launch(self) -> str:
        """Why the launch of the ranks is wrong, once known; otherwise empty."""

    def tried(self) -> Tried:
        """Return what it has told of itself."""

    def succeeded(self, exit_code: int | None) -> bool:
        """Return whether the program finished successfully."""

    def figures(self, exit_code: int | None) -> MetadataResult | None:
        """Return the results over all hosts; None if there are none."""


class MpiProgram(Protocol):
    """A program as a step launches it."""

    @property
    def launch(self) -> MpiLaunch:
        """The launch."""

    def trial(self) -> MpiProgram:
        """Return a launch with minimal work: one rank per host."""

    def words(self, directory: str, hosts: int, tried: Tried) -> list[str]:
        """Return its arguments; it works in `directory`."""

    def reader(self, hosts: int, nodes: Sequence[int] = ()) -> ProgramReader:
        """Return a reader of its output, for one of these numbers of nodes."""

    def files(self, directory: str) -> Mapping[str, str]:
        """Return its input files, by name in the folder REPORTS of `directory`; empty: no such
        folder.

        Files that it leaves there are kept with the run.
        """

    def inodes(self, hosts: int) -> int:
        """Return the maximum number of files and directories."""

    def intent(self, hosts: int, tried: Tried) -> list[LogLine]:
        """Return what will run, and what is doubtful about it."""

    def complete(self, result: MetadataResult, hosts: int, tried: Tried) -> list[tuple[str, str]]:
        """Add to a result what the program does not print.

        Returns (code, message) of anything unexpected.
        """


@dataclass(frozen=True, slots=True)
class StepProgram:
    """The part shared by programs: their step, its launch, and whether this is the trial."""

    step: Step
    launch: MpiLaunch
    is_trial: bool = False

    def files(self, directory: str) -> Mapping[str, str]:
        """Return no files: most programs read none and leave no reports."""
        return {}


class RanksOutput(Protocol):
    """The output of the ranks so far."""

    version: str
    nodes: int

    @property
    def tasks(self) -> int:
        """The number of ranks that the program reports."""

    @property
    def started(self) -> bool:
        """Whether the ranks are running."""

    def line(
        self, text: str, now_s: float = 0.0
    ) -> Sequence[MetadataPhase | MetadataIteration] | None:
        """Parse one line that arrived at `now_s`.

        Returns its events, None for a line to show to the user.
        """

    def end(self, now_s: float) -> MetadataPhase | None:
        """Return the end of the last phase, once; None if none was begun."""


class RanksReader:
    """Reads what mpiexec hands on of all ranks: implements `ProgramReader` for tools that print
    lines.

    `ranks` is what must have been launched, on one of these numbers of `nodes`. `explainers` are of
    stdout, where the tool speaks, and of stderr, where MPI and its libraries do.
    """

    tool: ClassVar[str]
    # causes that make a good end void, though they are on stderr
    void_on_stderr: ClassVar[tuple[str, ...]] = ()
    output: RanksOutput

    def __init__(
        self,
        step: Step,
        launch: MpiLaunch,
        ranks: int,
        nodes: Sequence[int],
        output: RanksOutput,
        explainers: tuple[Explainer, Explainer],
    ) -> None:
        self.launch, self.ranks, self.nodes, self.output = launch, ranks, nodes, output
        self.said, self.muttered = explainers
        self.launches: list[str] = []
        self.launches_end = False
        self.notify: Callable[[], None] = lambda: None
        self._step = step
        self._out, self._err = LineSplitter(), LineSplitter()

    def feed(self, data: bytes) -> list[Item]:
        """Return the phases and log lines completed by these bytes."""
        items = [item for line in self._out.feed(data) for item in self._line(line)]
        self.notify()
        return items

    def feed_stderr(self, data: bytes) -> list[LogLine]:
        """Return explained lines of stderr."""
        told = self.muttered.explain_all(self._err.feed(data))
        self.notify()
        return told

    def flush(self) -> list[Item]:
        """Return what the end of both streams completes."""
        items = [item for line in self._out.close() for item in self._line(line)]
        over = self.output.end(time.monotonic())  # it may have been killed in the middle of a phase
        return [*items, *([over] if over else []), *self.muttered.explain_all(self._err.close())]

    def result(self, exit_code: int | None) -> HostResult:
        """Return the first host's part: figures over all hosts are in `figures`."""
        return host_result(
            self._step.tasks[0].host,
            self._step,
            self.output.version,
            final=self.succeeded(exit_code),
        )

    @property
    def started(self) -> bool:
        """Whether the ranks are running."""
        return self.output.started

    def tried(self) -> Tried:
        """Return the version, and the number of nodes that the tool counts."""
        return Tried(self.output.version, self.output.nodes)

    @property
    def wrong_launch(self) -> str:
        """Why the launch of the ranks is wrong, once known; otherwise empty."""
        output = self.output
        if not output.started:
            return ""
        if output.tasks == 1 and self.ranks > 1:
            return f"{self.tool} was built for another MPI than mpiexec: every rank runs alone"
        if output.tasks != self.ranks:
            return f"{output.tasks} ranks were launched, not {self.ranks}"
        if self.nodes and output.nodes and output.nodes not in self.nodes:
            return (
                f"{self.tool} counts {output.nodes} nodes, not {self.nodes[-1]}: ranks are not"
                " where they should be"
            )
        return ""

    def succeeded(self, exit_code: int | None) -> bool:
        """Return whether the tool finished successfully, by its complete output."""
        return not self.problems(exit_code)

    @property
    def unreachable(self) -> str:
        """Why ranks will never connect, according to MPI; empty: no message."""
        return unreachable({**self.said.codes, **self.muttered.codes})

    def problems(self, exit_code: int | None) -> list[tuple[str, str]]:
        """Return (code, message) of reasons to doubt or reject the result; empty if there are none.

        Messages of MPI and its libraries explain a failure, and are ignored after a success.
        """
        started = self.output.started
        missing = (
            self._missing() if started else [f"{self.tool} did not start: no rank said anything"]
        )
        ended = (
            [(f"{self.tool}-exit-code", f"mpiexec {how(exit_code)}")]
            if exit_code not in (0, None)
            else []
        )
        launch = [("mpi-launch", self.wrong_launch)] if self.wrong_launch else []
        causes = self._causes(well=not (missing or ended or launch))
        if causes and not started:
            missing = []  # what the tool or MPI said is why no rank did
        return [*causes, *launch, *ended, *((f"{self.tool}-incomplete", text) for text in missing)]

    def _causes(self, *, well: bool) -> list[tuple[str, str]]:
        """Return (code, text) of messages, the tool's own first.

        After a success only its own.
        """
        own = {
            code: text
            for code, text in self.said.codes.items()
            if not (well and code.startswith("mpi-"))
        }
        others = {
            code: text
            for code, text in self.muttered.codes.items()
            if not well or code in self.void_on_stderr
        }
        causes = {**own, **{code: text for code, text in others.items() if code not in own}}
        warnings = f"{self.tool}-warnings"
        if (warned := self.said.counts[warnings]) > 1:
            causes[warnings] += f" ({warned} warnings)"
        return list(causes.items())[:KEPT_PROBLEMS]

    def _missing(self) -> list[str]:
        """Return what is missing compared with a complete run."""
        raise NotImplementedError

    def _line(self, line: str) -> Sequence[Item]:
        if line.startswith(LAUNCH) and not self.output.started:
            self.launches.append(
                next(line.removeprefix(word) for word in LAUNCH if line.startswith(word))
            )
            return []
        if line.startswith(LAUNCH_END):
            self.launches_end = True
            return []
        if (events := self.output.line(line, time.monotonic())) is not None:
            return events
        told = self.said.explain(line)
        return [] if told is None else [told]


class WithoutPhases(RanksReader):
    """Reads a trial: reports errors, but no phases."""

    def feed(self, data: bytes) -> list[Item]:
        """Take output without reporting it."""
        super().feed(data)
        return []

    def flush(self) -> list[Item]:
        """Take the rest without reporting it."""
        super().flush()
        return []


class ReportsReader:
    """Reads the archive of reports, which is kept unparsed."""

    def __init__(self, host: str, step: Step) -> None:
        self.host, self._step = host, step
        self._err = LineSplitter()

    def feed(self, data: bytes) -> list[LogLine]:
        """Return nothing."""
        return []

    def feed_stderr(self, data: bytes) -> list[LogLine]:
        """Return the messages of tar."""
        return [("warning", line) for line in self._err.feed(data)]

    def flush(self) -> list[LogLine]:
        """Return the last line of stderr if it has no newline."""
        return [("warning", line) for line in self._err.close()]

    def result(self, exit_code: int | None) -> HostResult:
        """Return a result without figures."""
        return host_result(self.host, self._step, "", final=exit_code == 0)

    def problems(self, exit_code: int | None) -> list[tuple[str, str]]:
        """Return no problems: the exit code of tar decides."""
        return []


class ProxyReader:
    """Reads an MPI proxy on one host, which prints only errors.

    The ranks' output comes through mpiexec.
    """

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
        """Return that the host took part; figures are over all hosts."""
        return host_result(self.host, self._step, "", final=exit_code == 0)

    @property
    def unreachable(self) -> str:
        """Why it cannot reach the others, if it printed that."""
        return unreachable(self._explainer.codes)

    def problems(self, exit_code: int | None) -> list[tuple[str, str]]:
        """Return (code, message) of errors.

        The program as a whole may still have succeeded.
        """
        problems = list(self._explainer.codes.items())[:KEPT_PROBLEMS]
        return (
            problems
            if problems or exit_code in (0, None)
            else [("mpi-proxy", f"its MPI proxy {how(exit_code)}")]
        )


def host_result(host: str, step: Step, version: str, *, final: bool) -> HostResult:
    """Return that a host took part in a measurement whose figures are of all hosts together."""
    return HostResult(t=0.0, host=host, step=step.index, dirs={}, tool_version=version, final=final)


def how(exit_code: int | None) -> str:
    """Return an exit code for people; the shell counts signals from 128."""
    if exit_code is None:
        return "ended in an unknown way"
    signal = exit_code - SIGNALS
    return f"was killed by signal {signal}" if 0 < signal <= 64 else f"ended with code {exit_code}"
