"""A report as Markdown for a ticket: headline, verdict, limiter, findings, tables, disclosure. Charts are left out."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from tui.model.plain import printable
from tui.results.report.document import Block, Card, Code, Facts, Found, Paragraph, Report, RunPart, Table, cell_text

SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|~&!$@])")
LEAD = re.compile(r"^(\s*)([-+=]|\d+(?=[.)]))")
LONG_ROWS = 15  # such as percentiles: people open them
FENCE = re.compile(r"^\s*(`{3,}|~{3,})", re.MULTILINE)
MARKS = {"error": "**error**", "warning": "**warning**", "info": "remark"}
ORDER = ("findings", "limiter", "capacity", "results", "history", "published", "disclosure")


def markdown_of(report: Report) -> str:
    """Return the whole text (CommonMark with tables, as GitHub, GitLab and Jira's editors read it)."""
    parts = [f"# {escaped(report.title)}", *(f"*{escaped(text)}*" for text in report.remarks)]
    parts += [f"**{escaped(each.text)}**" for each in report.answer]
    if report.compared:
        cards = [f"{run.name}: {_card(run.card)}" for run in report.runs]
        beside = ["## Side by side", *_blocks(report.compared)]
        parts += [*beside, "## The runs", *cards] if report.many else [*cards, *beside]
        parts += [text for run in report.runs for text in [f"## {_named(run)}", *_sections(run)]]
    else:
        parts += [text for run in report.runs for text in [_card(run.card), *_sections(run)]]
    return "\n\n".join([*filter(None, parts), *([f"---\n\n{escaped(report.made)}"] if report.made else [])]) + "\n"


def escaped(text: str) -> str:
    """Return a text in which nothing is markup: on one line, what could be is behind a backslash.

    A zero-width joiner is not needed for mentions: ``@`` is escaped, and addresses are not made links by ``<``.
    """
    one_line = " ".join(printable(text).split())
    found = SPECIAL.sub(r"\\\1", one_line)
    return LEAD.sub(lambda match: f"{match[1]}\\{match[2]}" if not match[2].isdigit() else match[0], found)


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
    if isinstance(block, Table):
        return markdown_table(block)
    if isinstance(block, Facts):
        return "\n".join(f"- {escaped(name)}: {escaped('; '.join(texts))}" for name, texts in block.rows)
    if isinstance(block, Paragraph):
        return escaped(block.text)
    if isinstance(block, Found):
        return _found(block)
    return _code(block) if isinstance(block, Code) else ""


def markdown_table(table: Table) -> str:
    """Return a table; one of many rows can be folded."""
    rule = ["--:" if column.right else ":--" for column in table.columns]
    rows = [[escaped(cell_text(cell)) for cell in row] for row in table.rows]
    head = [escaped(column.title) or " " for column in table.columns]
    lines = ["| " + " | ".join(row) + " |" for row in (head, rule, *rows)]
    note = f"\n\n{escaped(table.note)}" if table.note else ""
    if len(rows) > LONG_ROWS:
        inner = "\n".join(lines)
        return f"<details><summary>{_entities(table.title)}: {len(rows)} rows</summary>\n\n{inner}\n\n</details>{note}"
    return f"**{escaped(table.title)}**\n\n" + "\n".join(lines) + note


def _entities(text: str) -> str:
    return printable(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _found(found: Found) -> str:
    where = f" ({escaped(found.where)})" if found.where else ""
    lines = [f"- {MARKS[found.severity]} {escaped(found.id)}{where}: {escaped(found.message)}"]
    return "\n".join([*lines, *([f"  - what to do: {escaped(found.advice)}"] if found.advice else [])])


def _code(code: Code) -> str:
    """Return a file in a fence that nothing in it can close."""
    longest = max((len(match[1]) for match in FENCE.finditer(code.text)), default=2)
    fence = "`" * max(3, longest + 1)
    text = "\n".join(printable(line) for line in code.text.splitlines())
    return f"<details><summary>{_entities(code.title)}</summary>\n\n{fence}\n{text}\n{fence}\n\n</details>"
