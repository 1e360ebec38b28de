"""What stands behind the graphs of Live: the run before with the same load, or published figures of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from textual import work

from tui.app.screens.live.searching import SearchingScreen
from tui.model.problem import BenchtuiError

if TYPE_CHECKING:
    from tui.results.compare.behind import Behind


class VersusScreen(SearchingScreen):
    """A screen of one run that may have another one behind its graphs."""

    behind: Behind | None = None
    behinds: list[Behind] | None = None  # what there is to choose from; None: nobody has asked

    def action_behind(self) -> None:
        """Put the next one behind the graphs: the run before, published figures, nothing."""
        if self.search.searches:
            self.notify("a search measures other points each time: c on Runs compares it with others")
        elif self.plan is None:
            self.notify("the plan of this run cannot be read: nothing is known to be like it")
        elif self.behinds is None:
            self.find_behinds()
        else:
            self.next_behind(self.behinds)

    @work(thread=True, exclusive=True, group="behind", exit_on_error=False)
    def find_behinds(self) -> None:
        """Look for it, off the event loop: lists of runs and records may be long."""
        from tui.results.compare.behind import published, run_before

        found: list[Behind | None] = []
        plan, problem = self.plan, ""
        assert plan is not None
        try:
            found = [run_before(plan, self.run_dir.name, self.shell.store), published(plan, self.shell.paths.baselines)]
        except BenchtuiError as error:
            problem = str(error)
        self.app.call_from_thread(self.take_behinds, [each for each in found if each is not None], problem)

    def take_behinds(self, found: list[Behind], problem: str) -> None:
        """Show the first one, or say that there is none; the next time is looked again."""
        if found:
            self.behinds = found
            self.next_behind(found)
        elif problem:
            self.notify(problem, severity="error", markup=False)
        elif self.plan is not None:
            tag = self.plan.profile.tag
            said = f"no earlier run of {tag} with these parameters on as many hosts, no published figures of it"
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
        return ("", {}) if self.behind is None else (self.behind.word, self.behind.rates.get(step, {}))
