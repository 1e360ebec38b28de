"""What the panels of Live show: part of the run, latencies, overlay, points or cells."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from tui.app.screens import live_text
from tui.app.widgets.graph_panels import KEYS, NEXT, HeatPanel, LatencyByPercentile, Subject
from tui.app.widgets.search_panel import MatrixPanel, SearchPanel
from tui.journal.progress import plan_as_run
from tui.journal.survey import HostHeat
from tui.metrics.buckets import CURVE_PERCENTILES
from tui.metrics.registry import direction, in_order
from tui.metrics.series import HeatBins
from tui.metrics.units import clock
from tui.model.problem import BenchtuiError
from tui.record.progress import LiveMatrix
from tui.record.search import LiveSearch
from tui.text.plot import TimeAxis, axis_of

if TYPE_CHECKING:
    from tui.analysis.previous_run import Behind
    from tui.app.screens.live_watching import WatchingScreen
    from tui.app.widgets.run_panels import RunHead
    from tui.view.live_wait import Waiting

HEAT_FRAME = 22  # cells of the heat map that are not columns
Together = tuple[str, ...]  # directions whose latencies are shown together
NEXT_SIZE = {"some": "most", "most": "none", "none": "some"}


class Look:
    """The user's choice of view: one host or all, one job or all, now or an earlier second."""

    def __init__(self, screen: WatchingScreen) -> None:
        self.screen = screen
        self.host: str | None = None
        self.job: str | None = None  # the chosen one; steps without such a job show all
        self.cursor_s: int | None = None  # second of the run that all graphs look at
        self.waiting: Waiting | None = None  # what the run waits for before its load

    @property
    def shown_job(self) -> str | None:
        """The job that is shown; None for all jobs together."""
        return self.job if self.job in self.screen.feed.state.current.jobs else None

    @property
    def axis(self) -> TimeAxis:
        """The time axis of all graphs: the elapsed time of the load, rounded up."""
        state = self.screen.feed.state
        start, span = int(state.current.started_t), state.total.span
        if span is not None and (state.phase == "layout" or span[0] == start + 1):
            start = max(start, span[0])  # graphs have nothing before the first whole second
        planned = (
            state.phase_expected_s
            if state.current.is_of(state.phase or "measure", state.step)
            else None
        )
        if planned is None:
            planned = self.planned_s
        elapsed = (span[1] if span is not None else state.clock.now) - start
        if state.phase == "layout" and (left := state.progress(state.clock.now).remaining_s):
            planned = elapsed + left  # by its size
        if planned and state.ended and planned - 1 <= elapsed < planned:
            planned = elapsed  # its first second was not whole
        # nothing is measured yet: preparation is not part of the load
        if span is None and planned:
            elapsed = min(elapsed, planned)
        return axis_of(start, planned, max(1.0, elapsed), self.cursor_s)

    @property
    def planned_s(self) -> float | None:
        """The current load's planned seconds; before any load, the first load's.

        None if unknown.
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
        """Move the cursor of all graphs by columns of the heat map.

        The first move starts at the newest second.
        """
        state = self.screen.feed.state
        span, axis = state.total.span, self.axis
        if span is None or live_text.is_between(state):
            self.screen.notify("no samples to look back at")
            return
        step = max(1, -(-axis.span_s // max(1, self.screen.size.width - HEAT_FRAME)))
        at = (self.cursor_s if self.cursor_s is not None else span[1]) + places * step
        self.cursor_s = None if at >= span[1] else max(span[0], at)
        self.screen.paint()

    def keep_cursor(self) -> None:
        """Remove the cursor if it is outside the load that is shown.

        A step may have begun, or a replay may have gone back.
        """
        if self.cursor_s is None:
            return
        state = self.screen.feed.state
        span = state.total.span
        if span is None or not span[0] <= self.cursor_s < span[1] or live_text.is_between(state):
            self.cursor_s = None

    def rewound(self, head: RunHead) -> RunHead:
        """Return the header for the second under the cursor; unchanged without one."""
        state, at = self.screen.feed.state, self.axis.cursor_text
        span = state.total.span
        if not at or span is None or self.cursor_s is None:
            return head
        before = "before the end" if state.ended else "ago"
        past = f"{clock(span[1] - self.cursor_s)} {before}"
        return replace(head, state=at, past=past, fraction=None, allocation_left_s=None)

    def next_job(self) -> None:
        """Show the next job or role; after the last one, all jobs together."""
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


class HeatMap:
    """The heat map of latencies over time, for all hosts or for one."""

    def __init__(self, screen: WatchingScreen, look: Look) -> None:
        self.screen = screen
        self.look = look
        self.direction: str | None = None  # None: the first one
        # the map shows the host under the cursor, while all other panels show all hosts
        self.by_host = False
        self.in_table = False  # the table of percentiles has those of the map
        self.has_choice = False  # of directions to show
        self._host_heat: HostHeat | None = None

    @property
    def host(self) -> str | None:
        """The host in the map: the one in all panels, or the one under the cursor.

        None for all hosts.
        """
        hosts = self.screen.feed.state.hosts
        name = (
            self.look.host
            if self.look.host in hosts
            else (self.screen.table.cursor_key if self.by_host else None)
        )
        return name if name in hosts else None

    def shown(self) -> dict[str, HeatBins]:
        """Return the latencies over time that the map shows, by direction."""
        if live_text.is_between(self.screen.feed.state):
            return {}
        return self.host_heat(host).heat if (host := self.host) is not None else self.of_all()

    def of_all(self) -> dict[str, HeatBins]:
        """Return all hosts' latencies over time for the job shown, by direction."""
        current, job = self.screen.feed.state.current, self.look.shown_job
        return (current.jobs[job] if job is not None else current).heat

    @property
    def means_alone(self) -> bool:
        """Whether the load generator prints mean latencies only, so that there is no map."""
        state = self.screen.feed.state
        return (
            state.phase != "layout" and state.total.so_far_mean_ns is not None and not self.of_all()
        )

    def beside(self) -> dict[str, HeatBins]:
        """Return the latencies over time for other panels, by direction.

        For a single host, these are the latencies that the map has read so far.
        """
        if self.look.host not in self.screen.feed.state.hosts:
            return self.of_all()
        return self._host_heat.heat if self._host_heat is not None else {}

    def host_heat(self, host: str) -> HostHeat:
        """Return one host's latencies, which a thread reads from the journal."""
        state = self.screen.feed.state
        if self._host_heat is None or not self._host_heat.is_of(host, state, self.look.shown_job):
            self._host_heat = HostHeat(self.screen.feed.path, host, state, self.look.shown_job)
        held_t = self.screen.feed.state.t if self.screen.paused else float("inf")
        until_t = self.screen.feed.position if self.screen.feed.replay else held_t
        read = partial(self._read, self._host_heat, until_t)
        self.screen.in_thread(read, self._show_new, "host-heat")
        return self._host_heat

    def _read(self, heat: HostHeat, until_t: float) -> bool:
        """Read more of the journal; return whether this is the host's first map."""
        if not heat.lock.acquire(blocking=False):
            return False
        try:
            new = not heat.heat
            heat.advance(until_t)
        finally:
            heat.lock.release()
        return new and bool(heat.heat)

    def _show_new(self, new: bool) -> None:
        """Paint at once if the map shows another host; otherwise wait for the next paint."""
        if new:
            self.screen.paint()

    def choices(self, heat: dict[str, HeatBins], subject: Subject) -> list[Together]:
        """Return the directions to choose from.

        First each direction alone, beginning with the headline's, then all together.
        """
        names = [name for name in in_order(heat) if heat[name].columns]
        names.sort(key=lambda name: name != subject.about)
        counted = tuple(name for name in names if direction(name).in_total)
        return [*((name,) for name in names), *([counted] if len(counted) > 1 else [])]

    def paint(self, subject: Subject, axis: TimeAxis) -> None:
        """Show the heat map of the selected direction."""
        heat = self.shown()
        choices = self.choices(heat, subject)
        self.has_choice = len(choices) > 1
        shown = next(
            (names for names in choices if "+".join(names) == self.direction),
            choices[0] if choices else (),
        )
        kind = live_text.latency_kind_of(self.screen.feed.state, self.screen.plan)
        operation = (
            live_text.operation_of(self.screen.feed.state, self.screen.plan)
            if len(choices) == 1
            else ""
        )
        what = operation or " + ".join(map(subject.called, shown))
        whose = replace(
            subject, name=" ".join(each for each in (self.host, self.look.shown_job) if each)
        )
        said = f"Latency over time · {what} {kind}" if what else "Latency over time"
        title = whose.title(said) + self.next_title(choices, shown, subject)
        role = KEYS.get(shown[0], "other") if len(shown) == 1 and len(choices) > 1 else "latency"
        figures = self.title_percentiles(shown, subject)
        self.in_table = len(shown) == 1 and self.host == self.look.host
        self.screen.query_one("#live-heat", HeatPanel).show(
            [heat[name] for name in shown], title, role, axis, figures
        )

    def next_title(self, choices: list[Together], shown: Together, subject: Subject) -> str:
        """Return the part of the title about the direction key: the latencies that it shows next.

        Empty if there is a single choice.
        """
        if len(choices) < 2:
            return ""
        following = choices[(choices.index(shown) + 1) % len(choices)]
        return NEXT + " + ".join(map(subject.called, following))

    def title_percentiles(self, shown: Together, subject: Subject) -> LatencyByPercentile:
        """Return the percentiles in the title of the map.

        They cover the last interval or, after the load, all I/Os, as in the table.
        """
        if (host := self.host) != self.look.host:
            view = self.screen.feed.state.hosts[host] if host is not None else None
            subject = live_text.subject_of(
                self.screen.feed.state, view, self.look.shown_job, self.screen.plan
            )
        of_all = subject.dirs.get(shown[0]) if len(shown) == 1 else subject.total
        if of_all is None:
            return {}
        known = of_all.interval_percentiles if of_all.intervals() else of_all.so_far_percentiles
        return {each: known.get(f"{each:g}") for each in CURVE_PERCENTILES}

    def follow_host(self) -> None:
        """Show the host under the cursor in the map, or all hosts again."""
        if not self.screen.query_one("#live-heat").display:
            self.screen.notify("the heat map is not shown")
            return
        if not self.by_host and self.screen.table.cursor_key not in self.screen.feed.state.hosts:
            self.screen.notify(
                "no host under the cursor: press Enter to expand the collapsed hosts"
            )
            return
        if len(self.screen.feed.state.hosts) < 2:
            self.screen.notify("this run has one host")
            return
        self.by_host = not self.by_host
        self.screen.paint()

    def next_direction(self) -> None:
        """Show the next direction; after the last one, all directions together."""
        state = self.screen.feed.state
        subject = live_text.subject_of(state, None, self.look.shown_job, self.screen.plan)
        names = ["+".join(each) for each in self.choices(self.shown(), subject)]
        if len(names) < 2:
            self.screen.notify("this load has only one direction")
            return
        at = names.index(self.direction) if self.direction in names else 0
        self.direction = names[(at + 1) % len(names)]
        self.screen.paint()


