"""The app's interface for screens: options, paths, selection, and keys typed ahead."""

from __future__ import annotations

import os
import sys
from collections import deque
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec import Struct, field
from textual import events, work
from textual.app import App
from textual.content import Content
from textual.message_pump import MessagePump

from tui.app.frame.selection import Selection
from tui.app.terminal.actions import BY_NAME
from tui.app.terminal.driver import TerminalDriver
from tui.app.terminal.theme import KeptStylesheet, pick_symbols
from tui.model.paths import Paths
from tui.model.problem import BenchtuiError
from tui.model.settings import Settings

if TYPE_CHECKING:
    from tui.engine.control import Questions
    from tui.engine.inputs.hosts import Fleet
    from tui.engine.inputs.profiles import Catalogue
    from tui.library.runs import RunStore
    from tui.remote.vault import Asker

Result = TypeVar("Result")
PATIENCE_S = 0.5  # a removed widget never reports its key as handled


class TypeAheadApp(App[Result]):
    """An app that handles one key at a time, including all effects of the key.

    Keys typed meanwhile wait in a queue.
    """

    def __init__(self, **options: object) -> None:
        super().__init__(**options)  # type: ignore[arg-type]
        self._waiting: deque[events.Key] = deque()
        self._in_turn = 0  # number of the key that is having its effect, 0 for none
        self._turns = 0

    @property
    def key_on_its_way(self) -> bool:
        """Whether a key is being handled or waits in the queue."""
        return bool(self._in_turn or self._waiting)

    async def on_event(self, event: events.Event) -> None:
        """Handle an event; queue a key while another key is being handled."""
        if not isinstance(event, events.Key) or event.is_forwarded:
            await super().on_event(event)
            return
        self._waiting.append(event)
        if not self._in_turn:
            await self._next_key()

    async def _next_key(self) -> None:
        self._turns += 1
        self._in_turn = turn = self._turns
        self.set_timer(PATIENCE_S, lambda: self.call_later(self._turn_over, turn))
        if not self.screen.is_mounted:
            self._settle(self.screen, turn)  # once it has its widgets
            return
        event = self._waiting.popleft()
        target: MessagePump = self.focused or self.screen
        await super().on_event(event)
        settle = partial(self._settle, target, turn)
        if event.is_forwarded:
            self._follow(target, event, settle)
        else:  # a priority binding took it
            self.call_later(settle)

    def _follow(self, node: MessagePump, event: events.Key, settle: Callable[[], object]) -> None:
        """Call `settle` once `node` has handled the key and all messages posted before it."""
        if not node.call_later(self._dealt_with, node, event, settle):
            self.call_later(settle)

    def _dealt_with(
        self, node: MessagePump, event: events.Key, settle: Callable[[], object]
    ) -> None:
        parent = node._parent
        if event._stop_propagation or parent is None or parent is self:
            self.call_later(settle)  # what bubbled to the app stands before this in its queue
        else:
            self._follow(parent, event, settle)

    def _settle(self, node: MessagePump | None, turn: int) -> None:
        """End the turn of a key once its messages have bubbled from `node` to the app.

        One of them is Input.Submitted, which moves the focus.
        """
        if node is None or node is self or not node.call_later(self._settle, node._parent, turn):
            self.call_later(self._turn_over, turn)

    async def _turn_over(self, turn: int) -> None:
        if turn != self._in_turn:
            return
        self._in_turn = 0
        if self._waiting:
            await self._next_key()
        else:
            # Textual's timer may be due in 16 ms only, or later if the app is busy
            self.screen._on_timer_update()


RECENT = 50  # newest runs searched for recently used profiles
WITHOUT_RECORD = ("running", "interrupted", "unreadable")  # states of runs


