"""benchtui runs: list, show, annotate, remove saved runs."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from tui.cli.common import text_width
from tui.cli.prove import configure as prove_arguments
from tui.model.paths import Paths
from tui.model.problem import BenchtuiError, Problem, UsageError
from tui.model.rundir import JOURNAL_FILE, RECORD_FILE
from tui.results.store.runs import RunStore, RunSummary, is_running, summarize

if TYPE_CHECKING:
    from tui.model.record import RunRecord

RUN_HELP = "run id, unique beginning of one, path, or 'last'"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    listing = actions.add_parser("list", help="saved runs, newest first")
    listing.add_argument("--json", action="store_true", help="print one JSON array")
    listing.add_argument("--limit", type=_positive, metavar="N", help="the N newest only")
    listing.set_defaults(do=list_runs)
    show = actions.add_parser("show", help="the figures of one run")
    show.add_argument("run", metavar="RUN", help=RUN_HELP)
    form = show.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print the run record")
    form.add_argument("--plot", action="store_true", help="add a chart: values over time, of a sweep over its axis")
    show.add_argument("--steps", action="store_true", help="add the figures of every step of a sweep or a suite")
    show.add_argument("--metric", choices=("iops", "bandwidth", "latency"), help="what to plot (default: the headline)")
    show.set_defaults(do=show_run)
    note = actions.add_parser("note", help="add a remark to a run")
    note.add_argument("run", metavar="RUN", help=RUN_HELP)
    note.add_argument("text", metavar="TEXT", help="the remark")
    note.set_defaults(do=note_run)
    recover = actions.add_parser("recover", help="finish runs whose engine died: collect what the hosts still hold")
    recover.add_argument("runs", metavar="RUN", nargs="*", help=f"{RUN_HELP}; default: all unfinished ones")
    recover.set_defaults(do=recover_runs)
    resume = actions.add_parser("resume", help="measure what a stopped or cut-off run still lacks; what is done stays")
    resume.add_argument("run", metavar="RUN", help=RUN_HELP)
    resume.add_argument("--failed", action="store_true", help="also measure again what ended with errors")
    resume.set_defaults(do=resume_run)
    prove = actions.add_parser("prove", help="confirm what limited a run by one short counter-experiment")
    prove.add_argument("run", metavar="RUN", help=RUN_HELP)
    prove_arguments(prove)
    prove.set_defaults(do=prove_run)
    remove = actions.add_parser("rm", help="remove runs from this machine")
    remove.add_argument("runs", metavar="RUN", nargs="+", help=RUN_HELP)
    remove.add_argument("--yes", action="store_true", help="do not ask")
    remove.set_defaults(do=remove_runs)


def main(args: argparse.Namespace) -> int:
    """Do it and return the exit code."""
    code: int = args.do(args, RunStore(Paths.from_environ(os.environ).runs))
    return code


def list_runs(args: argparse.Namespace, store: RunStore) -> int:
    """Print all runs: a table for people, or JSON."""
    summaries = store.list(args.limit)
    if args.json:
        print(msgspec.json.format(msgspec.json.encode(summaries), indent=1).decode())
    elif summaries:
        print("\n".join(table(summaries)))
    else:
        print(f"no runs in {store.runs_dir}", file=sys.stderr)
    return 0


def table(summaries: list[RunSummary]) -> list[str]:
    """Return the lines of a list of runs."""
    from tui.metrics import units
    from tui.results.text.plain import printable

    id_width = max(len("run"), *(len(each.run_id) for each in summaries))
    found_width = max(len("verdict"), *(len(each.judged) for each in summaries))
    lines = [f"{'run':<{id_width}}  {'state':<11} hosts    time  {'verdict':<{found_width}}  headline"]
    for each in summaries:
        begin = f"{each.run_id:<{id_width}}  {each.state:<11} {len(each.hosts):>5} {units.duration(each.duration_s):>7}"
        note = f"  ({' '.join(printable(each.note).split())})" if each.note else ""
        lines.append(f"{begin}  {each.judged or '-':<{found_width}}  {each.headline}{note}".rstrip())
    return lines


def show_run(args: argparse.Namespace, store: RunStore) -> int:
    """Print the summary of a run, with a chart when asked for, or its record."""
    from tui.results.record.build import build_record, load_record
    from tui.results.text.summary import summary_text

    run_dir = store.resolve(args.run)
    running = is_running(run_dir)
    record = build_record(run_dir) if running else load_record(run_dir)
    if args.json:
        print(record_text(run_dir, record, running=running), end="")
        return 0
    path = run_dir / RECORD_FILE
    shown = path if path.exists() and not running else None
    width = max(80, shutil.get_terminal_size((80, 24)).columns)
    print(summary_text(record, shown, running=running, steps=args.steps, width=width), end="")
    if not running:
        show_published(record)
    if args.plot:
        print(f"\n{plot(record, args.metric)}")
    return 0


def show_published(record: RunRecord) -> None:
    """Print the run beside the published figures of its profile; nothing when there are none."""
    from tui.results.baselines.text import published, published_text

    view, problems = published(record, Paths.from_environ(os.environ).baselines)
    for problem in problems:
        print(f"benchtui: {problem}", file=sys.stderr)
    if view is not None:
        print(f"\n{published_text(view, text_width())}", end="")


def record_text(run_dir: Path, record: RunRecord, *, running: bool) -> str:
    """Return run.json as it is on disk, with keys of newer versions in it; for want of one, the record so far."""
    path = run_dir / RECORD_FILE
    return path.read_text(encoding="utf-8") if path.exists() and not running else record.to_json()


def plot(record: RunRecord, metric: str | None) -> str:
    """Return the chart for standard output: as wide as the terminal, in colour on a terminal only.

    A sweep is drawn over its axis, unless a metric over time is asked for.
    """
    from tui.results.matrix.cells import cells_of_record
    from tui.results.matrix.chart import table_chart
    from tui.results.matrix.table import tables_of
    from tui.results.text.chart import ChartMetric, chart
    from tui.text.line import plain_lines
    from tui.text.plot import coloured

    known: dict[str | None, ChartMetric] = {"iops": "iops", "bandwidth": "bandwidth", "latency": "latency"}
    wanted = metric or (record.headline.metric if record.headline is not None else "iops")
    color = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    width = shutil.get_terminal_size((80, 24)).columns
    tables = tables_of(cells_of_record(record)) if metric is None else []
    charts = [lines for table in tables if (lines := table_chart(table, width, 20, named=len(tables) > 1))]
    charts = charts or [chart(record, known.get(wanted, "iops"), width, 20)]
    return "\n\n".join(coloured(lines) if color else "\n".join(plain_lines(lines)) for lines in charts)


def note_run(args: argparse.Namespace, store: RunStore) -> int:
    """Add a remark: through its engine while a run lives, else to its journal and its record."""
    run_dir = store.resolve(args.run)
    text = args.text.strip()
    if not text:
        raise UsageError("the note is empty")
    if is_running(run_dir):
        from tui.engine.process.control import request

        answer = request(run_dir, {"verb": "note", "text": text})
        if not answer.get("ok"):
            raise BenchtuiError(f"{run_dir.name}: {answer.get('error', 'the run did not take the note')}")
        return 0
    from tui.journal.writer import append_note
    from tui.results.record.build import load_record, write_record
    from tui.results.record.imported import add_note

    if not (run_dir / JOURNAL_FILE).exists() and (record := load_record(run_dir)).state == "imported":
        add_note(run_dir, record, text)
        return 0
    append_note(run_dir, text)
    write_record(run_dir)
    return 0


def remove_runs(args: argparse.Namespace, store: RunStore) -> int:
    """Remove runs for good, after asking."""
    directories = list(dict.fromkeys(store.resolve(ref) for ref in args.runs))
    for run_dir in directories:
        summary = summarize(run_dir)
        if summary is not None and summary.state == "running":
            raise UsageError(f"{run_dir.name} is running; end it first: benchtui stop {run_dir.name}")
    names = ", ".join(run_dir.name for run_dir in directories)
    if not args.yes and not _confirmed(names):
        print("nothing removed", file=sys.stderr)
        return 1
    for run_dir in directories:
        _remove(run_dir)
    print(f"removed {names}", file=sys.stderr)
    return 0


def _confirmed(names: str) -> bool:
    if not sys.stdin.isatty():
        raise UsageError(f"this removes {names}; confirm with --yes")
    print(f"remove {names}? [y/N] ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _remove(run_dir: Path) -> None:
    """Remove a directory; it leaves the list of runs at once, however long the rest takes."""
    doomed = run_dir.with_name(f".removed-{run_dir.name}")
    try:
        run_dir.rename(doomed)
        shutil.rmtree(doomed)
    except OSError as error:
        raise BenchtuiError(Problem(f"cannot be removed: {error.strerror}", file=str(run_dir))) from error


def recover_runs(args: argparse.Namespace, store: RunStore) -> int:
    """Finish unfinished runs one after the other; 4 when one of them is not complete."""
    from tui.cli.launching import restart
    from tui.cli.watching import watch
    from tui.results.store.unfinished import is_unfinished, unfinished_runs

    chosen = [store.resolve(ref) for ref in args.runs] or unfinished_runs(store.runs_dir)
    for run_dir in chosen:
        if not is_unfinished(run_dir):
            raise UsageError(f"run {run_dir.name} is {'going on' if is_running(run_dir) else 'finished already'}")
    if not chosen:
        print("no run is unfinished", file=sys.stderr)
    codes = [0]
    for run_dir in chosen:
        print(f"recovering {run_dir.name}", file=sys.stderr)
        try:
            restart(run_dir, "recover")
            codes.append(watch(run_dir, as_json=False))
        except BenchtuiError as error:  # the others have their turn
            print("".join(f"benchtui: {problem}\n" for problem in error.problems), end="", file=sys.stderr)
            codes.append(4)
    return max(codes)


def resume_run(args: argparse.Namespace, store: RunStore) -> int:
    """Run the steps that a run still lacks, in its own directory."""
    from tui.cli.launching import restart
    from tui.cli.watching import watch
    from tui.engine.process.launch import resume_mode

    run_dir = store.resolve(args.run)
    mode, count = resume_mode(run_dir, failed=args.failed, running=is_running(run_dir))
    print(f"resuming {run_dir.name}: {count} {'step' if count == 1 else 'steps'} to go", file=sys.stderr)
    restart(run_dir, mode)
    return watch(run_dir, as_json=False)


def prove_run(args: argparse.Namespace, store: RunStore) -> int:
    """Make a counter-experiment about what limited a run: a run of its own, on the same hosts and files."""
    from tui.cli.prove import main

    return main(args, store.resolve(args.run))


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"must be a number from 1, got '{text}'")
    return int(text)
