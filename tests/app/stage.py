"""The app on a stage of its own: one run directory, a clock that stands still, an engine that lives
as long as told.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from textual.pilot import Pilot
from textual.widget import Widget
from textual.worker import WorkerCancelled

from tests.app.journal_maker import RunMaker
from tests.app.listened import Listened
from tui.app.app import screen_class
from tui.app.frame.shell import Options
from tui.app.frame.step_screen import StepScreen
from tui.app.screens.live import LiveScreen
from tui.app.screens.result import ResultScreen
from tui.app.screens.result_text import TABS
from tui.app.widgets.lines import Lines
from tui.model.paths import Paths

WIDE, SMALL = (120, 36), (80, 24)


class Stage(Listened):
    """The real app.

    Live gets the stage's clock and hears from the stage whether the engine lives.
    """

    def __init__(
        self, home: Path, open_run: Path | None = None, replay: float | None = None, **options: str
    ) -> None:
        super().__init__(
            Options(paths=Paths(home, home), environ={"COLORTERM": "truecolor"}, **options)  # type: ignore[arg-type]
        )
        self.first_run = open_run
        self.replay = replay
        self.wall = 0.0
        self.engine_lives = True
        self.first_step = "live"

    def apply_options(self) -> None:
        """Open the screen under test first."""
        if self.first_step == "live" and self.first_run is not None:
            self.open_live(self.first_run, self.replay)
        elif self.first_step == "result" and self.first_run is not None:
            self.open_result(self.first_run)
        else:
            self.go(self.first_step)

    def find_running(self) -> None:  # type: ignore[override]
        """No other run is looked for."""
        self.looked_at_runs = True

    def run_is_alive(self, run_dir: Path) -> bool:
        """As the test says."""
        return self.engine_lives

    def make_step(self, name: str, *subject: object) -> StepScreen:
        """Live is on the stage's clock."""
        if screen_class(name) is not LiveScreen:
            return super().make_step(name, *subject)
        run_dir, speed, *_ = *subject, None
        return LiveScreen(run_dir, speed, lambda: self.wall, lambda _: self.engine_lives)  # type: ignore[arg-type]

    @property
    def live(self) -> LiveScreen:
        """The Live screen."""
        screen = self.screen
        assert isinstance(screen, LiveScreen), f"on {screen}"
        return screen

    async def settle(self, pilot: Pilot[None]) -> None:
        """Wait until everything that was asked for is done and painted."""
        for _ in range(3):
            await pilot.pause()
            while busy := [each for each in self.workers if not each.is_finished]:
                with suppress(WorkerCancelled):  # a newer one does its work
                    await self.workers.wait_for_complete(busy)
        await pilot.pause()

    async def settle_whole(self, pilot: Pilot[None]) -> None:
        """The same for a picture: on Live, what has room is known once the first lines are
        there.
        """
        await self.settle(pilot)
        for _ in range(2):
            if isinstance(self.screen, LiveScreen):
                self.live.hold_timer()
                self.live.paint()
                await self.settle(pilot)
        before = ""
        # a scroll bar that comes or goes is a pass of its own
        while before != (before := self.export_screenshot()):
            await self.settle(pilot)

    async def tick(self, pilot: Pilot[None], maker: RunMaker | None = None) -> None:
        """Let the screen look at the journal once, at the time of its last event."""
        if maker is not None:
            self.wall = maker.now
        self.live.tick()
        await self.settle(pilot)

    def text_of(self, selector: str) -> str:
        """Return what a widget of lines shows, as text."""
        return text_of(self.screen.query_one(selector, Lines))

    def screen_text(self) -> str:
        """Return everything the screen's widgets of lines show."""
        return "\n".join(text_of(widget) for widget in self.screen.query(Lines) if widget.display)


def app_on(maker: RunMaker, step: str = "live", **options: str) -> Stage:
    """The app on the run of a maker, for a picture."""
    app = Stage(maker.run_dir.parent.parent, maker.run_dir, **options)  # type: ignore[arg-type]
    app.first_step, app.wall = step, maker.now
    return app


async def settle(pilot: Pilot[None]) -> None:
    """Wait until a picture can be taken."""
    app = pilot.app
    assert isinstance(app, Stage)
    await app.settle_whole(pilot)


def text_of(widget: Widget) -> str:
    """Return the lines of a widget as text, as they are painted."""
    return "\n".join(widget.render_line(y).text.rstrip() for y in range(widget.size.height))


@asynccontextmanager
async def stage(
    maker: RunMaker,
    size: tuple[int, int] = WIDE,
    *,
    step: str = "live",
    replay: float | None = None,
    **options: str,
) -> AsyncIterator[tuple[Stage, Pilot[None]]]:
    """Open the app on a run, at the time of its last event, and wait until it is painted."""
    app = Stage(maker.run_dir.parent.parent, maker.run_dir, replay, **options)
    app.first_step = step
    app.wall = maker.now
    async with app.run_test(size=size) as pilot:
        await app.settle(pilot)
        if isinstance(app.screen, LiveScreen):
            app.screen.hold_timer()  # tests tick by hand
        yield app, pilot


async def tab(app: Stage, pilot: Pilot[None], name: str) -> str:
    """Go to a tab by the key that moves between them, and return what it shows."""
    screen = app.screen
    assert isinstance(screen, ResultScreen) and screen.page is not None
    for _ in TABS:
        if screen.page.tab == name:
            break
        await pilot.press("tab")
    await app.settle(pilot)
    assert screen.page.tab == name
    return app.text_of("#result-page")
