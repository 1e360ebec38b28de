"""Interface of load generators with the executor "mpi": one program, launched by mpiexec over all
hosts.

The engine launches, watches and ends the program; only the load generator's folder knows its
arguments and output.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from io import BytesIO
from typing import Any, ClassVar, Protocol, Self

from msgspec import structs

from tui.metrics import units
from tui.model.event import (
    HostResult,
    MetadataIteration,
    MetadataPhase,
    MetadataResult,
    OperationResult,
)
from tui.model.operands import Told, clause
from tui.model.plan import MpiLaunch, Step
from tui.text.form import Text
from tui.text.problem_texts import how_ended
from tui.workloads.messages import ERR_LINE, Rule, explainer, mpi_explainer, unreachable
from tui.workloads.reading import Item, LineSplitter, LogLine, Reader

LAUNCH = ("HYDRA_LAUNCH: ", "BT-LAUNCH ")  # lines by which mpiexec asks for a proxy on a host
LAUNCH_END = "HYDRA_LAUNCH_END"
KEPT_PROBLEMS = 6
REPORTS = "benchtui-reports"  # folder in a program's directory for its input and report files
MOST_REPORTS = 64 << 20  # bytes of an archive of reports that are read
LARGEST_REPORT = 8 << 20  # a line of 100 bytes for each of 80,000 ranks
DAMAGED = (OSError, EOFError, ValueError)  # what tarfile raises besides its own errors
SIGNALS = 128  # the shell adds this to the number of a signal
# what mpiexec puts before each line of a rank
RANK_PREFIX = re.compile(r"^\[\d+(?:,\d+)?\](?:<stdout>:)?\s?")


def _intent(title: str, version: str, hosts: int, ranks: int, work: str) -> str:
    of_hosts = f"{units.plural(hosts, 'host')} x {units.plural(ranks, 'rank')}"
    return f"{title} {version or '(unknown version)'}, {of_hosts}{work}"


TEXTS: Mapping[str, Text] = {
    "not-started": "{program} did not start: no output from any rank",
    "mpiexec-ended": lambda exit_code: f"mpiexec {how_ended(exit_code)}",
    "proxy-ended": lambda exit_code: f"MPI proxy {how_ended(exit_code)}",
    "other-mpi": "{program} was built for a different MPI than mpiexec: every rank runs alone",
    "ranks-launched": "{launched} ranks were launched, expected {ranks}",
    "nodes": "{program} counts {nodes} nodes, expected {expected}: ranks are on the wrong nodes",
    "warnings": "{quote} ({warnings} warnings)",
    "intent": _intent,
}  # of all MPI programs


@dataclass(frozen=True, slots=True)
class Tried:
    """Result of a trial: the program's version, and the number of nodes it counts.

    Empty and 0 if unknown.
    """

    version: str = ""
    nodes: int = 0


class ProgramReader(Reader, Protocol):
    """Reads the output of all ranks from mpiexec.

    `launches` are lines that request proxies; `launches_end` is set after the last one. `notify` is
    called after every chunk.
    """

    launches: list[str]
    launches_end: bool
    notify: Callable[[], None]

    @property
    def started(self) -> bool:
        """Whether the ranks have started."""

    @property
    def unreachable(self) -> Told:
        """Message from MPI that ranks cannot connect; empty if there is none."""

    @property
    def wrong_launch(self) -> Told:
        """Why the launch of the ranks is wrong; empty if it is right or not known yet."""

    def tried(self) -> Tried:
        """Return the version and node count found in the output."""

    def succeeded(self, exit_code: int | None) -> bool:
        """Return whether the program finished successfully."""

    def figures(self, exit_code: int | None) -> MetadataResult | None:
        """Return the results over all hosts; None if there are none."""


class MpiProgram(Protocol):
    """A program to launch with mpiexec in a step."""

    @property
    def launch(self) -> MpiLaunch:
        """Launch parameters: program, ranks, options, directory."""

    def trial(self) -> MpiProgram:
        """Return a launch with one rank per host and minimal work."""

    def words(self, directory: str, hosts: int, tried: Tried) -> list[str]:
        """Return the program's arguments for working in `directory`."""

    def reader(self, hosts: int, nodes: Sequence[int] = ()) -> ProgramReader:
        """Return a reader of the program's output; `nodes` are the acceptable node counts."""

    def files(self, directory: str) -> Mapping[str, str]:
        """Return the program's input files, by name in the REPORTS folder of `directory`; empty if
        it needs none.

        Files that the program leaves in that folder are kept with the run.
        """

    def inodes(self, hosts: int) -> int:
        """Return the maximum number of files and directories in use at a time."""

    def intent(self, hosts: int, tried: Tried) -> list[LogLine]:
        """Return log lines about what will run, including warnings."""

    def complete(
        self, result: MetadataResult, hosts: int, tried: Tried
    ) -> Sequence[tuple[str, Told]]:
        """Add facts to the result that the program does not print.

        Returns anything unexpected as (code, message).
        """

    def reported(self, result: MetadataResult, reports: Mapping[str, str]) -> None:
        """Add facts from the program's report files, which are given by name, to the result."""


