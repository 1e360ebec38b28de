"""What people paste of a comparison elsewhere: its sentence, the figures as Markdown or CSV, the command."""

from __future__ import annotations

import csv
import io
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path

from tui.model.record import RunRecord
from tui.model.step_record import Scalar
from tui.results.compare.compare import Comparison
from tui.results.compare.searches import search_facts
from tui.results.compare.sentence import sentence
from tui.results.copies.run import Copy
from tui.results.export.tidy_csv import guarded
from tui.results.report.document import Column, Table
from tui.results.report.markdown import markdown_table
from tui.results.report.side_by_side import figures_table

COLUMNS = ("a_runs", "b_runs", "point", "figure", "headline", "unit", "a", "b", "ratio", "ratio_low", "ratio_high",
           "n_a", "n_b", "word", "why")  # fmt: skip
Row = tuple[Scalar, ...]


def copies_of_comparison(
    found: Sequence[Comparison], sides: Sequence[Sequence[Path]], across: Sequence[str] = ()
) -> list[Copy]:
    """Return what a comparison has to paste; `found` is each side against the first, `sides` are the runs of all."""
    copies = [Copy("h", "headline", "\n".join(map(headline, found)))]
    if table := "\n\n".join(filter(None, map(markdown, found))):
        copies.append(Copy("t", "table, Markdown", table))
    return [*copies, Copy("c", "table, CSV", as_csv(found)), Copy("l", "command line", command_line(sides, across))]


def headline(found: Comparison) -> str:
    """Return the answer, with the runs that it is about."""
    return f"{sentence(found, advice=False)} (A {_names(found.a)}; B {_names(found.b)})"


def markdown(found: Comparison) -> str:
    """Return every figure of every point, of searches what they found, as tables below the answer."""
    if found.search is not None:
        rows = [[name.strip(), "".join(text for text, _ in runs)] for name, runs in search_facts(found.search)]
        tables = [Table("What they sustain: B against A", [Column("figure"), Column("A → B")], rows)]
    else:
        tables = [table] if (table := figures_table(found, "B", every=True)) is not None else []
    return "\n\n".join([headline(found), *map(markdown_table, tables)]) if tables else ""


def as_csv(found: Sequence[Comparison]) -> str:
    """Return every figure of every point in the units of the record."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    for each in found:
        sides = _names(each.a), _names(each.b)
        writer.writerows([guarded(value) for value in (*sides, *row)] for row in _rows(each))
    return out.getvalue()


def command_line(sides: Sequence[Sequence[Path]], across: Sequence[str]) -> str:
    """Return the command that compares the same."""
    words = ["benchtui", "compare", *(",".join(run_dir.name for run_dir in side) for side in sides)]
    return shlex.join([*words, *(word for name in across for word in ("--across", name))])


def _rows(found: Comparison) -> Iterator[Row]:
    if (search := found.search) is not None:
        counts = max(len(search.values_a), 1), max(len(search.values_b), 1)
        ratio = search.ratio
        yield ("", search.figure, True, search.unit, search.a.value, search.b.value, ratio.value, ratio.low, ratio.high,
               *counts, search.word, search.why)  # fmt: skip
    for point in found.points:
        for each in point.changes:
            effect = each.effect
            known = (effect.ratio, effect.low, effect.high) if effect is not None else (None, None, None)
            counts = len(each.values_a), len(each.values_b)
            yield point.name, each.name, each.headline, each.unit, each.a, each.b, *known, *counts, each.word, each.why


def _names(records: Sequence[RunRecord]) -> str:
    return ", ".join(record.run_id for record in records)
