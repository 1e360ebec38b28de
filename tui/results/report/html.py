"""A report as one HTML file: no script, no network, every text escaped by the template engine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tui.results.report.document import Block, Chart, Report, Table, cell_role, cell_text
from tui.results.report.vega import svg_of
from tui.text.line import BAD, WARN

TEMPLATES = Path(__file__).parent / "templates"
FOLDED_LINES = 24  # a table with more rows is folded, on paper it is not
POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"


def html_of(report: Report) -> str:
    """Return the whole file. Charts are drawn here: about a tenth of a second each."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    engine = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    engine.globals.update(
        text=cell_text, role=cell_role, svg=_svg, is_long=_is_long, marked=_marked, policy=POLICY, css=_css()
    )
    return engine.get_template("report.html").render(report=report)


def _css() -> Any:
    from markupsafe import Markup

    return Markup((TEMPLATES / "report.css").read_text(encoding="utf-8"))


def _svg(chart: Chart) -> Any:
    """Return a drawing as markup: it is serialised from a tree of elements, with nothing but shapes and texts in it."""
    from markupsafe import Markup

    return Markup(svg_of(chart.spec, chart.alt))


def _marked(table: Table) -> str:
    """Return the names of the rows that are marked, so that they are seen in a folded table."""
    return ", ".join(dict.fromkeys(cell_text(row[0]) for row in table.rows if cell_role(row[0]) in (WARN, BAD)))


def _is_long(block: Block) -> bool:
    return block.kind == "table" and len(block.rows) > FOLDED_LINES