@dataclass(frozen=True, slots=True)
class StepProgram:
    """Base of MPI programs; `title` is the program's name in messages.

    Implements `MpiProgram`.
    """

    title: ClassVar[str]
    step: Step
    launch: MpiLaunch
    is_trial: bool = False

    def trial(self) -> Self:
        """Return a launch with one rank per host and minimal work."""
        raise NotImplementedError

    def as_trial(self, **changes: Any) -> Self:
        """Return a trial with one rank per host and these changes to the launch."""
        small = structs.replace(self.launch, ranks_per_host=1, **changes)
        return replace(self, launch=small, is_trial=True)

    def words(self, directory: str, hosts: int, tried: Tried) -> list[str]:
        """Return the program's arguments for working in `directory`."""
        raise NotImplementedError

    def kind(self) -> type[RanksReader]:
        """Return the class that reads its output."""
        raise NotImplementedError

    def reader(self, hosts: int, nodes: Sequence[int] = ()) -> RanksReader:
        """Return a reader of the output; the reader of a trial reports no phases."""
        ranks = self.launch.ranks(hosts)
        return self.kind()(self.step, self.launch, ranks, nodes, is_trial=self.is_trial)

    def inodes(self, hosts: int) -> int:
        """Return the maximum number of files and directories in use at a time."""
        raise NotImplementedError

    def files(self, directory: str) -> Mapping[str, str]:
        """Return no files: most programs read none and write no reports."""
        return {}

    def intent(self, hosts: int, tried: Tried) -> list[LogLine]:
        """Return the version found, ranks and work, and warnings."""
        told = clause(
            "intent",
            title=self.title,
            version=tried.version,
            hosts=hosts,
            ranks=self.launch.ranks_per_host,
            work=self.work(hosts, tried),
        )
        return [("info", told), *(("warning", each) for each in self.warnings(hosts, tried))]

    def work(self, hosts: int, tried: Tried) -> Told:
        """Return the end of the `intent` line: what the ranks do, or how they are placed."""
        return ""

    def warnings(self, hosts: int, tried: Tried) -> Sequence[Told]:
        """Return why the result may be misleading; empty if there is no reason."""
        return ()

    def complete(self, result: MetadataResult, hosts: int, tried: Tried) -> list[tuple[str, Told]]:
        """Add nothing, for a program that prints all facts; return no problems."""
        return []

    def reported(self, result: MetadataResult, reports: Mapping[str, str]) -> None:
        """Add nothing: most programs write no reports."""


class RanksOutput(Protocol):
    """Output of the ranks so far."""

    version: str
    nodes: int

    @property
    def tasks(self) -> int:
        """Number of ranks reported by the program."""

    @property
    def started(self) -> bool:
        """Whether the ranks have started."""

    def line(
        self, text: str, now_s: float = 0.0
    ) -> Sequence[MetadataPhase | MetadataIteration] | None:
        """Parse one line received at `now_s`.

        Returns its events; None for a line without any, which may be a message to explain.
        """

    def end(self, now_s: float) -> MetadataPhase | None:
        """Return the end of the last phase, once; None if no phase has begun."""

    def results(self) -> dict[str, OperationResult]:
        """Return the results so far, by operation."""


