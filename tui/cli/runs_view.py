"""`benchtui runs list` and `show`: print a table of runs, or one run."""

from __future__ import annotations

import argparse
import gc
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeAlias

import msgspec

from tui.cli.shared.arguments import columns, text_width, wants_colour
from tui.cli.shared.common import RUN_HELP, add_flag, say
from tui.journal.rundir import is_running
from tui.library.runs import RunStore
from tui.library.summary import RunSummary, read_marks, tags_text, with_tags
from tui.model.paths import Paths
from tui.model.problem import UsageError, did_you_mean
from tui.model.rundir import RECORD_FILE

if TYPE_CHECKING:
    from tui.model.record import RunRecord

Actions: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"  # has no public name


def add_listing(actions: Actions) -> None:
    """Add the action `list`."""
    from tui.library.filter import HELP
    from tui.library.summary import ORDERS

    listing = actions.add_parser(
        "list",
        help=(
            "list saved runs, newest first, optionally filtered: runs list WORD profile:weka"
            " since:7d"
        ),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog=f"FILTER: {HELP}\n(if a part begins with -, put -- before it)",
    )
    listing.add_argument(
        "filter", nargs="*", metavar="FILTER", help="words and key:value pairs; all must match"
    )
    listing.add_argument(
        "--sort", metavar="KEY", help=f"{', '.join(ORDERS)} (default: started, newest first)"
    )
    add_flag(listing, "--reverse", "reverse the order")
    add_flag(listing, "--json", "print one JSON array")
    listing.add_argument("--limit", type=_positive, metavar="N", help="list only the first N")
    listing.set_defaults(do=list_runs)


def list_runs(args: argparse.Namespace, store: RunStore) -> int:
    """Print runs as a table or JSON; name unreadable directories on stderr."""
    with uncollected():
        print_runs(args, store, chosen(args, store))
    return 0


@contextmanager
def uncollected() -> Iterator[None]:
    """Disable garbage collection in the body of a with statement.

    Ten thousand runs are many objects, none of them garbage.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def print_runs(args: argparse.Namespace, store: RunStore, summaries: Sequence[RunSummary]) -> None:
    """Print runs as a table or JSON."""
    if args.json:
        from tui.judge.wording import message_of

        for found in (each for summary in summaries for each in summary.findings):
            found.message = message_of(found)
        for summary in summaries:
            summary.reason = summary.why
        print(msgspec.json.format(msgspec.json.encode(summaries), indent=1).decode())
    elif summaries:
        print("\n".join(table(summaries)))
    elif args.filter:
        say(f"no run matches {' '.join(args.filter)}")
    else:
        shared = f", nor in {', '.join(map(str, store.shared))}" if store.shared else ""
        say(f"no runs in {store.runs_dir}{shared}")


def chosen(args: argparse.Namespace, store: RunStore) -> Sequence[RunSummary]:
    """Return the runs that the arguments select, in order. Raises UsageError."""
    from tui.library.filter import parse
    from tui.library.summary import ORDERS, ordered

    if args.sort is not None and args.sort not in ORDERS:
        raise UsageError(
            f"--sort {args.sort}: unknown key{did_you_mean(args.sort, ORDERS)};"
            f" allowed: {', '.join(ORDERS)}"
        )
    wanted = parse(" ".join(args.filter))
    if not (args.filter or args.sort or args.reverse or store.shared):
        return store.list(args.limit)
    listing = store.everything()
    for problem in listing.problems:
        print(f"benchtui: {problem}", file=sys.stderr)
    runs = [run for run in listing.runs if wanted(run)] if wanted.tests else listing.runs
    if args.sort or args.reverse:
        runs = ordered(runs, args.sort or "started", reverse=args.reverse)
    return runs[: args.limit]


def table(summaries: Sequence[RunSummary]) -> list[str]:
    """Return runs as the lines of a table."""
    from tui.metrics import units

    judged = [each.judged or "-" for each in summaries]
    id_width = max(len("run"), *(len(each.run_id) for each in summaries))
    found_width = max(len("verdict"), *map(len, judged))
    lines = [
        f"{'run':<{id_width}}  {'state':<11} hosts    time  {'verdict':<{found_width}}  headline"
    ]
    for each, verdict in zip(summaries, judged, strict=True):
        begin = (
            f"{each.run_id:<{id_width}} "
            f" {each.state:<11} {len(each.hosts):>5} {units.duration(each.duration_s):>7}"
        )
        lines.append(
            f"{begin}  {verdict:<{found_width}}  {each.headline}{_last_column(each)}".rstrip()
        )
    return lines


def _last_column(run: RunSummary) -> str:
    """Return the last column of a run: title, notes, tags, problem, owner."""
    from tui.model.plain import printable

    text = "  *" if run.starred else ""
    if run.title:
        text += f'  "{run.title}"'
    if run.note:
        text += f"  ({' '.join(run.note.split())})"
    if run.tags:
        text += f"  [{tags_text(run.tags)}]"
    if run.problem:
        text += f"  {run.problem}"
    if run.owner:
        text += f"  by {run.owner}"
    return printable(text)


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"expected a whole number of 1 or more, got '{text}'")
    return int(text)


def add_showing(actions: Actions) -> None:
    """Add the action `show`."""
    show = actions.add_parser("show", help="print one run's figures")
    show.add_argument("run", metavar="RUN", help=RUN_HELP)
    form = show.add_mutually_exclusive_group()
    add_flag(form, "--json", "print the run record")
    add_flag(form, "--plot", "add a chart over time, for a sweep over its parameter")
    add_flag(form, "--defend", "print objections to the figures, with the evidence")
    add_flag(show, "--steps", "add figures for every step of a sweep or a suite")
    show.add_argument(
        "--metric",
        choices=("iops", "bandwidth", "latency"),
        help="metric to plot (default: the headline)",
    )
    show.set_defaults(do=show_run)


def show_run(args: argparse.Namespace, store: RunStore) -> int:
    """Print a run's record, the objections to its figures, or its summary, with a chart if asked
    for.
    """
    from tui.export.run_files import shown_text
    from tui.library.load import load_record, record_json, record_so_far, with_texts
    from tui.view.published import published, published_text

    run_dir = store.resolve(args.run)
    if args.run == "last" and (newest := store.resolve("last:any")) != run_dir:
        print(
            f"benchtui: 'last' is {run_dir.name}; {newest.name} is newer, but has no figures; to"
            " show it: runs show last:any",
            file=sys.stderr,
        )
    running = is_running(run_dir)
    record = record_so_far(run_dir) if running else load_record(run_dir)
    if args.json:
        print(with_texts(record.to_json()) if running else record_json(run_dir, record), end="")
        return 0
    if args.defend:
        print(defend_text(record))
        return 0
    path = run_dir / RECORD_FILE
    shown = path if path.exists() and not running else None
    marks = read_marks(run_dir)
    if marks.title or marks.starred:
        print("* " * marks.starred + marks.title)
    kept = Paths.from_environ(os.environ).baselines
    width = max(80, columns())
    view, problems = published(record, kept) if not running else (None, ())
    beside = published_text(view, text_width()) if view is not None else ""
    text = shown_text(
        with_tags(record, marks), shown, beside, running=running, steps=args.steps, width=width
    )
    print(text, end="")
    if edited := edited_names(record):
        print(f"profile {record.profile.tag}: edited since this run: {', '.join(edited)}")
    for problem in problems:
        print(f"benchtui: {problem}", file=sys.stderr)
    if args.plot:
        print(f"\n{plot(record, args.metric)}")
    return 0


def edited_names(record: RunRecord) -> list[str]:
    """Return the differences between a run's profile and the current version of that profile."""
    from tui.engine.inputs.edits import edited_since

    own = record.profile
    texts = {each.tag: each.text for each in own.members if each.text is not None}
    texts |= dict(zip(own.extends, own.bases, strict=False))
    texts |= {own.tag: own.text} if own.text is not None else {}
    return edited_since(texts, Paths.from_environ(os.environ).profiles)


