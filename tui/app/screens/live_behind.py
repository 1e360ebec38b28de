"""Live: another run, or published figures, behind the graphs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from tui.model.problem import BenchtuiError

if TYPE_CHECKING:
    from tui.analysis.previous_run import Behind
    from tui.app.screens.live_watching import WatchingScreen


class BehindGraphs:
    """What is drawn behind the graphs, and what there is to choose from."""

    def __init__(self, screen: WatchingScreen) -> None:
        self.screen = screen
        self.shown: Behind | None = None
        self.choices: list[Behind] | None = None  # None: not looked for yet

    def show_next(self) -> None:
        """Overlay the next one: previous run, published figures, none."""
        if self.screen.plan is None:
            self.screen.notify("cannot read the plan of this run: no similar run to find")
        elif self.choices is None:
            self.screen.run_worker(
                self._find, thread=True, exclusive=True, group="behind", exit_on_error=False
            )
        else:
            self._put_next(self.choices)

    def _find(self) -> None:
        """Look for overlays, off the event loop: run lists and records may be long."""
        from tui.analysis.previous_run import published, run_before

        found: list[Behind | None] = []
        plan, problem = self.screen.plan, ""
        assert plan is not None
        try:
            found = [
                run_before(plan, self.screen.run_dir.name, self.screen.shell.store),
                published(plan, self.screen.shell.paths.baselines),
            ]
        except BenchtuiError as error:
            problem = str(error)
        self.screen.app.call_from_thread(
            self._take, [each for each in found if each is not None], problem
        )

    def _take(self, found: list[Behind], problem: str) -> None:
        """Show the first one, or say that there is none; the next key looks again."""
        if found:
            self.choices = found
            self._put_next(found)
        elif problem:
            self.screen.notify(problem, severity="error", markup=False)
        elif self.screen.plan is not None:
            tag = self.screen.plan.profile.tag
            said = (
                f"no earlier run of {tag} with the same parameters and number of hosts, and no"
                " published figures"
            )
            self.screen.notify(said, markup=False)

    def _put_next(self, found: list[Behind]) -> None:
        """Overlay the next one, and say what it is."""
        order = [None, *found]
        self.shown = order[(order.index(self.shown) + 1) % len(order)]
        said = self.shown.said if self.shown is not None else "nothing"
        self.screen.notify(f"overlay: {said}", markup=False)
        self.screen.paint()

    def rates_before(self, step: int) -> tuple[str, Mapping[str, float]]:
        """Return the overlaid operation rates of a step, and their label."""
        return ("", {}) if self.shown is None else (self.shown.word, self.shown.rates.get(step, {}))