class RanksReader:
    """Reads the output of all ranks, as passed on by mpiexec.

    Implements `ProgramReader` for tools that print lines. `ranks` is the expected number of ranks,
    `nodes` the acceptable node counts. In a trial launch it reports
    errors, but no phases.
    """

    tool: ClassVar[str]
    # rules of messages: the tool's on stdout, those of MPI and its libraries on stderr
    rules: ClassVar[tuple[Sequence[Rule], Sequence[Rule]]]
    # codes of messages on stderr that invalidate the result even if the program succeeds
    void_on_stderr: ClassVar[tuple[str, ...]] = ()
    output: RanksOutput

    def __init__(
        self,
        step: Step,
        launch: MpiLaunch,
        ranks: int,
        nodes: Sequence[int] = (),
        *,
        is_trial: bool = False,
    ) -> None:
        self.step, self.launch, self.ranks, self.nodes = step, launch, ranks, nodes
        self.is_trial = is_trial
        self.output = self.new_output()
        out, err = self.rules
        self.out_explainer, self.err_explainer = explainer(out), explainer(err, ERR_LINE)
        self.launches: list[str] = []
        self.launches_end = False
        self.notify: Callable[[], None] = lambda: None
        self._out, self._err = LineSplitter(), LineSplitter()

    def new_output(self) -> RanksOutput:
        """Return the parser of the tool's output."""
        raise NotImplementedError

    def feed(self, data: bytes) -> list[Item]:
        """Return the phases, iterations and log lines completed by these bytes; call `notify`."""
        items = [item for line in self._out.feed(data) for item in self._line(line)]
        self.notify()
        return [] if self.is_trial else items

    def feed_stderr(self, data: bytes) -> list[LogLine]:
        """Return the explained lines completed by these bytes of stderr; call `notify`."""
        lines = self.err_explainer.explain_all(self._err.feed(data))
        self.notify()
        return lines

    def flush(self) -> list[Item]:
        """Return the rest at the end of both streams."""
        items = [item for line in self._out.close() for item in self._line(line)]
        over = self.output.end(time.monotonic())  # it may have been killed in the middle of a phase
        lines = self.err_explainer.explain_all(self._err.close())
        return [] if self.is_trial else [*items, *([over] if over else []), *lines]

    def result(self, exit_code: int | None) -> HostResult:
        """Return the first host's result without figures; those over all hosts are in `figures`."""
        host, final = self.step.tasks[0].host, self.succeeded(exit_code)
        return host_result(host, self.step.index, self.output.version, final=final)

    def figures(self, exit_code: int | None) -> MetadataResult | None:
        """Return the results over all hosts; None until there are any."""
        if not (operations := self.output.results()):
            return None
        return MetadataResult(
            t=0.0,
            step=self.step.index,
            tool=self.tool,
            version=self.output.version,
            tasks=self.output.tasks,
            nodes=self.output.nodes,
            items=self.launch.items,
            iterations=self.launch.iterations,
            operations=operations,
            ranks_per_node=self.launch.ranks_per_host,
            final=self.succeeded(exit_code),
        )

    @property
    def started(self) -> bool:
        """Whether the ranks have started."""
        return self.output.started

    def tried(self) -> Tried:
        """Return the version and the number of nodes that the tool counts."""
        return Tried(self.output.version, self.output.nodes)

    @property
    def wrong_launch(self) -> Told:
        """Why the launch of the ranks is wrong; empty if it is right or not known yet."""
        output = self.output
        if not output.started:
            return ""
        if output.tasks == 1 and self.ranks > 1:
            return clause("other-mpi", program=self.tool)
        if output.tasks != self.ranks:
            return clause("ranks-launched", launched=output.tasks, ranks=self.ranks)
        if self.nodes and output.nodes and output.nodes not in self.nodes:
            expected = self.nodes[-1]
            return clause("nodes", program=self.tool, nodes=output.nodes, expected=expected)
        return ""

    def succeeded(self, exit_code: int | None) -> bool:
        """Return whether the tool finished successfully: without `problems`, such as missing
        output.
        """
        return not self.problems(exit_code)

    @property
    def unreachable(self) -> Told:
        """Message from MPI that ranks cannot connect; empty if there is none."""
        return unreachable({**self.out_explainer.codes, **self.err_explainer.codes})

    def problems(self, exit_code: int | None) -> list[tuple[str, Told]]:
        """Return reasons to doubt or reject the result, as (code, message); empty without any.

        Messages of MPI and its libraries only explain a failure, except those of `void_on_stderr`.
        """
        started = self.output.started
        missing = self._missing() if started else [clause("not-started", program=self.tool)]
        ended: list[tuple[str, Told]] = []
        if exit_code not in (0, None):
            told = clause("mpiexec-ended", exit_code=exit_code)
            ended.append((f"{self.tool}-exit-code", told))
        launch = [("mpi-launch", self.wrong_launch)] if self.wrong_launch else []
        causes = self._causes(well=not (missing or ended or launch))
        if causes and not started:
            missing = []  # messages of the tool or MPI say why no rank started
        return [*causes, *launch, *ended, *((f"{self.tool}-incomplete", told) for told in missing)]

    def _causes(self, *, well: bool) -> list[tuple[str, Told]]:
        """Return (code, text) of the first messages, those on stdout first.

        After a success (`well`), only the tool's own messages on stdout, and those of
        `void_on_stderr`.
        """
        own = {
            code: told
            for code, told in self.out_explainer.codes.items()
            if not (well and code.startswith("mpi-"))
        }
        others = {
            code: told
            for code, told in self.err_explainer.codes.items()
            if not well or code in self.void_on_stderr
        }
        causes = {**own, **{code: told for code, told in others.items() if code not in own}}
        warnings = f"{self.tool}-warnings"
        if (warned := self.out_explainer.counts[warnings]) > 1:
            causes[warnings] = clause("warnings", quote=causes[warnings], warnings=warned)
        return list(causes.items())[:KEPT_PROBLEMS]

    def _missing(self) -> list[Told]:
        """Return which parts of a complete run are missing."""
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
        explained = self.out_explainer.explain(line)
        return [] if explained is None else [explained]


