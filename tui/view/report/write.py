"""Write a report of runs on disk as HTML or Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import tui
from tui.library.load import load_record
from tui.library.summary import read_marks, with_tags
from tui.model.plain_data import format_utc
from tui.model.problem import Problem
from tui.text.line import BAD, WARN
from tui.view.document import Block, Chart, DocumentTable, Report, cell_role, cell_text
from tui.view.published import published
from tui.view.report.content import ReportedRun, report_of
from tui.view.report.side_by_side import ALONE, Versus
from tui.view.report.vega import svg_of

if TYPE_CHECKING:
    from tui.library.runs import RunStore

TEMPLATES = Path(__file__).parent / "templates"
FOLDED_LINES = 24  # longer tables are collapsed, except in print
POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"


def html_of(report: Report) -> str:
    """Return the report as a complete HTML file.

    Drawing takes about 0.1 s per chart.
    """
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    engine = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    engine.globals.update(
        text=cell_text,
        role=cell_role,
        svg=_svg,
        is_long=_is_long,
        marked=_marked,
        policy=POLICY,
        css=_css(),
    )
    return engine.get_template("report.html").render(report=report)


def _css() -> Any:
    from markupsafe import Markup

    return Markup((TEMPLATES / "report.css").read_text(encoding="utf-8"))


def _svg(chart: Chart) -> Any:
    """Return a chart as markup.

    It is safe: serialised from a tree that has only shapes and texts.
    """
    from markupsafe import Markup

    return Markup(svg_of(chart.spec, chart.alt))


def _marked(table: DocumentTable) -> str:
    """Return the names of the marked rows, to show them while the table is collapsed."""
    return ", ".join(
        dict.fromkeys(cell_text(row[0]) for row in table.rows if cell_role(row[0]) in (WARN, BAD))
    )


def _is_long(block: Block) -> bool:
    return block.kind == "table" and len(block.rows) > FOLDED_LINES


SHOWN_FROM = 5  # minimum runs of a history that a report includes by default
LEAST_HISTORY = 2  # and on request
Shape = Literal["html", "md"]


def source_at(run_dir: Path, baselines: Path | None) -> tuple[ReportedRun, tuple[Problem, ...]]:
    """Return a run to report with its published results; a running one as it is now.

    `baselines` is the directory of the user's own published results, whose problems are returned;
    None: shipped results only. Raises BenchtuiError.
    """
    record = load_record(run_dir)
    view, problems = published(record, baselines)
    marks = read_marks(run_dir)
    return ReportedRun(with_tags(record, marks), run_dir, view, marks.title), problems


def with_histories(
    sources: Sequence[ReportedRun], store: RunStore, *, always: bool = False
) -> list[ReportedRun]:
    """Return the runs, each with the history of its profile on its target.

    Only runs measured alike are in a history; if reported runs share a history, only the first one
    has it. A history of fewer than SHOWN_FROM runs (with `always`, LEAST_HISTORY) is left out.
    Raises UsageError.
    """
    from tui.analysis.setup import head_at, head_of, measured, measured_at
    from tui.analysis.trend import trends_of

    runs, included, found = store.everything().runs, set(), []
    for source in sources:
        record = source.record
        head = head_at(source.run_dir) if source.run_dir is not None else None
        like = {each.point: each.setup for each in measured(head or head_of(record))}
        key = record.profile.tag, record.target or ""
        if (alike := (*key, *sorted(like.items()))) in included:
            trends = []
        else:
            trends = trends_of(runs, *key, lambda run: measured_at(store.directory_of(run)), like)
        least = LEAST_HISTORY if always else SHOWN_FROM
        included.add(alike)
        found.append(replace(source, history=[each for each in trends if len(each.runs) >= least]))
    return found


def written(
    sources: Sequence[ReportedRun],
    shape: Shape,
    *,
    redact: bool = False,
    words: Sequence[str] = (),
    versus: Versus = ALONE,
) -> str:
    """Return the report of runs as the text of a file.

    `redact` replaces names, addresses, paths and `words`, and removes notes. Raises UsageError for
    unreadable thresholds of a profile.
    """
    caveats = []
    if redact:
        from tui.view.report.redact import CAVEAT, redacted

        named, sources = sources, redacted(sources, words)
        versus = versus.renamed(
            [(old.record, new.record) for old, new in zip(named, sources, strict=True)]
        )
        caveats.append(CAVEAT)
    made = f"Created by benchtui {tui.__version__}, {format_utc(datetime.now(UTC))[:19]}Z"
    report = report_of(sources, made, caveats, drawn=shape == "html", versus=versus)
    if shape == "md":
        from tui.view.document import markdown_of

        return markdown_of(report)

    return html_of(report)
