"""Runs as rows of a list; pure functions of what the store knows of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from string import ascii_uppercase
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from tui.app.terminal.theme import Symbols
from tui.metrics import units
from tui.results.store.marks import tags_text
from tui.results.store.order import ORDERS
from tui.text.line import ACCENT, BAD, BRIGHT, GOOD, LABEL, WARN, Run
from tui.text.table import Column

if TYPE_CHECKING:
    from tui.results.store.summary import RunSummary

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


def columns(symbols: Symbols, marked: Sequence[str], *, narrow: bool = False) -> tuple[Column[RunSummary], ...]:
    """Return the columns of the list; a run that is `marked` has its letter before everything else.

    A `narrow` list has the verdict in place of the state, which is told where a run was not measured whole.
    """

    def letter(run: RunSummary) -> str:
        return MARKS[marked.index(key_of(run))] if key_of(run) in marked else ""

    def verdict(run: RunSummary) -> Run:
        return judged(run) if run.state == "complete" and run.verdict else told(run)

    def judged(run: RunSummary) -> Run:
        symbol = {"valid": symbols.ok, "valid-with-warnings": symbols.warn}.get(run.verdict or "")
        return (f"{symbol} {run.weakened_by or run.verdict}", JUDGED[run.verdict]) if symbol else told(run)

    def told(run: RunSummary) -> Run:
        symbol, role = STATE_CELLS.get(run.state, ("dot", LABEL))
        if run.verdict == "invalid":
            return f"{symbols.bad} INVALID", BAD
        if run.state == "complete" and run.verdict == "valid-with-warnings":
            symbol, role = STATE_CELLS["partial"]
        return f"{getattr(symbols, symbol)} {run.state}", role

    if narrow:
        first = ordered_by("verdict", "verdict", verdict, least=13, wants=13, most=17, gap=1)
        judgement = []
    else:
        first = ordered_by("state", "state", told, least=13, most=13, gap=1)
        judgement = [ordered_by("verdict", "verdict", verdict_of, least=14, wants=17, most=28, drop=1)]
    return (
        Column("", letter, 1, role=ACCENT),
        first,
        ordered_by("started", "started (UTC)", lambda run: when(run.utc), 16, role=LABEL, drop=1 if narrow else 0),
        ordered_by("profile", "profile", named, least=15, wants=17 if narrow else 22, most=34),
        ordered_by("hosts", "hosts", lambda run: str(len(run.hosts) or units.UNKNOWN), 6, right=True, gap=1),
        ordered_by("headline", "headline", headline_of, least=17, most=17, right=True),
        *judgement,
        ordered_by("time", "took", lambda run: units.duration(run.duration_s), least=7, most=7, right=True, drop=2,
                   role=LABEL),
        ordered_by("title", "note", said_of, least=14, drop=3),
        ordered_by("tags", "tags", lambda run: tags_text(run.tags), least=14, most=40, drop=4, role=LABEL),
        ordered_by("target", "target", lambda run: run.target, least=14, most=40, drop=5, role=LABEL),
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


def verdict_of(run: RunSummary) -> Run:
    """Return how a run is judged; of an invalid one by which checks, for its state says the rest."""
    invalid = run.verdict == "invalid"
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
