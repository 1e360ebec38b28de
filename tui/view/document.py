"""The document of a report: sections of blocks; and its Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from tui.model.plain import printable
from tui.text.line import TEXT

Cell = str | tuple[str, str]
"""A text, optionally with a role (``tui.text.line``): bad, warn, good, label."""


def cell_text(cell: Cell) -> str:
    """Return the text of a cell."""
    return cell if isinstance(cell, str) else cell[0]


def cell_role(cell: Cell) -> str:
    """Return the role of a cell."""
    return TEXT if isinstance(cell, str) else cell[1]


@dataclass(frozen=True, slots=True)
class DocumentColumn:
    """The heading of a column; `right` aligns its cells, as for numbers."""

    title: str
    right: bool = False


@dataclass(frozen=True, slots=True)
class DocumentTable:
    """A table. The first cell of each row is the row's name."""

    title: str
    columns: Sequence[DocumentColumn]
    rows: Sequence[Sequence[Cell]]
    note: str = ""
    kind: Literal["table"] = "table"


@dataclass(frozen=True, slots=True)
class Facts:
    """Names and their values: ``target``, ``weka-prod``.

    Several values of one name are listed one below another.
    """

    rows: Sequence[tuple[str, Sequence[str]]]
    kind: Literal["facts"] = "facts"


@dataclass(frozen=True, slots=True)
class Paragraph:
    """A paragraph of text."""

    text: str
    role: str = TEXT
    kind: Literal["paragraph"] = "paragraph"


@dataclass(frozen=True, slots=True)
class Code:
    """The text of a file or of commands, verbatim."""

    title: str
    text: str
    kind: Literal["code"] = "code"


@dataclass(frozen=True, slots=True)
class Chart:
    """A chart: its Vega-Lite specification, a text alternative, and a note on how to read it."""

    title: str
    spec: dict[str, Any]
    alt: str
    note: str = ""
    kind: Literal["chart"] = "chart"


@dataclass(frozen=True, slots=True)
class FindingBlock:
    """A finding in full: measured, expected, why it matters, what to do."""

    id: str
    severity: str
    title: str
    where: str
    message: str
    advice: str = ""
    rule: str = ""
    means: str = ""
    kind: Literal["finding"] = "finding"


Block = DocumentTable | Facts | Paragraph | Code | Chart | FindingBlock


@dataclass(frozen=True, slots=True)
class DocumentSection:
    """A heading and the blocks below it. `id` is unique in the document."""

    id: str
    title: str
    blocks: Sequence[Block]


@dataclass(frozen=True, slots=True)
class Card:
    """The summary of a run at the top of its part: headline, verdict, load, target."""

    id: str
    title: str
    subtitle: str
    number: str
    unit: str
    what: str
    verdict: str
    role: str  # good, warn or bad
    said: Sequence[str]  # what the verdict rests on
    facts: Facts


@dataclass(frozen=True, slots=True)
class RunPart:
    """One run of a report: its card and sections.

    `name` is its letter in a comparison: A, B, B2.
    """

    card: Card
    sections: Sequence[DocumentSection]
    name: str = ""


@dataclass(frozen=True, slots=True)
class Report:
    """A whole report.

    `answer` is the result of comparing its runs, `compared` the evidence for it.
    """

    title: str
    runs: Sequence[RunPart]
    answer: Sequence[Paragraph] = ()
    compared: Sequence[Block] = ()
    caveats: Sequence[str] = ()  # about the document itself
    made: str = ""  # by which version, when

    @property
    def many(self) -> bool:
        """Whether there are so many runs that the comparison precedes their cards."""
        return len(self.runs) > 2


SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|~&!$@])")
LEAD = re.compile(r"^(\s*)([-+=]|\d+(?=[.)]))")
LONG_ROWS = 15  # long tables such as percentiles, opened on demand
FENCE = re.compile(r"^\s*(`{3,}|~{3,})", re.MULTILINE)
MARKS = {"error": "**error**", "warning": "**warning**", "info": "note"}
ORDER = ("findings", "bottleneck", "capacity", "results", "history", "published", "disclosure")


