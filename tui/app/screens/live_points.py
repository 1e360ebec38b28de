"""Live: the points of a search, or the cells of a matrix, as the run measures them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tui.app.widgets.search_panel import MatrixPanel, SearchPanel
from tui.journal.progress import plan_as_run
from tui.record.progress import LiveMatrix
from tui.record.search import LiveSearch

if TYPE_CHECKING:
    from tui.app.screens.live_watching import WatchingScreen

NEXT_SIZE = {"some": "most", "most": "none", "none": "some"}


class PointsPanels:
    """The panels of a run with several points. Any other run shows neither."""

    def __init__(self, screen: WatchingScreen) -> None:
        self.screen = screen
        self.search = LiveSearch(screen.plan)
        self.matrix = LiveMatrix(None if self.search.searches else screen.plan)
        # some: it shares the lines; most: it has those of the hosts
        self.matrix_size = "some" if self.matrix.plan is not None else "none"
        self._offers = 0

    @property
    def matrix_panel(self) -> MatrixPanel:
        """The matrix, of runs that have one."""
        return self.screen.query_one("#live-matrix", MatrixPanel)

    @property
    def search_panel(self) -> SearchPanel:
        """The panel."""
        return self.screen.query_one("#live-search", SearchPanel)

    def show_search(self) -> None:
        """Show the search; evaluate new points in a thread."""
        search, state = self.search, self.screen.feed.state
        if not search.searches or search.plan is None:
            return
        if len(state.search.offered) != self._offers:
            self._offers = len(state.search.offered)
            self.screen.plan = plan_as_run(search.plan, state.search)
        if search.take(state):
            self.screen.run_worker(
                self._conclude, thread=True, exclusive=True, group="search", exit_on_error=False
            )
        self.search_panel.show(search.view(state, state.clock.now))

    def _conclude(self) -> None:
        """Evaluate the points so far."""
        self.search.conclude()
        self.screen.app.call_from_thread(self.show_search)

    def show_matrix(self) -> None:
        """Show the cells measured so far."""
        if self.matrix_size != "none":
            state = self.screen.feed.state
            self.matrix_panel.show(self.matrix.cells(state), self.matrix.progress(state))

    def next_size(self) -> None:
        """Give the matrix the lines of the hosts, then none, then its share again."""
        if self.matrix.plan is None:
            self.screen.notify("this run has one measurement: there is no matrix")
            return
        self.matrix_size = NEXT_SIZE[self.matrix_size]
        self.screen.set_class(self.matrix_size == "most", "-matrix")
        self.screen.call_after_refresh(self.screen.paint)
