"""Published results next to a run: tables and notes for terminals and screens, and JSON."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from tui.analysis.published import Compared, PublishedComparison, compare, find_baselines, tags_of
from tui.metrics import units
from tui.metrics.buckets import SHOWN_NAMES
from tui.metrics.registry import METRICS
from tui.model.problem import Problem
from tui.model.record import RunRecord
from tui.text.line import BAD, GOOD, LABEL, TEXT, VALUE, WARN, Line, plain_lines
from tui.text.table import Column, text_table

if TYPE_CHECKING:
    from tui.model.baseline import Baseline, PublishedFigure

_UNIT = re.compile(r"(\d)([KMGT]i?B\b)")  # a unit right after its number

UNFAIR = " (not comparable)"  # end of badges
UNSAID = "?"  # number of clients that a source does not give
MULTIPLE = 10  # from here on a change is shown as a multiple
EQUAL = 0.0005
IN_FULL = 6  # more comparisons are a sweep: one figure each
LATENCIES = ("mean", *SHOWN_NAMES, "max")
MARKS = {"ok": "", "doubtful": "?", "error": "!"}
FACTS = ("system", "clients", "hardware", "protection", "network")
NOTES = ("badge", "differs", "unknown", "error", "doubt", *FACTS, "source")
JOINED = ("differs", "unknown")  # short texts: all on one line
WIDTH = 80
OUR_MARKS = {"valid-with-warnings": "?", "invalid": "!"}
OURS = {"valid-with-warnings": WARN, "invalid": BAD}
OURS_IS = "ours is"  # title of the column that says how ours compares with theirs
ROLES = {"ok": TEXT, "doubtful": WARN, "error": BAD}


class PublishedRow(Struct, frozen=True):
    """One figure of a published result next to ours.

    Only the first row of a result has its `number` and its `clients`.
    """

    number: int | None
    label: str
    figure: str
    ours: str
    theirs: str
    change: str  # our figure relative to the published one: ``51 % worse``, unfair ``51 % lower``
    validity: str
    verdict: str = "valid"  # of our run
    fair: bool = True  # whether the ratio may be quoted
    clients: str = ""  # number of them, and ours if it differs
    differ: bool = False  # whether they do
    better: bool | None = None  # whether ours is better; None: equal, or unknown

    @property
    def change_role(self) -> str:
        """Role of the change: judged only if the results can be compared."""
        if not self.fair:
            return LABEL
        return TEXT if self.better is None else GOOD if self.better else BAD


class PublishedNote(Struct, frozen=True):
    """A note on some of the published results; `numbers` is empty if it applies to all."""

    kind: str
    numbers: str
    text: str

    @property
    def label(self) -> str:
        """The label before the note: ``differs 1-3``."""
        return (
            self.numbers or "all"
            if self.kind == "badge"
            else f"{self.kind} {self.numbers}".rstrip()
        )


class PublishedView(Struct, frozen=True):
    """A run and its published results, ready to be shown."""

    tag: str
    available: int
    rows: tuple[PublishedRow, ...]
    notes: tuple[PublishedNote, ...]

    @property
    def badges(self) -> list[PublishedNote]:
        """Notes on whether the figures can be compared; shown above the table."""
        return [note for note in self.notes if note.kind == "badge"]

    @property
    def other_notes(self) -> list[PublishedNote]:
        """All other notes: differences, unknown facts, doubts, published setups."""
        return [note for note in self.notes if note.kind != "badge"]

    def table(self, width: int | None = None) -> list[Line]:
        """Return the figures as a table; names are shortened only to fit `width` cells."""
        digits = len(str(max((row.number or 0 for row in self.rows), default=0)))
        columns: tuple[Column[PublishedRow], ...] = (
            Column(
                " " * digits + " published result",
                lambda row: f"{row.number or '':>{digits}} {row.label}",
                least=16,
            ),
            Column(
                "clients",
                lambda row: (row.clients, WARN if row.differ else LABEL),
                drop=1,
            ),
            Column("figure", lambda row: row.figure, role=LABEL),
            Column("ours", lambda row: (row.ours, OURS.get(row.verdict, VALUE)), right=True),
            Column("published", lambda row: (row.theirs, ROLES[row.validity]), right=True),
            Column(OURS_IS, lambda row: (row.change, row.change_role), right=True),
        )
        return text_table(columns, self.rows, width) if self.rows else []

    @property
    def title(self) -> str:
        """The number of published results, as text."""
        if not self.count:
            return f"none for the measured points; {self.available} for other points of {self.tag}"
        return f"{self.count} for {self.tag}"

    @property
    def told(self) -> str:
        """The number of published results, and whether any of them can be compared, as text."""
        if not self.count:
            return self.title
        text = f"{units.plural(self.count, 'result')} for {self.tag}"
        if self.is_fair:
            return text
        badges = (note.text.removesuffix(UNFAIR) for note in self.badges)
        reasons = dict.fromkeys(badge.partition(": ")[0] for badge in badges)
        none = "none comparable" if self.count > 1 else "not comparable"
        return f"{text}, {none}{f': {next(iter(reasons))}' if len(reasons) == 1 else ''}"

    @property
    def count(self) -> int:
        """The number of published results for the measured points."""
        return sum(row.number is not None for row in self.rows)

    @property
    def is_fair(self) -> bool:
        """Whether any of the results can be compared with the run."""
        return not self.badges or not all(note.text.endswith(UNFAIR) for note in self.badges)


def published(
    record: RunRecord, user_dir: Path | None
) -> tuple[PublishedView | None, tuple[Problem, ...]]:
    """Return a run next to the published results of its profile, and problems in their files.

    The view is None without published results. A counter-experiment changes its load on purpose, so
    it has none.
    """
    if record.proves is not None:
        return None, ()
    tags = tags_of(record)
    found = find_baselines(user_dir, tags)
    known = [each for each in found.of(tags) if each.host is None]
    return (view_of(record, compare(record, known), len(known)) if known else None), found.problems


def view_of(
    record: RunRecord, found: Sequence[PublishedComparison], available: int
) -> PublishedView:
    """Return the rows and notes for a run.

    `available`: number of published results of the profile, at any point.
    """
    full = len(found) <= IN_FULL
    rows = [
        row
        for number, each in enumerate(found, 1)
        for row in rows_of(record, number, each, full=full)
    ]
    return PublishedView(record.profile.tag, available, tuple(rows), tuple(notes_of(found)))


def rows_of(
    record: RunRecord, number: int, found: PublishedComparison, *, full: bool
) -> Iterator[PublishedRow]:
    """Yield the rows of one published result, the figure of the headline first.

    Unless `full`, only the first row.
    """
    figures = [each for each in found.figures if is_shown(each.figure, record.latency_kind)]
    figures.sort(key=lambda each: (not is_headline(record, each.figure), order_of(each.figure)))
    several = len(record.steps) > 1
    runs = f", {len(found.steps)} runs" if len(found.steps) > 1 else ""
    label = f"{label_of(found, several, record)}{runs}"
    fair = not found.badge.endswith(UNFAIR)
    ours = next((each.ours for each in found.differs if each.what == "clients"), "")
    clients = f"{found.baseline.hosts or UNSAID}{f' (ours {ours})' if ours else ''}"
    for place, each in enumerate(figures if full else figures[:1]):
        first = place == 0
        yield PublishedRow(
            number=number if first else None,
            label=label if first else "",
            figure=figure_name(each.figure),
            ours=ours_text(found, each),
            theirs=shown_text(found.baseline, each.figure),
            change=change_text(each, fair=fair),
            validity=found.baseline.validity,
            verdict=found.verdict or "valid",
            fair=fair,
            clients=clients if first else "",
            differ=bool(ours),
            better=is_better(each),
        )


def ours_text(found: PublishedComparison, each: Compared) -> str:
    """Return our figure, marked if our run is invalid or valid with warnings."""
    mark = OUR_MARKS.get(found.verdict or "", "") if each.ours is not None else ""
    return f"{value_text(each.figure, each.ours)} {mark}".rstrip()


def label_of(found: PublishedComparison, several: bool, record: RunRecord) -> str:
    """Return the label of a published result, with its profile's name in a suite."""
    name = found.baseline.label or found.baseline.collection
    member = found.baseline.profile.partition("/")[2]
    own = record.profile.tag in (found.baseline.profile, *found.baseline.variants)
    return f"{member}, {name}" if several and not own else name


