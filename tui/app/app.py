"""The Textual app: which screen is shown, what is chosen, which run goes on, how the app ends."""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import os
import signal
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from textual import events, work
from textual.command import CommandPalette
from textual.geometry import Size
from textual.message import Message
from textual.screen import Screen
from textual.scrollbar import ScrollBar
from textual.widgets import Input
from textual.worker import WorkerFailed

from tui.app.dialogs import log_in
from tui.app.dialogs.confirm import Answer, Confirm
from tui.app.dialogs.too_small import TooSmall, is_too_small
from tui.app.keys import actions
from tui.app.keys.help import HelpScreen
from tui.app.keys.palette import ActionCommands
from tui.app.keys.typeahead import TypeAheadApp
from tui.app.screens.base import StepScreen
from tui.app.screens.hosts.screen import HostsScreen
from tui.app.screens.profiles.screen import ProfilesScreen
from tui.app.screens.review.screen import ReviewScreen
from tui.app.selection import Selection
from tui.app.services import recovery, resuming
from tui.app.terminal.crash import write_crash_log
from tui.app.terminal.driver import TerminalDriver
from tui.app.terminal.theme import THEMES, pick_symbols, pick_theme
from tui.app.widgets.chrome import PlainScrollBar
from tui.model.paths import Paths
from tui.model.problem import BenchtuiError

if TYPE_CHECKING:
    from tui.engine.hosts.fleet import Fleet
    from tui.engine.process.launch import EngineMode
    from tui.engine.process.questions import Questions
    from tui.engine.profiles.catalogue import Catalogue
    from tui.remote.vault import Asker
    from tui.results.store.runs import RunStore

WARM_UP = ("tui.engine.planning.plan", "asyncssh")
WARM_UP_AFTER_S = 0.5  # the first list is on the screen by then
RECENT = 50  # runs that are looked at for one that goes on
FLOW = ("hosts", "profiles", "review", "live", "result")
LEAVE_RUNNING = (
    Answer("detach", "d", "Detach"),
    Answer("stop", "s", "Stop the run", harmful=True),
    Answer("cancel", "c", "Cancel"),
)


@dataclass(frozen=True)
class Options:
    """How the app is opened. `watch` opens a run at once, live or (with a speed) as a replay."""

    paths: Paths
    inventory: Path | None = None
    ssh_config: Path | None = None
    hosts: tuple[str, ...] = ()
    profile: str | None = None
    overrides: Mapping[str, str] = field(default_factory=dict)
    review: bool = False
    theme: str | None = None
    symbols: str | None = None
    watch: Path | None = None
    replay_speed: float | None = None
    environ: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))


def still_cursors(screen: Screen[None]) -> None:
    """Stop the cursors of a screen from blinking."""
    for text_field in screen.query(Input):
        text_field.cursor_blink = False


