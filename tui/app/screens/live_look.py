"""Live: which part of a run the panels show."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tui.app.screens import live_text
from tui.text.plot import TimeAxis, axis_of

if TYPE_CHECKING:
    from tui.app.screens.live_watching import WatchingScreen
    from tui.view.live_wait import Waiting

HEAT_FRAME = 22  # cells of the heat map that are not columns


class Look:
    """One host or all, one job or all, now or an earlier second."""

    def __init__(self, screen: WatchingScreen) -> None:
        self.screen = screen
        self.host: str | None = None
        self.job: str | None = None  # the chosen one; steps without such a job show all
        self.cursor_s: int | None = None  # second of the run that all graphs look at
        self.waiting: Waiting | None = None  # what the run waits for before its load

    @property
    def shown_job(self) -> str | None:
        """The current job; None: all together."""
        return self.job if self.job in self.screen.feed.state.current.jobs else None

    @property
    def axis(self) -> TimeAxis:
        """The time axis of all graphs: the elapsed load, rounded up."""
        state = self.screen.feed.state
        start, span = int(state.current.started_t), state.total.span
        planned = (
            state.phase_expected_s
            if state.current.is_of(state.phase or "measure", state.step)
            else None
        )
        if planned is None:
            planned = self.planned_s
        elapsed = (span[1] if span is not None else state.clock.now) - start
        # nothing is measured yet: preparation is not part of the load
        if span is None and planned:
            elapsed = min(elapsed, planned)
        return axis_of(start, planned, max(1.0, elapsed), self.cursor_s)

    @property
    def planned_s(self) -> float | None:
        """The planned duration of the current load.

        Before the first load, of that one.
        """
        current = self.screen.feed.state.current
        if self.screen.plan is None or (current.step is not None and current.phase != "measure"):
            return None
        step = (
            live_text.step_of(self.screen.feed.state, self.screen.plan)
            if current.step is None
            else self.screen.plan.steps[current.step]
        )
        return step.expected_s if step is not None else None

    @property
    def is_prepared(self) -> bool:
        """Whether a load is being prepared and no latencies are known yet."""
        state = self.screen.feed.state
        return self.waiting is not None and (
            state.phase == "layout" or state.current.phase != "measure"
        )

    def move_cursor(self, places: int) -> None:
        """Move the cursor of all graphs by columns of the heat map, from the newest second."""
        state = self.screen.feed.state
        span, axis = state.total.span, self.axis
        if span is None or live_text.is_between(state):
            self.screen.notify("no load to look back on")
            return
        step = max(1, -(-axis.span_s // max(1, self.screen.size.width - HEAT_FRAME)))
        at = (self.cursor_s if self.cursor_s is not None else span[1]) + places * step
        self.cursor_s = None if at >= span[1] else max(span[0], at)
        self.screen.paint()

    def keep_cursor(self) -> None:
        """Drop a cursor outside the load that is shown: a step began, or a replay went back."""
        if self.cursor_s is None:
            return
        state = self.screen.feed.state
        span = state.total.span
        if span is None or not span[0] <= self.cursor_s < span[1] or live_text.is_between(state):
            self.cursor_s = None

    def next_job(self) -> None:
        """Show the next job or role; after the last one, all together."""
        state = self.screen.feed.state
        choices = live_text.job_choices(state)
        if len(choices) < 2:
            self.screen.notify("this run has one job")
            return
        shown = (state.step, self.shown_job)
        place = (choices.index(shown) + 1) % len(choices) if shown in choices else 0
        step, self.job = choices[place]
        if step is not None and step != state.step:
            state.show(step)
        self.screen.paint()
