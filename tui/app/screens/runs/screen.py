"""Every run that was kept, newest first."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from string import ascii_uppercase
from typing import TYPE_CHECKING

from textual import events, on, work
from textual.timer import Timer
from textual.widget import Widget
from textual.widgets import Static

from tui.app.dialogs.confirm import Confirm
from tui.app.dialogs.note import NoteDialog
from tui.app.screens.filtered import FilteredScreen
from tui.app.screens.live.text import deliver
from tui.app.services.cleaning import ask_to_clean, clean_now
from tui.app.services.reporting import report_runs
from tui.app.terminal.theme import Symbols
from tui.app.widgets.field import TextInput
from tui.app.widgets.picklist import PickList
from tui.metrics import units
from tui.model.problem import BenchtuiError
from tui.text.line import ACCENT, BAD, BRIGHT, GOOD, LABEL, WARN, Run
from tui.text.table import Column

if TYPE_CHECKING:
    from tui.results.store.summary import RunSummary

STATE_CELLS: dict[str, tuple[str, str]] = {  # state -> symbol attribute of the symbol set, style
    "complete": ("ok", GOOD),
    "partial": ("warn", WARN),
    "aborted": ("warn", WARN),
    "failed": ("bad", BAD),
    "interrupted": ("bad", BAD),
    "unreadable": ("bad", BAD),
    "running": ("arrow", ACCENT),
}


def columns(symbols: Symbols, marked: Sequence[str]) -> tuple[Column[RunSummary], ...]:
    """Return the columns of the list; a run that is `marked` has its letter in place of a symbol."""

    def state(run: RunSummary) -> list[Run]:
        symbol, role = told(run)
        if run.run_id in marked:
            return [(f"{MARKS[marked.index(run.run_id)]} ", ACCENT), (symbol.partition(" ")[2], role)]
        return [(symbol, role)]

    def told(run: RunSummary) -> Run:
        symbol, role = STATE_CELLS.get(run.state, ("dot", LABEL))
        if run.verdict == "invalid":
            return f"{symbols.bad} INVALID", BAD
        if run.state == "complete" and run.verdict == "valid-with-warnings":
            symbol, role = STATE_CELLS["partial"]
        return f"{getattr(symbols, symbol)} {run.state}", role

    return (
        Column("state", state, 13),
        Column("started (UTC)", lambda run: when(run.utc), 16, role=LABEL),
        Column("profile", lambda run: run.profile or run.run_id, least=15, role=BRIGHT),
        Column("hosts", lambda run: str(len(run.hosts) or units.UNKNOWN), 5, right=True),
        Column("headline", lambda run: (run.headline, BRIGHT) if run.headline else (units.UNKNOWN, LABEL), 19,
               right=True),
        Column("findings", lambda run: run.weakened_by, 12, drop=1, role=LABEL),
        Column("took", lambda run: units.duration(run.duration_s), 7, right=True, drop=2, role=LABEL),
        Column("note", lambda run: run.note, least=14, drop=3, role=LABEL),
    )  # fmt: skip


MARKS = ascii_uppercase  # the first one marked is A, as in the comparison
EMPTY = "No runs yet: choose hosts (1) and a profile (2), then press r on Review (3)"
REREAD_S = 5.0


class RunsScreen(FilteredScreen):
    """The runs, with what each measured."""

    SCOPE = "runs"
    CSS_PATH = "screen.tcss"

    def __init__(self) -> None:
        super().__init__()
        self.runs: list[RunSummary] = []
        self.marked: list[str] = []
        self.read = False
        self._timer: Timer | None = None

    def compose_body(self) -> Iterable[Widget]:
        """The list with its filter, or a sentence when it is empty."""
        picklist = PickList(columns(self.shell.symbols, self.marked), lambda run: run.run_id, id="runs-list")
        picklist.add_class("pane")
        picklist.border_title = "Runs"
        yield picklist
        yield Static("reading the runs", id="runs-empty", markup=False)
        yield TextInput(placeholder="filter by profile, host, state, note", id="runs-filter", classes="filter")

    @property
    def run_at_hand(self) -> Path | None:
        """The directory of the run under the cursor."""
        key = self.picklist.cursor_key
        return self.shell.paths.runs / key if key else None

    def on_mount(self) -> None:
        """Read the runs, and again from time to time: a run may go on or end meanwhile."""
        self._timer = self.set_interval(REREAD_S, self.load)
        self.picklist.focus()

    @on(events.ScreenSuspend)
    def hold_timer(self) -> None:
        """Nobody looks: nothing is read."""
        if self._timer is not None:
            self._timer.pause()

    @on(events.ScreenResume)
    def read_again(self) -> None:
        """Something may have run since."""
        if self._timer is not None:
            self._timer.resume()
        self.load()

    @work(exclusive=True, group="load", exit_on_error=False)
    async def load(self) -> None:
        """Read the store off the event loop."""
        runs = await asyncio.to_thread(self.shell.store.list)
        if runs != self.runs or not self.read:
            self.runs, self.read = runs, True
            self.show_rows()

    def show_rows(self) -> None:
        """Show the runs that the filter lets through."""
        wanted = self.filter.value.strip().lower()
        shown = [run for run in self.runs if wanted in haystack(run)]
        self.picklist.set_rows(shown)
        self.picklist.display = bool(shown)
        self.picklist.border_subtitle = f"{len(shown)}/{len(self.runs)}" if wanted else str(len(self.runs))
        empty = self.query_one("#runs-empty", Static)
        empty.display = not shown
        empty.update(f"No run holds '{wanted}': Esc clears the filter" if self.runs else EMPTY)

    # -- actions

    def action_open(self) -> None:
        """Open the result, or Live while the run goes on."""
        run_dir = self.run_at_hand
        if run_dir is None:
            return
        if self.state_of(run_dir) == "running":
            self.shell.open_live(run_dir)
        else:
            self.shell.open_result(run_dir)

    @on(PickList.Clicked)
    def open_clicked(self, event: PickList.Clicked) -> None:
        """A double click opens."""
        if event.twice:
            self.action_open()

    def action_mark(self) -> None:
        """Mark the run under the cursor to be compared, or take the mark away."""
        key = self.picklist.cursor_key
        if key in self.marked:
            self.marked.remove(key)
        elif key and len(self.marked) < len(MARKS):
            self.marked.append(key)
        self.picklist.move(1)

    @property
    def marked_runs(self) -> list[str]:
        """The marked runs that are still there, in the order of their marks."""
        known = {run.run_id for run in self.runs}
        return [run_id for run_id in self.marked if run_id in known]

    @work(exclusive=True, group="report", exit_on_error=False)
    async def action_report(self) -> None:
        """Write the marked runs, or the one under the cursor, as one HTML file."""
        chosen = [self.shell.paths.runs / run_id for run_id in self.marked_runs]
        if not chosen and (run_dir := self.run_at_hand) is not None:
            chosen = [run_dir]
        if chosen:
            await report_runs(self, chosen, self.shell.options.environ)

    def action_compare(self) -> None:
        """Hold the marked runs against the first of them; when that is all, the run under the cursor."""
        chosen = self.marked_runs
        if len(chosen) < 2 and self.picklist.cursor_key:
            chosen = list(dict.fromkeys([*chosen, self.picklist.cursor_key]))
        if len(chosen) < 2:
            self.notify("mark two runs or more with Space, then press c", severity="warning")
            return
        self.shell.open("compare", *(self.shell.paths.runs / run_id for run_id in chosen))

    def state_of(self, run_dir: Path) -> str:
        """Return the state a run had when the list was read."""
        return next((run.state for run in self.runs if run.run_id == run_dir.name), "")

    def action_replay(self) -> None:
        """Play a run again."""
        run_dir = self.run_at_hand
        if run_dir is None:
            return
        if not (run_dir / "journal.jsonl").is_file():
            self.notify("this run has no journal to play", severity="warning")
        else:
            self.shell.open_live(run_dir, 1.0)

    def action_note(self) -> None:
        """Ask for a remark."""
        if (run_dir := self.run_at_hand) is not None:
            self.app.push_screen(NoteDialog(run_dir.name), partial(self.note_written, run_dir))

    def note_written(self, run_dir: Path, text: str | None) -> None:
        """Keep a remark."""
        if text:
            self.keep(run_dir, text)

    @work(group="note", exit_on_error=False)
    async def keep(self, run_dir: Path, text: str) -> None:
        """Send it to the engine, or write it to the record of a run that is over."""
        try:
            request = {"verb": "note", "text": text, "by": "app"}
            error = await asyncio.to_thread(deliver, run_dir, request)
        except BenchtuiError as problem:
            error = str(problem)
        if error:
            self.notify(error, severity="error", markup=False)
        self.load()

    def action_clean(self) -> None:
        """Show what the run left on its hosts, and ask."""
        if (run_dir := self.run_at_hand) is not None:
            self.look_at_hosts(run_dir)

    @work(group="clean", exit_on_error=False)
    async def look_at_hosts(self, run_dir: Path) -> None:
        """Look at the hosts and ask."""
        await ask_to_clean(self, run_dir, self.shell.paths, lambda: self.clean_hosts(run_dir))

    @work(group="clean", exit_on_error=False)
    async def clean_hosts(self, run_dir: Path) -> None:
        """Remove what the run left."""
        await clean_now(self, run_dir, self.shell.paths)
        self.load()

    def action_resume(self) -> None:
        """Measure what the run lacks, after a question."""
        if (run_dir := self.run_at_hand) is not None:
            self.shell.resume_run(run_dir)

    def action_delete(self) -> None:
        """Ask, then delete."""
        run_dir = self.run_at_hand
        if run_dir is None:
            return
        if self.shell.run_is_alive(run_dir):
            self.notify("this run goes on: stop it on Live first", severity="warning")
            return
        body = f"{run_dir.name}\nIts record, journal and raw output are removed from this machine for good."
        self.app.push_screen(Confirm("Delete this run?", body), partial(self.answered, run_dir))

    def answered(self, run_dir: Path, answer: str | None) -> None:
        """Delete when the answer was yes."""
        if answer == "yes":
            self.remove_run(run_dir)

    @work(group="delete", exit_on_error=False)
    async def remove_run(self, run_dir: Path) -> None:
        """Remove the directory of a run."""
        try:
            await asyncio.to_thread(delete_run, run_dir)
        except OSError as error:
            self.notify(f"{run_dir}: {error.strerror}", severity="error", markup=False)
        self.load()


def delete_run(run_dir: Path) -> None:
    """Remove a run's directory. Renamed first: it is gone at once, and nobody writes a summary into it meanwhile."""
    grave = run_dir.with_name(f".removed-{run_dir.name}")
    run_dir.rename(grave)
    shutil.rmtree(grave)


def haystack(run: RunSummary) -> str:
    """Return the text that the filter looks into."""
    tags = (f"{name}={value}" for name, value in run.tags.items())
    return " ".join((run.run_id, run.profile, run.state, run.headline, run.note, *run.hosts, *tags)).lower()


def when(utc: str | None) -> str:
    """Return a time to the minute."""
    return utc.replace("T", " ")[:16] if utc else "–"
