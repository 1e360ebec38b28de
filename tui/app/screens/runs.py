"""Every run that was kept, newest first."""

from __future__ import annotations

import asyncio
import importlib
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from textual import events, on, work
from textual.containers import Vertical
from textual.content import Content
from textual.timer import Timer
from textual.widget import Widget
from textual.widgets import Static

from tui.app.dialogs.confirm import Confirm
from tui.app.dialogs.text_entry import LineDialog, NoteDialog
from tui.app.frame.step_screen import KeyBar
from tui.app.screens.live_text import deliver
from tui.app.screens.runs_rows import (
    MARKS,
    OPTIONAL,
    STATE_FROM,
    RunListScreen,
    columns,
    key_of,
    preview,
    says_more,
    why_not_compared,
)
from tui.app.services.exporting import copy_of_run, export_run, import_kept, report_runs
from tui.app.services.remedies import ask_to_clean, clean_now
from tui.app.terminal import actions
from tui.app.widgets.field import TextInput
from tui.app.widgets.lines import TextPane
from tui.app.widgets.picklist import PickList
from tui.library.filter import Filter, parse
from tui.library.summary import parse_tags, rename, retag, star, tags_text
from tui.model.problem import BenchtuiError, UsageError
from tui.text.line import Line, beside
from tui.text.table import Column

if TYPE_CHECKING:
    from tui.app.screens.result_page import Page
    from tui.library.summary import RunSummary

PREVIEW_FROM = (72, 22)  # columns and rows of the terminal
ROOMY_FROM = (100, 32)  # with room for more of the run under the cursor
LARGE_FROM = (180, 44)  # with room for what it measured as well, beside it
FACTS_CELLS, GUTTER = 72, 3
RESTS_S = 0.15  # who holds a key down has not come to a run yet
EMPTY = "No runs yet: choose hosts (1) and a profile (2), then press Enter on Review (3)"
WITHOUT_RUNS = frozenset({"runs.import", "runs.filter"})  # actions that need no run under the cursor
REREAD_S = 5.0


