"""Text to paste from a run or a comparison: headline, Markdown, CSV, command line."""

from __future__ import annotations

import csv
import io
import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tui.analysis.compare import Comparison
from tui.analysis.searches import search_facts
from tui.export.table_files import csv_lines, guarded
from tui.export.tables import summary
from tui.model.record import RunRecord
from tui.model.rundir import RECORD_FILE
from tui.model.step_record import Scalar, StepRecord
from tui.record.headline import told_headline
from tui.text.names import ranges_of
from tui.view.comparison_sentence import sentence
from tui.view.document import DocumentColumn, DocumentTable, markdown_table
from tui.view.report.overview import headline_parts, judged
from tui.view.report.side_by_side import compared_figures_table
from tui.view.report.tables import figures_table, matrix_table, matrix_tables, operations_table
from tui.workloads.terms import command_in


@dataclass(frozen=True, slots=True)
class Copy:
    """A text to paste; `key` selects it in a menu."""

    key: str
    label: str
    text: str


def copies_of(record: RunRecord, run_dir: Path) -> list[Copy]:
    """Return the texts to paste from a run; without figures there is no Markdown table."""
    found = [Copy("h", "result in one line", headline(record))]
    if table := markdown(record):
        found.append(Copy("t", "table, Markdown", table))
    found += [
        Copy("c", "table, CSV", summary_csv(record)),
        Copy("l", "command that repeats the run", command_line(record)),
    ]
    return [*found, Copy("p", "path of the record, run.json", str(run_dir / RECORD_FILE))]


def headline(record: RunRecord) -> str:
    """Return one line: headline, profile, number of hosts, verdict, run id."""
    text = told_headline(record)
    hosts = f"{len(record.hosts)} host{'' if len(record.hosts) == 1 else 's'}"
    verdict = _in_line(judged(record)[0])
    parts = [
        text or headline_parts(record)[0],
        f"{record.profile.tag} on {hosts}",
        verdict,
        record.run_id,
    ]
    return ", ".join(part for part in parts if part)


def _in_line(sentence: str) -> str:
    """Return a sentence without its initial capital, for use within a line.

    Acronyms keep their capitals.
    """
    return sentence if sentence[:2].isupper() else sentence[:1].lower() + sentence[1:]


def markdown(record: RunRecord) -> str:
    """Return the run's matrix, or otherwise the figures of each step, as Markdown tables; empty
    without figures.
    """
    matrices = matrix_tables(record) if record.matrix is not None else []
    tables = [matrix_table(each, named=len(matrices) > 1) for each in matrices]
    if not tables:
        tables = [found for step in record.steps if (found := step_table(record, step)) is not None]
    return "\n\n".join(map(markdown_table, tables))


def step_table(record: RunRecord, step: StepRecord) -> DocumentTable | None:
    """Return a step's results: its operations if it has any, else its directions; None without
    either.
    """
    return (
        operations_table(step.metadata)
        if step.metadata is not None
        else figures_table(record, step, step.name)
    )


def summary_csv(record: RunRecord) -> str:
    """Return the summary table as CSV, as `benchtui export csv` writes it but for line ends."""
    return "".join(csv_lines(summary(record), "\n"))


def command_line(record: RunRecord) -> str:
    """Return the command that repeats a run: profile or job, hosts, servers, --with folders,
    roles, changed parameters, sweeps, tags.
    """
    words = command_in(record.profile.text) or ["benchtui", "run", record.profile.tag]
    words += ["--hosts", ranges_of([host.name for host in record.hosts]).replace(", ", ",")]
    for server in record.servers or ():
        words += ["--servers", server.name]
    words += [word for folder in _folders(record) for word in ("--with", folder)]
    for role, text in record.profile.roles.items():
        words += ["--role", f"{role}={text}"]
    # the job file sweeps it itself
    job = {word.partition("=")[0] for word in words if re.search(r"(?<!\\),", word)}
    swept = {name: values for name, values in sweeps(record).items() if name not in job}
    for name, value in record.profile.changed.items():
        words += [] if name in (*swept, *job) else ["--set", f"{name}={value}"]
    for name, values in swept.items():
        words += ["--sweep", f"{name}={','.join(values)}"]
    for name, value in record.tags.items():
        words += ["--tag", f"{name}={value}" if value else name]
    return shlex.join(words)


