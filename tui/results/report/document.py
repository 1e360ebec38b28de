"""What a report holds: sections of blocks, the same for HTML and Markdown. Texts are plain: who writes them escapes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from tui.text.line import TEXT

Cell = str | tuple[str, str]
"""A text, or a text with its role (``tui.text.line``): bad, warn, good, label."""


def cell_text(cell: Cell) -> str:
    """Return what stands in a cell."""
    return cell if isinstance(cell, str) else cell[0]


def cell_role(cell: Cell) -> str:
    """Return the role of a cell."""
    return TEXT if isinstance(cell, str) else cell[1]


@dataclass(frozen=True, slots=True)
class Column:
    """The heading of a column; numbers stand flush right."""

    title: str
    right: bool = False


@dataclass(frozen=True, slots=True)
class Table:
    """Rows under headings. The first cell of a row names it."""

    title: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[Cell]]
    note: str = ""
    kind: Literal["table"] = "table"


@dataclass(frozen=True, slots=True)
class Facts:
    """Names and what they are: ``target``, ``weka-prod``. Several texts stand below each other."""

    rows: Sequence[tuple[str, Sequence[str]]]
    kind: Literal["facts"] = "facts"


@dataclass(frozen=True, slots=True)
class Paragraph:
    """A sentence or more."""

    text: str
    role: str = TEXT
    kind: Literal["paragraph"] = "paragraph"


@dataclass(frozen=True, slots=True)
class Code:
    """A file or commands, word by word."""

    title: str
    text: str
    kind: Literal["code"] = "code"


@dataclass(frozen=True, slots=True)
class Chart:
    """A drawing: a Vega-Lite specification, what it shows in words for who cannot see it, how to read it."""

    title: str
    spec: dict[str, Any]
    alt: str
    note: str = ""
    kind: Literal["chart"] = "chart"


@dataclass(frozen=True, slots=True)
class Found:
    """One finding whole: what was found, what it is held against, what it means, what to do."""

    id: str
    severity: str
    title: str
    where: str
    message: str
    advice: str = ""
    rule: str = ""
    means: str = ""
    kind: Literal["finding"] = "finding"


Block = Table | Facts | Paragraph | Code | Chart | Found


@dataclass(frozen=True, slots=True)
class Section:
    """A heading and what stands below it. `id` is unique in the document."""

    id: str
    title: str
    blocks: Sequence[Block]


@dataclass(frozen=True, slots=True)
class Card:
    """What is to be known of a run at a glance: the figure it is about, whether it holds, what was tested on what."""

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
    """One run: its card and its sections. `name`: what it is called beside others (A, B, B2)."""

    card: Card
    sections: Sequence[Section]
    name: str = ""


@dataclass(frozen=True, slots=True)
class Report:
    """The whole document. `answer` is what is said of runs held against each other, `compared` the evidence."""

    title: str
    runs: Sequence[RunPart]
    answer: Sequence[Paragraph] = ()
    compared: Sequence[Block] = ()
    remarks: Sequence[str] = ()  # what is to be known of the document itself
    made: str = ""  # by which version, when

    @property
    def many(self) -> bool:
        """Whether the cards of its runs are more than a glance: what they come to stands before them then."""
        return len(self.runs) > 2
