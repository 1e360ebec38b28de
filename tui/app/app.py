"""The Textual app: navigation, selection, the active run, signals and the end of the app."""

from __future__ import annotations

import asyncio
import importlib
import signal
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import ClassVar

from textual import events, on, work
from textual.css.query import NoMatches
from textual.driver import Driver
from textual.geometry import Size
from textual.message import Message
from textual.screen import Screen
from textual.scrollbar import ScrollBar
from textual.worker import WorkerFailed

from tui.app.frame.shell import RECENT, WITHOUT_RECORD, AppShell, Options
from tui.app.frame.step_screen import Bottom, PlainScrollBar, StepScreen, StepScreens
from tui.app.terminal import actions
from tui.app.terminal.action import Action
from tui.app.terminal.actions import BY_NAME
from tui.app.terminal.driver import hung_up, write_crash_log
from tui.app.terminal.leaving import is_leaving
from tui.app.terminal.theme import THEMES, pick_theme
from tui.model.problem import BenchtuiError
from tui.model.signals import on_signal

WARM_UP = ("tui.engine.plan.plan", "asyncssh")
CLASSES = {
    "hosts": "tui.app.screens.hosts:HostsScreen",
    "profiles": "tui.app.screens.profiles:ProfilesScreen",
    "job": "tui.app.screens.job:JobScreen",
    "editor": "tui.app.screens.editor:EditorScreen",
    "review": "tui.app.screens.review:ReviewScreen",
    "live": "tui.app.screens.live:LiveScreen",
    "result": "tui.app.screens.result:ResultScreen",
    "compare": "tui.app.screens.compare:CompareScreen",
    "runs": "tui.app.screens.runs:RunsScreen",
    "replay": "tui.app.screens.live:LiveScreen",
}
"""Module and class of each screen, by the screen's name."""
FIND_RUNNING_AFTER_S = 0.1  # its imports would delay the first frame
WARM_UP_AFTER_S = 0.5  # the first list is on the screen by then
LEAST = Size(60, 16)  # a smaller terminal has no room for the screens
HANGUP_CHECK_S = 1.0


