"""Live: latency panels, the progress of a search, the previous run behind the graphs."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from textual import work

from tui.app.screens import live_text
from tui.app.screens.live_feed import Now
from tui.app.screens.live_layout import GRAPHS, HEAT, ROOMY_LINES, curve_lines
from tui.app.screens.live_watching import WatchingScreen
from tui.app.widgets.graph_panels import KEYS, HeatPanel, Subject, Told
from tui.app.widgets.search_panel import SearchPanel
from tui.journal.progress import plan_as_run
from tui.journal.survey import HostHeat
from tui.metrics.registry import direction, in_order
from tui.metrics.series import HeatBins
from tui.model.problem import BenchtuiError
from tui.record.search import LiveSearch
from tui.text.heat import LINES
from tui.text.plot import TimeAxis, axis_of

if TYPE_CHECKING:
    from tui.analysis.previous_run import Behind

Together = tuple[str, ...]  # directions whose latencies are shown together
HEAT_FRAME = 22  # cells of the heat map that are no columns


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
        # whose latencies the heat map shows; None: the first there is
        self.direction: str | None = None
        self.cursor_s: int | None = None  # second of the run that all graphs look at
        # the heat map shows the host under the cursor, while all else shows all hosts
        self.by_host = False
        self._host_heat: HostHeat | None = None

    @property
    def shown_job(self) -> str | None:
        """The job that is shown alone; None: all together."""
        return self.job if self.job in self.feed.state.current.jobs else None

    @property
    def axis(self) -> TimeAxis:
        """The time axis of all graphs: what has passed of the load, rounded up."""
        state = self.feed.state
        start, span = int(state.current.started_t), state.total.span
        planned = (
            state.phase_expected_s
            if state.current.is_of(state.phase or "measure", state.step)
            else None
        )
        if planned is None:
            planned = self.planned_s
        elapsed = (span[1] if span is not None else state.clock.now) - start
        # nothing is measured yet: how long it is prepared is no part of the load
        if span is None and planned:
            elapsed = min(elapsed, planned)
        return axis_of(start, planned, max(1.0, elapsed), self.cursor_s)

    @property
    def planned_s(self) -> float | None:
        """How long the load that is shown is planned to take.

        Before the first one, that which comes.
        """
        current = self.feed.state.current
        if self.plan is None or (current.step is not None and current.phase != "measure"):
            return None
        step = (
            live_text.step_of(self.feed.state, self.plan)
            if current.step is None
            else self.plan.steps[current.step]
        )
        return step.expected_s if step is not None else None

    # -- the cursor

    def action_cursor(self, places: int) -> None:
        """Move the cursor of all graphs by a column of the heat map.

        It begins at the newest second.
        """
        span, axis = self.feed.state.total.span, self.axis
        if span is None or live_text.is_between(self.feed.state):
            self.notify("there is no load to look back on")
            return
        step = max(1, -(-axis.span_s // max(1, self.size.width - HEAT_FRAME)))
        at = (self.cursor_s if self.cursor_s is not None else span[1]) + places * step
        self.cursor_s = None if at >= span[1] else max(span[0], at)
        self.paint()

    def keep_cursor(self) -> None:
        """Go to now once the cursor's second is not of what is shown: another step began, or a
        replay went back.
        """
        if self.cursor_s is None:
            return
        state = self.feed.state
        span = state.total.span
        if span is None or not span[0] <= self.cursor_s < span[1] or live_text.is_between(state):
            self.cursor_s = None

    # -- the heat map

    @property
    def heat_host(self) -> str | None:
        """The host whose latencies the heat map shows: the one in all panels, or that under the
        cursor; None: all.
        """
        hosts = self.feed.state.hosts
        name = self.host if self.host in hosts else self.table.cursor_key if self.by_host else None
        return name if name in hosts else None

    def heat_of(self) -> dict[str, HeatBins]:
        """Return the latencies over time of what the map shows: all hosts, one job, or one host."""
        if live_text.is_between(self.feed.state):
            return {}
        return (
            self.host_heat(host).heat
            if (host := self.heat_host) is not None
            else self.heat_of_all()
        )

    def heat_of_all(self) -> dict[str, HeatBins]:
        """Return the latencies over time of all hosts together, of the job that is shown."""
        current, job = self.feed.state.current, self.shown_job
        return (current.jobs[job] if job is not None else current).heat

    @property
    def means_alone(self) -> bool:
        """Whether the load generator prints mean latencies and no histogram: there is a graph of
        them, and no map.
        """
        state = self.feed.state
        return (
            state.phase != "layout"
            and state.total.so_far_mean_ns is not None
            and not self.heat_of_all()
        )

    def heat_beside(self) -> dict[str, HeatBins]:
        """Return the latencies over time of what the other panels show.

        Of a host what the map has read.
        """
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
        """Return the directions that can be shown: each alone, that of the headline first, then all
        I/O together.
        """
        names = [name for name in in_order(heat) if heat[name].columns]
        names.sort(key=lambda name: name != subject.about)
        counted = tuple(name for name in names if direction(name).in_total)
        return [*((name,) for name in names), *([counted] if len(counted) > 1 else [])]

    def paint_heat(self, subject: Subject, axis: TimeAxis) -> None:
        """Show the heat map of the direction that was chosen."""
        heat = self.heat_of()
        choices = self.choices(heat, subject)
        shown = next(
            (names for names in choices if "+".join(names) == self.direction),
            choices[0] if choices else (),
        )
        kind = live_text.latency_kind_of(self.feed.state, self.plan)
        operation = live_text.operation_of(self.feed.state, self.plan) if len(choices) == 1 else ""
        what = operation or " + ".join(shown)
        whose = replace(
            subject, name=" ".join(each for each in (self.heat_host, self.shown_job) if each)
        )
        title = whose.title(f"Latency over time · {what} {kind}" if what else "Latency over time")
        role = KEYS.get(shown[0], "other") if len(shown) == 1 and len(choices) > 1 else "latency"
        told = self.told_of(shown, subject)
        self.query_one("#live-heat", HeatPanel).show(
            [heat[name] for name in shown], title, role, axis, told
        )

    def told_of(self, shown: Together, subject: Subject) -> Told:
        """Return the percentiles above the map, as the table has them: of the last interval, or of
        all of it.
        """
        if (host := self.heat_host) != self.host:
            view = self.feed.state.hosts[host] if host is not None else None
            subject = live_text.subject_of(self.feed.state, view, self.shown_job, subject.about)
        of_all = subject.dirs.get(shown[0]) if len(shown) == 1 else subject.total
        if of_all is None:
            return {}
        known = of_all.interval_percentiles if of_all.intervals() else of_all.so_far_percentiles
        return {each: known.get(f"{each:g}") for each in LINES}

    def action_heat_host(self) -> None:
        """Show the latencies of the host under the cursor, which the map follows, or of all hosts
        again.
        """
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
        subject = live_text.subject_of(
            state, None, self.shown_job, live_text.about(state, self.plan)
        )
        names = ["+".join(each) for each in self.choices(self.heat_of(), subject)]
        if len(names) < 2:
            self.notify("there is one direction: nothing to choose from")
            return
        at = names.index(self.direction) if self.direction in names else 0
        self.direction = names[(at + 1) % len(names)]
        self.paint()


LEAST_SEARCH = 4


class SearchingScreen(LatenciesScreen):
    """A screen of one run that may be a search; of any other run nothing here is shown."""

    search: LiveSearch
    hidden: set[str]
    matrix_size = "none"  # some; most: in place of the hosts
    _offers = 0
    _roomy: bool | None = None

    def on_mount(self) -> None:
        """Put away what a search leaves no room for; the keys bring it back."""
        if self.search.searches:
            self.hidden |= {"heat", "percentiles"}
            self.query_one("#live-percentiles").add_class("-none")
        self.fit_graphs()

    def on_resize(self) -> None:
        """Put away what has no room beside a search or a matrix when the terminal becomes low, else
        show it.
        """
        self.fit_graphs()

    def fit_graphs(self) -> None:
        """Show graphs beside a search, the heat map beside a matrix, where there is room.

        As long as that does not change, the key decides.
        """
        gives_way = (
            "graphs" if self.search.searches else "heat" if self.matrix_size != "none" else ""
        )
        roomy = self.app.size.height >= ROOMY_LINES
        if gives_way and roomy != self._roomy:
            self._roomy = roomy
            self.hidden = self.hidden - {gives_way} if roomy else self.hidden | {gives_way}

    @property
    def search_panel(self) -> SearchPanel:
        """The panel."""
        return self.query_one("#live-search", SearchPanel)

    def show_search(self) -> None:
        """Show what is known; a new point is worked out in a thread."""
        search, state = self.search, self.feed.state
        if not search.searches or search.plan is None:
            return
        if len(state.search.offered) != self._offers:
            self._offers = len(state.search.offered)
            self.plan = plan_as_run(search.plan, state.search)
        if search.take(state):
            self.conclude_search()
        self.search_panel.show(search.view(state, state.clock.now))

    @work(thread=True, exclusive=True, group="search", exit_on_error=False)
    def conclude_search(self) -> None:
        """Work out what follows from the points so far."""
        self.search.conclude()
        self.app.call_from_thread(self.show_search)

    def room_for_search(self, room: int) -> int:
        """Give the search what graphs, heat map and the first hosts leave of so many lines.

        Return its height.
        """
        panel = self.search_panel
        shown = self.search.searches and "search" not in self.hidden
        taken = sum(
            lines for name, lines in (("graphs", GRAPHS), ("heat", HEAT)) if name not in self.hidden
        )
        least = panel.wanted_height(self.size.width - 2)
        height = curve_lines(room, least, taken, len(self.feed.state.hosts)) if shown else 0
        height = height if height >= LEAST_SEARCH else 0
        if height != panel.outer_size.height or panel.has_class("-shown") != (height > 0):
            panel.styles.height = height
            panel.set_class(height > 0, "-shown")
        return height


class VersusScreen(SearchingScreen):
    """A screen of one run that may have another one behind its graphs."""

    behind: Behind | None = None
    behinds: list[Behind] | None = None  # what there is to choose from; None: nobody has asked

    def action_behind(self) -> None:
        """Put the next one behind the graphs: the run before, published figures, nothing."""
        if self.search.searches:
            self.notify(
                "a search measures other points each time: c on Runs compares it with others"
            )
        elif self.plan is None:
            self.notify("the plan of this run cannot be read, so no similar run can be found")
        elif self.behinds is None:
            self.find_behinds()
        else:
            self.next_behind(self.behinds)

    @work(thread=True, exclusive=True, group="behind", exit_on_error=False)
    def find_behinds(self) -> None:
        """Look for it, off the event loop: lists of runs and records may be long."""
        from tui.analysis.previous_run import published, run_before

        found: list[Behind | None] = []
        plan, problem = self.plan, ""
        assert plan is not None
        try:
            found = [
                run_before(plan, self.run_dir.name, self.shell.store),
                published(plan, self.shell.paths.baselines),
            ]
        except BenchtuiError as error:
            problem = str(error)
        self.app.call_from_thread(
            self.take_behinds, [each for each in found if each is not None], problem
        )

    def take_behinds(self, found: list[Behind], problem: str) -> None:
        """Show the first one, or say that there is none; the next time is looked again."""
        if found:
            self.behinds = found
            self.next_behind(found)
        elif problem:
            self.notify(problem, severity="error", markup=False)
        elif self.plan is not None:
            tag = self.plan.profile.tag
            said = (
                f"no earlier run of {tag} with these parameters on as many hosts, no published"
                " figures of it"
            )
            self.notify(said, markup=False)

    def next_behind(self, found: list[Behind]) -> None:
        """Put the next one behind the graphs, and say what it is."""
        order = [None, *found]
        self.behind = order[(order.index(self.behind) + 1) % len(order)]
        said = self.behind.said if self.behind is not None else "nothing"
        self.notify(f"behind the graphs: {said}", markup=False)
        self.paint()

    def rates_before(self, step: int) -> tuple[str, Mapping[str, float]]:
        """Return the rates of operations that a step is watched against, and the word for them."""
        return (
            ("", {}) if self.behind is None else (self.behind.word, self.behind.rates.get(step, {}))
        )
