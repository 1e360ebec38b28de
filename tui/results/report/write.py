"""A report from the runs on disk to the text of a file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import tui
from tui.model.problem import Problem
from tui.model.utc import format_utc
from tui.results.baselines.text import published
from tui.results.report.content import Source, report_of
from tui.results.report.side_by_side import ALONE, Versus
from tui.results.store.load import load_record
from tui.results.store.marks import read_marks, with_tags

if TYPE_CHECKING:
    from tui.results.store.runs import RunStore

SHOWN_FROM = 5  # runs of the same, for a history to stand in a report without being asked for
LEAST_HISTORY = 2
Shape = Literal["html", "md"]


def source_at(run_dir: Path, baselines: Path | None) -> tuple[Source, tuple[Problem, ...]]:
    """Return a run with its published figures; one that goes on as far as it is. Raises BenchtuiError.

    `baselines` is the user's own directory, problems are of files in it; None: shipped figures alone.
    """
    record = load_record(run_dir)
    view, problems = published(record, baselines)
    marks = read_marks(run_dir)
    return Source(with_tags(record, marks), run_dir, view, marks.title), problems


def with_histories(sources: Sequence[Source], store: RunStore, *, always: bool = False) -> list[Source]:
    """Return the runs with the history of their profile on their target, told once where runs share it.

    It is that of runs that were measured alike. One of fewer than SHOWN_FROM runs is left out unless `always`. Raises
    UsageError.
    """
    from tui.results.compare.setup import head_at, head_of, measured, measured_at
    from tui.results.compare.trend import trends_of

    runs, told, found = store.everything().runs, set(), []
    for source in sources:
        record = source.record
        head = head_at(source.run_dir) if source.run_dir is not None else None
        like = {each.point: each.setup for each in measured(head or head_of(record))}
        key = record.profile.tag, record.target or ""
        if (alike := (*key, *sorted(like.items()))) in told:
            trends = []
        else:
            trends = trends_of(runs, *key, lambda run: measured_at(store.directory_of(run)), like)
        least = LEAST_HISTORY if always else SHOWN_FROM
        told.add(alike)
        found.append(replace(source, history=[each for each in trends if len(each.runs) >= least]))
    return found


def written(
    sources: Sequence[Source],
    shape: Shape,
    *,
    redact: bool = False,
    words: Sequence[str] = (),
    versus: Versus = ALONE,
) -> str:
    """Return the report of these runs. `redact` leaves out names, addresses and remarks, `words` among them.

    Raises UsageError for criteria of a profile that cannot be read.
    """
    remarks = []
    if redact:
        from tui.results.report.redact import REMARK, redacted

        named, sources = sources, redacted(sources, words)
        versus = versus.renamed([(old.record, new.record) for old, new in zip(named, sources, strict=True)])
        remarks.append(REMARK)
    made = f"Made by benchtui {tui.__version__}, {format_utc(datetime.now(UTC))[:19]}Z"
    report = report_of(sources, made, remarks, drawn=shape == "html", versus=versus)
    if shape == "md":
        from tui.results.report.markdown import markdown_of

        return markdown_of(report)
    from tui.results.report.html import html_of

    return html_of(report)