class BenchtuiApp(TypeAheadApp[None]):
    """The shell around the screens. Screens read `selection`, `fleet`, `catalogue`, `store` and `symbols`."""

    TITLE = "benchtui"
    CSS_PATH = "app.tcss"
    BINDINGS = actions.bindings("app")
    COMMANDS: ClassVar = {ActionCommands}
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (100, "-wide")]  # noqa: RUF012  (Textual declares it so)

    class RunFound(Message):
        """A run is going on that this app did not start."""

        def __init__(self, run_dir: Path) -> None:
            super().__init__()
            self.run_dir = run_dir

    class RunsCutOff(Message):
        """Runs were found whose engine died."""

        def __init__(self, count: int) -> None:
            super().__init__()
            self.count = count

    def __init__(self, options: Options) -> None:
        self.symbols = pick_symbols(options.symbols, options.environ, getattr(sys.__stderr__, "encoding", None))
        self.selection = Selection()
        super().__init__(driver_class=TerminalDriver)
        self.options = options
        self.paths = options.paths
        self.live_run: Path | None = None
        self.result_run: Path | None = None
        self.farewell: str | None = None  # printed once the terminal is restored
        self.crash_log: Path | None = None
        self.animation_level = "none"
        ScrollBar.renderer = PlainScrollBar
        for theme in THEMES.values():
            self.register_theme(theme)
        self.theme = pick_theme(options.theme, options.environ)
        self.add_class(f"-{self.symbols.name}")
        self._fleet: Fleet | None = None
        self._catalogue: Catalogue | None = None
        self.steps: dict[str, StepScreen] = {}

    # -- the backend, loaded on first use so that the first frame does not wait for it

    @property
    def fleet(self) -> Fleet:
        """Hosts that can be chosen. Raises UsageError when the inventory is broken."""
        if self._fleet is None:
            from tui.engine.hosts.fleet import Fleet
            from tui.engine.hosts.inventory_file import read_inventory

            self._fleet = Fleet(read_inventory(self.inventory_file), self.options.ssh_config)
        return self._fleet

    @property
    def inventory_file(self) -> Path:
        """The inventory in use, which need not exist yet."""
        return self.options.inventory or self.paths.inventory

    def forget_fleet(self) -> None:
        """Read inventory and ssh config again at the next use."""
        self._fleet = None

    @property
    def catalogue(self) -> Catalogue:
        """Profiles that can be chosen."""
        if self._catalogue is None:
            from tui.engine.profiles.catalogue import Catalogue

            self._catalogue = Catalogue(self.paths.profiles)
        return self._catalogue

    @property
    def store(self) -> RunStore:
        """Runs that were kept."""
        from tui.results.store.runs import RunStore

        return RunStore(self.paths.runs)

    def forget_catalogue(self) -> None:
        """Read the profiles again at the next use."""
        self._catalogue = None

    # -- starting

    def on_mount(self) -> None:
        """Take signals, go where the command line says, look for a run that is going on."""
        self.take_signals()
        self.apply_options()
        self.find_running()
        self.set_timer(WARM_UP_AFTER_S, self.warm_up)

    def apply_options(self) -> None:
        """Choose what the command line names and open the screen it asks for."""
        options = self.options
        self.selection.ticked = list(options.hosts)
        if options.profile:
            self.selection.choose_profile(options.profile)
            self.selection.overrides = dict(options.overrides)
        if options.watch is not None:
            self.open_live(options.watch, options.replay_speed)
        else:
            self.go("review" if options.review else "hosts")

    @work(thread=True, group="find-running")
    def find_running(self) -> None:
        """Tell the screens when a run goes on, and of runs that were cut off."""
        for run_dir in self.running_runs()[:1]:
            self.post_message(self.RunFound(run_dir))
        if count := len(self.cut_off_runs()):
            self.post_message(self.RunsCutOff(count))

    @work(thread=True, group="warm-up")
    def warm_up(self) -> None:
        """Import what the next screens need, while nobody waits for it."""
        for module in WARM_UP:
            importlib.import_module(module)

    def running_runs(self) -> list[Path]:
        """Return the directories of runs that are going on, newest first."""
        return [self.paths.runs / run.run_id for run in self.store.list(RECENT) if run.state == "running"]

    def on_benchtui_app_run_found(self, event: RunFound) -> None:
        """Offer to attach."""
        if self.live_run is None:
            self.live_run = event.run_dir
        for screen in self.screen_stack:
            if isinstance(screen, HostsScreen):
                screen.show_running(event.run_dir.name)
            if isinstance(screen, StepScreen):
                screen.refresh_chrome()

    def cut_off_runs(self) -> list[Path]:
        """Return the directories of runs whose engine died, oldest first."""
        from tui.journal.unfinished import unfinished_runs

        return unfinished_runs(self.paths.runs)

    def on_benchtui_app_runs_cut_off(self, event: RunsCutOff) -> None:
        """Say so, where it stays in sight if that can be."""
        for screen in self.screen_stack:
            if isinstance(screen, HostsScreen):
                screen.show_cut_off(recovery.notice(event.count))
                return
        self.notify(recovery.notice(event.count), severity="warning")

    @work(group="recover")
    async def action_recover(self) -> None:
        """Ask, then finish the run that is looked at (Runs, Live), or all runs that were cut off."""
        screen = self.screen
        if not isinstance(screen, StepScreen):
            return
        chosen = getattr(screen, {"runs": "chosen", "live": "run_dir"}.get(screen.SCOPE, ""), None)
        runs = await asyncio.to_thread(self.cut_off_runs)
        runs = [run_dir for run_dir in runs if run_dir == chosen] or runs
        if not runs:
            self.notify("no run was cut off")
        elif await self.push_screen_wait(recovery.question(runs)) == "recover":
            self.recover_runs(runs)

    @work(group="recover-runs", exclusive=True)
    async def recover_runs(self, runs: list[Path]) -> None:
        """Finish runs one after the other and show each as it goes on."""
        if isinstance(hosts := self.steps.get("hosts"), HostsScreen):
            hosts.show_cut_off("")
        await recovery.recover(runs, self.open_live, self.answer_questions)

    @work(group="resume", exclusive=True)
    async def resume_run(self, run_dir: Path) -> None:
        """Ask what to measure of the steps that a run lacks, then measure it and show it as it goes on."""
        from tui.results.store.runs import is_running

        try:
            running = await asyncio.to_thread(is_running, run_dir)
            missing, with_failed = await asyncio.to_thread(partial(resuming.lacking, run_dir, running=running))
        except BenchtuiError as error:
            self.notify(str(error), severity="warning", markup=False)
            return
        if not with_failed:
            self.notify("this run lacks no step")
            return
        answer = await self.push_screen_wait(resuming.question(run_dir.name, missing, with_failed))
        if answer in ("resume", "resume-failed"):
            mode: EngineMode = "resume" if answer == "resume" else "resume-failed"
            await resuming.resume(run_dir, mode, self.open_live, self.answer_questions)

    @work(group="log-in")
    async def answer_questions(self, questions: Questions, person: Asker | None = None) -> None:
        """Ask for what the hosts of a run want before they let its engine in."""
        await log_in.answer_all(person or partial(log_in.ask, self), questions)

    def target_directory(self) -> str | None:
        """Return the directory that the chosen profile is about, so that a check of hosts looks at it too."""
        from tui.engine.planning.plan import target_of
        from tui.model.profile import resolve_params

        try:
            profile = self.catalogue.load(self.selection.profile).profile if self.selection.profile else None
            return target_of(profile, resolve_params(profile, self.selection.overrides)) if profile else None
        except BenchtuiError:
            return None

    # -- moving between screens

    def can_go(self, name: str) -> bool:
        """Return whether a step has something to show."""
        return {
            "review": self.selection.ready,
            "live": self.live_run is not None,
            "result": self.result_run is not None,
        }.get(name, True)

    def action_go(self, name: str) -> None:
        """Jump to a step."""
        self.go(name)

    def go(self, name: str) -> None:
        """Show a step; say what is missing when it has nothing to show."""
        if name == "live" and self.live_run is not None and "live" not in self.steps:
            self.open_live(self.live_run)
        elif name == "result" and self.result_run is not None and "result" not in self.steps:
            self.open_result(self.result_run)
        elif name in ("live", "result") and name not in self.steps:
            self.notify("no run yet: start one from Review (3), or open one from Runs (6)", severity="warning")
        else:
            self.show_step(name)

    def show_step(self, name: str) -> None:
        """Switch to a step's screen, which is made at its first use."""
        if name not in self.steps:
            self.keep_step(name, self.make_step(name))
        self.show_screen(self.steps[name])

    def make_step(self, name: str) -> StepScreen:
        """Return a new screen of a step that needs no run."""
        if name == "runs":
            from tui.app.screens.runs.screen import RunsScreen

            return RunsScreen()
        return {"hosts": HostsScreen, "profiles": ProfilesScreen, "review": ReviewScreen}[name]()

    def keep_step(self, name: str, screen: StepScreen) -> None:
        """Keep a step's screen for coming back; the one it replaces is dropped."""
        if name in self.steps:
            self.uninstall_screen(name)
        self.steps[name] = screen
        self.install_screen(screen, name)

    def show_screen(self, screen: StepScreen) -> None:
        """Make a step the shown one; dialogs and the too-small notice above it go."""
        while len(self.screen_stack) > 2:
            self.pop_screen()
        if len(self.screen_stack) == 1:  # Textual's own blank screen is at the bottom
            self.push_screen(screen)
        else:
            self.switch_screen(screen)
        self.call_after_refresh(self.check_size)

    def open_live(self, run_dir: Path, replay_speed: float | None = None) -> None:
        """Show a run as it goes on, or replay a finished one."""
        from tui.app.screens.live.screen import LiveScreen

        self.live_run = run_dir
        self.keep_step("live", LiveScreen(run_dir, replay_speed))
        self.show_step("live")

    def open_result(self, run_dir: Path) -> None:
        """Show what a run measured."""
        from tui.app.screens.result.screen import ResultScreen

        self.result_run = run_dir
        self.keep_step("result", ResultScreen(run_dir))
        self.show_step("result")

    def go_back(self) -> None:
        """Go one step back in the flow; from Hosts there is none, from elsewhere to Hosts."""
        scope = getattr(self.screen, "SCOPE", "")
        if scope in FLOW[1:]:
            before = FLOW[FLOW.index(scope) - 1]
            self.go(before if self.can_go(before) else "hosts")
        elif scope != "hosts":
            self.go("hosts")

    async def action_back(self) -> None:
        """Escape where no screen handles it."""
        self.go_back()

    # -- what the chrome shows

    def choice_text(self, room: int) -> str:
        """Return what is chosen in at most `room` columns: the profile goes first, it is on the screen anyway."""
        hosts, profile = self.selection.hosts_text(), self.selection.profile_text()
        dot = f" {self.symbols.dot} "
        for text in (dot.join(filter(None, (hosts, profile))), profile, hosts):
            if len(text) <= room:
                return text
        return ""

    # -- help, palette, theme

    def action_help(self) -> None:
        """Show every key."""
        self.push_screen(HelpScreen(getattr(self.screen, "SCOPE", "app")))

    def action_command_palette(self) -> None:
        """Open the palette, without a blinking cursor; once is enough."""
        if not isinstance(self.screen, StepScreen):
            return
        palette = CommandPalette(placeholder="Type a command", id="--command-palette")
        self.push_screen(palette)
        self.call_after_refresh(still_cursors, palette)

    def action_next_theme(self) -> None:
        """Take the next theme."""
        names = [theme.name for theme in THEMES.values()]
        self.theme = names[(names.index(self.theme) + 1) % len(names)] if self.theme in names else names[0]

    # -- size

    def on_resize(self, event: events.Resize) -> None:
        """Cover everything while the terminal is too small. The app itself learns its new size after this."""
        self.check_size(event.size)

    def check_size(self, size: Size | None = None) -> None:
        """Show or remove the notice."""
        small = is_too_small(size or self.size)
        covered = isinstance(self.screen, TooSmall)
        if small and not covered:
            self.push_screen(TooSmall())
        elif covered and not small:
            self.pop_screen()

    # -- leaving

    async def action_quit(self) -> None:
        """Leave; ask first when the run that is shown goes on."""
        if isinstance(self.screen, Confirm):
            return
        if (editor := self.steps.get("editor")) is not None and editor.unsaved:
            self.show_step("editor")
            editor.ask_to_save(self.action_quit)
            return
        run_dir = self.live_run
        if run_dir is None or not await asyncio.to_thread(self.run_is_alive, run_dir):
            self.exit()
            return
        body = "Detach leaves it running; it needs neither this program nor this terminal."
        question = Confirm(f"Run {run_dir.name} goes on", body, LEAVE_RUNNING)
        self.push_screen(question, partial(self.leave_running, run_dir))

    def run_is_alive(self, run_dir: Path) -> bool:
        """Return whether a run goes on, or is about to."""
        from tui.results.store.runs import summarize

        summary = summarize(run_dir)
        return summary is not None and summary.state == "running"

    def leave_running(self, run_dir: Path, answer: str | None) -> None:
        """Do what was answered about a run that goes on."""
        if answer == "detach":
            self.farewell = f"run {run_dir.name} goes on; come back with: benchtui attach {run_dir.name}"
            self.exit()
        elif answer == "stop":
            self.stop_and_leave(run_dir)

    @work(group="stop")
    async def stop_and_leave(self, run_dir: Path) -> None:
        """Ask the engine to stop and keep what was measured, then leave."""
        from tui.engine.process.control import request

        with contextlib.suppress(BenchtuiError):
            await asyncio.to_thread(request, run_dir, {"verb": "stop", "by": "app"})
        self.farewell = f"run {run_dir.name} is stopping; see it with: benchtui runs show {run_dir.name}"
        self.exit()

    def take_signals(self) -> None:
        """Leave cleanly on SIGTERM and SIGHUP: Textual would die with the terminal in its alternate screen."""
        if self.is_headless:
            return
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(number, self.leave_on_signal, number)

    def leave_on_signal(self, number: signal.Signals) -> None:
        """A run goes on without us: only the terminal has to be restored."""
        if self.live_run is not None and self.run_is_alive(self.live_run):
            name = self.live_run.name
            self.farewell = f"run {name} goes on; come back with: benchtui attach {name}"
        self.exit(return_code=128 + number)

    # -- crashing: Textual 8.2.8 prints local variables, which may hold passwords

    def _handle_exception(self, error: Exception) -> None:
        """Keep the traceback in a private file, without locals, and end with code 1."""
        self._return_code = 1
        if self._exception is None:
            self._exception = error
            self._exception_event.set()
            cause = error.error if isinstance(error, WorkerFailed) else error
            self.crash_log = write_crash_log(self.paths.data, cause)
        self._close_messages_no_wait()

    def _fatal_error(self) -> None:
        """Textual's own way to print a traceback: ours instead."""
        error = sys.exc_info()[1]
        self._handle_exception(error if isinstance(error, Exception) else RuntimeError("unknown error"))