def is_shown(figure: PublishedFigure, latency_kind: str) -> bool:
    """Return whether tables show a figure. `baselines show` and JSON have all figures."""
    if figure.metric == "latency":
        return figure.kind in ("", latency_kind) and figure.statistic in LATENCIES
    return figure.statistic in ("", "mean")


def order_of(figure: PublishedFigure) -> int:
    """Return the position of a figure in tables: rates first, then latencies."""
    return LATENCIES.index(figure.statistic) if figure.metric == "latency" else -1


def is_headline(record: RunRecord, figure: PublishedFigure) -> bool:
    """Return whether a published figure is the same quantity as the run's headline."""
    about = record.headline
    if about is None or about.direction != figure.of or about.metric != figure.metric:
        return False
    wanted = f"p{about.percentile:g}" if about.percentile is not None else "mean"
    return figure.metric != "latency" or figure.statistic == wanted


def figure_name(figure: PublishedFigure) -> str:
    """Return a figure's name: ``read IOPS``, ``write p99.5``, ``create/s``."""
    if figure.metric == "latency":
        return f"{figure.of} {'slat ' if figure.kind == 'slat' else ''}{figure.statistic}"
    if figure.statistic not in ("", "mean"):
        return f"{figure.of} {figure.statistic}"
    if figure.metric == "ops":
        return f"{figure.of}/s"
    return (
        f"{figure.of} "
        f"{'IOPS' if figure.metric == 'iops' else 'BW' if figure.metric == 'bandwidth' else 'CPU'}"
    )


