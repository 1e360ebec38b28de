"""`benchtui runs show`: the figures of one run."""

from __future__ import annotations

import argparse
import os
import sys
from typing import TYPE_CHECKING

from tui.cli.runs.arguments import RUN_HELP, Actions
from tui.cli.shared.output import columns, text_width, wants_colour
from tui.journal.alive import is_running
from tui.model.paths import Paths
from tui.model.rundir import RECORD_FILE
from tui.results.store.marks import read_marks, with_tags
from tui.results.store.runs import RunStore

if TYPE_CHECKING:
    from tui.model.record import RunRecord


def configure(actions: Actions) -> None:
    """Add the action."""
    show = actions.add_parser("show", help="the figures of one run")
    show.add_argument("run", metavar="RUN", help=RUN_HELP)
    form = show.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print the run record")
    form.add_argument("--plot", action="store_true", help="add a chart: values over time, of a sweep over its axis")
    form.add_argument("--defend", action="store_true", help="objections to the figures, with the evidence")
    show.add_argument("--steps", action="store_true", help="add the figures of every step of a sweep or a suite")
    show.add_argument("--metric", choices=("iops", "bandwidth", "latency"), help="what to plot (default: the headline)")
    show.set_defaults(do=show_run)


def show_run(args: argparse.Namespace, store: RunStore) -> int:
    """Print the summary of a run, with a chart when asked for, or its record."""
    from tui.results.report.summary import summary_text
    from tui.results.store.load import load_record, record_json, record_so_far

    run_dir = store.resolve(args.run)
    running = is_running(run_dir)
    record = record_so_far(run_dir) if running else load_record(run_dir)
    if args.json:
        print(record.to_json() if running else record_json(run_dir, record), end="")
        return 0
    if args.defend:
        print(defend_text(record))
        return 0
    path = run_dir / RECORD_FILE
    shown = path if path.exists() and not running else None
    marks = read_marks(run_dir)
    if marks.title or marks.starred:
        print("* " * marks.starred + marks.title)
    width = max(80, columns())
    print(summary_text(with_tags(record, marks), shown, running=running, steps=args.steps, width=width), end="")
    if not running:
        show_criteria(record)
        show_published(record)
    if args.plot:
        print(f"\n{plot(record, args.metric)}")
    return 0


def defend_text(record: RunRecord) -> str:
    """Return the run's headline and verdict, then the objections with their answers."""
    from tui.results.objections.catalogue import objections_to
    from tui.results.objections.text import objection_lines
    from tui.results.text.judged import checks_text
    from tui.text.line import plain_lines

    headline = f"headline: {record.headline.text}" if record.headline is not None and record.headline.value else ""
    first = [record.run_id, record.profile.tag, headline, checks_text(record)]
    lines = plain_lines(objection_lines(objections_to(record), text_width() or 100, judged=record.checks is not None))
    return "\n".join([*filter(None, first), "", *lines])


def show_criteria(record: RunRecord) -> None:
    """Print how the run stands by the thresholds of its profile; those against another run are for `compare`."""
    if not record.criteria:
        return
    from tui.results.compare.criteria import criteria_of, judge

    for at, each in enumerate(judge([], [record], criteria_of([record]))):
        print(f"{'' if at else chr(10)}must not be  {each.text}")


def show_published(record: RunRecord) -> None:
    """Print the run beside the published figures of its profile; nothing when there are none."""
    from tui.results.baselines.text import published, published_text

    view, problems = published(record, Paths.from_environ(os.environ).baselines)
    for problem in problems:
        print(f"benchtui: {problem}", file=sys.stderr)
    if view is not None:
        print(f"\n{published_text(view, text_width())}", end="")


def plot(record: RunRecord, metric: str | None) -> str:
    """Return the chart for standard output: as wide as the terminal, in colour on a terminal only.

    A sweep is drawn over its axis, unless a metric over time is asked for.
    """
    from tui.results.matrix.table import tables_of
    from tui.results.record.cells import cells_of_record
    from tui.results.text.chart import ChartMetric, chart
    from tui.results.text.matrix_chart import table_chart
    from tui.text.line import plain_lines
    from tui.text.plot import coloured

    known: dict[str | None, ChartMetric] = {"iops": "iops", "bandwidth": "bandwidth", "latency": "latency"}
    wanted = metric or (record.headline.metric if record.headline is not None else "iops")
    color = wants_colour()
    width = columns()
    tables = tables_of(cells_of_record(record)) if metric is None else []
    drawn = (table_chart(table, width, 20, named=len(tables) > 1, coloured=color) for table in tables)
    charts = [lines for lines in drawn if lines]
    charts = charts or [chart(record, known.get(wanted, "iops"), width, 20, coloured=color)]
    return "\n\n".join(coloured(lines) if color else "\n".join(plain_lines(lines)) for lines in charts)
