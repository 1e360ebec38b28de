"""The search of a run on Live: what it found so far is worked out off the event loop, and has a panel of its own."""

from __future__ import annotations

from textual import work

from tui.app.screens.live.latencies import LatenciesScreen
from tui.app.screens.live.room import GRAPHS, HEAT, ROOMY_LINES, curve_lines
from tui.app.widgets.search_panel import SearchPanel
from tui.journal.search import plan_as_run
from tui.results.sizing.live import LiveSearch

LEAST_SEARCH = 4


class SearchingScreen(LatenciesScreen):
    """A screen of one run that may be a search; of any other run nothing here is shown."""

    search: LiveSearch
    hidden: set[str]
    _offers = 0
    _roomy: bool | None = None

    def on_mount(self) -> None:
        """Put away what a search leaves no room for; the keys bring it back."""
        if self.search.searches:
            self.hidden |= {"heat", "percentiles"}
            self.query_one("#live-percentiles").add_class("-none")
            self.fit_graphs()

    def on_resize(self) -> None:
        """Put graphs away, or show them, when the terminal becomes too low or high enough for them."""
        if self.search.searches:
            self.fit_graphs()

    def fit_graphs(self) -> None:
        """Show graphs beside a search where there is room; as long as that does not change, the key decides."""
        roomy = self.app.size.height >= ROOMY_LINES
        if roomy != self._roomy:
            self._roomy = roomy
            self.hidden = self.hidden - {"graphs"} if roomy else self.hidden | {"graphs"}

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
        """Give the search what graphs, heat map and the first hosts leave of so many lines; return its height."""
        panel = self.search_panel
        shown = self.search.searches and "search" not in self.hidden
        taken = sum(lines for name, lines in (("graphs", GRAPHS), ("heat", HEAT)) if name not in self.hidden)
        least = panel.wanted_height(self.size.width - 2)
        height = curve_lines(room, least, taken, len(self.feed.state.hosts)) if shown else 0
        height = height if height >= LEAST_SEARCH else 0
        if height != panel.outer_size.height or panel.has_class("-shown") != (height > 0):
            panel.styles.height = height
            panel.set_class(height > 0, "-shown")
        return height