def _folders(record: RunRecord) -> list[str]:
    """Return the directories that were given with --with.

    They are the parents of the directories for each architecture.
    """
    paths = [(Path(each.path).parent, each.machine) for each in record.provenance.carried]
    return list(
        dict.fromkeys(str(path.parent if path.name == machine else path) for path, machine in paths)
    )


def sweeps(record: RunRecord) -> dict[str, list[str]]:
    """Return the values of each swept parameter, in plan order; the number of hosts is left out.

    Empty for a suite, whose profiles define their own sweeps.
    """
    if record.matrix is None or any(cell.profile for cell in record.matrix.cells):
        return {}
    found: dict[str, list[str]] = {}
    for cell in record.matrix.cells:
        for name, value in cell.point.items():
            if name != "hosts" and str(value) not in found.setdefault(name, []):
                found[name].append(str(value))
    return found


COLUMNS = ("a_runs", "b_runs", "point", "figure", "headline", "unit", "a", "b", "ratio",
    "ratio_low", "ratio_high",
           "n_a", "n_b", "word", "why")  # fmt: skip
Row = tuple[Scalar, ...]


def copies_of_comparison(
    found: Sequence[Comparison], sides: Sequence[Sequence[Path]], across: Sequence[str] = ()
) -> list[Copy]:
    """Return the texts to paste from comparisons.

    `found` compares each side with the first; `sides` are the run directories of all sides.
    """
    copies = [Copy("h", "result in one line", "\n".join(map(comparison_headline, found)))]
    if table := "\n\n".join(filter(None, map(comparison_markdown, found))):
        copies.append(Copy("t", "table, Markdown", table))
    return [
        *copies,
        Copy("c", "table, CSV", as_csv(found)),
        Copy("l", "command that compares these runs", comparison_command(sides, across)),
    ]


def comparison_headline(found: Comparison) -> str:
    """Return the result of a comparison in one line, with the ids of its runs."""
    return f"{sentence(found, advice=False)} (A {_names(found.a)}; B {_names(found.b)})"


def comparison_markdown(found: Comparison) -> str:
    """Return a comparison's result, and a Markdown table of all its figures; empty without figures.

    For searches, the table has their results.
    """
    if found.search is not None:
        rows = [
            [name.strip(), "".join(text for text, _ in runs)]
            for name, runs in search_facts(found.search)
        ]
        tables = [
            DocumentTable(
                "Search results: B compared with A",
                [DocumentColumn("figure"), DocumentColumn("A → B")],
                rows,
            )
        ]
    else:
        tables = (
            [table] if (table := compared_figures_table(found, "B", every=True)) is not None else []
        )
    return "\n\n".join([comparison_headline(found), *map(markdown_table, tables)]) if tables else ""


def as_csv(found: Sequence[Comparison]) -> str:
    """Return every compared figure as CSV, in the units of the record."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    for each in found:
        sides = _names(each.a), _names(each.b)
        writer.writerows([guarded(value) for value in (*sides, *row)] for row in _rows(each))
    return out.getvalue()


def comparison_command(sides: Sequence[Sequence[Path]], across: Sequence[str]) -> str:
    """Return the `compare` command that repeats a comparison."""
    words = ["benchtui", "compare", *(",".join(run_dir.name for run_dir in side) for side in sides)]
    return shlex.join([*words, *(word for name in across for word in ("--across", name))])


def _rows(found: Comparison) -> Iterator[Row]:
    if (search := found.search) is not None:
        counts = max(len(search.values_a), 1), max(len(search.values_b), 1)
        ratio = search.ratio
        yield ("", search.figure, True, search.unit, search.a.value, search.b.value, ratio.value,
            ratio.low, ratio.high,
               *counts, search.word, search.why)  # fmt: skip
    for point in found.points:
        for each in point.changes:
            effect = each.effect
            known = (
                (effect.ratio, effect.low, effect.high)
                if effect is not None
                else (None, None, None)
            )
            counts = len(each.values_a), len(each.values_b)
            yield (
                point.name,
                each.name,
                each.headline,
                each.unit,
                each.a,
                each.b,
                *known,
                *counts,
                each.word,
                each.why,
            )


def _names(records: Sequence[RunRecord]) -> str:
    return ", ".join(record.run_id for record in records)
