"""The reader of mdtest's output as mpiexec hands it on: phases, results, and what went wrong."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from tui.model.event import HostResult, MetadataResult
from tui.model.plan import MpiLaunch, Step
from tui.workloads.base import Item, LogLine
from tui.workloads.mdtest.command import item_phases
from tui.workloads.mdtest.messages import Explainer
from tui.workloads.mdtest.output import Output

LAUNCH = ("HYDRA_LAUNCH: ", "BT-LAUNCH ")  # lines that ask for a proxy on a host
LAUNCH_END = "HYDRA_LAUNCH_END"
MAX_LINE = 1 << 16
KEPT_PROBLEMS = 6


class Lines:
    """Cuts bytes in any pieces into lines."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, data: bytes) -> list[str]:
        """Return the lines that these bytes complete."""
        *whole, rest = (self._rest + data).split(b"\n")
        self._rest = rest[:MAX_LINE]
        return [line.decode(errors="replace").rstrip("\r") for line in whole]

    def close(self) -> list[str]:
        """Return what is left at the end."""
        rest, self._rest = self._rest, b""
        return [rest.decode(errors="replace")] if rest else []


class MdtestReader:
    """Reads what mpiexec prints. `ranks` is what must have been launched, on one of these numbers of `nodes`.

    `launches` are the lines that ask for proxies; `notify` is called after every piece, for whoever waits for one.
    """

    def __init__(self, step: Step, launch: MpiLaunch, ranks: int, nodes: Sequence[int] = ()) -> None:
        self.launch = launch
        self.ranks = ranks
        self.nodes = nodes
        self.output = Output(step.index, launch.iterations, item_phases(launch.options))
        self.explainer = Explainer()
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
        told = [self.explainer.explain(line) for line in self._err.feed(data)]
        self.notify()
        return [line for line in told if line is not None]

    def flush(self) -> list[Item]:
        """Return what the end of both streams completes."""
        items = [item for line in self._out.close() for item in self._line(line)]
        told = (self.explainer.explain(line) for line in self._err.close())
        return [*items, *(line for line in told if line is not None)]

    def result(self, exit_code: int | None) -> HostResult:
        """Return the part of the first host: figures are of all hosts together, see `metadata`."""
        return host_result(self._step.tasks[0].host, self._step, self.output.version, final=self.succeeded(exit_code))

    def metadata(self, exit_code: int | None) -> MetadataResult | None:
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
        return not self.verdict(exit_code)

    def verdict(self, exit_code: int | None) -> list[tuple[str, str]]:
        """Return (code, message) of everything that makes the result doubtful or void; empty is clean."""
        problems = list(self.explainer.codes.items())[:KEPT_PROBLEMS]
        if warned := self.explainer.counts["mdtest-warnings"]:
            counted = {"mdtest-warnings": f" ({warned} warnings)"}
            problems = [(code, text + counted.get(code, "")) for code, text in problems]
        if self.wrong_launch:
            problems.append(("mpi-launch", self.wrong_launch))
        if exit_code not in (0, None):
            problems.append(("mdtest-exit-code", ended_text(exit_code)))
        return problems + [("mdtest-incomplete", text) for text in self._missing()]

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
        elif (told := self.explainer.explain(line)) is not None:
            items.append(told)
        return items


class ProxyReader:
    """Reads an MPI proxy on one host: it has nothing to say but errors; the ranks' output is mpiexec's."""

    def __init__(self, host: str, step: Step) -> None:
        self.host = host
        self._step = step
        self.explainer = Explainer()
        self._out, self._err = Lines(), Lines()

    def feed(self, data: bytes) -> list[Item]:
        """Return explained lines."""
        return [line for line in map(self.explainer.explain, self._out.feed(data)) if line is not None]

    def feed_stderr(self, data: bytes) -> list[LogLine]:
        """Return explained lines."""
        return [line for line in map(self.explainer.explain, self._err.feed(data)) if line is not None]

    def flush(self) -> list[Item]:
        """Return what the end of both streams completes."""
        rest = [*self._out.close(), *self._err.close()]
        return [line for line in map(self.explainer.explain, rest) if line is not None]

    def result(self, exit_code: int | None) -> HostResult:
        """Return that the host took part; figures are of all hosts together."""
        return host_result(self.host, self._step, "", final=exit_code == 0)

    def verdict(self, exit_code: int | None) -> list[tuple[str, str]]:
        """Return (code, message) of what was wrong."""
        problems = list(self.explainer.codes.items())[:KEPT_PROBLEMS]
        return problems if problems or exit_code in (0, None) else [("mpi-proxy", f"its MPI proxy {how(exit_code)}")]


def host_result(host: str, step: Step, version: str, *, final: bool) -> HostResult:
    """Return that a host took part in a measurement whose figures are of all hosts together."""
    return HostResult(t=0.0, host=host, step=step.index, dirs={}, tool_version=version, final=final)


def ended_text(exit_code: int | None) -> str:
    """Return how mpiexec ended."""
    return f"mpiexec {how(exit_code)}"


def how(exit_code: int | None) -> str:
    """Return an exit code for people; the shell counts signals from 128."""
    if exit_code is None:
        return "ended in an unknown way"
    signal = exit_code - 128
    return f"was killed by signal {signal}" if 0 < signal <= 64 else f"ended with code {exit_code}"


def shortened(nodemap: str, longest: int = 200) -> str:
    """Return the map of ranks to the first node, cut."""
    return nodemap if len(nodemap) <= longest else nodemap[:longest] + "..."
