"""Runs: the list of all saved runs, newest first, and which of them are marked."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from string import ascii_uppercase
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace
from textual import events, on, work
from textual.containers import Vertical
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from tui.app.dialogs.text_entry import LineDialog
from tui.app.frame.step_screen import FilteredScreen, KeyBar
from tui.app.screens.runs_preview import RunPreview, brief_time
from tui.app.services import run_commands
from tui.app.services.exporting import import_kept
from tui.app.terminal import run_actions
from tui.app.terminal.theme import Symbols
from tui.app.widgets.form import FilterInput
from tui.app.widgets.picklist import Heading, PickList, share_height
from tui.judge.wording import name_of
from tui.library.filter import Filter, parse
from tui.library.history import EarlierRuns, told_apart
from tui.library.summary import ORDERS, tags_text
from tui.metrics import units
from tui.model.problem import BenchtuiError, UsageError
from tui.text.line import (
    ACCENT,
    BAD,
    BRIGHT,
    GOOD,
    LABEL,
    TEXT,
    WARN,
    Line,
    Run,
    fit,
    width_of,
)
from tui.text.sparkline import spark, twice_mean
from tui.text.table import Column, table_line

if TYPE_CHECKING:
    from tui.library.summary import RunSummary

EMPTY = "No runs yet: choose hosts (1) and a profile (2), then press Enter on Review (3)"
# actions that need no run under the cursor
WITHOUT_RUNS = frozenset({"runs.import", "runs.filter"})
IMPORT_HELP = "a file, directory or archive with a load generator's output"
FILTER_HINT = "profile: host: tag: verdict: state: since:"
REREAD_S = 5.0
SPARK_CELLS = 9
MARKS = ascii_uppercase  # the oldest one marked is A, as in the comparison
STATE_CELLS: dict[str, tuple[str, str]] = {  # state -> symbol attribute of the symbol set, style
    "complete": ("ok", GOOD),
    "partial": ("warn", WARN),
    "aborted": ("warn", WARN),
    "failed": ("bad", BAD),
    "interrupted": ("bad", BAD),
    "unreadable": ("bad", BAD),
    "running": ("arrow", ACCENT),
}


STATE_FROM = 132  # columns for state and verdict side by side
CHECKS_FROM = 104  # columns for the checks that made a run invalid, where there is no state
MARK = " "  # title of the verdict's symbol
CHANGE = "vs last"  # title of the change since the run before with the same setup
APART = "parameters"  # title of those in which runs of a profile differ
CHROME_LINES = 2  # top line and keys


class RowContext(Struct, frozen=True):
    """The runs with the same setup, and the parameters in which runs of a profile differ."""

    history: EarlierRuns
    apart: Mapping[str, str]


class RunList(PickList["RunSummary"]):
    """The list of runs; a run without figures has the reason in their place."""

    def row_line(self, row: RunSummary, rooms: Sequence[int], width: int, fill: str) -> Line:
        """Return the line of a run."""
        if not without_figures(row):
            return super().row_line(row, rooms, width, fill)
        order = ORDERS["headline"].key
        at = next(place for place, column in enumerate(self.columns) if column.order is order)
        line = table_line(self.columns[:at], rooms[:at], row, fill)
        room = width - 2 * int(self.scrolls) - line.width - self.columns[at].gap
        why = (" " * self.columns[at].gap + fit(fitting_note(row, room), room), TEXT)
        return Line.of(*line.runs, why, fill=fill)


class RunsScreen(FilteredScreen):
    """Lists the saved runs, each with its figures."""

    SCOPE = "runs"
    CSS_PATH = "runs.tcss"

    def __init__(self) -> None:
        super().__init__()
        self.runs: list[RunSummary] = []
        self.history = EarlierRuns()
        self.marked: list[str] = []
        self.apart: dict[str, str] = {}  # by run ID, in which parameters runs of a profile differ
        self.was_read = False
        self.columns: tuple[Column[RunSummary], ...] = ()
        self.cells = STATE_FROM  # width that the columns are chosen for
        self.wanted = Filter()
        self.problem_text = ""

    def compose_body(self) -> Iterable[Widget]:
        """Yield the list with its filter and a preview, or a note if there are no runs."""
        self.columns = columns(self.shell.symbols, self.marked, self.cells, lambda: self.around)
        picklist = RunList(self.columns, key_of, fits=True, id="runs-list")
        picklist.sort = next(
            column for column in picklist.columns if column.order is ORDERS["started"].key
        )
        picklist.add_class("pane", update=False)
        picklist.border_title = "Runs"
        with Vertical(id="runs-body"):
            yield picklist
            yield RunPreview(self.shell.paths.profiles, draws_colors=self.shell.draws_colors)
        yield Static("reading the runs", id="runs-empty", markup=False)
        yield FilterInput(
            "words, tag:NAME profile:TAG verdict:valid since:7d", "runs-filter", FILTER_HINT
        )

    @property
    def around(self) -> RowContext:
        """Data about the other runs, for the cells of a row."""
        return RowContext(self.history, self.apart)

    @property
    def preview(self) -> RunPreview:
        """The preview of the run under the cursor."""
        return self.query_one(RunPreview)

    @property
    def back(self) -> str:
        """Name of the screen that Escape leads to: the one that opened Runs, if known."""
        return self.shell.runs_from or super().back

    @property
    def run_at_hand(self) -> Path | None:
        """Directory of the run under the cursor; None without runs."""
        key = self.picklist.cursor_key
        return self.shell.paths.runs / key if key else None

    @property
    def summary_at_hand(self) -> RunSummary | None:
        """Summary of the run under the cursor; None without runs."""
        return next((run for run in self.runs if key_of(run) == self.picklist.cursor_key), None)

    # -- reading

    def on_mount(self) -> None:
        """Start the reload timer and focus the list."""
        self.set_interval(REREAD_S, lambda: self.is_current and self.load())
        self.picklist.focus()

    @on(events.ScreenResume)
    def read_again(self) -> None:
        """Reload the runs and the state of their profiles, because both may have changed."""
        self.preview.forget_profiles()
        self.find_run()
        self.load()

    def find_run(self) -> None:
        """Move the cursor, once, to the run that was watched last."""
        from tui.library.summary import summarize

        run_dir, self.shell.run_to_find = self.shell.run_to_find, None
        ours = run_dir is not None and run_dir.parent == self.shell.paths.runs
        run = summarize(run_dir, keep=False) if run_dir is not None and ours else None
        if run is not None:
            self.runs = [run, *(each for each in self.runs if key_of(each) != key_of(run))]
            self.show_rows()
            self.go_to(key_of(run))

    @on(run_commands.RunChanged)
    @work(exclusive=True, group="load", exit_on_error=False)
    async def load(self) -> None:
        """Read the saved runs in a thread."""
        try:
            listing = await asyncio.to_thread(lambda: self.shell.store.everything())
            runs, problem_text = listing.runs, "\n".join(map(str, listing.problems))
        except BenchtuiError as error:
            runs, problem_text = self.runs, str(error)
        if problem_text != self.problem_text and problem_text:
            self.notify(problem_text, severity="warning")
        self.problem_text = problem_text
        if runs != self.runs or not self.was_read:
            self.runs, self.was_read = runs, True
            self.show_rows()

    # -- showing

    @on(events.Resize)
    def room_changed(self) -> None:
        """Choose columns and preview by the new size; the order of rows stays."""
        self.preview.fit(self.size)
        self.share_room()
        if self.size.width == self.cells:
            return
        self.cells, sort = self.size.width, self.picklist.sort
        self.columns = columns(self.shell.symbols, self.marked, self.cells, lambda: self.around)
        if sort is not None:
            orders = (sort.order, ORDERS["started"].key)
            known = [each for order in orders for each in self.columns if each.order is order]
            self.picklist.sort = known[0]
        if self.was_read:
            self.show_rows()

    @on(events.DescendantFocus)
    @on(events.DescendantBlur)
    def share_room(self) -> None:
        """Keep the list no taller than its rows.

        The preview gets the rest, and more while focused.
        """
        room = self.size.height - CHROME_LINES
        share_height(self.picklist, room, self.preview.least_lines(room))

    def show_rows(self) -> None:
        """Show the runs that match the filter; an error in the filter is shown below the list."""
        text, problem = self.filter.value.strip(), ""
        self.history = self.preview.history = EarlierRuns(self.runs)
        try:
            self.wanted = parse(text)
        except UsageError as error:
            problem = str(error)
        shown = [run for run in self.runs if self.wanted(run)]
        change = partial(change_of, history=self.history, tight=self.cells < CHECKS_FROM)
        self.apart = told_apart(shown)
        empty = {title for title, text in OPTIONAL.items() if not any(map(text, shown))}
        empty |= set() if self.marked else {""}  # the letters of marks
        empty |= {CHANGE} if not any(change(run)[0] for run in shown) else set()
        empty |= set() if self.apart else {APART}
        self.picklist.columns = tuple(
            column for column in self.columns if column.title not in empty
        )
        self.picklist.set_rows(shown)
        self.share_room()
        self.query_one("#runs-body").display = bool(shown)
        useless = (
            {action.id for action in run_actions.RUNS} - WITHOUT_RUNS if not shown else set[str]()
        )
        self.query_one(KeyBar).leave_out(*useless, *(() if self.runs else ("runs.filter",)))
        of = f"{len(shown)} of " if text else ""
        count = f"{of}{len(self.runs)} run{'s' if len(self.runs) != 1 else ''}"
        self.picklist.border_subtitle = Content(f"{count}  {problem}".rstrip())
        notice = self.query_one("#runs-empty", Static)
        notice.display = not shown
        notice.update(
            f"{problem or f'No run matches {text}'}: Esc clears the filter" if self.runs else EMPTY
        )
        self.show_preview()

    @on(PickList.Moved)
    def show_preview(self) -> None:
        """Show the run under the cursor."""
        if (run := self.summary_at_hand) is not None and (run_dir := self.run_at_hand) is not None:
            self.preview.are_listed = partial(are_listed, self.picklist)
            self.preview.show_run(run, run_dir)

    def action_pane(self) -> None:
        """Move to the preview, which then shows the run in full, or back to the list."""
        if self.preview.has_focus:
            self.set_focus(self.picklist)
        elif self.picklist.rows:
            self.preview.add_class("-shown")
            self.preview.scroll_home(animate=False)
            self.call_after_refresh(self.set_focus, self.preview)

    def action_sort(self) -> None:
        """Sort by the next column."""
        super().action_sort()
        if self.picklist.sort is None:  # the store's order is by "started"
            super().action_sort()

    # -- opening and comparing

    def action_open(self) -> None:
        """Show the result of the run, or Live if it is running."""
        if (run := self.summary_at_hand) is not None and (run_dir := self.run_at_hand) is not None:
            (self.shell.open_live if run.state == "running" else self.shell.open_result)(run_dir)

    @on(PickList.Clicked)
    def open_clicked(self, event: PickList.Clicked) -> None:
        """Open a run on a double click."""
        if event.twice:
            self.action_open()

    def action_mark(self) -> None:
        """Mark or unmark the run under the cursor for comparison."""
        key, run = self.picklist.cursor_key, self.summary_at_hand
        if key in self.marked:
            self.marked.remove(key)
        elif run is not None and (why := why_not_compared(run)):
            self.notify(why, severity="warning")
            return
        elif key and len(self.marked) < len(MARKS):
            self.marked[:] = oldest_first([*self.marked, key], self.runs)
        self.show_rows()
        self.picklist.move(1)

    def action_compare(self) -> None:
        """Compare the marked runs with the oldest one of them.

        If one is marked, compare it with the run under the cursor.
        """
        chosen, run = oldest_first(self.marked, self.runs), self.summary_at_hand
        if len(chosen) == 1 and run is not None and (why := why_not_compared(run)):
            self.notify(why, severity="warning")
            return
        if len(chosen) < 2 and self.picklist.cursor_key:
            chosen = oldest_first({*chosen, self.picklist.cursor_key}, self.runs)
        if len(chosen) < 2:
            self.notify("mark two or more runs with Space, then press c", severity="warning")
            return
        self.shell.open("compare", *(self.shell.paths.runs / run_id for run_id in chosen))

    def action_report(self) -> None:
        """Ask for format and path, and write a report on the marked runs.

        If none is marked, report the run under the cursor.
        """
        chosen = oldest_first(self.marked, self.runs) or filter(None, [self.picklist.cursor_key])
        if run_dirs := [self.shell.paths.runs / key for key in chosen]:
            run_commands.report(self, *run_dirs)

    def action_import(self) -> None:
        """Ask for the path of results to import; if they are one run, show its result."""
        names: list[str] = []

        async def accept(text: str | None) -> None:
            if text:
                names[:] = await import_kept(self, text, self.shell.paths.runs)

        def show(text: str | None) -> None:
            if text:
                self.load()
            if len(names) == 1:
                self.shell.open_result(self.shell.paths.runs / names[0])

        dialog = LineDialog("Import", IMPORT_HELP, does="import")
        self.app.push_screen(dialog.accepting(accept), show)


def columns(
    symbols: Symbols, marked: Sequence[str], cells: int, around: Callable[[], RowContext]
) -> tuple[Column[RunSummary], ...]:
    """Return the columns of the list; `marked` runs have a letter in front.

    If the list is narrower than `STATE_FROM` cells, the verdict replaces the state, except for runs
    that are not complete. If it is narrower than `CHECKS_FROM`, the verdict's symbol has its own
    column, and its words give way to figures.
    """
    narrow, tight = cells < STATE_FROM, cells < CHECKS_FROM

    def letter(run: RunSummary) -> str:
        return MARKS[marked.index(key_of(run))] if key_of(run) in marked else ""

    def verdict(run: RunSummary) -> Run:
        told = run.not_as_sealed or (run.state == "complete" and run.verdict)
        return judged(run) if told else state(run)

    def judged(run: RunSummary) -> Run:
        if run.not_as_sealed:
            return f"{symbols.warn} {run.judged}", WARN
        symbol = {"valid": symbols.ok, "valid-with-warnings": symbols.warn}.get(
            run.shown_verdict or ""
        )
        return (
            (f"{symbol} {run.weakened_by or run.verdict}", JUDGED[run.shown_verdict])
            if symbol
            else state(run)
        )

    def state(run: RunSummary) -> Run:
        return state_of(run, symbols, cells)

    if tight:
        judgement = [
            Column(MARK, lambda run: (verdict(run)[0][:1], verdict(run)[1]), 1, gap=1),
            ordered_by("verdict", "verdict",
                lambda run: (verdict(run)[0][2:], verdict(run)[1]), least=8, wants=9, most=15,
                drop=4, gap=1),
        ]
    elif narrow:
        judgement = [ordered_by("verdict", "verdict", verdict, least=13, wants=26, most=28, gap=1)]
    else:
        judgement = [
            ordered_by("state", "state", state, least=13, most=13, gap=1),
            ordered_by("verdict", "verdict", verdict_of, least=14, wants=28, most=28, drop=1),
        ]
    return (
        Column("", letter, 1, role=ACCENT),
        *judgement,
        ordered_by("started", "start, UTC" if narrow else "started (UTC)",
            lambda run: started(run, around().history, brief=narrow), 14 if narrow else 16,
            role=LABEL, gap=1 if tight else 2, drop=1 if narrow else 0),
        ordered_by("profile", "profile", named, least=15, wants=18 if tight else 24, most=34),
        Column(APART, lambda run: around().apart.get(run.run_id, ""), least=12,
            wants=12 if tight else 24, most=40, drop=1),
        ordered_by("hosts", "hosts", lambda run: str(len(run.hosts) or units.UNKNOWN), 6,
            right=True, gap=1, drop=4 if narrow else 0),
        ordered_by("headline", "headline",
            lambda run: headline_run(run, with_state=tight), least=17, most=20, right=True),
        Column(CHANGE, lambda run: change_of(run, around().history, tight=tight), least=7, most=9,
            right=True, drop=3 if tight or not narrow else 2),
        ordered_by("p99", "p99", lambda run: units.latency(run.p99_ns), least=7, most=8,
            right=True, drop=2 if tight else 0),
        ordered_by("bandwidth", "bandwidth", bandwidth_of, least=10, most=10, right=True, drop=5),
        Column("over time", lambda run: over_time(run, symbols), SPARK_CELLS, role=ACCENT, drop=6),
        ordered_by("time", "took", lambda run: units.duration(run.duration_s), least=7, most=7,
            right=True, drop=4,
                   role=LABEL),
        ordered_by("title", "note", note_cell, least=14, wants=40, drop=5 if tight else 3),
        ordered_by("tags", "tags", lambda run: tags_text(run.tags), least=14, most=40, drop=7,
            role=LABEL),
        ordered_by("target", "target", lambda run: run.target, least=14, most=40, drop=8,
            role=LABEL),
    )  # fmt: skip


def state_of(run: RunSummary, symbols: Symbols, cells: int) -> Run:
    """Return the state of a run.

    For an invalid run, this is INVALID and, if `cells` allow, the first reason.

    `cells`: width of the list.
    """
    if run.verdict == "invalid":
        first = next((each.id for each in run.findings if each.severity == "error"), "")
        shown = first and CHECKS_FROM <= cells < STATE_FROM
        why = f": {name_of(first)}" if shown else ""
        return f"{symbols.bad} INVALID{why}", BAD
    symbol, role = STATE_CELLS.get(run.state, ("dot", LABEL))
    if run.state == "complete" and run.shown_verdict == "valid-with-warnings":
        symbol, role = STATE_CELLS["partial"]
    word = "FAILED" if run.state == "failed" else run.state
    return f"{getattr(symbols, symbol)} {word}", role


def started(run: RunSummary, history: EarlierRuns, *, brief: bool) -> str:
    """Return when a run started.

    `brief`: without the year or, for a run of an earlier year than the newest, without the time.
    """
    if not brief or not run.utc:
        return when(run.utc)
    return brief_time(run, history.newest_year)


def change_of(run: RunSummary, history: EarlierRuns, *, tight: bool) -> Run:
    """Return the change of the headline since the previous run with the same setup.

    `tight`: for an invalid run, return INVALID, because no other column has room for it.
    """
    if tight and run.verdict == "invalid":
        return "INVALID", BAD
    share = history.change(run)
    return units.share(share, 1, "+") if share is not None else "", TEXT


def ordered_by(order: str, *declared: Any, **options: Any) -> Column[RunSummary]:
    """Return a column that sorts the list by `order`."""
    column: Column[RunSummary] = Column(*declared, **options)
    return replace(column, order=ORDERS[order].key, falling=ORDERS[order].falling)


def named(run: RunSummary) -> list[Run]:
    """Return the profile of a run, after a mark if it is starred."""
    return [*([("* ", ACCENT)] if run.starred else []), (run.profile or run.run_id, BRIGHT)]


def headline_run(run: RunSummary, *, with_state: bool = False) -> Run:
    """Return the headline of a run, in its short form if there is one; dimmed for an invalid run.

    `with_state`: for a run without figures, its state.
    """
    if not run.headline:
        return (run.state, LABEL) if with_state else NO_FIGURE
    return run.headline_short or run.headline, LABEL if run.verdict == "invalid" else BRIGHT


def bandwidth_of(run: RunSummary) -> str:
    """Return the bandwidth of a run, unless the headline is a bandwidth."""
    return "" if run.headline_unit == "bytes_per_s" else units.bandwidth(run.bw_bytes_per_s)


def over_time(run: RunSummary, symbols: Symbols) -> str:
    """Return the IOPS over time as a sparkline.

    The mean is at half height: a steady run is a level line.
    """
    if all(value is None for value in run.iops_over_time):
        return ""
    length, points = len(run.iops_over_time), 2 * SPARK_CELLS
    stretched = [run.iops_over_time[at * length // points] for at in range(points)]
    top = twice_mean(run.iops_over_time)
    return spark(stretched, SPARK_CELLS, symbols.name, high=top).replace("\u2800", " ")


def verdict_of(run: RunSummary) -> Run:
    """Return the verdict of a run; for an invalid one, the checks that made it invalid."""
    invalid = run.verdict == "invalid" and not run.not_as_sealed
    return (run.weakened_by if invalid and run.weakened_by else run.judged), JUDGED[
        run.shown_verdict
    ]


def note_text(run: RunSummary) -> str:
    """Return problem, owner, title and last note of a run, separated by commas.

    For a failed run without a problem, the reason for the failure takes its place.
    """
    why = run.why if run.state == "failed" else ""
    return ", ".join(
        filter(None, (run.problem or why, run.owner and f"of {run.owner}", run.title, run.note))
    )


def are_listed(picklist: PickList[RunSummary], runs: Sequence[RunSummary]) -> bool:
    """Return whether a list shows these runs without scrolling."""
    rows = {each.run_id for each in picklist.rows if not isinstance(each, Heading)}
    return not picklist.scrolls and all(each.run_id in rows for each in runs)


def fitting_note(run: RunSummary, room: int) -> str:
    """Return why a run failed, without the host's name if it does not fit into `room` cells."""
    text = note_text(run)
    host, colon, rest = text.partition(": ")
    alone = colon and " " not in host and "; " not in rest  # the reason of one host only
    return rest if alone and width_of(text) > room else text