class BehindGraphs:
    """The overlay behind the graphs, and the overlays available."""

    def __init__(self, screen: WatchingScreen) -> None:
        self.screen = screen
        self.shown: Behind | None = None
        self.choices: list[Behind] | None = None  # None: not searched yet

    def show_next(self) -> None:
        """Show the next overlay: previous run, published results, none."""
        if self.screen.plan is None:
            self.screen.notify("cannot read this run's plan, so no similar run can be found")
        elif self.choices is None:
            self.screen.in_thread(self._find, self._show_found, "behind")
        else:
            self._put_next(self.choices)

    def _find(self) -> tuple[list[Behind], str]:
        """Return the available overlays, or why there are none.

        This may be slow, because it reads the list of runs and records.
        """
        from tui.analysis.previous_run import published, run_before

        plan = self.screen.plan
        assert plan is not None
        try:
            found = [
                run_before(plan, self.screen.run_dir.name, self.screen.shell.store),
                published(plan, self.screen.shell.paths.baselines),
            ]
        except BenchtuiError as error:
            return [], str(error)
        return [each for each in found if each is not None], ""

    def _show_found(self, result: tuple[list[Behind], str]) -> None:
        """Show the first overlay found, or say that there is none.

        If there is none, the next key press searches again.
        """
        found, problem = result
        if found:
            self.choices = found
            self._put_next(found)
        elif problem:
            self.screen.notify(problem, severity="error")
        elif self.screen.plan is not None:
            tag = self.screen.plan.profile.tag
            said = (
                f"no earlier run of {tag} with the same parameters and number of hosts, and no"
                " published results"
            )
            self.screen.notify(said)

    def _put_next(self, found: list[Behind]) -> None:
        """Show the next overlay and its name."""
        order = [None, *found]
        self.shown = order[(order.index(self.shown) + 1) % len(order)]
        said = self.shown.source if self.shown is not None else "nothing"
        self.screen.notify(f"overlay: {said}")
        self.screen.paint()

    def rates_before(self, step: int) -> tuple[str, Mapping[str, float]]:
        """Return the label and the operation rates of the overlay for a step."""
        return ("", {}) if self.shown is None else (self.shown.word, self.shown.rates.get(step, {}))