def value_text(figure: PublishedFigure, value: float | None) -> str:
    """Return a value in benchtui's units."""
    return METRICS.get(figure.metric, METRICS["iops"]).text(value)


def theirs_text(baseline: Baseline, figure: PublishedFigure) -> str:
    """Return a published figure, marked if it is doubtful or its run failed.

    Latencies and computed figures are in benchtui's units, others as printed, with a blank
    before the unit.
    """
    quantity = figure.quantity
    if baseline.computed or figure.metric == "latency":
        text = ("~" if quantity.approximate else "") + value_text(figure, quantity.value)
    else:
        text = quantity.printed.partition(" (")[0].removesuffix(" iops").removesuffix(" ops/s")
        text = _UNIT.sub(r"\1 \2", text)
    return f"{text} {MARKS[baseline.validity]}".rstrip()


def shown_text(baseline: Baseline, figure: PublishedFigure) -> str:
    """Return a published figure in benchtui's units, both ends of a range; marked if it is doubtful
    or its run failed.
    """
    quantity = figure.quantity
    low, high = (value_text(figure, end) for end in (quantity.low, quantity.high))
    shared = f" {low.rpartition(' ')[2]}"
    low = low.removesuffix(shared) if " " in low and high.endswith(shared) else low
    text = high if quantity.low == quantity.high else f"{low}-{high}"
    return f"{'~' if quantity.approximate else ''}{text} {MARKS[baseline.validity]}".rstrip()


def change_text(found: Compared, *, fair: bool = True) -> str:
    """Return how much better or worse ours is than theirs: ``51 % worse``, ``12.3x as high``; for a
    range both ends. Unless `fair`, only how much lower or higher.
    """
    if found.ratio_low is None or found.ratio_high is None:
        return units.UNKNOWN
    low, high = found.ratio_low, found.ratio_high
    if low >= MULTIPLE:
        return f"{_number(low)}x as high"
    if abs(low - 1) < EQUAL and abs(high - 1) < EQUAL:
        return "equal"
    if low < 1 < high:
        return f"{_percent(low - 1, '-')} to {_percent(high - 1, '+')} %"
    ends = (low - 1, high - 1) if low >= 1 else (high - 1, low - 1)
    shown = dict.fromkeys(map(_percent, ends))
    return f"{'-'.join(shown)} % {_judged(found, more=low >= 1, fair=fair)}"


def is_better(found: Compared) -> bool | None:
    """Return whether ours is better than theirs; None if that is unknown, or they are equal."""
    low, high, known = found.ratio_low, found.ratio_high, METRICS.get(found.figure.metric)
    if low is None or high is None or known is None or low < 1 < high:
        return None
    if abs(low - 1) < EQUAL and abs(high - 1) < EQUAL:
        return None
    return (low >= 1) == (known.better == "higher")


def _judged(found: Compared, *, more: bool, fair: bool) -> str:
    """Return whether ours is better; if that is unknown or the comparison is unfair, only how ours
    differs.
    """
    better = is_better(found)
    if better is None or not fair:
        return "higher" if more else "lower"
    return "better" if better else "worse"


def _percent(change: float, sign: str = "") -> str:
    return f"{sign}{_number(abs(change) * 100)}"


def _number(value: float) -> str:
    return f"{value:.0f}" if value >= 9.95 else f"{value:.1f}"


# -- notes


def notes_of(found: Sequence[PublishedComparison]) -> list[PublishedNote]:
    """Return the notes on comparisons, each text once with the numbers it applies to."""
    said = [[*judged(each), *baseline_notes(each.baseline)] for each in found]
    return grouped(said, [each.baseline.setup for each in found])


def judged(found: PublishedComparison) -> Iterator[tuple[str, str]]:
    """Yield (kind, text) about a comparison: whether it is fair, differences, unknown facts."""
    yield "badge", found.badge
    told = found.badge  # not again below it
    yield from (
        ("differs", each.text)
        for each in found.differs
        if f"{each.what} {each.ours} against {each.theirs}" not in told
    )
    yield from (("unknown", text) for text in found.unknown)