class ReportsReader:
    """Reads the archive of report files, which is also kept with the run."""

    def __init__(self, host: str, step: Step) -> None:
        self.host, self._step = host, step
        self._err = LineSplitter()
        self._archive = bytearray()

    def feed(self, data: bytes) -> list[LogLine]:
        """Keep a piece of the archive, until it has MOST_REPORTS bytes; return nothing."""
        if len(self._archive) < MOST_REPORTS:
            self._archive += data
        return []

    def texts(self) -> dict[str, str]:
        """Return the report files by name, without those above LARGEST_REPORT.

        A truncated or damaged archive gives the files before the damage.
        """
        import tarfile

        found = {}
        archive = BytesIO(self._archive)
        with suppress(*DAMAGED, tarfile.TarError), tarfile.open(fileobj=archive) as tar:
            for member in tar:
                folder, _, name = member.name.rpartition("/")
                if folder == REPORTS and member.size <= LARGEST_REPORT:
                    file = tar.extractfile(member) if member.isreg() else None
                    found[name] = file.read().decode(errors="replace") if file else ""
        return found

    def feed_stderr(self, data: bytes) -> list[LogLine]:
        """Return tar's messages."""
        return [("warning", line) for line in self._err.feed(data)]

    def flush(self) -> list[LogLine]:
        """Return the last line of stderr if it has no newline."""
        return [("warning", line) for line in self._err.close()]

    def result(self, exit_code: int | None) -> HostResult:
        """Return a result without figures, because an archive has none."""
        return host_result(self.host, self._step.index, "", final=exit_code == 0)

    def problems(self, exit_code: int | None) -> list[tuple[str, Told]]:
        """Return no problems: tar's exit code decides."""
        return []


class ProxyReader:
    """Reads an MPI proxy on one host, which prints only errors.

    The ranks' output arrives through mpiexec.
    """

    def __init__(self, host: str, step: Step) -> None:
        self.host = host
        self._step = step
        self._explainer = mpi_explainer()
        self._out, self._err = LineSplitter(), LineSplitter()

    def feed(self, data: bytes) -> list[LogLine]:
        """Return the explained lines completed by these bytes."""
        return self._explainer.explain_all(self._out.feed(data))

    def feed_stderr(self, data: bytes) -> list[LogLine]:
        """Return the explained lines completed by these bytes of stderr."""
        return self._explainer.explain_all(self._err.feed(data))

    def flush(self) -> list[LogLine]:
        """Return the rest at the end of both streams."""
        return self._explainer.explain_all([*self._out.close(), *self._err.close()])

    def result(self, exit_code: int | None) -> HostResult:
        """Return a result without figures, which shows that the host took part."""
        return host_result(self.host, self._step.index, "", final=exit_code == 0)

    @property
    def unreachable(self) -> Told:
        """Message that this host cannot reach another one; empty if there is none."""
        return unreachable(self._explainer.codes)

    def problems(self, exit_code: int | None) -> list[tuple[str, Told]]:
        """Return what MPI printed, or else a bad exit code, as (code, message); the program as a
        whole may have succeeded.
        """
        problems = list(self._explainer.codes.items())[:KEPT_PROBLEMS]
        if problems or exit_code in (0, None):
            return problems
        return [("mpi-proxy", clause("proxy-ended", exit_code=exit_code))]


def host_result(host: str, step: int, version: str, *, final: bool) -> HostResult:
    """Return a host's result without figures: those of an MPI program are over all hosts."""
    return HostResult(t=0.0, host=host, step=step, dirs={}, tool_version=version, final=final)