class Options(Struct, frozen=True):
    """The options that the app starts with.

    `watch` opens a run, live or (with a speed) as a replay.
    """

    paths: Paths
    inventory: Path | None = None
    ssh_config: Path | None = None
    hosts: tuple[str, ...] = ()
    servers: tuple[str, ...] = ()
    profile: str | None = None
    overrides: Mapping[str, str] = field(default_factory=dict)
    review: bool = False
    theme: str | None = None
    symbols: str | None = None
    watch: Path | None = None
    replay_speed: float | None = None
    settings: Settings = field(default_factory=Settings)
    remember: Callable[[str, str], None] | None = None  # saves a choice in the settings
    environ: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))
    fleet: Fleet | None = None  # with the answers that sources gave the command line


class AppShell(TypeAheadApp[None]):
    """The app's interface for screens.

    `subjects`: the run or file of each screen that shows one.
    """

    def __init__(self, options: Options) -> None:
        self.symbols = pick_symbols(
            options.symbols, options.environ, getattr(sys.__stderr__, "encoding", None)
        )
        self.selection = Selection()
        super().__init__(driver_class=TerminalDriver)
        self.stylesheet = KeptStylesheet(variables=self.get_css_variables())
        self.options = options
        self.paths = options.paths
        self.farewell: str | None = None  # printed once the terminal is restored
        self.subjects: dict[str, tuple[object, ...]] = {}
        # screens to rebuild when they are shown again
        self.outdated: set[str] = set()
        self.watched: Path | None = None  # a run whose end was not shown yet
        # the run watched last, until Runs moves its cursor there
        self.run_to_find: Path | None = None
        self.runs_from = ""  # the screen that opened Runs
        # the screen that asked to run again, until the selection changes
        self.again_from = ""
        self._fleet: Fleet | None = None
        self._fleet_before: Fleet | None = None
        self._catalogue: Catalogue | None = None

    def notify(self, message: str, **options: Any) -> None:
        """Show a toast, without interpreting markup in host, tool and file names."""
        super().notify(message, **{"markup": False, **options})

    @property
    def draws_colors(self) -> bool:
        """Whether the terminal can distinguish curves by colour."""
        return self.symbols.name != "ascii" and not self.options.environ.get("NO_COLOR")

    # -- the backend, loaded on first use so that the first frame does not wait for it

    @property
    def fleet(self) -> Fleet:
        """The hosts to choose from. Raises UsageError for a broken inventory."""
        if self._fleet is None:
            from tui.engine.inputs.hosts import Fleet, read_inventory

            asked = self._fleet_before or self.options.fleet
            self._fleet = Fleet(
                read_inventory(self.inventory_file), self.options.ssh_config, like=asked
            )
        return self._fleet

    @property
    def inventory_file(self) -> Path:
        """Path of the inventory, which may not exist yet."""
        return self.options.inventory or self.paths.inventory

    def forget_fleet(self) -> None:
        """Have inventory and ssh config read again at the next use.

        Answers from sources are kept.
        """
        self._fleet, self._fleet_before = None, self._fleet or self._fleet_before

    @property
    def catalogue(self) -> Catalogue:
        """The profiles to choose from."""
        if self._catalogue is None:
            from tui.engine.inputs.profiles import Catalogue

            self._catalogue = Catalogue(self.paths.profiles)
        return self._catalogue

    @property
    def store(self) -> RunStore:
        """The saved runs, the user's own and shared ones.

        Raises UsageError if the settings cannot be read.
        """
        from tui.library.runs import RunStore, shared_directories

        ours = self.options
        return RunStore(
            self.paths.runs, shared_directories(self.paths, ours.environ, (), ours.settings.shared)
        )

    def profiles_used(self) -> list[str]:
        """Return the profiles of the newest runs, newest first.

        Empty if the store cannot be read.
        """
        try:
            return [run.profile for run in self.store.list(RECENT)]
        except BenchtuiError:
            return []

    def target_directory(self) -> str | None:
        """Return the target directory of the selected profile, for host checks.

        None without a profile, or if the profile or a parameter is invalid.
        """
        from tui.engine.plan.steps import target_of
        from tui.model.profile import resolve_params

        try:
            profile = (
                self.catalogue.load(self.selection.profile).profile
                if self.selection.profile
                else None
            )
            return (
                target_of(profile, resolve_params(profile, self.selection.overrides))
                if profile
                else None
            )
        except BenchtuiError:
            return None

    # -- other screens

    def can_go(self, name: str) -> bool:
        """Return whether a screen has something to show."""
        entry = BY_NAME[name]
        shows = self.place_of(name) in self.subjects or not entry.missing
        return shows and (self.selection.ready or not entry.after_choice)

    def place_of(self, name: str) -> str:
        """Return the screen to show for a step.

        For Live, this is the replay if no run was watched.
        """
        return (
            "replay"
            if name == "live" and name not in self.subjects and "replay" in self.subjects
            else name
        )

    def go(self, name: str, at: str = "") -> None:
        """Show a screen with the cursor on `at`.

        If the screen has nothing to show, say what is missing.
        """
        raise NotImplementedError

    def go_back(self) -> None:
        """Show the screen that Escape leads to."""
        raise NotImplementedError

    def open(self, name: str, *subject: object) -> None:
        """Show a new screen for a subject, such as a run or a file.

        If the existing screen of that name has unsaved changes, show that one instead.
        """
        raise NotImplementedError

    def forget_run(self, run_dir: Path) -> None:
        """Remove a deleted run from all screens."""
        raise NotImplementedError

    def open_live(self, run_dir: Path, replay_speed: float | None = None) -> None:
        """Show a live run, or replay a finished one.

        A replay does not replace the run on Live.
        """
        if replay_speed is None:
            self.watched = self.run_to_find = run_dir
        self.open("live" if replay_speed is None else "replay", run_dir, replay_speed)

    def open_result(self, run_dir: Path) -> None:
        """Show the result of a run."""
        self.open("result", run_dir)

    def run_ended(self, run_dir: Path) -> None:
        """Show this run on Result, move the cursor of Runs to it, stop waiting for its end."""
        self.watched = None if self.watched == run_dir else self.watched
        self.run_to_find = run_dir
        self.subjects["result"] = (run_dir,)
        self.outdated.add("result")

    def see_end(self) -> None:
        """If the watched run has ended while another screen was shown, have Result show it."""
        from tui.library.summary import summarize

        summary = summarize(self.watched) if self.watched is not None else None
        if self.watched is not None and summary is not None and summary.state not in WITHOUT_RECORD:
            self.run_ended(self.watched)

    def choice_text(self, room: int) -> Content:
        """Return the selection in at most `room` cells: all of it, or the profile, or the hosts.

        Hosts that are not ready come before the profile. Empty if nothing fits.
        """
        count, profile = self.selection.hosts_text(), Content(self.selection.profile_text())
        failed = self.selection.not_ready_text()
        hosts = Content.assemble(count, ", " * bool(failed), (failed, "$bad"))
        whole = Content(f" {self.symbols.dot} ").join([each for each in (hosts, profile) if each])
        for text in (whole, hosts if failed else profile, profile, Content(count)):
            if text.cell_length <= room:
                return text
        return Content()

    # -- runs

    @property
    def live_run(self) -> Path | None:
        """The run that Live shows, not a replay; None without one."""
        found = self.subjects.get("live", (None,))[0]
        return found if isinstance(found, Path) else None

    def run_is_alive(self, run_dir: Path) -> bool:
        """Return whether a run is running or starting."""
        from tui.library.summary import summarize

        summary = summarize(run_dir)
        return summary is not None and summary.state == "running"

    @work(group="login")
    async def answer_questions(self, questions: Questions, person: Asker | None = None) -> None:
        """Ask the user for the credentials that the hosts of a run need."""
        from tui.app.dialogs import text_entry

        await text_entry.answer_all(person or partial(text_entry.ask, self), questions)
