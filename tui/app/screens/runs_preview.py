"""The preview on Runs: facts and findings of the run under the cursor, charts if they fit."""

from __future__ import annotations

import asyncio
import importlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice, zip_longest
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct
from textual import work
from textual.geometry import Size

from tui.app.widgets.lines import TextPane
from tui.judge.wording import message_of
from tui.library.history import EarlierRuns
from tui.library.summary import RunSummary, tags_text
from tui.metrics import units
from tui.model.plain import some, some_in
from tui.text.comparison_texts import NOT_AS_SEALED
from tui.text.line import (
    ACCENT,
    BAD,
    BRIGHT,
    GOOD,
    LABEL,
    SEVERITY_MARKS,
    TEXT,
    TITLE,
    WARN,
    Line,
    Run,
    beside,
    indented,
    labelled,
    packed,
    padded,
    paired,
    width_of,
    wrap,
)
from tui.text.names import ranges_of
from tui.text.search import caveat_text
from tui.text.sparkline import trace
from tui.text.table import Column, text_table

if TYPE_CHECKING:
    from tui.app.screens.result_page import Page

SHOWN_FROM = (72, 22)  # columns and rows of the terminal
ROOMY_FROM = (100, 32)  # with room for more of the run under the cursor
LARGE_FROM = (180, 44)  # with room for what it measured as well, beside it
FACTS_CELLS = 72
LEAST_LINES = 8
SHARE, FOCUS_SHARE = 1 / 3, 0.6  # of the lines
LEAST_ROWS, MOST_ROWS = 2, 4  # of the throughput below the facts
START, END = "start", "end"
RESTS_S = 0.15  # delay while the cursor moves


class Planned(Struct, frozen=True):
    """Changed parameters of a run, and the later edits to its profile."""

    changed: Mapping[str, str] = {}
    edited: Sequence[str] = ()


class Measured(Struct, frozen=True):
    """A run whose record was read for the preview.

    `page` is None if there is no record, a very large one, or nothing was measured.
    """

    run_dir: Path
    run: RunSummary
    page: Page | None


