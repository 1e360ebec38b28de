"""Runs: rows, filter and preview of saved runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import zip_longest
from pathlib import Path
from string import ascii_uppercase
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from tui.app.frame.step_screen import FilteredScreen
from tui.app.terminal.theme import Symbols
from tui.library.summary import ORDERS, tags_text
from tui.metrics import units
from tui.model.plain import some_in
from tui.text.line import (
    ACCENT,
    BAD,
    BRIGHT,
    GOOD,
    LABEL,
    TEXT,
    TITLE,
    WARN,
    Line,
    Run,
    indented,
    labelled,
    padded,
    wrap,
)
from tui.text.sparkline import spark
from tui.text.table import Column

if TYPE_CHECKING:
    from tui.library.summary import RunSummary

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


def columns(symbols: Symbols, marked: Sequence[str], cells: int) -> tuple[Column[RunSummary], ...]:
    """Return the columns of the list; a run that is `marked` has its letter before everything else.

    Below `STATE_FROM` columns the verdict replaces the state; runs that are not complete still show their state.
    """
    narrow = cells < STATE_FROM

    def letter(run: RunSummary) -> str:
        return MARKS[marked.index(key_of(run))] if key_of(run) in marked else ""

    def verdict(run: RunSummary) -> Run:
        return judged(run) if run.state == "complete" and run.verdict else told(run)

    def judged(run: RunSummary) -> Run:
        if run.judged_since:
            return f"{symbols.warn} {run.judged}", WARN
        symbol = {"valid": symbols.ok, "valid-with-warnings": symbols.warn}.get(run.verdict or "")
        return (f"{symbol} {run.weakened_by or run.verdict}", JUDGED[run.verdict]) if symbol else told(run)

    def told(run: RunSummary) -> Run:
        symbol, role = STATE_CELLS.get(run.state, ("dot", LABEL))
        if run.verdict == "invalid":
            checks = run.weakened_by if CHECKS_FROM <= cells < STATE_FROM else ""
            return f"{symbols.bad} INVALID {checks}".rstrip(), BAD
        if run.state == "complete" and run.verdict == "valid-with-warnings":
            symbol, role = STATE_CELLS["partial"]
        return f"{getattr(symbols, symbol)} {run.state}", role

    cut = 0 if cells >= CHECKS_FROM else 2  # digits of the year that give way to the profile

    def started(run: RunSummary) -> str:
        return when(run.utc)[cut:] if run.utc else units.UNKNOWN

    if narrow:
        wants, most = (17, 28) if cells >= CHECKS_FROM else (13, 17)
        first = ordered_by("verdict", "verdict", verdict, least=13, wants=wants, most=most, gap=1)
        judgement = []
    else:
        first = ordered_by("state", "state", told, least=13, most=13, gap=1)
        judgement = [ordered_by("verdict", "verdict", verdict_of, least=14, wants=17, most=28, drop=1)]
    return (
        Column("", letter, 1, role=ACCENT),
        first,
        ordered_by("started", "started (UTC)", started, 16 - cut, role=LABEL, drop=1 if narrow else 0),
        ordered_by("profile", "profile", named, least=15, wants=17 if narrow else 22, most=34),
        ordered_by("hosts", "hosts", lambda run: str(len(run.hosts) or units.UNKNOWN), 6, right=True, gap=1,
                   drop=2 if narrow else 0),
        ordered_by("headline", "headline", headline_of, least=17, most=17, right=True),
        ordered_by("p99", "p99", lambda run: units.latency(run.p99_ns), least=7, most=8, right=True),
        ordered_by("bandwidth", "bandwidth", bandwidth_of, least=10, most=10, right=True, drop=5),
        Column("over time", lambda run: over_time(run, symbols), SPARK_CELLS, role=ACCENT, drop=6),
        *judgement,
        ordered_by("time", "took", lambda run: units.duration(run.duration_s), least=7, most=7, right=True, drop=4,
                   role=LABEL),
        ordered_by("title", "note", said_of, least=14, drop=3),
        ordered_by("tags", "tags", lambda run: tags_text(run.tags), least=14, most=40, drop=7, role=LABEL),
        ordered_by("target", "target", lambda run: run.target, least=14, most=40, drop=8, role=LABEL),
    )  # fmt: skip


def ordered_by(order: str, *declared: Any, **options: Any) -> Column[RunSummary]:
    """Return a column that the list can be sorted by."""
    column: Column[RunSummary] = Column(*declared, **options)
    return replace(column, order=ORDERS[order].key, falling=ORDERS[order].falling)


def named(run: RunSummary) -> list[Run]:
    """Return the profile of a run, behind its star."""
    return [*([("* ", ACCENT)] if run.starred else []), (run.profile or run.run_id, BRIGHT)]


def headline_of(run: RunSummary) -> Run:
    """Return the figure of a run, in few words where it has such."""
    return (run.headline_short or run.headline, BRIGHT) if run.headline else NO_FIGURE


def bandwidth_of(run: RunSummary) -> str:
    """Return the bandwidth beside a figure that is none itself."""
    return "" if run.headline_unit == "bytes_per_s" else units.bandwidth(run.bw_bytes_per_s)


def over_time(run: RunSummary, symbols: Symbols) -> str:
    """Return the throughput over time around its own mean, which is at half height: a steady run is a level line."""
    values = [value for value in run.iops_over_time if value is not None]
    if not values:
        return ""
    length, points = len(run.iops_over_time), 2 * SPARK_CELLS
    stretched = [run.iops_over_time[at * length // points] for at in range(points)]
    return spark(stretched, SPARK_CELLS, symbols.name, high=2 * sum(values) / len(values)).replace("\u2800", " ")


def verdict_of(run: RunSummary) -> Run:
    """Return how a run is judged; of an invalid one by which checks, for its state says the rest."""
    invalid = run.verdict == "invalid" and not run.judged_since
    return (run.weakened_by if invalid and run.weakened_by else run.judged), JUDGED[run.verdict]


def said_of(run: RunSummary) -> str:
    """Return what people said of a run, whose it is, and why it cannot be read."""
    return ", ".join(filter(None, (run.problem, run.owner and f"of {run.owner}", run.title, run.note)))


OPTIONAL: dict[str, Callable[[RunSummary], object]] = {  # columns that are shown when a run has something there
    "note": said_of,
    "tags": lambda run: run.tags,
    "target": lambda run: run.target,
}


def why_not_compared(run: RunSummary) -> str:
    """Return why a run has nothing to be compared; empty when it may have."""
    return f"nothing was measured in {run.run_id}: it cannot be compared" if run.state == "failed" else ""


def with_run(runs: Sequence[RunSummary], run: RunSummary) -> list[RunSummary]:
    """Return the runs with a newer summary of one of them, or with a run that is new."""
    return [run, *(each for each in runs if key_of(each) != key_of(run))]


def key_of(run: RunSummary) -> str:
    """Return what tells a run from the others: its id, of somebody else's its directory."""
    return run.directory or run.run_id


