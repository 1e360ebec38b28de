"""One host of a run: what it does over time, what it is, what it said, its command. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from tui.app.screens.hosts.facts import fact_lines
from tui.app.screens.live.hosts_over_time import OF_HOST, HostsOverTime
from tui.app.widgets.messages import SEVERITY_KEYS
from tui.metrics.registry import in_order
from tui.metrics.units import clock
from tui.results.text.printed import now_text
from tui.text.line import LABEL, TEXT, Line, Run, heading, indented, labelled

if TYPE_CHECKING:
    from tui.journal.state import RunState
    from tui.metrics.sparkline import Symbols
    from tui.text.timeaxis import TimeAxis

NAME, FIGURE = 12, 12  # cells of a lane's name, and of its newest figure
LANE_ROWS = 2
COMMAND_LINES = 2  # where the panels of the run have to have room
INDENT = 9


def over_time(state: RunState, host: str, before: HostsOverTime | None = None) -> HostsOverTime:
    """Return what telemetry saw of a host in the step of now; of the same one `before` is taken on."""
    step = state.steps.get(state.step) if state.step is not None else None
    seen = step.telemetry.get(host) if step is not None else None
    found = before if before is not None and before.step is seen else HostsOverTime(seen, OF_HOST)
    found.take([seen] if seen is not None else [])
    return found


def command_of(state: RunState, host: str) -> str:
    """Return the command of the load that a host began last; empty before."""
    loads = [task for (_, name), task in state.at_step(state.step or 0).loads.items() if name == host]
    return " ".join(loads[-1].argv) if loads else ""


def strip(state: RunState, host: str, over: HostsOverTime, axis: TimeAxis, width: int, symbols: Symbols) -> list[Line]:
    """Return what stands under the facts of the host that all panels show: its telemetry, its command."""
    lines = [over.line(axis, width, symbols)] if over.known else []
    lines += printed(state, host, width)
    command = command_of(state, host)
    return [*lines, *labelled([("command ", LABEL)], [(command, TEXT)], width)[:COMMAND_LINES]] if command else lines


def printed(state: RunState, host: str, width: int) -> list[Line]:
    """Return the percentiles that the tool printed for the last interval: of this host alone."""
    lines: list[Line] = []
    leaves = state.current.hosts.get(host, {})
    for name in in_order(leaves):
        if (last := leaves[name].last) is not None and (text := now_text(last.sample.printed_ns)):
            lines += labelled([(f"{name} ", LABEL)], [(f"{text} (printed by the tool; not mergeable)", TEXT)], width)
    return lines


def whole(
    state: RunState, host: str, said: Run, over: HostsOverTime, axis: TimeAxis, symbols: Symbols, width: int
) -> list[Line]:
    """Return all there is of a host: how it is, telemetry over time, facts, command, messages."""
    view = state.hosts.get(host)
    facts = list(fact_lines(view.facts)) if view is not None else []
    command = command_of(state, host)
    parts: dict[str, Sequence[Line]] = {
        "percentiles": printed(state, host, width),
        "over time": over_lines(over, axis, symbols, width),
        "what it is": [line for name, runs in facts for line in labelled([(name, LABEL)], runs, width, INDENT)],
        "command": indented([(command, TEXT)], width, 0) if command else (),
        "messages": list(message_lines(state, host, width)),
    }
    lines = [Line.of(said)] if said[0] else []
    for title, part in parts.items():
        if part:
            lines += [*([Line()] if lines else []), heading(title), *part]
    return lines


def over_lines(over: HostsOverTime, axis: TimeAxis, symbols: Symbols, width: int) -> list[Line]:
    """Return a lane for each thing that telemetry tells."""
    if not over.known:
        return [Line.of(("no telemetry", LABEL))]
    room = LANE_ROWS * len(over.known) + 1
    return over.lines(axis, NAME, width - NAME - FIGURE, FIGURE, room, symbols)


def message_lines(state: RunState, host: str, width: int) -> Iterator[Line]:
    """Yield what was said of a host, with the time of the run."""
    for line in state.messages:
        if line.host == host:
            said: list[Run] = [(line.text, SEVERITY_KEYS.get(line.severity, TEXT))]
            yield from labelled([(clock(line.t), LABEL)], said, width, INDENT)
