"""Layout of Live: how panels share the lines of the terminal."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from tui.app.frame.step_screen import BROAD
from tui.app.screens import live_text
from tui.app.widgets.figure_tiles import TILE_LINES, FigureTiles
from tui.app.widgets.graph import GraphPanel, Pulse
from tui.app.widgets.graph_panels import HeatPanel
from tui.app.widgets.host_table import LEAST_FOLDED, ServerTable
from tui.app.widgets.run_panels import (
    Banner,
    HostFactsBar,
    MessageLog,
    OperationsPanel,
    PercentileTable,
)
from tui.view.live_hosts import LEAST_HOSTS

if TYPE_CHECKING:
    from tui.app.screens.live_look import HeatMap, Look, PointsPanels
    from tui.app.screens.live_watching import WatchingScreen

CHROME_LINES = 4  # top bar, two lines of header, footer
STRIPS = ("banner", "health")  # height follows their lines
FIXED = ("percentiles", "messages")  # panels of fixed height
LEAST_STRIP = 100  # columns from which hosts over time are beside the graphs
LEAST_MATRIX = 3  # a heading, the axes, one row
LEAST_SEARCH = 4
RATES = ("iops", "bandwidth")
GRAPH_PANELS = (*RATES, "latency")
# from this height, graphs and two lines of health fit with the heat map
ROOMY_LINES = 30
TALL_LINES = 50  # from which a search leaves lines for graphs of its point
GRAPHS, MOST_GRAPHS = 5, 15
CHART = 8  # lines of a chart of six rows in its frame
UNEVEN = 7  # lines of a graph whose scale ends below its upper row
UNEVEN_TWO = 6  # of two directions in a graph, without a line between them
# a map lower than HEAT says less than graphs; the user may want to see every host below it
HEAT, LOW_HEAT, LEAST_HEAT, MOST_HEAT = 7, 6, 5, 26
CLEAR_HEAT = 7  # with a lower map, the "so far" rows of two directions are dropped
HOST_LINES, LEAST_HOST_LINES = 6, 4  # with their heading
LEAST_PLAN = 10  # its heading, and the facts about what would have run
HEADS = 2  # lines of the heading of the hosts


@dataclass(frozen=True, slots=True)
class Rooms:
    """Height of each panel in lines; 0 if hidden.

    The hosts get the remaining lines; `folds`: not all hosts fit.
    """

    graphs: int = 0
    heat: int = 0
    pulse: int = 0
    folds: bool = False
    tiles: int = 0


def curve_lines(room: int, least: int, others: int, hosts: int) -> int:
    """Return how many of `room` lines a search's curve gets.

    It gets `least` lines, plus three fifths of the lines that hosts and `others` leave. If there
    are no `others` (panels that grow as well, such as graphs), it gets all of those lines.
    """
    spare = max(0, room - others - least - min(hosts, room // 4) - HEADS)
    return min(room - others - LEAST_HOST_LINES, least + (spare * 3 // 5 if others else spare))


@dataclass(frozen=True, slots=True)
class Shown:
    """What shares the lines: hosts, graphs, heat map.

    `hosts`: rows for all hosts; `least_hosts`: rows if unremarkable hosts are collapsed. They are
    also collapsed for a chart that would have fewer than `CHART` lines, unless the user wants
    `every` host. `two`: a graph shows two directions.
    """

    hosts: int
    least_hosts: int
    graphs: bool = True
    heat: bool = True
    every: bool = False
    two: bool = False

    @property
    def saved(self) -> int:
        """Lines that collapsing unremarkable hosts saves; 0 if they are too few to be collapsed."""
        if self.every or self.hosts - self.least_hosts + 1 < LEAST_FOLDED:
            return 0
        return max(0, self.hosts + HEADS - max(self.least_hosts + HEADS, HOST_LINES))


def rooms_of(
    room: int, shown: Shown, *, roomy: bool, low: bool = False, mapped: bool = True
) -> Rooms:
    """Divide `room` lines among graphs, heat map and hosts.

    On a short terminal (not `roomy`), one line of figures replaces the graphs above a heat map; if
    there are too few lines for a heat map, only graphs are shown. `low`: the heat map may have its
    minimum height. Not `mapped`: without the heat map.
    """
    graphs, heat = shown.graphs, shown.heat and mapped
    pulse = int(graphs and heat and not roomy)
    with_graphs = graphs and not pulse
    least_graphs = GRAPHS if with_graphs else 0
    least_heat = ((LEAST_HEAT if roomy else LOW_HEAT) if low else HEAT) if heat else 0
    spare = room - pulse - least_graphs - least_heat
    if spare < LEAST_HOST_LINES and with_graphs and heat:
        return rooms_of(room, shown, roomy=False, low=low)
    if spare < LEAST_HOST_LINES and heat:
        return rooms_of(room, shown, roomy=roomy, mapped=False)
    folds = shown.hosts + HEADS > spare - _missing(shown, least_graphs, least_heat)
    wanted = (shown.least_hosts if folds else shown.hosts) + HEADS
    least = min(HOST_LINES if roomy else LEAST_HOST_LINES, spare) if folds else 0
    taken = max(min(wanted, spare), least)
    spare = max(0, spare - taken)
    most_graphs = MOST_GRAPHS - least_graphs if heat or folds else spare
    more_graphs = min(spare * (2 if heat else 5) // 5, most_graphs) if with_graphs else 0
    uneven = UNEVEN_TWO if shown.two else UNEVEN
    more_graphs -= int(heat and least_graphs + more_graphs == uneven)
    # no line stays empty if all hosts fit
    most_heat = MOST_HEAT - least_heat if folds else spare
    more_heat = min(spare - more_graphs, most_heat) if heat else 0
    return Rooms(least_graphs + more_graphs, least_heat + more_heat, pulse, folds)


def _missing(shown: Shown, graphs: int, heat: int) -> int:
    """Return the lines that the heat map (without one, the graphs) needs to reach `CHART` lines.

    0 if collapsing hosts saves no lines. `graphs`, `heat`: the least lines of the charts shown.
    """
    least = heat or graphs
    return max(0, CHART - least) if shown.saved and least else 0


def with_tiles(room: int, shared: Rooms, smaller: Rooms, least_hosts: int) -> Rooms:
    """Return the heights with tiles, if only graphs and heat map must shrink for them.

    Otherwise return the heights without tiles (`shared`). `smaller`: heights in the lines that
    tiles leave. `least_hosts`: rows if unremarkable hosts are collapsed, as they may be on short
    terminals.
    """
    hosts = room - shared.graphs - shared.heat - shared.pulse
    left = room - TILE_LINES - smaller.graphs - smaller.heat - smaller.pulse
    same = (shared.pulse, shared.heat > 0) == (smaller.pulse, smaller.heat > 0)
    same = same or (shared.pulse > 0 and not smaller.heat)  # graphs in place of a low map
    least = max(LEAST_HOST_LINES, least_hosts + HEADS) if shared.pulse else HOST_LINES
    keeps = left >= min(hosts, least)
    return replace(smaller, tiles=TILE_LINES) if same and keeps else shared


def with_tiles_if(tiles: bool, room: int, shared: Callable[..., Rooms], least_hosts: int) -> Rooms:
    """Return the heights in `room` lines, with tiles if `tiles` is true and they fit.

    `shared` returns the heights for a number of lines. `least_hosts`: rows if unremarkable hosts
    are collapsed.
    """
    rooms = shared(room)
    if not tiles:
        return rooms
    left = room - TILE_LINES
    found = with_tiles(room, rooms, shared(left, low=True), least_hosts)
    if found.tiles:
        return found
    return with_tiles(room, rooms, shared(left, mapped=False), least_hosts)


class PanelRooms:
    """Sets the height of each panel; knows which panels are hidden and which one is maximized."""

    def __init__(
        self, screen: WatchingScreen, look: Look, heat: HeatMap, points: PointsPanels
    ) -> None:
        self.screen = screen
        self.look = look
        self.heat = heat
        self.points = points
        self.zoomed: str | None = None
        # panels that were put away; a search leaves no room for these
        self.hidden = {"heat", "percentiles", "graphs"} if points.search.searches else set()
        self._roomy: bool | None = None

    def room_for_operations(self, messages: int) -> int:
        """Return the height of a metadata benchmark's panel.

        It gets all lines except some for hosts, servers and messages.
        """
        strips = sum(len(self.screen.query_one(f"#live-{name}", Banner).text) for name in STRIPS)
        hosts = (
            min(
                len(self.screen.feed.state.hosts),
                max(LEAST_HOST_LINES, self.screen.size.height // 6),
            )
            + HEADS
        )
        facts = self.screen.query_one("#live-facts", HostFactsBar).wanted
        return (
            self.screen.size.height
            - CHROME_LINES
            - strips
            - messages
            - facts
            - hosts
            - self.room_for_servers()
        )

    def room_for_messages(self, count: int) -> int:
        """Return the height of the messages: a line for each, up to an eighth of the screen.

        0 if there are none, if they are hidden, or if they replace the hosts.
        """
        if self.screen.has_class("-log") or not self.is_shown("messages") or not count:
            return 0
        return min(count + 1, max(2, self.screen.size.height // 8))

    def give_messages(self, lines: int) -> None:
        """Set the height of the messages: all lines while they replace the hosts."""
        log_pane = self.screen.query_one("#live-messages", MessageLog)
        if self.screen.has_class("-log"):
            log_pane.styles.height = "1fr"
        elif log_pane.styles.height is None or log_pane.styles.height.value != lines:
            log_pane.styles.height = lines

    def share_room(self, others: int, messages: int = 0) -> None:
        """Divide the lines among graphs, heat map and hosts.

        Panels that do not fit are shortened, and hosts are collapsed. `others`: lines of all other
        panels; `messages`: lines of the messages, which give way to large digits.
        """
        others += messages
        height = self.screen.size.height
        sampled = not self.screen.has_class("-operations")
        table = self.screen.query_one(PercentileTable)
        measured = not self.look.is_prepared
        measures = measured and not self.screen.has_class("-nothing")
        with_table = sampled and self.is_shown("percentiles") and measures
        self.screen.set_class(not measured, "-waiting")
        others += len(table.given) + 1 if with_table else 0
        others += sum(len(self.screen.query_one(f"#live-{name}", Banner).text) for name in STRIPS)
        others += self.screen.query_one("#live-facts", HostFactsBar).wanted
        others += self.room_for_servers()
        others += self.room_for_matrix(height - CHROME_LINES - others)
        others += self.room_for_search(height - CHROME_LINES - others)
        if self.screen.has_class("-nothing"):
            self.give_messages(messages)
            self.room_for_plan(height - CHROME_LINES - others)
            return
        roomy = height >= ROOMY_LINES
        room = height - CHROME_LINES - others
        graphs, heat = (sampled and self.is_shown(name) for name in ("graphs", "heat"))
        heat = heat and measured and not self.heat.means_alone
        hosts, least = len(self.screen.table.hosts), self.screen.table.least_rows
        hosts = least if self.screen.table.outlasted else hosts
        if self.screen.has_class("-matrix"):  # it uses their lines
            room, hosts, least = room + HEADS, 0, 0
        shows_all = self.screen.table.view == "all" or self.screen.table.sort is not None
        shows_all = shows_all or self.screen.feed.state.phase == "layout"  # charts tell less
        two = len(self.screen.query_one("#live-iops", GraphPanel).graph.layers) > 1
        wanted = Shown(hosts, least, graphs, heat, every=shows_all, two=two)
        shared = partial(rooms_of, shown=wanted, roomy=roomy)
        tiles = graphs and bool(self.screen.query_one(FigureTiles).tiles)
        fits = partial(with_tiles_if, tiles, shared=shared, least_hosts=least)
        brief_room = room + (table.spare if with_table else 0)
        yields = tiles and not fits(brief_room).tiles and fits(brief_room + messages).tiles > 0
        room += messages if yields else 0
        self.give_messages(0 if yields else messages)
        rooms = fits(room)
        scarce = 0 < rooms.heat < CLEAR_HEAT and (
            table.spare > 1 or (roomy and rooms.tiles > 0 and table.spare > 0)
        )
        if with_table and table.spare and (tiles > bool(rooms.tiles) or heat > bool(rooms.heat)):
            more = fits(room + table.spare)
            scarce = scarce or more.tiles > rooms.tiles or more.heat > 0 == rooms.heat
        table.shorten(brief=with_table and scarce)
        if with_table and scarce:
            rooms = fits(room + table.spare)
        has_table = with_table and self.heat.in_table and self.zoomed is None
        self.screen.query_one("#live-heat", HeatPanel).beside_table(has_table=has_table)
        self.screen.query_one(Pulse).brief = rooms.tiles > 0
        for name in GRAPH_PANELS:
            graph = self.screen.query_one(f"#live-{name}", GraphPanel)
            graph.beside_tiles(has_tiles=rooms.tiles > 0)
        wide = {"graphs": rooms.graphs, "heat": rooms.heat, "pulse": rooms.pulse}
        for name, lines in (wide | {"figures": rooms.tiles} if sampled else wide).items():
            self.give(name, lines)
        self.screen.query_one("#live-pulse").set_class(
            rooms.pulse == 0 or self.zoomed is not None, "-none"
        )
        counts = bool(live_text.operation_of(self.screen.feed.state, self.screen.plan))
        # operations on files have no bandwidth
        away = {"latency" if rooms.heat or not measured else "", "bandwidth" if counts else ""}
        away |= (
            {"bandwidth"} if not measured and self.screen.feed.state.phase != "layout" else set()
        )
        narrow = self.screen.size.width < LEAST_STRIP
        if measured and (rooms.tiles > 0 or narrow):
            # with one block size, bandwidth is the same curve as IOPS; tiles or its title show it
            away |= {"bandwidth"}
        self.screen.query_one("#live-iops", GraphPanel).with_figures_of(
            self.screen.query_one("#live-bandwidth", GraphPanel).graph
            if "bandwidth" in away and not counts and not rooms.tiles
            else None
        )
        away |= self.left_out(away, tiles=rooms.tiles > 0)
        self.show_graphs(away, rooms)
        folds = rooms.folds and sampled  # without figures there is no folding: the list scrolls
        if self.screen.table.folds != folds:
            self.screen.table.folds = folds
            self.screen.table.put_rows()

    def show_graphs(self, away: set[str], rooms: Rooms) -> None:
        """Hide the panels in `away`; a single graph is as wide as the heat map below it."""
        panels = (*GRAPH_PANELS, "strip")
        alone = len({*panels} - away) == 1 and rooms.heat > 0 and self.zoomed is None
        for name in panels:
            shown = self.zoomed == name if self.zoomed else name not in away
            self.screen.query_one(f"#live-{name}").set_class(not shown, "-none")
        for name in GRAPH_PANELS:
            graph = self.screen.query_one(f"#live-{name}", GraphPanel)
            graph.above_map(
                has_map=rooms.heat > 0 and self.zoomed is None,
                is_alone=alone and name not in away,
            )

    def left_out(self, away: set[str], *, tiles: bool) -> set[str]:
        """Return the panels to leave out of the row of graphs.

        The strip of hosts is left out if it does not fit or hosts are not compared yet. The first
        graph is left out during layout if there are tiles.
        """
        if not self.compares_hosts or self.look.is_prepared or self.screen.size.width < LEAST_STRIP:
            # during layout, tiles, health line and hosts say what the first graph says
            laid_out = tiles and self.says_layout
            return {"strip", "iops"} if laid_out else {"strip"}
        graphs = {*GRAPH_PANELS} - away
        fits = self.screen.size.width >= BROAD or len(graphs) <= len(RATES)
        return set() if fits else {"strip"}

    @property
    def says_layout(self) -> bool:
        """Whether layout is in progress; a line shows its progress instead of a panel."""
        return self.screen.feed.state.phase == "layout"

    @property
    def compares_hosts(self) -> bool:
        """Whether there are enough hosts with samples to compare them over time."""
        return len(self.screen.feed.state.hosts) >= LEAST_HOSTS and not self.screen.has_class(
            "-operations"
        )

    def room_for_plan(self, room: int) -> None:
        """Give the plan of a run that measured nothing the lines below its hosts."""
        panel = self.screen.query_one("#live-plan", OperationsPanel)
        spare = room - len(self.screen.table.hosts) - HEADS
        height = spare if spare >= LEAST_PLAN and self.screen.plan is not None else 0
        panel.set_class(height == 0, "-none")
        panel.styles.height = height
        panel.update_lines()

    def give(self, name: str, lines: int) -> None:
        """Set the height of a panel; a maximized panel gets all lines."""
        panel = self.screen.query_one(f"#live-{name}")
        within = "heat" if self.zoomed == "heat" else "graphs"
        if self.zoomed is not None:
            panel.set_class(name != within, "-none")
            panel.styles.height = "1fr"
            return
        panel.set_class(lines == 0, "-none")
        if (
            panel.styles.height is None
            or panel.styles.height.value != lines
            or panel.styles.height.is_fraction
        ):
            panel.styles.height = lines

    def is_shown(self, name: str) -> bool:
        """Return whether a panel is shown."""
        return name not in self.hidden

    def room_for_servers(self) -> int:
        """Give the servers a heading and a line each; return the height.

        The height is at most a quarter of the screen.
        """
        table = self.screen.query_one("#live-servers", ServerTable)
        height = (
            min(len(table.rows), max(2, self.screen.size.height // 4 - 1)) + 1 if table.rows else 0
        )
        if table.styles.height is None or table.styles.height.value != height:
            table.styles.height = height
            table.set_class(height > 0, "-shown")
        return height

    def room_for_matrix(self, room: int) -> int:
        """Give the matrix the lines it needs; return the height.

        Graphs and some hosts keep their minimum.
        """
        panel = self.points.matrix_panel
        wanted = (
            panel.wanted_height(self.screen.size.width - 2)
            if self.points.matrix_size != "none"
            else 0
        )
        roomy = self.screen.size.height >= ROOMY_LINES
        graphs = GRAPHS + HEAT if roomy else GRAPHS
        least = 3 if not roomy else min(len(self.screen.feed.state.hosts) + 2, room // 4)
        height = min(wanted, room - graphs - (0 if self.points.matrix_size == "most" else least))
        height = height if height >= LEAST_MATRIX else 0
        if height != panel.outer_size.height or panel.has_class("-shown") != (height > 0):
            panel.styles.height = height
            panel.set_class(height > 0, "-shown")
        return height

    def room_for_search(self, room: int) -> int:
        """Give the search the lines that other panels leave; return the height.

        Graphs, heat map and the first hosts keep theirs.
        """
        panel = self.points.search_panel
        shown = self.points.search.searches and "search" not in self.hidden
        taken = sum(
            lines for name, lines in (("graphs", GRAPHS), ("heat", HEAT)) if name not in self.hidden
        )
        least = panel.wanted_height(self.screen.size.width - 2)
        height = curve_lines(room, least, taken, len(self.screen.feed.state.hosts)) if shown else 0
        height = height if height >= LEAST_SEARCH else 0
        if height != panel.outer_size.height or panel.has_class("-shown") != (height > 0):
            panel.styles.height = height
            panel.set_class(height > 0, "-shown")
        return height

    def fit_graphs(self) -> None:
        """Show the graphs with a search, or the heat map with a matrix, only if they fit.

        A key press overrides this until the terminal becomes short or tall enough.
        """
        gives_way, least = (
            ("graphs", TALL_LINES)
            if self.points.search.searches
            else ("heat", ROOMY_LINES)
            if self.points.matrix_size != "none"
            else ("", 0)
        )
        roomy = self.screen.app.size.height >= least
        if gives_way and roomy != self._roomy:
            self._roomy = roomy
            self.hidden = self.hidden - {gives_way} if roomy else self.hidden | {gives_way}