JUDGED = {"valid": GOOD, "valid-with-warnings": WARN, "invalid": BAD, None: LABEL}
NO_FIGURE: Run = (units.UNKNOWN, LABEL)


def when(utc: str | None) -> str:
    """Return a time to the minute."""
    return utc.replace("T", " ")[:16] if utc else "–"


class RunListScreen(FilteredScreen):
    """A screen that lists runs."""

    def __init__(self) -> None:
        super().__init__()
        self.runs: list[RunSummary] = []

    @property
    def run_at_hand(self) -> Path | None:
        """The directory of the run under the cursor."""
        key = self.picklist.cursor_key
        return self.shell.paths.runs / key if key else None

    @property
    def summary_at_hand(self) -> RunSummary | None:
        """What the list knows of the run under the cursor."""
        return next((run for run in self.runs if key_of(run) == self.picklist.cursor_key), None)

    def state_of(self, run_dir: Path) -> str:
        """Return the state a run had when the list was read."""
        found = (run.state for run in self.runs if self.shell.paths.runs / key_of(run) == run_dir)
        return next(found, "")

    def find_run(self) -> None:
        """Put the cursor on the run that was watched last, once: keys that follow are about it."""
        from tui.library.summary import summarize

        run_dir, self.shell.run_to_find = self.shell.run_to_find, None
        ours = run_dir is not None and run_dir.parent == self.shell.paths.runs
        run = summarize(run_dir, keep=False) if run_dir is not None and ours else None
        if run is not None:
            self.runs = with_run(self.runs, run)
            self.show_rows()
            self.go_to(key_of(run))

    @property
    def back(self) -> str:
        """The screen that Runs was called from."""
        return self.shell.runs_from or super().back


