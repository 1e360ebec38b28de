"""Runs: the columns of the list, and the order of marked runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from string import ascii_uppercase
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from tui.app.terminal.theme import Symbols
from tui.library.summary import ORDERS, tags_text
from tui.metrics import units
from tui.text.line import (
    ACCENT,
    BAD,
    BRIGHT,
    GOOD,
    LABEL,
    WARN,
    Run,
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

    Below `STATE_FROM` columns the verdict replaces the state; runs that are not complete still show
    their state.
    """
    narrow = cells < STATE_FROM

    def letter(run: RunSummary) -> str:
        return MARKS[marked.index(key_of(run))] if key_of(run) in marked else ""

    def verdict(run: RunSummary) -> Run:
        return judged(run) if run.state == "complete" and run.verdict else state(run)

    def judged(run: RunSummary) -> Run:
        if run.judged_since:
            return f"{symbols.warn} {run.judged}", WARN
        symbol = {"valid": symbols.ok, "valid-with-warnings": symbols.warn}.get(run.verdict or "")
        return (
            (f"{symbol} {run.weakened_by or run.verdict}", JUDGED[run.verdict])
            if symbol
            else state(run)
        )

    def state(run: RunSummary) -> Run:
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
        first = ordered_by("state", "state", state, least=13, most=13, gap=1)
        judgement = [
            ordered_by("verdict", "verdict", verdict_of, least=14, wants=17, most=28, drop=1)
        ]
    return (
        Column("", letter, 1, role=ACCENT),
        first,
        ordered_by("started", "started (UTC)", started, 16 - cut, role=LABEL,
            drop=1 if narrow else 0),
        ordered_by("profile", "profile", named, least=15, wants=17 if narrow else 22, most=34),
        ordered_by("hosts", "hosts", lambda run: str(len(run.hosts) or units.UNKNOWN), 6,
            right=True, gap=1,
                   drop=2 if narrow else 0),
        ordered_by("headline", "headline", headline_of, least=17, most=17, right=True),
        ordered_by("p99", "p99", lambda run: units.latency(run.p99_ns), least=7, most=8,
            right=True),
        ordered_by("bandwidth", "bandwidth", bandwidth_of, least=10, most=10, right=True, drop=5),
        Column("over time", lambda run: over_time(run, symbols), SPARK_CELLS, role=ACCENT, drop=6),
        *judgement,
        ordered_by("time", "took", lambda run: units.duration(run.duration_s), least=7, most=7,
            right=True, drop=4,
                   role=LABEL),
        ordered_by("title", "note", note_text, least=14, drop=3),
        ordered_by("tags", "tags", lambda run: tags_text(run.tags), least=14, most=40, drop=7,
            role=LABEL),
        ordered_by("target", "target", lambda run: run.target, least=14, most=40, drop=8,
            role=LABEL),
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
    """Return the throughput over time around its own mean, which is at half height: a steady run is
    a level line.
    """
    values = [value for value in run.iops_over_time if value is not None]
    if not values:
        return ""
    length, points = len(run.iops_over_time), 2 * SPARK_CELLS
    stretched = [run.iops_over_time[at * length // points] for at in range(points)]
    return spark(stretched, SPARK_CELLS, symbols.name, high=2 * sum(values) / len(values)).replace(
        "\u2800", " "
    )


def verdict_of(run: RunSummary) -> Run:
    """Return how a run is judged.

    Of an invalid one by which checks, for its state says the rest.
    """
    invalid = run.verdict == "invalid" and not run.judged_since
    return (run.weakened_by if invalid and run.weakened_by else run.judged), JUDGED[run.verdict]


def note_text(run: RunSummary) -> str:
    """Return why a run cannot be read, whose it is, its title and its last note."""
    return ", ".join(
        filter(None, (run.problem, run.owner and f"of {run.owner}", run.title, run.note))
    )


# columns that are shown when a run has something there
OPTIONAL: dict[str, Callable[[RunSummary], object]] = {
    "note": note_text,
    "tags": lambda run: run.tags,
    "target": lambda run: run.target,
}


def why_not_compared(run: RunSummary) -> str:
    """Return why a run has nothing to be compared; empty when it may have."""
    return (
        f"nothing was measured in {run.run_id}: it cannot be compared"
        if run.state == "failed"
        else ""
    )


def key_of(run: RunSummary) -> str:
    """Return what tells a run from the others: its id, of somebody else's its directory."""
    return run.directory or run.run_id


JUDGED = {"valid": GOOD, "valid-with-warnings": WARN, "invalid": BAD, None: LABEL}
NO_FIGURE: Run = (units.UNKNOWN, LABEL)


def when(utc: str | None) -> str:
    """Return a time to the minute."""
    return utc.replace("T", " ")[:16] if utc else "–"


def oldest_first(keys: Iterable[str], runs: Iterable[RunSummary]) -> list[str]:
    """Return those of the keys whose runs are listed, by when they began: others are compared with
    the first.
    """
    begun = {key_of(run): run.utc or key_of(run) for run in runs}
    return sorted((key for key in keys if key in begun), key=begun.__getitem__)
