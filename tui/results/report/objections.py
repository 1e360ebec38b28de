"""Objections to the figures of a run, their answers and the evidence, as a table of a report."""

from __future__ import annotations

from collections.abc import Iterator

from tui.model.record import RunRecord
from tui.results.objections.answers import ObjectionAnswer
from tui.results.objections.catalogue import objections_to
from tui.results.objections.text import ORDER, WORDS, counts_runs
from tui.results.report.document import Block, Column, Paragraph, Table
from tui.text.line import LABEL


def objection_blocks(record: RunRecord) -> Iterator[Block]:
    """Yield the objections and the recorded evidence; nothing if nothing was measured."""
    found = objections_to(record)
    if not found:
        return
    yield Paragraph("".join(text for text, _ in counts_runs(found)))
    raised = [answer for answer in found if answer.standing != "n/a"]
    rows = [[answer.objection.claim, WORDS[answer.standing], _evidence(answer)] for answer in raised]
    yield Table("Objections and evidence", [Column("objection"), Column("answer"), Column("evidence")], rows)
    moot = [f'"{answer.objection.claim}"' for answer in found if answer.standing == "n/a"]
    if moot:
        yield Paragraph(f"Not applicable: {', '.join(moot)}", LABEL)


def _evidence(answer: ObjectionAnswer) -> str:
    """Return the evidence, most important first, with the checks it comes from."""
    told = sorted((each for each in answer.evidence if each.weight in ORDER), key=lambda each: ORDER.index(each.weight))
    return "; ".join(f"{each.text} ({each.check})" if each.check else each.text for each in told) or "no data"
