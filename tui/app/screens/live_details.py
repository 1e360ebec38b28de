"""Details of one host on Live, the keys in the footer, and the plan of a run without load."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from tui.app.screens.hosts_facts import fact_lines
from tui.app.widgets.run_panels import SEVERITY_KEYS
from tui.metrics.registry import in_order
from tui.metrics.units import clock
from tui.text.line import (
    LABEL,
    TEXT,
    Line,
    Run,
    beside,
    heading,
    indented,
    labelled,
    rule,
)
from tui.text.run_texts import run_text
from tui.view.live_lanes import OF_HOST, HostsOverTime, LaneCells
from tui.view.step_notes import now_text

if TYPE_CHECKING:
    from tui.journal.state import RunState
    from tui.model.plan import Plan
    from tui.text.plot import TimeAxis
    from tui.text.sparkline import Symbols

NAME, FIGURE = 12, 12  # cells of a lane's name and of its newest figure
LANE_ROWS = 2
COMMAND_LINES = 2  # beside the panels of the run
INDENT = 9


def over_time(state: RunState, host: str, before: HostsOverTime | None = None) -> HostsOverTime:
    """Return the telemetry of a host over the current step.

    If `before` is about the same step, it is continued and returned.
    """
    step = state.steps.get(state.step) if state.step is not None else None
    seen = step.telemetry.get(host) if step is not None else None
    found = before if before is not None and before.step is seen else HostsOverTime(seen, OF_HOST)
    found.take([seen.lately(state.clock.window_s)] if seen is not None else [])
    return found


def command_of(state: RunState, host: str) -> str:
    """Return the command of the last load that a host started; empty if there is none."""
    loads = [
        task for (_, name), task in state.at_step(state.step or 0).loads.items() if name == host
    ]
    return " ".join(loads[-1].argv) if loads else ""


def printed(state: RunState, host: str, width: int) -> list[Line]:
    """Return the percentiles that the tool printed for a host's last interval."""
    lines: list[Line] = []
    leaves = state.current.hosts.get(host, {})
    for name in in_order(leaves):
        if (last := leaves[name].recent.last) and (text := now_text(last.parts[-1].printed_ns)):
            lines += labelled(
                [(f"{name} ", LABEL)],
                [(f"{text} (printed by the tool; not mergeable)", TEXT)],
                width,
            )
    return lines


class HostDetails(Struct, frozen=True):
    """One host of a run: telemetry over time, facts, command, messages."""

    state: RunState
    host: str
    over: HostsOverTime
    axis: TimeAxis
    symbols: Symbols

    def strip(self, width: int) -> list[Line]:
        """Return telemetry and command, to be shown below the facts of the host."""
        lines = [self.over.line(self.axis, width, self.symbols)] if self.over.known else []
        lines += printed(self.state, self.host, width)
        if command := command_of(self.state, self.host):
            lines += labelled([("command ", LABEL)], [(command, TEXT)], width)[:COMMAND_LINES]
        return lines

    def whole(self, said: Run, width: int) -> list[Line]:
        """Return everything known about the host.

        `said`: its state, which is the first line.
        """
        view = self.state.hosts.get(self.host)
        facts = list(fact_lines(view.facts)) if view is not None else []
        command = command_of(self.state, self.host)
        parts: dict[str, Sequence[Line]] = {
            "percentiles": printed(self.state, self.host, width),
            "over time": self._lanes(width),
            "facts": [
                line
                for name, runs in facts
                for line in labelled([(name, LABEL)], runs, width, INDENT)
            ],
            "command": indented([(command, TEXT)], width, 0) if command else (),
            "messages": list(self._messages(width)),
        }
        lines = [Line.of(said)] if said[0] else []
        for title, part in parts.items():
            if part:
                lines += [*([Line()] if lines else []), heading(title), *part]
        return lines

    def _lanes(self, width: int) -> list[Line]:
        """Return a lane for each telemetry metric of the host."""
        if not self.over.known:
            return [Line.of(("no telemetry", LABEL))]
        cells = LaneCells(NAME, width - NAME - FIGURE, FIGURE)
        room = LANE_ROWS * len(self.over.known) + 1
        return self.over.lines(self.axis, cells, room, self.symbols)

    def _messages(self, width: int) -> Iterator[Line]:
        """Yield the messages about the host, with the time in the run."""
        for line in self.state.messages.newest:
            if line.host == self.host:
                said: list[Run] = [(run_text(line.text), SEVERITY_KEYS.get(line.severity, TEXT))]
                yield from labelled([(clock(line.t), LABEL)], said, width, INDENT)