FINDINGS_SHOWN, NOTES_SHOWN, HOSTS_SHOWN = 3, 3, 4
GUTTER = 3  # between the two halves
LEAST_FOR_TWO = 90  # cells; in fewer one half stands below the other
ROLES = {"error": BAD, "warning": WARN, "info": LABEL}
VERDICTS: dict[str | None, Run] = {
    "valid": ("valid", GOOD),
    "valid-with-warnings": ("valid with warnings", WARN),
    "invalid": ("INVALID", BAD),
    None: ("not judged", LABEL),
}
LABEL_CELLS = 8


def preview(
    run: RunSummary, changed: Mapping[str, str], width: int, *, whole: bool = False, short: bool = False
) -> list[Line]:
    """Return what is most worth knowing of a run, in lines of `width` cells: what it is, beside what is doubtful.

    `changed` are the parameters that are not as in its profile. `whole`: every finding, note and host. `short`: few
    lines are in sight, so what the list tells has one.
    """
    half = (width - GUTTER) // 2 if width >= LEAST_FOR_TWO else width
    head = _brief_head(run, half) if short and not whole else _head(run, half)
    facts = _facts(run, changed, half, whole)
    doubts, notes = _findings(run, half, whole), _notes(run, half, whole)
    if half == width:
        return [*head, *doubts, *notes, *facts]
    pairs = zip_longest([*head, *facts], [*doubts, *notes], fillvalue=Line())
    return [Line.of(*padded(one.runs, half + GUTTER), *other.runs) for one, other in pairs]


def says_more(run: RunSummary) -> bool:
    """Whether there is something beside the facts of a run: what is doubtful, or remarks."""
    return bool(run.notes) or any(each.severity != "info" for each in run.findings)


def _brief_head(run: RunSummary, width: int) -> Iterator[Line]:
    star: list[Run] = [("* ", ACCENT)] if run.starred else []
    called: Run = (run.title or run.profile or run.run_id, TITLE)
    figure: Run = (run.headline or "no headline", BRIGHT if run.headline else LABEL)
    for part in wrap([*star, called, ("  ", TEXT), figure], width):
        yield Line.of(*part)
    yield from _judgement(run, width)


def _head(run: RunSummary, width: int) -> Iterator[Line]:
    star: list[Run] = [("* ", ACCENT)] if run.starred else []
    for part in wrap([*star, (run.title or run.profile or run.run_id, TITLE)], width):
        yield Line.of(*part)
    for part in wrap([(run.headline or "no headline", BRIGHT if run.headline else LABEL)], width):
        yield Line.of(*part)
    yield from _judgement(run, width)


def _judgement(run: RunSummary, width: int) -> Iterator[Line]:
    yield Line.of(VERDICTS[run.verdict], ("  ", TEXT), (run.state, LABEL))
    if run.judged_since:
        yield from indented([("NOT the verdict that was sealed, see runs verify", WARN)], width, 0)
    if said := run.problem or run.reason:
        yield from indented([(said, WARN)], width, 0)


def _facts(run: RunSummary, changed: Mapping[str, str], width: int, whole: bool) -> Iterator[Line]:
    facts = {
        "profile": run.profile if run.title else "",
        "changed": " ".join(f"{name}={value}" for name, value in changed.items()),
        "target": run.target,
        "hosts": ", ".join(run.hosts) if whole else some_in(run.hosts, width - LABEL_CELLS, HOSTS_SHOWN),
        "took": units.duration(run.duration_s) if run.duration_s is not None else "",
        "tags": tags_text(run.tags),
        "owner": run.owner,
        "id": run.run_id,
    }
    for name, text in facts.items():
        if text:
            yield from labelled([(name.ljust(LABEL_CELLS), LABEL)], [(text, TEXT)], width)


def _findings(run: RunSummary, width: int, whole: bool) -> Iterator[Line]:
    found = [each for each in run.findings if each.severity != "info"]
    found.sort(key=lambda each: each.severity != "error")
    shown = found if whole else found[:FINDINGS_SHOWN]
    for each in shown:
        yield from indented([(each.id, ROLES.get(each.severity, LABEL)), (f" {each.message}", TEXT)], width, 0)
    if len(found) > len(shown):
        yield Line.of((f"and {len(found) - len(shown)} more", LABEL))


def _notes(run: RunSummary, width: int, whole: bool) -> Iterator[Line]:
    for note in run.notes if whole else run.notes[-NOTES_SHOWN:]:
        yield from labelled([("note".ljust(LABEL_CELLS), LABEL)], [(note, TEXT)], width)