def defend_text(record: RunRecord) -> str:
    """Return the run's headline and verdict, then the objections with their answers."""
    from tui.record.headline import told_headline
    from tui.text.line import plain_lines
    from tui.view.objection_catalogue import objections_to
    from tui.view.objections import objection_lines
    from tui.view.step_notes import checks_text

    known = record.headline is not None and record.headline.value
    headline = f"headline: {told_headline(record)}" if known else ""
    first = [record.run_id, record.profile.tag, headline, checks_text(record)]
    lines = plain_lines(
        objection_lines(
            objections_to(record), text_width() or 100, judged=record.checks is not None
        )
    )
    return "\n".join([*filter(None, first), "", *lines])


def plot(record: RunRecord, metric: str | None) -> str:
    """Return the chart of a run: as wide as the terminal, coloured on a terminal only.

    A sweep is drawn over its axis, unless a metric over time is given.
    """
    from tui.record.cells import cells_of_record
    from tui.record.matrix import tables_of
    from tui.text.line import plain_lines
    from tui.text.plot import coloured
    from tui.view.charts import ChartMetric, chart
    from tui.view.matrix_chart import table_chart

    known: dict[str | None, ChartMetric] = {
        "iops": "iops",
        "bandwidth": "bandwidth",
        "latency": "latency",
    }
    wanted = metric or (record.headline.metric if record.headline is not None else "iops")
    color = wants_colour()
    width = columns()
    tables = tables_of(cells_of_record(record)) if metric is None else []
    drawn = (
        table_chart(table, width, 20, named=len(tables) > 1, coloured=color) for table in tables
    )
    charts = [lines for lines in drawn if lines]
    charts = charts or [chart(record, known.get(wanted, "iops"), width, 20, coloured=color)]
    return "\n\n".join(
        coloured(lines) if color else "\n".join(plain_lines(lines)) for lines in charts
    )