def markdown_of(report: Report) -> str:
    """Return the report as Markdown: CommonMark with tables.

    Editors of GitHub, GitLab and Jira accept it. It has the sections of `ORDER`, without charts.
    """
    parts = [f"# {escaped(report.title)}", *(f"*{escaped(text)}*" for text in report.caveats)]
    parts += [f"**{escaped(each.text)}**" for each in report.answer]
    if report.compared:
        cards = [f"{run.name}: {_card(run.card)}" for run in report.runs]
        beside = ["## Side by side", *_blocks(report.compared)]
        parts += [*beside, "## The runs", *cards] if report.many else [*cards, *beside]
        parts += [text for run in report.runs for text in [f"## {_named(run)}", *_sections(run)]]
    else:
        parts += [text for run in report.runs for text in [_card(run.card), *_sections(run)]]
    return (
        "\n\n".join(
            [*filter(None, parts), *([f"---\n\n{escaped(report.made)}"] if report.made else [])]
        )
        + "\n"
    )


def escaped(text: str) -> str:
    """Return a text as one line with all Markdown and HTML escaped.

    Escaping ``@`` prevents mentions, escaping ``<`` prevents links.
    """
    one_line = " ".join(printable(text).split())
    found = SPECIAL.sub(r"\\\1", one_line)
    return LEAD.sub(
        lambda match: f"{match[1]}\\{match[2]}" if not match[2].isdigit() else match[0], found
    )


def _card(card: Card) -> str:
    figure = " ".join(part for part in (card.number, card.unit) if part)
    head = f"**{escaped(figure)}** {escaped(card.what)}: **{escaped(card.verdict)}**"
    said = [f"- {escaped(text)}" for text in card.said]
    facts = [f"- {escaped(name)}: {escaped('; '.join(texts))}" for name, texts in card.facts.rows]
    return "\n".join([escaped(card.subtitle), "", head, "", *said, *facts])


def _named(run: RunPart) -> str:
    return escaped(f"{run.name}: {run.card.subtitle}" if run.name else run.card.subtitle)


def _sections(run: RunPart) -> Iterator[str]:
    by_name = {section.id.partition("-")[2].partition("-")[2]: section for section in run.sections}
    for name in ORDER:
        if name in by_name:
            texts = list(_blocks(by_name[name].blocks))
            if texts:
                yield f"## {escaped(by_name[name].title)}"
                yield from texts


def _blocks(blocks: Sequence[Block]) -> Iterator[str]:
    yield from filter(None, map(_block, blocks))


def _block(block: Block) -> str:
    if isinstance(block, DocumentTable):
        return markdown_table(block)
    if isinstance(block, Facts):
        return "\n".join(
            f"- {escaped(name)}: {escaped('; '.join(texts))}" for name, texts in block.rows
        )
    if isinstance(block, Paragraph):
        return escaped(block.text)
    if isinstance(block, FindingBlock):
        return _finding(block)
    return _code(block) if isinstance(block, Code) else ""


def markdown_table(table: DocumentTable) -> str:
    """Return a table as Markdown, collapsed if it is long."""
    rule = ["--:" if column.right else ":--" for column in table.columns]
    rows = [[escaped(cell_text(cell)) for cell in row] for row in table.rows]
    head = [escaped(column.title) or " " for column in table.columns]
    lines = ["| " + " | ".join(row) + " |" for row in (head, rule, *rows)]
    note = f"\n\n{escaped(table.note)}" if table.note else ""
    if len(rows) > LONG_ROWS:
        inner = "\n".join(lines)
        return (
            f"<details><summary>{_entities(table.title)}:"
            f" {len(rows)} rows</summary>\n\n{inner}\n\n</details>{note}"
        )
    return f"**{escaped(table.title)}**\n\n" + "\n".join(lines) + note


def _entities(text: str) -> str:
    return printable(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _finding(found: FindingBlock) -> str:
    where = f" ({escaped(found.where)})" if found.where else ""
    lines = [f"- {MARKS[found.severity]} {escaped(found.id)}{where}: {escaped(found.message)}"]
    return "\n".join(
        [*lines, *([f"  - what to do: {escaped(found.advice)}"] if found.advice else [])]
    )


def _code(code: Code) -> str:
    """Return a text in a code fence longer than any fence inside it."""
    longest = max((len(match[1]) for match in FENCE.finditer(code.text)), default=2)
    fence = "`" * max(3, longest + 1)
    text = "\n".join(printable(line) for line in code.text.splitlines())
    summary = f"<summary>{_entities(code.title)}</summary>"
    return f"<details>{summary}\n\n{fence}\n{text}\n{fence}\n\n</details>"