def rate_lines(run: RunSummary, width: int, height: int) -> list[Line]:
    """Return a graph of the IOPS over time in at most `height` lines.

    Its axis starts at the minimum. Empty without samples or room, or if all samples are equal.
    """
    values = [value for value in run.iops_over_time if value is not None]
    gap = [Line()] if height > LEAST_ROWS + 1 else []
    rows = min(height - len(gap) - 1, MOST_ROWS)  # the axis is below
    if not values or rows < LEAST_ROWS or min(values) == max(values):
        return []
    low, high = min(values), max(values)
    top, bottom = f"{units.iops(high)} ", f"{units.iops(low)} "
    top = top.rjust(len(bottom))
    cells = width - LABEL_CELLS - len(top)
    points = [
        run.iops_over_time[at * len(run.iops_over_time) // (2 * cells)] for at in range(2 * cells)
    ]
    drawn = trace(points, cells, rows, low, high)
    labels = [top, *[" " * len(top)] * (rows - 2), bottom.rjust(len(top))]
    name = "IOPS".ljust(LABEL_CELLS)
    note = f"axis starts at {units.iops(low)}".center(cells - len(START) - len(END))
    return [
        *gap,
        *(
            Line.of((name if not row else " " * LABEL_CELLS, LABEL), (label, LABEL), (text, "read"))
            for row, (label, text) in enumerate(zip(labels, drawn, strict=True))
        ),
        Line.of((f"{'':{width - cells}}{START}{note}{END}", LABEL)),
    ]


class RunPreview(TextPane):
    """Shows one run.

    Hidden on small terminals, unless it has the focus; then it shows the run in full.
    """

    def __init__(self, profiles: Path, *, draws_colors: bool) -> None:
        super().__init__(id="runs-preview")
        self.more, self.fills = "Tab scrolls", True
        self.draws_colors = draws_colors
        self.terminal = Size(0, 0)
        self.shown: tuple[RunSummary, Path] | None = None
        self.history = EarlierRuns()
        # whether the list shows these runs without scrolling
        self.are_listed: Callable[[Sequence[RunSummary]], bool] = lambda _: False
        self.profiles = profiles
        self.planned: dict[Path, Planned] = {}
        self.measured: Measured | None = None

    def fit(self, terminal: Size) -> None:
        """Adapt to the size of the terminal."""
        self.terminal = terminal
        self.set_class(self.has_room(SHOWN_FROM) or self.has_focus, "-shown")
        self.set_class(self.has_room(ROOMY_FROM), "-roomy")
        self.set_class(self.has_room(LARGE_FROM), "-large")

    def has_room(self, least: tuple[int, int]) -> bool:
        """Return whether the terminal has at least these columns and rows."""
        return self.terminal.width >= least[0] and self.terminal.height >= least[1]

    def least_lines(self, room: int) -> int:
        """Return how many of `room` lines the list must leave; 0 if the preview is hidden."""
        if not self.has_class("-shown") and not self.has_focus:
            return 0
        share = FOCUS_SHARE if self.has_focus or self.has_room(LARGE_FROM) else SHARE
        return max(LEAST_LINES, round(room * share))

    def watch_has_focus(self, has_focus: bool) -> None:
        """Show the run in full while it has the focus."""
        super().watch_has_focus(has_focus)
        self.call_after_refresh(self.focus_moved)

    def focus_moved(self) -> None:
        """Adapt to gaining or losing the focus."""
        self.fit(self.terminal)
        if self.shown is not None:
            self.show_run(*self.shown)

    def show_run(self, run: RunSummary, run_dir: Path) -> None:
        """Show a run. Details from its record are added once they are read."""
        self.shown = run, run_dir
        if run_dir not in self.planned and self.has_class("-shown"):
            self.read_planned(run_dir)
        read = self.measured
        if self.has_room(ROOMY_FROM) and (
            read is None or (read.run_dir, read.run) != (run_dir, run)
        ):
            self.read_measured(run, run_dir)
        self.show(partial(self.run_lines, run, run_dir))

    def run_lines(self, run: RunSummary, run_dir: Path, width: int) -> list[Line]:
        """Return the facts of a run, with all findings and notes if they fit.

        Once the record has been read, charts that fit are beside the facts or, if the run has
        notes, warnings or errors, below them.
        """
        roomy, large, read = self.has_room(ROOMY_FROM), self.has_room(LARGE_FROM), self.measured
        height = self.size.height
        earlier = self.history.earlier(run) if self.history.change(run) is not None else ()
        facts = partial(
            preview,
            run,
            Around(self.planned.get(run_dir, Planned()), earlier),
            whole=self.has_focus,
            short=not roomy,
        )
        every = facts(width, every=True)
        lines = every if len(every) <= height else facts(width)
        if not roomy:
            return [*lines, *rate_lines(run, width, height - len(lines))]
        if read is None or read.page is None or read.run_dir != run_dir:
            return lines
        from tui.app.screens.runs_result import course_lines, measured_lines, row_lines

        if says_more(run) and not large:
            charts = row_lines(read.page, width, height - len(lines) - 1)
            return [*lines, Line(), *charts] if charts else lines
        at = (FACTS_CELLS if large else width // 2) + GUTTER
        charts = (measured_lines if large else course_lines)(read.page, width - at, height)
        if not charts:
            return lines
        every = facts(at - GUTTER, every=True)
        said = every if len(every) <= height else facts(at - GUTTER)
        if not self.are_listed(earlier):
            said += earlier_lines(run, earlier, at - GUTTER, height - len(said))
        return beside(said, charts, at)

    @work(exclusive=True, group="measured", exit_on_error=False)
    async def read_measured(self, run: RunSummary, run_dir: Path) -> None:
        """Read a run's record, once the cursor rests on it, and show it."""
        await asyncio.sleep(RESTS_S)
        self.measured = Measured(
            run_dir, run, await asyncio.to_thread(page_of, run_dir, colors=self.draws_colors)
        )
        self.show_read(run_dir)

    @work(exclusive=True, group="planned", exit_on_error=False)
    async def read_planned(self, run_dir: Path) -> None:
        """Read the changed parameters of a run and later edits to its profile, and show them."""
        self.planned[run_dir] = await asyncio.to_thread(planned, run_dir, self.profiles)
        self.show_read(run_dir)

    def forget_profiles(self) -> None:
        """Look for edits again, because the profiles may have changed."""
        self.planned.clear()
        if self.shown is not None:
            self.show_run(*self.shown)

    def show_read(self, run_dir: Path) -> None:
        """Show a run with the details just read, unless another run is shown now."""
        if self.shown is not None and self.shown[1] == run_dir:
            self.show_run(*self.shown)


def planned(run_dir: Path, profiles: Path) -> Planned:
    """Return the parameters that a run changed, and those edited in its profile since. Reads files.

    `profiles`: the folder of the user's own.
    """
    from tui.engine.inputs.edits import edited_since
    from tui.library.plan_head import plan_head

    head = plan_head(run_dir)
    return Planned(head.changed, edited_since(head.texts, profiles))


def page_of(run_dir: Path, *, colors: bool) -> Page | None:
    """Import the chart library, and return the page of a run. Slow, so call it in a thread.

    None if there is no record, a very large one, or nothing was measured.
    """
    importlib.import_module("plotext")  # its first import takes a while
    from tui.app.screens.runs_result import read_page

    return read_page(run_dir, colors=colors)


EARLIER_HEAD, LEAST_EARLIER = 3, 2  # lines above the earlier runs; rows
FINDINGS_SHOWN, NOTES_SHOWN, HOSTS_SHOWN = 3, 3, 4
GUTTER = 3  # cells between the two halves
LEAST_FOR_TWO = 90  # cells; with fewer, one half is below the other
VERDICTS: dict[str | None, Run] = {
    "valid": ("valid", GOOD),
    "valid-with-warnings": ("valid with warnings", WARN),
    "invalid": ("INVALID", BAD),
    None: ("not judged", LABEL),
}
LABEL_CELLS = 9


class Around(Struct, frozen=True):
    """Plan of a run, and the earlier runs with the same setup."""

    planned: Planned = Planned()
    earlier: Sequence[RunSummary] = ()


def preview(
    run: RunSummary,
    around: Around,
    width: int,
    *,
    whole: bool = False,
    every: bool = False,
    short: bool = False,
) -> list[Line]:
    """Return the most important facts of a run, with findings and notes beside them.

    `every`: all findings and notes. `whole`: all hosts too. `short`: a single line for the facts
    that the list shows already.
    """
    half = (width - GUTTER) // 2 if width >= LEAST_FOR_TWO else width
    if short and not whole:
        head, facts = (
            _brief_head(run, around.earlier, half),
            _brief_facts(run, around.planned, half),
        )
    else:
        head, facts = _head(run, around.earlier, half), _facts(run, around.planned, half, whole)
    doubts, notes = _findings(run, half, whole or every), _notes(run, half, whole or every)
    if half == width:
        return [*head, *doubts, *notes, *facts]
    pairs = zip_longest([*head, *facts], [*doubts, *notes], fillvalue=Line())
    return [Line.of(*padded(one.runs, half + GUTTER), *other.runs) for one, other in pairs]


def says_more(run: RunSummary) -> bool:
    """Return whether a run has notes, warnings or errors."""
    return bool(run.notes) or any(each.severity != "info" for each in run.findings)


def _brief_head(run: RunSummary, earlier: Sequence[RunSummary], width: int) -> Iterator[Line]:
    star: list[Run] = [("* ", ACCENT)] if run.starred else []
    called: Run = (run.title or run.profile or run.run_id, TITLE)
    judged = [] if _is_said(run) else [[VERDICTS[run.verdict]]]
    yield from packed([[*star, called], *islice(_figures(run), 2), *judged], width)
    yield from _change(run, earlier, width)
    yield from _judgement(run, width)


def _figures(run: RunSummary) -> Iterator[list[Run]]:
    """Yield the headline, and p99 and bandwidth unless they are the headline."""
    yield [(run.headline or "no headline", TITLE if run.headline else LABEL)]
    if run.p99_ns is not None and " p99 " not in run.headline:
        yield [("p99 latency ", LABEL), (units.latency(run.p99_ns), BRIGHT)]
    if run.bw_bytes_per_s is not None and run.headline_unit != "bytes_per_s":
        yield [("bandwidth ", LABEL), (units.bandwidth(run.bw_bytes_per_s), BRIGHT)]


def _change(run: RunSummary, earlier: Sequence[RunSummary], width: int) -> Iterator[Line]:
    """Yield the change of the headline since the previous run."""
    if not earlier:
        return
    when = brief_time(earlier[0], stamp(run))
    said: list[Run] = [
        (share_text(run, earlier[0]), BRIGHT),
        (f" vs the same setup, {when} ({earlier[0].headline})", LABEL),
    ]
    for part in wrap(said, width):
        yield Line.of(*part)


def earlier_lines(
    run: RunSummary, earlier: Sequence[RunSummary], width: int, height: int
) -> list[Line]:
    """Return the runs with the same setup, newest first, in at most `height` lines.

    Empty if fewer than two of them fit.
    """
    rows = [run, *earlier][: height - EARLIER_HEAD]
    if len(rows) < LEAST_EARLIER:
        return []
    before = dict(zip([each.run_id for each in rows], [*earlier, None][: len(rows)], strict=True))
    columns = [
        Column[RunSummary]("start, UTC", lambda each: (brief_time(each, stamp(run)), LABEL)),
        Column[RunSummary](
            "headline", lambda each: (each.headline, BRIGHT if each is run else TEXT), right=True
        ),
        Column[RunSummary](
            "change", lambda each: share_text(each, before[each.run_id]), right=True
        ),
        Column[RunSummary]("note", lambda each: (each.title or each.note, LABEL), least=8),
    ]
    table = text_table(columns, rows, width)
    return [Line(), Line.of(("Same profile, parameters, hosts and target", TITLE)), *table]


def share_text(run: RunSummary, before: RunSummary | None) -> str:
    """Return the change of the headline since another run; empty without one."""
    if before is None or not before.headline_value:
        return ""
    return units.share((run.headline_value or 0.0) / before.headline_value - 1, 1, "+")


def brief_time(run: RunSummary, year: str) -> str:
    """Return when a run started: without the year if it is `year`, otherwise only the date."""
    found = stamp(run)
    return found[5:] if found[:4] == year[:4] else found[:10]


def stamp(run: RunSummary) -> str:
    """Return when a run started, to the minute."""
    return (run.utc or run.run_id).replace("T", " ")[:16]


def _head(run: RunSummary, earlier: Sequence[RunSummary], width: int) -> Iterator[Line]:
    star: list[Run] = [("* ", ACCENT)] if run.starred else []
    starred = ("  starred" if run.starred else "", LABEL)
    for part in wrap([*star, (run.title or run.profile or run.run_id, TITLE), starred], width):
        yield Line.of(*part)
    yield from packed(_figures(run), width)
    yield from _change(run, earlier, width)
    yield from _judgement(run, width)


def _judgement(run: RunSummary, width: int) -> Iterator[Line]:
    verdict, role = VERDICTS[run.verdict]
    if run.caveats and run.verdict not in ("invalid", None):
        verdict, role = f"{verdict}, but {', '.join(map(caveat_text, run.caveats))}", WARN
    state = [] if run.state == "complete" else [(f", {run.state}", LABEL)]
    if _is_said(run):
        for part in wrap([(verdict, role), *state], width):
            yield Line.of(*part)
    if run.not_as_sealed:
        yield from indented([(NOT_AS_SEALED, WARN)], width, 0)
    if why := run.problem or run.why:
        yield from indented([(why, WARN)], width, 0)


def _is_said(run: RunSummary) -> bool:
    """Return whether the verdict has a line of its own.

    It has none if the run is complete and plainly valid.
    """
    return run.state != "complete" or run.verdict != "valid" or bool(run.caveats)


def _facts(run: RunSummary, planned: Planned, width: int, whole: bool) -> Iterator[Line]:
    for name, text in _named_facts(run, planned, width, whole).items():
        yield from labelled([(name.ljust(LABEL_CELLS), LABEL)], [(text, TEXT)], width)


def _brief_facts(run: RunSummary, planned: Planned, width: int) -> Iterator[Line]:
    """Yield the facts, two short ones per line, without the ID, which the full preview shows."""
    facts = _named_facts(run, planned, width, False)
    facts.pop("id")
    yield from paired(((name, (text, TEXT)) for name, text in facts.items()), width, GUTTER)


def _named_facts(run: RunSummary, planned: Planned, width: int, whole: bool) -> dict[str, str]:
    edited = f"edited since: {some(planned.edited)}" if planned.edited else ""
    facts = {
        "profile": ", ".join(filter(None, (run.profile if run.title or edited else "", edited))),
        "changed": " ".join(f"{name}={value}" for name, value in planned.changed.items()),
        "target": run.target,
        "started": f"{stamp(run)} UTC" if run.utc else "",
        "took": units.duration(run.duration_s) if run.duration_s is not None else "",
        "tags": tags_text(run.tags),
        "owner": run.owner,
        "hosts": hosts_text(run.hosts, width - LABEL_CELLS, whole=whole),
        "id": run.run_id,
    }
    return {name: text for name, text in facts.items() if text}


def hosts_text(hosts: Sequence[str], width: int, *, whole: bool) -> str:
    """Return hosts as ranges; if `width` cells are too few and not `whole`, the first few names."""
    text = ranges_of(hosts)
    return text if whole or width_of(text) <= width else some_in(hosts, width, HOSTS_SHOWN)


def _findings(run: RunSummary, width: int, whole: bool) -> Iterator[Line]:
    found = [each for each in run.findings if each.severity != "info"]
    found.sort(key=lambda each: each.severity != "error")
    points: dict[tuple[str, str], dict[str, None]] = {}
    for each in found:
        about = points.setdefault((each.severity, message_of(each)), {})
        about.update(dict.fromkeys(each.points))
    shown = list(points.items())[: len(points) if whole else FINDINGS_SHOWN]
    for (severity, message), about in shown:
        mark, role = SEVERITY_MARKS[severity]
        at = f" ({some(about)})" if about else ""
        yield from labelled([(f"{mark} ", role)], [(f"{message}{at}", TEXT)], width)
    if len(points) > len(shown):
        yield Line.of((f"and {len(points) - len(shown)} more", LABEL))


def _notes(run: RunSummary, width: int, whole: bool) -> Iterator[Line]:
    for note in run.notes if whole else run.notes[-NOTES_SHOWN:]:
        yield from labelled([("note".ljust(LABEL_CELLS), LABEL)], [(note, TEXT)], width)