class RunsScreen(RunListScreen):
    """The runs, with what each measured."""

    SCOPE = "runs"
    CSS_PATH = "runs.tcss"

    def __init__(self) -> None:
        super().__init__()
        self.marked: list[str] = []
        self.read = False
        self.changed: dict[Path, dict[str, str]] = {}  # parameters by run, of those that were looked at
        self.measured: tuple[Path, RunSummary, Page | None] | None = None  # as it was when its charts were read
        self.columns: tuple[Column[RunSummary], ...] = ()
        self.cells = STATE_FROM  # width that the columns are chosen for
        self.wanted = Filter()
        self.problems = ""
        self._timer: Timer | None = None

    def compose_body(self) -> Iterable[Widget]:
        """The list with its filter and the run under the cursor, or a sentence when there is none."""
        self.columns = columns(self.shell.symbols, self.marked, self.cells)
        picklist = PickList(self.columns, key_of, fits=True, id="runs-list")
        picklist.sort = next(column for column in picklist.columns if column.title == "started (UTC)")
        picklist.add_class("pane", update=False)
        picklist.border_title = "Runs"
        pane = TextPane(id="runs-preview")
        pane.more, pane.fills = "Tab reads on", True
        with Vertical(id="runs-body"):
            yield picklist
            yield pane
        yield Static("reading the runs", id="runs-empty", markup=False)
        yield TextInput(placeholder="words, tag:NAME profile:TAG verdict:valid since:7d", id="runs-filter",
                        classes="filter")  # fmt: skip

    @on(events.Resize)
    def room_changed(self) -> None:
        """The preview stands below the list where there is room for both, or while it is read."""
        for pane in self.query(TextPane):
            pane.set_class(self.has_room(PREVIEW_FROM) or pane.has_focus, "-shown")
            pane.set_class(self.has_room(ROOMY_FROM), "-roomy")
            pane.set_class(self.has_room(LARGE_FROM), "-large")
        self.choose_columns()

    def has_room(self, least: tuple[int, int]) -> bool:
        """Say whether the terminal has so many columns and rows."""
        return self.size.width >= least[0] and self.size.height >= least[1]

    def choose_columns(self) -> None:
        """Show state and verdict where there is room for both; the list stays in its order."""
        if self.size.width == self.cells:
            return
        self.cells, sort = self.size.width, self.picklist.sort
        self.columns = columns(self.shell.symbols, self.marked, self.cells)
        if sort is not None:
            self.picklist.sort = next((each for each in self.columns if each.title == sort.title), self.columns[1])
        if self.read:
            self.show_rows()

    def on_descendant_blur(self) -> None:
        """Who reads the details sees them whole, and who has read them the list again."""
        self.call_after_refresh(self.focus_moved)

    def focus_moved(self) -> None:
        """Share the room anew."""
        if self.is_current and self.query(TextPane):  # where the app ends, widgets go before what they called for
            self.room_changed()
            self.show_preview()

    def action_pane(self) -> None:
        """Go to the run's details, which are shown whole then, or back to the list."""
        pane = self.query_one(TextPane)
        if pane.has_focus:
            self.set_focus(self.picklist)
        elif self.picklist.rows:
            pane.add_class("-shown")
            pane.scroll_home(animate=False)
            self.call_after_refresh(self.set_focus, pane)

    @on(PickList.Moved)
    def show_preview(self) -> None:
        """Show the run under the cursor."""
        pane, run, run_dir = self.query_one(TextPane), self.summary_at_hand, self.run_at_hand
        if run is None or run_dir is None:
            return
        if run_dir not in self.changed and pane.has_class("-shown"):
            self.read_changed(run_dir)
        if self.has_room(ROOMY_FROM) and (self.measured is None or self.measured[:2] != (run_dir, run)):
            self.read_measured(run_dir, run)
        pane.show(partial(self.preview_lines, run, run_dir))

    def preview_lines(self, run: RunSummary, run_dir: Path, width: int) -> list[Line]:
        """Return what is known of a run, and beside it what it measured, once that is read and has room."""
        pane, changed = self.query_one(TextPane), self.changed.get(run_dir, {})
        tell = partial(preview, run, changed, whole=pane.has_focus, short=not self.has_room(ROOMY_FROM))
        read_dir, _, page = self.measured or (None, None, None)
        large = self.has_room(LARGE_FROM)
        if page is None or read_dir != run_dir or not self.has_room(ROOMY_FROM) or (says_more(run) and not large):
            return tell(width)
        from tui.app.screens.runs_result import course_lines, measured_lines

        at = (FACTS_CELLS if large else width // 2) + GUTTER
        found = (measured_lines if large else course_lines)(page, width - at, pane.size.height)
        return beside(tell(at - GUTTER), found, at) if found else tell(width)

    @work(exclusive=True, group="measured", exit_on_error=False)
    async def read_measured(self, run_dir: Path, run: RunSummary) -> None:
        """Read what the run under the cursor measured, once the cursor rests, and show it."""
        await asyncio.sleep(RESTS_S)
        plain = self.shell.symbols.name == "ascii"
        colors = not plain and not self.shell.options.environ.get("NO_COLOR")
        self.measured = run_dir, run, await asyncio.to_thread(page_of, run_dir, colors=colors)
        self.show_preview()

    @work(exclusive=True, group="changed", exit_on_error=False)
    async def read_changed(self, run_dir: Path) -> None:
        """Read what the run under the cursor changed, off the event loop, and show it."""
        from tui.library.filter import changed_of

        self.changed[run_dir] = await asyncio.to_thread(changed_of, run_dir)
        self.show_preview()

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
        self.find_run()
        self.load()

    @work(exclusive=True, group="load", exit_on_error=False)
    async def load(self) -> None:
        """Read the store off the event loop."""
        try:
            listing = await asyncio.to_thread(lambda: self.shell.store.everything())
            runs, problems = listing.runs, "\n".join(map(str, listing.problems))
        except BenchtuiError as error:
            runs, problems = self.runs, str(error)
        if problems != self.problems and problems:
            self.notify(problems, severity="warning", markup=False)
        self.problems = problems
        if runs != self.runs or not self.read:
            self.runs, self.read = runs, True
            self.show_rows()

    def show_rows(self) -> None:
        """Show the runs that the filter lets through; what is wrong with a filter stands below the list."""
        text, wrong = self.filter.value.strip(), ""
        try:
            self.wanted = parse(text)
        except UsageError as error:
            wrong = str(error)
        shown = [run for run in self.runs if self.wanted(run)]
        empty = {title for title, text in OPTIONAL.items() if not any(map(text, shown))}
        empty |= set() if self.marked else {""}  # the letters of marks
        self.picklist.columns = tuple(column for column in self.columns if column.title not in empty)
        self.picklist.set_rows(shown)
        self.query_one("#runs-body").display = bool(shown)
        useless = {action.id for action in actions.RUNS} - WITHOUT_RUNS if not shown else set[str]()
        self.query_one(KeyBar).leave_out(*useless, *(() if self.runs else ("runs.filter",)))
        count = f"{len(shown)} of {len(self.runs)}" if text else str(len(self.runs))
        self.picklist.border_subtitle = Content(f"{count}  {wrong}".rstrip())
        notice = self.query_one("#runs-empty", Static)
        notice.display = not shown
        notice.update(f"{wrong or f'No run fits {text}'}: Esc clears the filter" if self.runs else EMPTY)
        self.show_preview()

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
        key, run = self.picklist.cursor_key, self.summary_at_hand
        if key in self.marked:
            self.marked.remove(key)
        elif run is not None and (why := why_not_compared(run)):
            self.notify(why, severity="warning", markup=False)
            return
        elif key and len(self.marked) < len(MARKS):
            self.marked.append(key)
            self.marked.sort(key=self.begun)
        self.show_rows()
        self.picklist.move(1)

    def begun(self, key: str) -> str:
        """Return when a run began, for the order of marks: the oldest is what the others are held against."""
        return next((run.utc for run in self.runs if key_of(run) == key and run.utc), key)

    @property
    def marked_runs(self) -> list[str]:
        """The marked runs that are still there, the oldest first."""
        known = {key_of(run) for run in self.runs}
        return [run_id for run_id in self.marked if run_id in known]

    @work(exclusive=True, group="report", exit_on_error=False)
    async def action_report(self) -> None:
        """Ask for format and place, and write the marked runs, or the one under the cursor, as a report."""
        chosen = [self.shell.paths.runs / run_id for run_id in self.marked_runs]
        if not chosen and (run_dir := self.run_at_hand) is not None:
            chosen = [run_dir]
        if chosen:
            await report_runs(self, [[run_dir] for run_dir in chosen], self.shell.options.environ)

    def action_compare(self) -> None:
        """Hold the marked runs against the oldest of them; when one is all, with the run under the cursor."""
        chosen, run = self.marked_runs, self.summary_at_hand
        if len(chosen) == 1 and run is not None and (why := why_not_compared(run)):
            self.notify(why, severity="warning", markup=False)
            return
        if len(chosen) < 2 and self.picklist.cursor_key:
            chosen = sorted({*chosen, self.picklist.cursor_key}, key=self.begun)
        if len(chosen) < 2:
            self.notify("mark two runs or more with Space, then press c", severity="warning")
            return
        self.shell.open("compare", *(self.shell.paths.runs / run_id for run_id in chosen))

    def action_replay(self) -> None:
        """Play a run again."""
        run_dir = self.run_at_hand
        if run_dir is None:
            return
        if not (run_dir / "journal.jsonl").is_file():
            self.notify("this run has no journal to play", severity="warning")
        else:
            self.shell.open_live(run_dir, 1.0)

    def action_again(self) -> None:
        """Prepare the run under the cursor once more."""
        if (run_dir := self.run_at_hand) is not None:
            self.shell.run_again(run_dir)

    @work(group="export", exit_on_error=False)
    async def action_export(self) -> None:
        """Ask for format and place, and write."""
        if (run_dir := self.run_at_hand) is not None:
            await export_run(self, run_dir)

    @work(group="copy", exclusive=True, exit_on_error=False)
    async def action_copy(self) -> None:
        """Ask what of the run to copy through the terminal."""
        if (run_dir := self.run_at_hand) is not None:
            await copy_of_run(self, run_dir)

    def action_note(self) -> None:
        """Ask for a remark."""
        if (run_dir := self.run_at_hand) is not None and self.is_ours(run_dir):
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

    def action_import(self) -> None:
        """Ask for what was kept of a run elsewhere."""
        what = "a file, directory or archive that a load generator wrote"
        dialog = LineDialog("Import", what, does="import")
        self.app.push_screen(dialog, self.import_given)

    def import_given(self, text: str | None) -> None:
        """Import it."""
        if text:
            self.import_path(text)

    @work(group="import", exit_on_error=False)
    async def import_path(self, text: str) -> None:
        """Make saved runs of it, and show the first of them."""
        names = await import_kept(self, text, self.shell.paths.runs)
        self.load()
        if len(names) == 1:
            self.shell.open_result(self.shell.paths.runs / names[0])

    def action_clean(self) -> None:
        """Show what the run left on its hosts, and ask."""
        if (run_dir := self.run_at_hand) is not None and self.is_ours(run_dir, hosts=True):
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
        if (run_dir := self.run_at_hand) is not None and self.is_ours(run_dir, hosts=True):
            self.shell.resume_run(run_dir)

    def action_sort(self) -> None:
        """Sort by the next column."""
        self.picklist.sort_by_next()
        if self.picklist.sort is None:  # the order of the store is that of "started"
            self.picklist.sort_by_next()

    def action_reverse(self) -> None:
        """Turn the order round."""
        self.picklist.sort_by_next(reverse=True)

    def action_star(self) -> None:
        """Give the run a star, or take it away."""
        run, run_dir = self.summary_at_hand, self.run_at_hand
        if run is not None and run_dir is not None and self.is_ours(run_dir):
            self.change(partial(star, run_dir, starred=not run.starred))

    def action_tags(self) -> None:
        """Ask for the tags of the run."""
        run, run_dir = self.summary_at_hand, self.run_at_hand
        if run is not None and run_dir is not None and self.is_ours(run_dir):
            what = "NAME or NAME=VALUE, with blanks between them"
            dialog = LineDialog(f"Tags of {run_dir.name}", what, tags_text(run.tags))
            self.app.push_screen(dialog, partial(self.said, lambda text: retag(run_dir, parse_tags(text.split()))))

    def action_title(self) -> None:
        """Ask for the title of the run."""
        run, run_dir = self.summary_at_hand, self.run_at_hand
        if run is not None and run_dir is not None and self.is_ours(run_dir):
            what = "what lists and reports call it; empty: by its profile"
            dialog = LineDialog(f"Title of {run_dir.name}", what, run.title)
            self.app.push_screen(dialog, partial(self.said, partial(rename, run_dir)))

    def said(self, keep: Callable[[str], object], text: str | None) -> None:
        """Keep what was typed."""
        if text is not None:
            self.change(partial(keep, text))

    @work(group="change", exit_on_error=False)
    async def change(self, keep: Callable[[], object]) -> None:
        """Change what is said of a run, and show it."""
        try:
            await asyncio.to_thread(keep)
        except BenchtuiError as error:
            self.notify(str(error), severity="error", markup=False)
        self.load()

    def action_delete(self) -> None:
        """Ask, then delete."""
        run_dir = self.run_at_hand
        if run_dir is None or not self.is_ours(run_dir):
            return
        if self.shell.run_is_alive(run_dir):
            self.notify("this run is still running: stop it on Live first", severity="warning")
            return
        from tui.library.unfinished import check_removable, still_on_hosts

        try:
            check_removable(run_dir)
        except UsageError as error:
            self.notify(str(error), severity="warning", markup=False)
            return
        held = still_on_hosts(run_dir, recover="R", clean="C, pressed first")
        body = f"{run_dir.name}\nIts record, journal and raw output are removed from this machine for good."
        question = Confirm("Delete this run?", f"{body}\n\n{held}" if held else body, warns=True)
        self.app.push_screen(question, partial(self.answered, run_dir))

    def answered(self, run_dir: Path, answer: str | None) -> None:
        """Delete when the answer was yes."""
        if answer == "yes":
            self.remove_run(run_dir)

    @work(group="delete", exit_on_error=False)
    async def remove_run(self, run_dir: Path) -> None:
        """Remove the directory of a run."""
        from tui.library.unfinished import remove_run

        try:
            await asyncio.to_thread(remove_run, run_dir)
            self.shell.forget_run(run_dir)
        except BenchtuiError as error:
            self.notify(str(error), severity="error", markup=False)
        self.load()


def page_of(run_dir: Path, *, colors: bool) -> Page | None:
    """Return the page of a run; what draws it is loaded here, off the event loop."""
    importlib.import_module("plotext")  # its first import takes a while
    from tui.app.screens.runs_result import read_page

    return read_page(run_dir, colors=colors)
