"""Live: whose latencies the heat map shows."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from tui.app.screens import live_text
from tui.app.widgets.graph_panels import KEYS, HeatPanel, Subject, Told
from tui.journal.survey import HostHeat
from tui.metrics.registry import direction, in_order
from tui.metrics.series import HeatBins
from tui.text.heat import LINES
from tui.text.plot import TimeAxis

if TYPE_CHECKING:
    from tui.app.screens.live_look import Look
    from tui.app.screens.live_watching import WatchingScreen

Together = tuple[str, ...]  # directions whose latencies are shown together


class HeatMap:
    """The heat map of latencies over time: of all hosts, or of one."""

    def __init__(self, screen: WatchingScreen, look: Look) -> None:
        self.screen = screen
        self.look = look
        self.direction: str | None = None  # None: the first one
        # the map shows the host under the cursor, while all other panels show all hosts
        self.by_host = False
        self._host_heat: HostHeat | None = None

    @property
    def host(self) -> str | None:
        """The host of the map: the one in all panels, or under the cursor; None: all."""
        hosts = self.screen.feed.state.hosts
        name = (
            self.look.host
            if self.look.host in hosts
            else (self.screen.table.cursor_key if self.by_host else None)
        )
        return name if name in hosts else None

    def shown(self) -> dict[str, HeatBins]:
        """Return the latencies over time for the map: all hosts, one job, or one host."""
        if live_text.is_between(self.screen.feed.state):
            return {}
        return self.host_heat(host).heat if (host := self.host) is not None else self.of_all()

    def of_all(self) -> dict[str, HeatBins]:
        """Return the latencies over time of all hosts together, for the current job."""
        current, job = self.screen.feed.state.current, self.look.shown_job
        return (current.jobs[job] if job is not None else current).heat

    @property
    def means_alone(self) -> bool:
        """Whether the load generator prints only mean latencies: a graph, but no map."""
        state = self.screen.feed.state
        return (
            state.phase != "layout" and state.total.so_far_mean_ns is not None and not self.of_all()
        )

    def beside(self) -> dict[str, HeatBins]:
        """Return the latencies over time for the other panels.

        For a host, what the map has read.
        """
        if self.look.host not in self.screen.feed.state.hosts:
            return self.of_all()
        return self._host_heat.heat if self._host_heat is not None else {}

    def host_heat(self, host: str) -> HostHeat:
        """Return the latencies of one host, read from the journal in a thread."""
        state = self.screen.feed.state
        if self._host_heat is None or not self._host_heat.is_of(host, state, self.look.shown_job):
            self._host_heat = HostHeat(self.screen.feed.path, host, state, self.look.shown_job)
        held_t = self.screen.feed.state.t if self.screen.paused else float("inf")
        until_t = self.screen.feed.position if self.screen.feed.replay else held_t
        self.screen.run_worker(
            partial(self._read, self._host_heat, until_t),
            thread=True,
            exclusive=True,
            group="host-heat",
            exit_on_error=False,
        )
        return self._host_heat

    def _read(self, heat: HostHeat, until_t: float) -> None:
        """Continue reading the journal; the next paint shows it."""
        if heat.lock.acquire(blocking=False):
            try:
                new = not heat.heat
                heat.advance(until_t)
            finally:
                heat.lock.release()
            if new and heat.heat:  # show the map of another host without delay
                self.screen.app.call_from_thread(self.screen.paint)

    def choices(self, heat: dict[str, HeatBins], subject: Subject) -> list[Together]:
        """Return the directions to choose from: each alone, the headline's first, then all I/O
        together.
        """
        names = [name for name in in_order(heat) if heat[name].columns]
        names.sort(key=lambda name: name != subject.about)
        counted = tuple(name for name in names if direction(name).in_total)
        return [*((name,) for name in names), *([counted] if len(counted) > 1 else [])]

    def paint(self, subject: Subject, axis: TimeAxis) -> None:
        """Show the heat map of the chosen direction."""
        heat = self.shown()
        choices = self.choices(heat, subject)
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
        what = operation or " + ".join(shown)
        whose = replace(
            subject, name=" ".join(each for each in (self.host, self.look.shown_job) if each)
        )
        title = whose.title(f"Latency over time · {what} {kind}" if what else "Latency over time")
        role = KEYS.get(shown[0], "other") if len(shown) == 1 and len(choices) > 1 else "latency"
        told = self.told_of(shown, subject)
        self.screen.query_one("#live-heat", HeatPanel).show(
            [heat[name] for name in shown], title, role, axis, told
        )

    def told_of(self, shown: Together, subject: Subject) -> Told:
        """Return the percentiles above the map, as in the table: of the last interval, or of the
        whole load.
        """
        if (host := self.host) != self.look.host:
            view = self.screen.feed.state.hosts[host] if host is not None else None
            subject = live_text.subject_of(
                self.screen.feed.state, view, self.look.shown_job, subject.about
            )
        of_all = subject.dirs.get(shown[0]) if len(shown) == 1 else subject.total
        if of_all is None:
            return {}
        known = of_all.interval_percentiles if of_all.intervals() else of_all.so_far_percentiles
        return {each: known.get(f"{each:g}") for each in LINES}

    def follow_host(self) -> None:
        """Make the map follow the host under the cursor, or show all hosts again."""
        if not self.screen.query_one("#live-heat").display:
            self.screen.notify("the heat map is not shown")
            return
        if not self.by_host and self.screen.table.cursor_key not in self.screen.feed.state.hosts:
            self.screen.notify("no host under the cursor: press Enter to expand folded hosts")
            return
        if len(self.screen.feed.state.hosts) < 2:
            self.screen.notify("this run has one host")
            return
        self.by_host = not self.by_host
        self.screen.paint()

    def next_direction(self) -> None:
        """Show the next direction; after the last one, all I/O together."""
        state = self.screen.feed.state
        subject = live_text.subject_of(
            state, None, self.look.shown_job, live_text.about(state, self.screen.plan)
        )
        names = ["+".join(each) for each in self.choices(self.shown(), subject)]
        if len(names) < 2:
            self.screen.notify("this load has one direction")
            return
        at = names.index(self.direction) if self.direction in names else 0
        self.direction = names[(at + 1) % len(names)]
        self.screen.paint()