Keys = tuple[tuple[str, str], ...]
GENERAL: Keys = (("?", "help"), ("q", "quit"))
LOOK_BACK: Keys = (("[]", "rewind"),)
PLAY: Keys = (("Space", "play/pause"), ("←→", "10 s"))
SPEED, DIRECTION, HOST = ("+-", "speed"), ("t", "direction"), ("h", "host")


class FooterState(Struct, frozen=True):
    """The state that the keys in the footer depend on.

    `zoomed`: name of the maximized panel; `log`: all messages are shown.
    """

    replay: bool = False
    over: bool = False
    gone: bool = False  # the engine died without ending the journal
    remedy: bool = False  # a failed run has a remedy
    jobs: bool = False  # several jobs
    found: bool = False  # there are findings
    roomy: bool = False
    log: bool = False
    zoomed: str | None = None
    back: bool = False  # the cursor is at an earlier second
    opens: str = "host"  # what Enter shows
    directions: bool = True  # the heat map can show several


def hint(shown: FooterState) -> Keys:
    """Return the keys to show in the footer; empty for the registry's keys."""
    if shown.log:
        return (("↑↓", "scroll"), ("Esc", "hosts"), *GENERAL)
    if shown.zoomed is not None:
        own: Keys = (DIRECTION,) if shown.directions else ()
        own += () if shown.replay else (HOST,)
        first = PLAY if shown.replay else LOOK_BACK
        own = (
            own
            if shown.zoomed == "heat"
            else (("↑↓", "scroll"),)
            if shown.zoomed == "strip"
            else ()
        )
        return (*first, *own, ("z", "next panel"), ("Esc", "all"), *GENERAL)
    if shown.back and not shown.replay:
        now = ("Esc", "whole load" if shown.over else "now")
        return (*LOOK_BACK, now, ("s", "sort"), ("z", "zoom"), _job_or(shown, "L", "log"), *GENERAL)
    if shown.replay:
        before = (("v", "overlay"),) if shown.roomy else ()
        return (
            *PLAY,
            SPEED,
            ("Enter", shown.opens),
            ("s", "sort"),
            _job_or(shown, "L", "log"),
            *before,
            *GENERAL,
        )
    if shown.over:
        first = (("R", "recover"),) if shown.gone else (("T", "remedy"),) if shown.remedy else ()
        findings = (("f", "findings"),) if shown.found else ()
        own = (
            ("Enter", shown.opens),
            ("s", "sort"),
            *findings,
            ("L", "log"),
            _job_or(shown, "n", "note"),
        )
        return (*first, *own, *GENERAL)
    return ()


def _job_or(shown: FooterState, key: str, label: str) -> tuple[str, str]:
    return ("J", "job") if shown.jobs else (key, label)


BESIDE_FROM, GUTTER = 150, 3  # cells from which the job file is on the right; between the two


def unused_plan(plan: Plan, width: int) -> list[Line]:
    """Return the plan of a run that ended before its load.

    The job file is next to it where there is room, otherwise below it.
    """
    from tui.app.screens.review_plan import job_files, plan_lines

    head = rule("Plan", "not run", width)
    if width < BESIDE_FROM:
        return [head, *plan_lines(plan, width), Line(), *job_files(plan)]
    half = (width - GUTTER) // 2
    return [head, *beside(plan_lines(plan, half), job_files(plan), half + GUTTER)]
