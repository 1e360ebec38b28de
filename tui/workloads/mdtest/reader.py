"""The reader of mdtest's output as mpiexec hands it on: phases, results, and what went wrong."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from tui.model.event import HostResult, MetadataResult
from tui.model.plan import MpiLaunch, Step
from tui.workloads.base import Item, LogLine
from tui.workloads.lines import Lines
from tui.workloads.mdtest.command import item_phases
from tui.workloads.mdtest.messages import stderr_explainer, stdout_explainer
from tui.workloads.mdtest.output import Output
from tui.workloads.mpi import KEPT_PROBLEMS, LAUNCH, LAUNCH_END, Tried, host_result, how
from tui.workloads.mpi_messages import unreachable

VOID_ON_STDERR = ("mdtest-bad-option",)
NODEMAP_CHARACTERS = 200  # of the map of ranks to the first node


class MdtestReader:
    """Reads what mpiexec prints. `ranks` is what must have been launched, on one of these numbers of `nodes`.

    `launches` are the lines that ask for proxies; `notify` is called after every piece, for whoever waits for one.
    """

    def __init__(self, step: Step, launch: MpiLaunch, ranks: int, nodes: Sequence[int] = ()) -> None:
        self.launch = launch
        self.ranks = ranks
        self.nodes = nodes
        self.output = Output(step.index, launch.iterations, item_phases(launch.options))
        self.said, self.muttered = stdout_explainer(), stderr_explainer()
        self.launches: list[str] = []
        self.launches_end = False
        self.notify: Callable[[], None] = lambda: None
        self._step = step
        self._out, self._err = Lines(), Lines()

    def feed(self, data: bytes) -> list[Item]:
        """Return the phases and log lines that these bytes complete."""
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
        """Return the part of the first host: figures are of all hosts together, see `figures`."""
        return host_result(self._step.tasks[0].host, self._step, self.output.version, final=self.succeeded(exit_code))

    @property
    def started(self) -> bool:
        """Whether the ranks run."""
        return self.output.started

    def tried(self) -> Tried:
        """Return the version, and the nodes that mdtest counts."""
        return Tried(self.output.version, self.output.nodes)

    def figures(self, exit_code: int | None) -> MetadataResult | None:
        """Return what was measured; None when no operation was."""
        output = self.output
        if not (operations := output.results()):
            return None
        return MetadataResult(
            t=0.0,
            step=self._step.index,
            tool="mdtest",
            version=output.version,
            tasks=output.tasks,
            nodes=output.nodes,
            items=self.launch.items,
            iterations=self.launch.iterations,
            operations=operations,
            shift=output.shift,
            ranks_per_node=self.launch.ranks_per_host,
            nodemap=shortened(output.nodemap),
            final=self.succeeded(exit_code),
        )

    @property
    def wrong_launch(self) -> str:
        """What is wrong with how the ranks were launched, as soon as that is known; empty: nothing."""
        output = self.output
        if not output.started:
            return ""
        if output.tasks == 1 and self.ranks > 1:
            return "mdtest was built for another MPI than mpiexec: every rank runs alone"
        if output.tasks != self.ranks:
            return f"{output.tasks} ranks were launched, not {self.ranks}"
        if self.nodes and output.nodes not in self.nodes:
            return f"mdtest counts {output.nodes} nodes, not {self.nodes[-1]}: ranks are not where they should be"
        return ""

    def succeeded(self, exit_code: int | None) -> bool:
        """Tell whether mdtest came to its own good end, by all that it printed."""
        return not self.problems(exit_code)

    @property
    def unreachable(self) -> str:
        """Why ranks will never meet, when MPI has said so; empty: it has not."""
        return unreachable({**self.said.codes, **self.muttered.codes})

    def problems(self, exit_code: int | None) -> list[tuple[str, str]]:
        """Return (code, message) of everything that makes the result doubtful or void; empty is clean.

        What MPI and its libraries say is the cause of a bad end, and no problem beside a good one.
        """
        missing = self._missing()
        ended = [("mdtest-exit-code", ended_text(exit_code))] if exit_code not in (0, None) else []
        launch = [("mpi-launch", self.wrong_launch)] if self.wrong_launch else []
        causes = self._causes(well=not (missing or ended or launch))
        if causes and not self.output.started:
            missing = []  # what mdtest or MPI said is why no rank did
        return [*causes, *launch, *ended, *(("mdtest-incomplete", text) for text in missing)]

    def _causes(self, *, well: bool) -> list[tuple[str, str]]:
        """Return (code, text) of what was said, mdtest's own words first; beside a good end its own only."""
        own = {code: text for code, text in self.said.codes.items() if not (well and code.startswith("mpi-"))}
        others = {code: text for code, text in self.muttered.codes.items() if not well or code in VOID_ON_STDERR}
        causes = {**own, **{code: text for code, text in others.items() if code not in own}}
        if (warned := self.said.counts["mdtest-warnings"]) > 1:
            causes["mdtest-warnings"] += f" ({warned} warnings)"
        return list(causes.items())[:KEPT_PROBLEMS]

    def _missing(self) -> list[str]:
        """Return what a complete run would have printed too."""
        output = self.output
        if not output.started:
            return ["mdtest did not start: no rank said anything"]
        missing = []
        if output.summary_iterations is None:
            reached = f"it came to iteration {output.iteration} of {self.launch.iterations}"
            missing.append(f"mdtest gave no summary; {reached}")
        elif output.summary_iterations != self.launch.iterations:
            missing.append(f"the summary is of {output.summary_iterations} iterations, not {self.launch.iterations}")
        elif not output.finished:
            missing.append("mdtest's last line is missing")
        if output.items and output.items != self.ranks * self.launch.items:
            missing.append(f"mdtest worked on {output.items} files, not {self.ranks * self.launch.items}")
        return missing

    def _line(self, line: str) -> list[Item]:
        if line.startswith(LAUNCH) and not self.output.started:
            self.launches.append(next(line.removeprefix(word) for word in LAUNCH if line.startswith(word)))
            return []
        if line.startswith(LAUNCH_END):
            self.launches_end = True
            return []
        items: list[Item] = []
        if (event := self.output.line(line, time.monotonic())) is not None:
            items.append(event)
        elif (told := self.said.explain(line)) is not None:
            items.append(told)
        return items


class TrialReader(MdtestReader):
    """Reads a trial: its phases are nobody's business, what was complained of is."""

    def feed(self, data: bytes) -> list[Item]:
        """Take output and tell nothing of it."""
        super().feed(data)
        return []

    def flush(self) -> list[Item]:
        """Take the rest and tell nothing of it."""
        super().flush()
        return []


def ended_text(exit_code: int | None) -> str:
    """Return how mpiexec ended."""
    return f"mpiexec {how(exit_code)}"


def shortened(nodemap: str) -> str:
    """Return the map of ranks to the first node, cut."""
    return nodemap if len(nodemap) <= NODEMAP_CHARACTERS else nodemap[:NODEMAP_CHARACTERS] + "..."