def baseline_notes(baseline: Baseline) -> Iterator[tuple[str, str]]:
    """Yield (kind, text) about a published result: errors, doubts, setup, source."""
    if baseline.error:
        yield "error", f"the published run failed with error {baseline.error}"
    yield from (("doubt", text) for text in baseline.doubts)
    facts = baseline.facts
    for kind in FACTS:
        if text := getattr(facts, kind):
            yield kind, text
    yield "source", source_text(baseline)


def grouped(
    said: Sequence[Sequence[tuple[str, str]]], setups: Sequence[str]
) -> list[PublishedNote]:
    """Return each text once, ordered by kind, with the numbers (from 1) it applies to."""
    held: dict[tuple[str, str], list[int]] = {}
    for number, each in enumerate(said, 1):
        for key in dict.fromkeys(each):
            held.setdefault(key, []).append(number)
    together: dict[tuple[str, tuple[int, ...]], list[str]] = {}
    for (kind, text), numbers in held.items():
        together.setdefault((kind, tuple(numbers)), []).append(text)
    notes = []
    for (kind, those), texts in sorted(together.items(), key=lambda item: NOTES.index(item[0][0])):
        named = "" if len(those) == len(said) else named_by(those, setups)
        notes += [
            PublishedNote(kind, named, text)
            for text in ([", ".join(texts)] if kind in JOINED else texts)
        ]
    return notes


def named_by(numbers: Sequence[int], setups: Sequence[str]) -> str:
    """Return the numbers as ``1-3, 5``; instead of a long list, the setup's name if the numbers are
    all results of one setup.
    """
    text, names = spans(numbers), {setups[number - 1] for number in numbers}
    whole = len(names) == 1 and len(numbers) == sum(setup in names for setup in setups)
    return names.pop() if whole and text.count(",") > 2 else text


def source_text(baseline: Baseline) -> str:
    """Return the source of a published result."""
    source = baseline.source
    parts = (source.document, source.section, baseline.date or source.date)
    return " ".join(", ".join(part for part in parts if part).split())


def spans(numbers: Iterable[int]) -> str:
    """Return numbers as ranges: ``1-3, 5`` for 1, 2, 3, 5."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ", ".join(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)


# -- text


def published_text(view: PublishedView, width: int | None = None) -> str:
    """Return published results for terminals; first whether they can be compared.

    Figures take at most `width` columns (default: as many as they need), notes 80.
    """
    lines = [
        f"published results: {view.title}",
        *notes_text(view.badges),
        *plain_lines(view.table(width)),
    ]
    return "\n".join([*lines, *notes_text(view.other_notes)]) + "\n"


def notes_text(notes: Iterable[PublishedNote]) -> Iterator[str]:
    """Yield notes as lines of 80 columns."""
    for note in notes:
        text = f"{note.label}: {note.text}"
        yield from textwrap.wrap(
            text,
            WIDTH,
            initial_indent="  ",
            subsequent_indent="    ",
            break_on_hyphens=False,
            break_long_words=False,
        )


# -- JSON


def baseline_json(baseline: Baseline) -> dict[str, Any]:
    """Return a published result as plain data.

    It has figures as printed and in SI units, facts, unknowns and doubts.
    """
    return {
        "collection": baseline.collection,
        "title": baseline.title,
        "profile": baseline.profile,
        "variants": list(baseline.variants),
        "label": baseline.label,
        "setup": baseline.setup,
        "facts": baseline.facts.model_dump(exclude_none=True),
        "at": dict(baseline.at),
        "printed_at": dict(baseline.result.printed_at),
        "params": dict(baseline.params),
        "hosts": baseline.hosts,
        "host": baseline.host,
        "kind": baseline.kind,
        "validity": baseline.validity,
        "error": baseline.error,
        "computed": baseline.computed,
        "tool": baseline.tool.model_dump(exclude_none=True),
        "source": baseline.source.model_dump(exclude_none=True),
        "date": baseline.date,
        "figures": [figure_json(figure) for figure in baseline.figures],
        "unknown": list(baseline.unknown),
        "doubts": list(baseline.doubts),
    }


def figure_json(figure: PublishedFigure) -> dict[str, Any]:
    """Return one published figure as plain data."""
    kept = ("of", "metric", "kind", "statistic")
    return {**{name: getattr(figure, name) for name in kept}, **asdict(figure.quantity)}


def comparison_json(found: PublishedComparison) -> dict[str, Any]:
    """Return a comparison with a published result as plain data."""
    return {
        "badge": found.badge,
        "verdict": found.verdict,
        "steps": list(found.steps),
        "figures": [
            {
                **figure_json(each.figure),
                "ours": each.ours,
                "ratio_low": each.ratio_low,
                "ratio_high": each.ratio_high,
            }
            for each in found.figures
        ],
        "differs": [
            {"what": each.what, "ours": each.ours, "theirs": each.theirs} for each in found.differs
        ],
        "unknown": list(found.unknown),
        "baseline": baseline_json(found.baseline),
    }
