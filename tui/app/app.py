"""The Textual app: which screen is shown, what is chosen, which run goes on, how the app ends."""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import signal
import sys
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

from tui.app.frame.shell import AppShell, Options
from tui.app.frame.step_screen import Bottom, PlainScrollBar, StepScreen
from tui.app.terminal import actions
from tui.app.terminal.actions import BY_NAME
from tui.app.terminal.driver import hung_up, write_crash_log
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
"""The class of each screen."""
HANGUP_CHECK_S = 1.0
FIND_RUNNING_AFTER_S = 0.1  # what it imports would hold up the first frame
WARM_UP_AFTER_S = 0.5  # the first list is on the screen by then
RECENT = 50  # runs that are looked at for one that goes on
LEAST = Size(60, 16)  # a smaller terminal has no room for the screens
UNSAVED = ("running", "interrupted", "unreadable")  # states of runs without a record


class BenchtuiApp(AppShell):
    """The screens, and what is around them."""

    TITLE = "benchtui"
    CSS_PATH = "app.tcss"
    BINDINGS = actions.bindings("app")
    COMMANDS: ClassVar = set()
    ENABLE_COMMAND_PALETTE = False
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (100, "-wide"), (180, "-broad")]  # noqa: RUF012  (Textual declares it so)

    class RunFound(Message):
        """A run is going on that this app did not start."""

        def __init__(self, run_dir: Path) -> None:
            super().__init__()
            self.run_dir = run_dir

    class ResultFound(RunFound):
        """A run left a record."""

    class RunsCutOff(Message):
        """Runs were found whose engine died."""

        def __init__(self, count: int) -> None:
            super().__init__()
            self.count = count

    class RunsLookedAt(Message):
        """Whatever is known of runs that this app did not start was told."""

    def __init__(self, options: Options) -> None:
        super().__init__(options)
        self.looked_at_runs = False
        self.waits_for_runs = ""  # the screen that somebody asked for before that
        self.farewell: str | None = None  # printed once the terminal is restored
        self.crash_log: Path | None = None
        self.too_small: Screen[None] | None = None  # covers everything while the terminal has no room
        self.animation_level = "none"
        ScrollBar.renderer = PlainScrollBar
        for theme in THEMES.values():
            self.register_theme(theme)
        self.theme = pick_theme(options.theme, options.environ)
        self.add_class(f"-{self.symbols.name}")
        self.steps: dict[str, StepScreen] = {}
        self._replaced: list[StepScreen] = []  # may be on the screen yet

    # -- starting

    def get_default_screen(self) -> Screen[None]:
        """Return what stands below our screens."""
        return Bottom()

    def on_mount(self) -> None:
        """Take signals, go where the command line says, look for a run that is going on."""
        self.take_signals()
        self.apply_options()
        self.call_after_refresh(self.set_timer, FIND_RUNNING_AFTER_S, self.find_running)
        self.call_after_refresh(self.set_timer, WARM_UP_AFTER_S, self.warm_up)

    def apply_options(self) -> None:
        """Choose what the command line names and open the screen it asks for."""
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
        """Tell the screens when a run goes on, which result is the newest, and of runs that were cut off."""
        runs = self.recent_runs()
        for run_dir in [run_dir for run_dir, state in runs if state == "running"][:1]:
            self.post_message(self.RunFound(run_dir))
        for run_dir in [run_dir for run_dir, state in runs if state not in UNSAVED][:1]:
            self.post_message(self.ResultFound(run_dir))
        if count := len(self.cut_off_runs()):
            self.post_message(self.RunsCutOff(count))
        self.post_message(self.RunsLookedAt())

    @work(thread=True, group="warm-up")
    def warm_up(self) -> None:
        """Import what the next screens need, while nobody waits for it."""
        for module in WARM_UP:
            importlib.import_module(module)

    def recent_runs(self) -> list[tuple[Path, str]]:
        """Return directory and state of the newest runs, newest first."""
        try:
            runs = self.store.list(RECENT)
        except BenchtuiError:
            return []  # Runs says why
        return [(self.paths.runs / run.run_id, run.state) for run in runs]

    def on_benchtui_app_result_found(self, event: ResultFound) -> None:
        """Result shows it unless it has shown another one."""
        self.subjects.setdefault("result", (event.run_dir,))
        for screen in self.steps.values():
            screen.refresh_chrome()

    def on_benchtui_app_runs_looked_at(self) -> None:
        """Whoever asked for a run or a result before gets it now, or is told that there is none."""
        self.looked_at_runs = True
        if wanted := self.waits_for_runs:
            self.go(wanted)

    def forget_run(self, run_dir: Path) -> None:
        """Let no screen show a run that is deleted."""
        for name in [name for name, subject in self.subjects.items() if run_dir in subject]:
            del self.subjects[name]
            if (screen := self.steps.pop(name, None)) is not None:
                self.uninstall_screen(screen)
        self.find_running()

    def on_benchtui_app_run_found(self, event: RunFound) -> None:
        """Offer to attach."""
        if self.subjects.setdefault("live", (event.run_dir,)) == (event.run_dir,):
            self.watched = event.run_dir
        steps = [screen for screen in self.screen_stack if isinstance(screen, StepScreen)]
        for screen in steps:
            screen.show_notice(
                "running", f"{self.symbols.arrow} run {event.run_dir.name} is still running; press 4 to watch"
            )
            screen.refresh_chrome()

    def cut_off_runs(self) -> list[Path]:
        """Return the directories of runs whose engine died, oldest first."""
        from tui.library.unfinished import unfinished_runs

        return unfinished_runs(self.paths.runs)

    def write_missing_records(self) -> list[str]:
        """Write records of runs that came to their end, but not to a record; return the runs."""
        from tui.library.unfinished import write_missing

        return write_missing(self.paths.runs)

    def on_benchtui_app_runs_cut_off(self, event: RunsCutOff) -> None:
        """Say so, where it stays in sight if that can be."""
        from tui.app.services import resuming

        text = resuming.recovery_notice(event.count)
        steps = [screen for screen in self.screen_stack if isinstance(screen, StepScreen)]
        if not any(screen.show_notice("cut off", f"{self.symbols.warn} {text}") for screen in steps):
            self.notify(text, severity="warning")

    @work(group="recover")
    async def action_recover(self) -> None:
        """Ask, then finish the run that is looked at (Runs, Live), or all runs that were cut off."""
        from tui.app.services import resuming

        screen = self.screen
        if not isinstance(screen, StepScreen):
            return
        for run_id in (written := await asyncio.to_thread(self.write_missing_records)):
            self.notify(f"{run_id} had come to its end: its record is written", markup=False)
        runs = await asyncio.to_thread(self.cut_off_runs)
        runs = [run_dir for run_dir in runs if run_dir == screen.run_at_hand] or runs
        if not runs and not written:
            self.notify("no run was cut off")
        elif runs and await self.push_screen_wait(resuming.recovery_question(runs)) == "recover":
            self.recover_runs(runs)

    @work(group="recover-runs", exclusive=True)
    async def recover_runs(self, runs: list[Path]) -> None:
        """Finish runs one after the other and show each as it goes on."""
        from tui.app.services import resuming

        for screen in self.steps.values():
            screen.show_notice("cut off", "")
        await resuming.recover(runs, self.open_live, self.answer_questions)

    # -- moving between screens

    def action_go(self, name: str) -> None:
        """Jump to a step."""
        here = getattr(self.screen, "SCOPE", "")
        if name == "runs" and here != "runs":
            self.runs_from = here
        self.go(name)

    def go(self, name: str, at: str = "") -> None:
        """Show a screen, `at` something in it; say what is missing when it has nothing to show."""
        if name in ("hosts", "profiles"):
            self.again_from = ""
        if name == "result":
            self.see_end()
        name = self.place_of(name)
        if name not in self.outdated and (name in self.steps or not BY_NAME[name].missing):
            self.show_step(name)
        elif name in self.subjects:
            self.open(name, *self.subjects[name])
        elif not self.looked_at_runs:
            self.waits_for_runs = name
            return
        else:
            self.notify(BY_NAME[name].missing, severity="warning")
        self.waits_for_runs = ""
        if at and name in self.steps:
            self.steps[name].arrive(at)

    def see_end(self) -> None:
        """Find out whether the run that was watched has ended while another screen was shown."""
        from tui.library.summary import summarize

        if (run_dir := self.watched) is None:
            return
        summary = summarize(run_dir)
        if summary is not None and summary.state not in UNSAVED:
            self.run_ended(run_dir)

    def open(self, name: str, *subject: object) -> None:
        """Show a screen made anew for a subject; one that holds something unsaved stays as it is."""
        before = self.steps.get(name)
        if before is None or not before.unsaved:
            self.subjects[name] = subject
            self.outdated.discard(name)
            self.keep_step(name, self.make_step(name, *subject))
        elif self.subjects[name] != subject:
            self.notify(f"{before.unsaved} is not saved yet", severity="warning")
        self.show_step(name)

    def make_step(self, name: str, *subject: object) -> StepScreen:
        """Return a step's screen for a subject."""
        screen: StepScreen = screen_class(name)(*subject)
        return screen

    def show_step(self, name: str) -> None:
        """Switch to a step's screen, which is made at its first use."""
        if name not in self.steps:
            self.keep_step(name, self.make_step(name))
        self.show_screen(self.steps[name])

    def keep_step(self, name: str, screen: StepScreen) -> None:
        """Keep a step's screen for coming back; the one it replaces is dropped, one that is shown once it is left."""
        if name in self.steps:
            self._replaced.append(self.steps[name])
        self.steps[name] = screen
        self.install_screen(screen, f"{name} {id(screen)}")

    def show_screen(self, screen: StepScreen) -> None:
        """Make a step the shown one; dialogs and the too-small notice above it go."""
        while len(self.screen_stack) > 2:
            self.pop_screen()
        if len(self.screen_stack) == 1:  # the other one is at the bottom
            self.push_screen(screen)
        else:
            self.switch_screen(screen)
        while self._replaced:
            self.uninstall_screen(self._replaced.pop())
        self.call_after_refresh(self.check_size)

    def go_back(self) -> None:
        """Go where Escape leads from the screen that is shown: to Hosts when there is nothing to show."""
        here = self.screen
        if isinstance(here, StepScreen) and here.back != here.SCOPE:
            back = here.back
            self.runs_from = "" if here.SCOPE == "runs" else self.runs_from  # Escape leads back once, not to and fro
            self.go(back if self.can_go(back) else "hosts")

    async def action_back(self) -> None:
        """Escape where no screen handles it."""
        self.go_back()

    def action_on_run(self, command: str) -> None:
        """Give a command about the run at hand on the shown screen."""
        from tui.app.services import run_commands

        if isinstance(self.screen, StepScreen):
            run_commands.perform(command, self.screen)

    # -- help, palette, theme

    def action_help(self) -> None:
        """Show every key."""
        from tui.app.dialogs.help import HelpScreen

        self.push_screen(HelpScreen(getattr(self.screen, "SCOPE", "app")))

    def action_command_palette(self) -> None:
        """Open the palette; once is enough."""
        opened_on = self.screen
        if not isinstance(opened_on, StepScreen):
            return
        from tui.app.dialogs.help import Palette

        async def run(action: actions.Action | None) -> None:
            if action is not None:
                await self.run_action(action.target, opened_on)

        self.push_screen(Palette(opened_on.SCOPE), run)

    def action_next_theme(self) -> None:
        """Take the next theme."""
        names = [theme.name for theme in THEMES.values()]
        self.theme = names[(names.index(self.theme) + 1) % len(names)] if self.theme in names else names[0]
        if self.options.remember is not None:
            self.keep_theme(next(word for word, theme in THEMES.items() if theme.name == self.theme))

    @work(group="settings", exclusive=True)
    async def keep_theme(self, word: str) -> None:
        """Keep the theme in the user's settings, from where the next start takes it."""
        assert self.options.remember is not None
        try:
            await asyncio.to_thread(self.options.remember, "theme", word)
        except BenchtuiError as error:
            self.notify(str(error), severity="warning", markup=False)

    # -- size

    @on(Driver.SignalResume)
    def paint_again(self) -> None:
        """Paint all of the screen after Ctrl-Z and fg: a window of the same size shows nothing of it any more."""
        self.refresh(layout=True)

    def on_resize(self, event: events.Resize) -> None:
        """Cover everything while the terminal is too small. The app itself learns its new size after this."""
        self.check_size(event.size)

    def check_size(self, size: Size | None = None) -> None:
        """Show or remove the notice."""
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
        """Leave; ask first when the run that is shown goes on."""
        from tui.app.dialogs import confirm
        from tui.app.dialogs.confirm import Confirm

        if isinstance(self.screen, Confirm):
            return
        unsaved = next((name for name, screen in self.steps.items() if screen.unsaved), None)
        if unsaved is not None:
            self.show_step(unsaved)
            self.steps[unsaved].ask_to_save(self.action_quit)
            return
        run_dir = self.live_run
        if run_dir is None or not await asyncio.to_thread(self.run_is_alive, run_dir):
            self.exit()
            return
        self.push_screen(confirm.leave_question(run_dir.name), partial(self.leave_running, run_dir))

    def leave_running(self, run_dir: Path, answer: str | None) -> None:
        """Do what was answered about a run that goes on."""
        if answer == "detach":
            self.farewell = f"run {run_dir.name} is still running; to watch it: benchtui attach {run_dir.name}"
            self.exit()
        elif answer == "stop":
            self.stop_and_leave(run_dir)

    @work(group="stop")
    async def stop_and_leave(self, run_dir: Path) -> None:
        """Ask the engine to stop and keep what was measured, then leave."""
        from tui.engine.control import request

        with contextlib.suppress(BenchtuiError):
            await asyncio.to_thread(request, run_dir, {"verb": "stop", "by": "app"})
        self.farewell = f"run {run_dir.name} is stopping; see it with: benchtui runs show {run_dir.name}"
        self.exit()

    def take_signals(self) -> None:
        """Leave cleanly on SIGTERM, SIGHUP and a lost terminal, with the screen restored."""
        if self.is_headless:
            return
        for number in (signal.SIGTERM, signal.SIGHUP):
            on_signal(number, self.leave_on_signal, number)
        self.set_interval(HANGUP_CHECK_S, self.leave_if_hung_up)

    def leave_if_hung_up(self) -> None:
        """Leave as on SIGHUP if the terminal is gone and sent none."""
        if hung_up():
            self.leave_on_signal(signal.SIGHUP)

    def leave_on_signal(self, number: signal.Signals) -> None:
        """A run goes on without us: only the terminal has to be restored."""
        if self.live_run is not None and self.run_is_alive(self.live_run):
            name = self.live_run.name
            self.farewell = f"run {name} is still running; to watch it: benchtui attach {name}"
        self.exit(return_code=128 + number)

    # -- crashing: Textual 8.2.8 prints local variables, which may hold passwords

    def _handle_exception(self, error: Exception) -> None:
        """Keep the traceback in a private file, without locals, and end with code 1."""
        cause = error.error if isinstance(error, WorkerFailed) else error
        if isinstance(cause, NoMatches) and (self._exit or not self.is_running):
            return  # where the app ends, widgets go before what was called for them, and no screen gets any
        self._return_code = 1
        if self._exception is None:
            self._exception = error
            self._exception_event.set()
            self.crash_log = write_crash_log(self.paths.data, cause)
        self._close_messages_no_wait()

    def _fatal_error(self) -> None:
        """Textual's own way to print a traceback: ours instead."""
        error = sys.exc_info()[1]
        self._handle_exception(error if isinstance(error, Exception) else RuntimeError("unknown error"))


def screen_class(name: str) -> type[StepScreen]:
    """Return the class of a screen, which is imported when it is shown for the first time."""
    module, _, its_name = CLASSES[name].partition(":")
    found: type[StepScreen] = getattr(importlib.import_module(module), its_name)
    return found
