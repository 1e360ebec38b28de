"""The time axis of the Live screen with its cursor, and the heat map on it: whose latencies, of which direction."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from textual import work

from tui.app.screens.live import text as live_text
from tui.app.screens.live.feed import Now
from tui.app.screens.live.watching import WatchingScreen
from tui.app.widgets.graph_panels import KEYS, Subject
from tui.app.widgets.heat_panel import HeatPanel, Told
from tui.journal.heat import HostHeat
from tui.metrics.heat import HeatBins
from tui.metrics.registry import direction, in_order
from tui.text.heat import LINES
from tui.text.timeaxis import TimeAxis, axis_of

Together = tuple[str, ...]  # directions whose latencies are shown together
HEAT_FRAME = 12  # cells of the heat map that are no columns


class LatenciesScreen(WatchingScreen):
    """A screen of one run with a heat map of latencies over time."""

    def __init__(
        self,
        run_dir: Path,
        replay_speed: float | None = None,
        now: Now = time.time,
        alive: Callable[[Path], bool] | None = None,
    ) -> None:
        super().__init__(run_dir, replay_speed, now, alive)
        self.host: str | None = None
        self.job: str | None = None  # that was chosen; steps that have no such job show all
        self.direction: str | None = None  # whose latencies the heat map shows; None: the first there is
        self.cursor_s: int | None = None  # second of the run that all graphs look at
        self.by_host = False  # the heat map shows the host under the cursor, while all else shows all hosts
        self._host_heat: HostHeat | None = None

    @property
    def shown_job(self) -> str | None:
        """The job that is shown alone; None: all together."""
        return self.job if self.job in self.feed.state.current.jobs else None

    @property
    def axis(self) -> TimeAxis:
        """The time axis of all graphs: as long as the load is planned to take."""
        state = self.feed.state
        start, span = int(state.current.started_t), state.total.span
        planned = state.phase_expected_s if state.current.is_of(state.phase or "measure", state.step) else None
        if planned is None:
            planned = self.planned_s
        elapsed = (span[1] if span is not None else state.clock.now) - start
        if span is None and planned:  # nothing is measured yet: how long it is prepared is no part of the load
            elapsed = min(elapsed, planned)
        return axis_of(start, planned, max(1.0, elapsed), self.cursor_s)

    @property
    def planned_s(self) -> float | None:
        """How long the load that is shown is planned to take; before the first one, that which comes."""
        current = self.feed.state.current
        if self.plan is None or (current.step is not None and current.phase != "measure"):
            return None
        step = live_text.step_of(self.feed.state, self.plan) if current.step is None else self.plan.steps[current.step]
        return step.expected_s if step is not None else None

    # -- the cursor

    def action_cursor_back(self) -> None:
        """Look at what was before."""
        self.move_cursor(-1)

    def action_cursor_on(self) -> None:
        """Look at what came after; behind the newest second is now."""
        self.move_cursor(1)

    def move_cursor(self, places: int) -> None:
        """Move the cursor of all graphs by a column of the heat map; it begins at the newest second."""
        span, axis = self.feed.state.total.span, self.axis
        if span is None or live_text.is_between(self.feed.state):
            self.notify("there is no load to look back on")
            return
        step = max(1, -(-axis.span_s // max(1, self.size.width - HEAT_FRAME)))
        at = (self.cursor_s if self.cursor_s is not None else span[1]) + places * step
        self.cursor_s = None if at >= span[1] else max(span[0], at)
        self.paint()

    def keep_cursor(self) -> None:
        """Go to now once the cursor's second is not of what is shown: another step began, or a replay went back."""
        if self.cursor_s is None:
            return
        state = self.feed.state
        span = state.total.span
        if span is None or not span[0] <= self.cursor_s < span[1] or live_text.is_between(state):
            self.cursor_s = None

    # -- the heat map

    @property
    def heat_host(self) -> str | None:
        """The host whose latencies the heat map shows: the one in all panels, or that under the cursor; None: all."""
        hosts = self.feed.state.hosts
        name = self.host if self.host in hosts else self.table.cursor_key if self.by_host else None
        return name if name in hosts else None

    def heat_of(self) -> dict[str, HeatBins]:
        """Return the latencies over time of what the map shows: all hosts, one job, or one host."""
        if live_text.is_between(self.feed.state):
            return {}
        return self.host_heat(host).heat if (host := self.heat_host) is not None else self.heat_of_all()

    def heat_of_all(self) -> dict[str, HeatBins]:
        """Return the latencies over time of all hosts together, of the job that is shown."""
        current, job = self.feed.state.current, self.shown_job
        return (current.jobs[job] if job is not None else current).heat

    def heat_beside(self) -> dict[str, HeatBins]:
        """Return the latencies over time of what the other panels show; of a host what the map has read."""
        if self.host not in self.feed.state.hosts:
            return self.heat_of_all()
        return self._host_heat.heat if self._host_heat is not None else {}

    def host_heat(self, host: str) -> HostHeat:
        """Return the latencies of one host, which are read from the journal beside."""
        state = self.feed.state
        if self._host_heat is None or not self._host_heat.is_of(host, state, self.shown_job):
            self._host_heat = HostHeat(self.feed.path, host, state, self.shown_job)
        held_t = self.feed.state.t if self.paused else float("inf")
        self.read_host(self._host_heat, self.feed.position if self.feed.replay else held_t)
        return self._host_heat

    @work(thread=True, exclusive=True, group="host-heat", exit_on_error=False)
    def read_host(self, heat: HostHeat, until_t: float) -> None:
        """Read on in the journal; the next paint shows it."""
        if heat.lock.acquire(blocking=False):
            try:
                new = not heat.heat
                heat.advance(until_t)
            finally:
                heat.lock.release()
            if new and heat.heat:  # nobody waits a second for the map of another host
                self.app.call_from_thread(self.paint)

    def choices(self, heat: dict[str, HeatBins], subject: Subject) -> list[Together]:
        """Return the directions that can be shown: each alone, that of the headline first, then all I/O together."""
        names = [name for name in in_order(heat) if heat[name].columns]
        names.sort(key=lambda name: name != subject.about)
        counted = tuple(name for name in names if direction(name).in_total)
        return [*((name,) for name in names), *([counted] if len(counted) > 1 else [])]

    def paint_heat(self, subject: Subject, axis: TimeAxis) -> None:
        """Show the heat map of the direction that was chosen."""
        heat = self.heat_of()
        choices = self.choices(heat, subject)
        shown = next((names for names in choices if "+".join(names) == self.direction), choices[0] if choices else ())
        kind = live_text.latency_kind_of(self.feed.state, self.plan)
        operation = live_text.operation_of(self.feed.state, self.plan) if len(choices) == 1 else ""
        what = operation or " + ".join(shown)
        whose = replace(subject, name=" ".join(each for each in (self.heat_host, self.shown_job) if each))
        title = whose.title(f"Latency over time · {what} {kind}" if what else "Latency over time")
        role = KEYS[shown[0]] if len(shown) == 1 and len(choices) > 1 else "latency"
        told = self.told_of(shown, subject)
        self.query_one("#live-heat", HeatPanel).show([heat[name] for name in shown], title, role, axis, told)

    def told_of(self, shown: Together, subject: Subject) -> Told:
        """Return the percentiles above the map, as the table has them: of the last interval, or of all of it."""
        if (host := self.heat_host) != self.host:
            view = self.feed.state.hosts[host] if host is not None else None
            subject = live_text.subject_of(self.feed.state, view, self.shown_job, subject.about)
        of_all = subject.dirs.get(shown[0]) if len(shown) == 1 else subject.total
        if of_all is None:
            return {}
        known = of_all.interval_percentiles if of_all.intervals() else of_all.so_far_percentiles
        return {each: known.get(f"{each:g}") for each in LINES}

    def action_heat_host(self) -> None:
        """Show the latencies of the host under the cursor, which the map follows, or of all hosts again."""
        if not self.query_one("#live-heat").display:
            self.notify("no heat map is shown here")
            return
        if not self.by_host and self.table.cursor_key not in self.feed.state.hosts:
            self.notify("no host is under the cursor: Enter shows those that are folded")
            return
        if len(self.feed.state.hosts) < 2:
            self.notify("there is one host: nothing to choose from")
            return
        self.by_host = not self.by_host
        self.paint()

    def action_direction(self) -> None:
        """Show the latencies of the next direction; after the last one all I/O together."""
        state = self.feed.state
        subject = live_text.subject_of(state, None, self.shown_job, live_text.about(state, self.plan))
        names = ["+".join(each) for each in self.choices(self.heat_of(), subject)]
        if len(names) < 2:
            self.notify("there is one direction: nothing to choose from")
            return
        at = names.index(self.direction) if self.direction in names else 0
        self.direction = names[(at + 1) % len(names)]
        self.paint()