class PointsPanels:
    """The panels for runs with several points: search and matrix.

    Other runs show neither.
    """

    def __init__(self, screen: WatchingScreen) -> None:
        self.screen = screen
        self.search = LiveSearch(screen.plan)
        self.matrix = LiveMatrix(None if self.search.searches else screen.plan)
        # some: it shares the lines; most: it has those of the hosts
        self.matrix_size = "some" if self.matrix.plan is not None else "none"
        self._offers = 0

    @property
    def matrix_panel(self) -> MatrixPanel:
        """The panel of the matrix."""
        return self.screen.query_one("#live-matrix", MatrixPanel)

    @property
    def search_panel(self) -> SearchPanel:
        """The panel of the search."""
        return self.screen.query_one("#live-search", SearchPanel)

    def show_search(self) -> None:
        """Show the search, and let the screen's plan follow its points.

        New points are evaluated in a thread.
        """
        search, state = self.search, self.screen.feed.state
        if not search.searches or search.plan is None:
            return
        if len(state.search.offered) != self._offers:
            self._offers = len(state.search.offered)
            self.screen.plan = plan_as_run(search.plan, state.search)
        if search.read_points(state):
            self.screen.in_thread(self.search.conclude, lambda _: self.show_search(), "search")
        self.search_panel.show(search.view(state, state.clock.now))

    def show_matrix(self) -> None:
        """Show the cells measured so far."""
        if self.matrix_size != "none":
            state = self.screen.feed.state
            self.matrix_panel.show(self.matrix.cells(state), self.matrix.progress(state))

    def next_size(self) -> None:
        """Show the matrix in place of the hosts, then hide it, then show both."""
        if self.matrix.plan is None:
            self.screen.notify("this run has no matrix")
            return
        self.matrix_size = NEXT_SIZE[self.matrix_size]
        self.screen.set_class(self.matrix_size == "most", "-matrix")
        self.screen.call_after_refresh(self.screen.paint)