class BenchtuiApp(AppShell):
    """The app: screens, navigation, help, minimum size, crash handling."""

    TITLE = "benchtui"
    CSS_PATH = "app.tcss"
    BINDINGS = actions.bindings("app")
    COMMANDS: ClassVar = set()
    ENABLE_COMMAND_PALETTE = False
    # Textual declares it so
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (100, "-wide"), (180, "-broad")]  # noqa: RUF012

    def __init__(self, options: Options) -> None:
        super().__init__(options)
        self.looked_at_runs = False
        self.waits_for_runs = ""  # the screen that the user asked for during that search
        self.crash_log: Path | None = None
        # covers everything while the terminal has no room
        self.too_small: Screen[None] | None = None
        self.animation_level = "none"
        ScrollBar.renderer = PlainScrollBar
        for theme in THEMES.values():
            self.register_theme(theme)
        self.theme = pick_theme(options.theme, options.environ)
        self.add_class(f"-{self.symbols.name}")
        self.steps = StepScreens(self, self.make_step)

    # -- starting

    def get_default_screen(self) -> Screen[None]:
        """Return the empty screen at the bottom of the stack."""
        return Bottom()

    def on_mount(self) -> None:
        """Handle signals, open the screen named on the command line, look for a live run."""
        if not self.is_headless:
            handle_signals(self)
        self.apply_options()
        self.call_after_refresh(self.set_timer, FIND_RUNNING_AFTER_S, self.find_running)
        self.call_after_refresh(
            self.set_timer, WARM_UP_AFTER_S, partial(self.run_worker, warm_up, thread=True)
        )

    def apply_options(self) -> None:
        """Apply the selection given on the command line, and open the requested screen."""
        options = self.options
        self.selection.ticked, self.selection.servers = list(options.hosts), list(options.servers)
        if options.profile:
            self.selection.choose_profile(options.profile)
            self.selection.overrides = dict(options.overrides)
        if options.watch is not None:
            self.open_live(options.watch, options.replay_speed)
        else:
            self.go("review" if options.review else "hosts")

    @work(thread=True, group="find-running")
    def find_running(self) -> None:
        """Find the live run, the newest result, and interrupted runs."""
        for found in find_runs(self):
            self.post_message(found)

    def on_runs_found(self, found: RunsFound) -> None:
        """Let Live and Result show the runs found, and offer to recover interrupted runs.

        Then open the screen that had to wait for the search, if any.
        """
        shown = [screen for screen in self.screen_stack if isinstance(screen, StepScreen)]
        if found.running is not None:
            if self.subjects.setdefault("live", (found.running,)) == (found.running,):
                self.watched = found.running
            text = (
                f"{self.symbols.arrow} run {found.running.name} is still running; press 4 to watch"
            )
            for screen in shown:
                screen.show_notice("running", text)
        if found.result is not None:
            self.subjects.setdefault("result", (found.result,))
        if found.running or found.result:
            for screen in self.steps.made.values():
                screen.refresh_chrome()
        if found.cut_off:
            text = cut_off_text(found.cut_off)
            if not any(
                screen.show_notice("interrupted", f"{self.symbols.warn} {text}") for screen in shown
            ):
                self.notify(text, severity="warning")
        self.looked_at_runs |= found.is_all
        if found.is_all and self.waits_for_runs:
            self.go(self.waits_for_runs)

    def forget_run(self, run_dir: Path) -> None:
        """Remove a deleted run from all screens."""
        for name in [name for name, subject in self.subjects.items() if run_dir in subject]:
            del self.subjects[name]
            self.steps.drop(name)
        self.find_running()

    @work(group="recover")
    async def action_recover(self) -> None:
        """Ask, then recover the selected run if it was interrupted, else all interrupted runs."""
        from tui.app.services import resuming

        if isinstance(self.screen, StepScreen) and (
            runs := await resuming.runs_to_recover(self, self.screen.run_at_hand)
        ):
            for screen in self.steps.made.values():
                screen.show_notice("interrupted", "")
            self.run_worker(resuming.recover(self, runs), group="recover-runs", exclusive=True)

    # -- moving between screens

    def action_go(self, name: str) -> None:
        """Show the screen of a step when its key is pressed."""
        here = getattr(self.screen, "SCOPE", "")
        if name == "runs" and here != "runs":
            self.runs_from = here
        self.go(name)

    def go(self, name: str, at: str = "") -> None:
        """Show a screen with the cursor on `at`.

        If the screen has nothing to show, say what is missing; during the search for runs, wait and
        show the screen once they are found.
        """
        if name in ("hosts", "profiles"):
            self.again_from = ""
        if name == "result":
            self.see_end()
        name = self.place_of(name)
        if name not in self.outdated and (name in self.steps.made or not BY_NAME[name].missing):
            self.show_step(name)
        elif name in self.subjects:
            self.open(name, *self.subjects[name])
        elif not self.looked_at_runs:
            self.waits_for_runs = name
            return
        else:
            self.notify(BY_NAME[name].missing, severity="warning")
        self.waits_for_runs = ""
        if at and name in self.steps.made:
            self.steps.made[name].arrive(at)

    def open(self, name: str, *subject: object) -> None:
        """Show a new screen for a subject, such as a run or a file.

        If the existing screen of that name has unsaved changes, show that one instead.
        """
        before = self.steps.made.get(name)
        if before is None or not before.unsaved:
            self.subjects[name] = subject
            self.outdated.discard(name)
            self.steps.keep(name, self.make_step(name, *subject))
        elif self.subjects[name] != subject:
            self.notify(f"{before.unsaved} is not saved", severity="warning")
        self.show_step(name)

    def make_step(self, name: str, *subject: object) -> StepScreen:
        """Return a new screen for a subject, such as a run or a file."""
        screen: StepScreen = screen_class(name)(*subject)
        return screen

    def show_step(self, name: str) -> None:
        """Switch to a step's screen."""
        self.steps.show(name)
        self.call_after_refresh(self.check_size)

    def go_back(self) -> None:
        """Show the screen that Escape leads to; Hosts if that one has nothing to show."""
        here = self.screen
        if isinstance(here, StepScreen) and here.back != here.SCOPE:
            back = here.back
            # Escape leads back once, not to and fro
            self.runs_from = "" if here.SCOPE == "runs" else self.runs_from
            self.go(back if self.can_go(back) else "hosts")

    async def action_back(self) -> None:
        """Handle Escape if neither a widget nor a screen does."""
        self.go_back()

    def action_on_run(self, command: str) -> None:
        """Run a command on the selected run of the current screen."""
        from tui.app.services import run_commands

        if isinstance(self.screen, StepScreen):
            run_commands.perform(command, self.screen)

    # -- help, palette, theme

    def action_help(self) -> None:
        """Show the list of all keys."""
        from tui.app.dialogs.help import HelpScreen

        self.push_screen(HelpScreen(getattr(self.screen, "SCOPE", "app")))

    def action_command_palette(self) -> None:
        """Open the command palette, unless a dialog is open."""
        opened_on = self.screen
        if not isinstance(opened_on, StepScreen):
            return
        from tui.app.dialogs.help import Palette

        async def run(action: Action | None) -> None:
            if action is not None:
                await self.run_action(action.target, opened_on)

        self.push_screen(Palette(opened_on.SCOPE, self.can_go), run)

    @work(group="settings", exclusive=True)
    async def action_next_theme(self) -> None:
        """Switch to the next theme, and save it in the user's settings."""
        words = {theme.name: word for word, theme in THEMES.items()}
        names = [*words, next(iter(words))]
        self.theme = names[names.index(self.theme) + 1] if self.theme in names else names[0]
        if self.options.remember is not None:
            try:
                await asyncio.to_thread(self.options.remember, "theme", words[self.theme])
            except BenchtuiError as error:
                self.notify(str(error), severity="warning")

    # -- size

    @on(Driver.SignalResume)
    def paint_again(self) -> None:
        """Repaint everything after Ctrl-Z and fg, even if the size is unchanged."""
        self.refresh(layout=True)

    def on_resize(self, event: events.Resize) -> None:
        """Cover everything while the terminal is too small, and uncover it afterwards.

        Textual updates the app's own size only after this handler.
        """
        self.check_size(event.size)

    def check_size(self, size: Size | None = None) -> None:
        """Show or remove the notice that the terminal is too small."""
        width, height = size or self.size
        small = width < LEAST.width or height < LEAST.height
        covered = self.screen is self.too_small
        if small and not covered:
            from tui.app.dialogs.help import TooSmall

            self.too_small = TooSmall(LEAST)
            self.push_screen(self.too_small)
        elif covered and not small:
            self.pop_screen()

    # -- leaving

    async def action_quit(self) -> None:
        """Quit. Ask first if input is unsaved, or if the run that Live shows is still running."""
        from tui.app.dialogs.confirm import Confirm

        if isinstance(self.screen, Confirm):
            return
        for name, screen in self.steps.made.items():
            if screen.unsaved:
                self.show_step(name)
                screen.ask_to_save(self.action_quit)
                return
        await leave(self)

    # -- crashing: Textual 8.2.8 prints local variables, which may hold passwords

    def _handle_exception(self, error: Exception) -> None:
        """Write the traceback to a private file, without values of variables; end with code 1.

        Ignore NoMatches while the app, or the widget that handles a message, is being removed.
        """
        cause = error.error if isinstance(error, WorkerFailed) else error
        if isinstance(cause, NoMatches) and (self._exit or not self.is_running or is_leaving()):
            # callbacks may outlive the widgets of what is being removed
            return
        self._return_code = 1
        if self._exception is None:
            self._exception = error
            self._exception_event.set()
            self.crash_log = write_crash_log(self.paths.data, cause)
        self._close_messages_no_wait()

    def _fatal_error(self) -> None:
        """Handle the current error.

        Textual would print a traceback here.
        """
        error = sys.exc_info()[1]
        self._handle_exception(
            error if isinstance(error, Exception) else RuntimeError("unknown error")
        )


