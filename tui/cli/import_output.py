"""`benchtui import`: make records from the output of a load generator that ran elsewhere."""

from __future__ import annotations

import argparse
from pathlib import Path

from tui.cli.shared.common import add_flag, paths, say, write_texts


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    parser.description = (
        "Imports output that a load generator printed elsewhere: JSON, terse"
        " lines, logs, tables or its normal output, even if quoted in a ticket; compressed or"
        " not. Runs every check that has data, and saves a run in the state 'imported'."
        " Several files become the hosts of one run; files whose names differ only by date"
        " become separate runs of one host. Several outputs in one file become consecutive"
        " measurements. A directory or an archive becomes one run per directory that contains"
        " output, unless the tool that wrote it has a layout of its own."
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
            "host name of a file, overriding the one in its output; repeat for each file, in order"
            " (default without either: the file's name without dates)"
        ),
    )
    parser.add_argument("--tool", help="parse only as output of this load generator or format")
    parser.add_argument("--note", metavar="TEXT", help="note to save with the run")
    add_flag(parser, "--dry-run", "print the result; save nothing")
    add_flag(parser, "--json", "print the run record as JSON; several runs: one per line")


def main(args: argparse.Namespace) -> int:
    """Read the output, judge it, save the records, print them."""
    from tui.library.imported import records_of
    from tui.library.load import with_texts
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
        print(
            with_texts(made.record.to_json()) if args.json else summary_text(made.record, path),
            end="",
        )
    return 0
