"""Each attack on the figures of a run, how it stands and by what, as a table of a report."""

from __future__ import annotations

from collections.abc import Iterator

from tui.model.record import RunRecord
from tui.results.defend.attacks import defence
from tui.results.defend.defence import Answer
from tui.results.defend.text import ORDER, WORDS, counts_runs
from tui.results.report.document import Block, Column, Paragraph, Table
from tui.text.line import LABEL


def defence_blocks(record: RunRecord) -> Iterator[Block]:
    """Yield what is said against the figures and the recorded evidence; nothing when nothing was measured."""
    found = defence(record)
    if not found:
        return
    yield Paragraph("".join(text for text, _ in counts_runs(found)))
    raised = [answer for answer in found if answer.standing != "moot"]
    rows = [[answer.attack.claim, WORDS[answer.standing], _evidence(answer)] for answer in raised]
    yield Table("Attacks and evidence", [Column("what may be said"), Column("stands"), Column("evidence")], rows)
    moot = [f'"{answer.attack.claim}"' for answer in found if answer.standing == "moot"]
    if moot:
        yield Paragraph(f"Does not arise: {', '.join(moot)}", LABEL)


def _evidence(answer: Answer) -> str:
    """Return the evidence that speaks, the heaviest first, with the checks that it comes from."""
    told = sorted((said for said in answer.evidence if said.weight in ORDER), key=lambda said: ORDER.index(said.weight))
    return "; ".join(f"{said.text} ({said.check})" if said.check else said.text for said in told) or "nothing recorded"