def warm_up() -> None:
    """Import the modules of the next screens in the background."""
    for module in WARM_UP:
        importlib.import_module(module)


def screen_class(name: str) -> type[StepScreen]:
    """Return the class of a screen, importing it on first use."""
    module, _, its_name = CLASSES[name].partition(":")
    found: type[StepScreen] = getattr(importlib.import_module(module), its_name)
    return found


class RunsFound(Message):
    """Sent when the search for runs has a result; `is_all`: no further results follow."""

    def __init__(
        self,
        running: Path | None = None,
        result: Path | None = None,
        cut_off: int = 0,
        *,
        is_all: bool = False,
    ) -> None:
        super().__init__()
        self.running = running
        self.result = result
        self.cut_off = cut_off
        self.is_all = is_all


def find_runs(shell: AppShell) -> Iterator[RunsFound]:
    """Yield results of the search for runs, slow ones last.

    Reads files, so call it in a thread.
    """
    from tui.library.unfinished import unfinished_runs

    runs = recent_runs(shell)
    running = next((run_dir for run_dir, state in runs if state == "running"), None)
    yield RunsFound(
        running, next((run_dir for run_dir, state in runs if state not in WITHOUT_RECORD), None)
    )
    yield RunsFound(cut_off=len(unfinished_runs(shell.paths.runs)), is_all=True)


