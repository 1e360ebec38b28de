"""`benchtui import`: make records from the output of a load generator that ran elsewhere."""

from __future__ import annotations

import argparse
from pathlib import Path

from tui.cli.shared.common import paths, say, write_texts


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    parser.description = (
        "Imports output that a load generator printed elsewhere: JSON, terse lines, logs, tables,"
        " or its normal output, also inside the text of a ticket; compressed or not. Applies every"
        " check that has data, and saves a run in the state 'imported'. Several files are several"
        " hosts of one run; files whose names differ only by date are separate runs of one host."
        " Several outputs in one file are measurements one after the other. A directory or an"
        " archive becomes one run per directory with outputs, or follows the layout of the tool"
        " that wrote it."
    )
    parser.add_argument(
        "files",
        nargs="+",
        type=Path,
        metavar="PATH",
        help="saved output: one file per host, or a directory",
    )
    parser.add_argument(
        "--host",
        action="append",
        default=[],
        metavar="NAME",
        help=(
            "host of a file whose output does not name it: once for each file, in order; "
            "otherwise the file's name without dates"
        ),
    )
    parser.add_argument("--tool", help="read it only as output of this load generator or format")
    parser.add_argument("--note", metavar="TEXT", help="note to save with it")
    parser.add_argument("--dry-run", action="store_true", help="only print it; save nothing")
    parser.add_argument(
        "--json", action="store_true", help="print the run record; several runs: one per line"
    )


def main(args: argparse.Namespace) -> int:
    """Read the output, judge it, save the records, print them."""
    from tui.library.imported import records_of
    from tui.model.rundir import RECORD_FILE
    from tui.view.run_summary import summary_text

    for number, made in enumerate(records_of(args.files, args.tool, args.note, args.host)):
        path = None
        if not args.dry_run:
            path = made.keep(paths().runs) / RECORD_FILE
            write_texts(path.parent, made.record)
            say(f"imported as {made.record.run_id}")
        if number and not args.json:
            print()
        print(made.record.to_json() if args.json else summary_text(made.record, path), end="")
    return 0