def without_figures(run: RunSummary) -> bool:
    """Return whether a run has a reason in place of figures: it failed, or cannot be read."""
    return run.state in ("failed", "unreadable") and not run.headline and bool(note_text(run))


def note_cell(run: RunSummary) -> str:
    """Return the note of a run; empty if the line has it in place of figures."""
    return "" if without_figures(run) else note_text(run)


# columns that are shown when a run has something there
OPTIONAL: dict[str, Callable[[RunSummary], object]] = {
    "note": note_cell,
    "tags": lambda run: run.tags,
    "target": lambda run: run.target,
}


def why_not_compared(run: RunSummary) -> str:
    """Return why a run cannot be compared; empty if it can."""
    return (
        f"nothing was measured in {run.run_id}: it cannot be compared"
        if run.state == "failed"
        else ""
    )


def key_of(run: RunSummary) -> str:
    """Return the row key of a run: its ID, or its directory if it is another user's."""
    return run.directory or run.run_id


JUDGED = {"valid": GOOD, "valid-with-warnings": WARN, "invalid": BAD, None: LABEL}
NO_FIGURE: Run = (units.UNKNOWN, LABEL)


def when(utc: str | None) -> str:
    """Return a time to the minute."""
    return utc.replace("T", " ")[:16] if utc else "–"


def oldest_first(keys: Iterable[str], runs: Iterable[RunSummary]) -> list[str]:
    """Return the keys of runs that are in the list, oldest run first.

    The other runs are compared with the first one.
    """
    begun = {key_of(run): run.utc or key_of(run) for run in runs}
    return sorted((key for key in keys if key in begun), key=begun.__getitem__)