def recent_runs(shell: AppShell) -> list[tuple[Path, str]]:
    """Return directory and state of the newest runs, newest first; empty if they are unreadable."""
    try:
        runs = shell.store.list(RECENT)
    except BenchtuiError:
        return []  # Runs says why
    return [(shell.paths.runs / run.run_id, run.state) for run in runs]


def cut_off_text(count: int) -> str:
    """Return the notice about interrupted runs."""
    return (
        f"{count} interrupted run: press R to recover it"
        if count == 1
        else f"{count} interrupted runs: press R to recover them"
    )


async def leave(shell: AppShell) -> None:
    """Leave the app. Ask first if the run that Live shows is still running."""
    run_dir = shell.live_run
    if run_dir is None or not await asyncio.to_thread(shell.run_is_alive, run_dir):
        shell.exit()
        return
    from tui.app.dialogs.confirm import leave_question

    shell.push_screen(leave_question(run_dir.name), partial(_answered, shell, run_dir))


def _answered(shell: AppShell, run_dir: Path, answer: str | None) -> None:
    if answer == "detach":
        shell.farewell = _still_running(run_dir)
        shell.exit()
    elif answer == "stop":
        shell.run_worker(_stop_and_leave(shell, run_dir), group="stop")


async def _stop_and_leave(shell: AppShell, run_dir: Path) -> None:
    """Ask the engine to stop the run and keep its results, then leave the app."""
    from tui.engine.control import request

    shell.farewell = (
        f"run {run_dir.name} is stopping; to see the result: benchtui runs show {run_dir.name}"
    )
    try:
        await asyncio.to_thread(request, run_dir, {"verb": "stop", "by": "app"})
    except BenchtuiError as error:
        shell.farewell = f"run {run_dir.name} was not stopped: {error}"
    shell.exit()


def handle_signals(shell: AppShell) -> None:
    """Handle SIGTERM, SIGHUP and a lost terminal: leave with the terminal restored."""

    def leave_if_hung_up() -> None:  # the terminal may be gone without a signal
        if hung_up():
            leave_on_signal(shell, signal.SIGHUP)

    for number in (signal.SIGTERM, signal.SIGHUP):
        on_signal(number, leave_on_signal, shell, number)
    shell.set_interval(HANGUP_CHECK_S, leave_if_hung_up)


def leave_on_signal(shell: AppShell, number: signal.Signals) -> None:
    """Leave immediately, with the terminal restored. Runs continue."""
    if shell.live_run is not None and shell.run_is_alive(shell.live_run):
        shell.farewell = _still_running(shell.live_run)
    shell.exit(return_code=128 + number)


def _still_running(run_dir: Path) -> str:
    return f"run {run_dir.name} is still running; to watch it: benchtui attach {run_dir.name}"
