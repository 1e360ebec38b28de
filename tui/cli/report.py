"""`benchtui report`: write runs as one HTML file, or as Markdown for a ticket."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from tui.cli.shared.common import (
    ACROSS_HELP,
    SIDE_HELP,
    add_flag,
    add_json,
    add_redaction,
    paths,
    report,
    run_store,
    say,
    sides_of,
)
from tui.model.problem import BenchtuiError, Problem, UsageError

if TYPE_CHECKING:
    from tui.view.report.content import ReportedRun
    from tui.view.report.write import Shape

FORMATS: dict[str, Shape] = {".html": "html", ".htm": "html", ".md": "md", ".markdown": "md"}


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    parser.description = (
        "Writes a report of a run: what was tested, on what, whether it is"
        " valid, what limited it, every figure, and everything needed to repeat it. HTML is"
        " one self-contained file with charts; Markdown is for tickets. Several runs are"
        " shown side by side, each compared with the first."
    )
    parser.add_argument("runs", nargs="+", metavar="RUN", help=SIDE_HELP)
    parser.add_argument("--across", action="append", default=[], metavar="NAME", help=ACROSS_HELP)
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        help="FILE.html or FILE.md; - (default): Markdown on stdout",
    )
    parser.add_argument(
        "--format",
        choices=("html", "md"),
        help="default: by the extension of FILE; md on stdout",
    )
    add_redaction(parser)
    parser.add_argument(
        "--trend",
        action=argparse.BooleanOptionalAction,
        help=(
            "include the profile's history on this target and where it changed (default: if there"
            " are 5 or more runs)"
        ),
    )
    add_flag(parser, "--force", "overwrite FILE")
    add_json(parser)


def main(args: argparse.Namespace) -> int:
    """Write the report."""
    from tui.analysis.compare import check_across
    from tui.analysis.measured import NoiseFloors
    from tui.view.report.side_by_side import Versus
    from tui.view.report.write import with_histories, written

    target = None if args.output in (None, "-") else Path(args.output)
    shape: Shape = args.format or shape_of(target)
    if args.json and target is None:
        raise UsageError("--json names the file written: use it with -o FILE")
    if target is not None and target.exists() and not args.force:
        raise UsageError(Problem("exists; use --force to overwrite", file=str(target)))
    sides = sides_of(run_store(), args.runs)
    floors = NoiseFloors.read(paths().noise) if len(sides) > 1 else None
    versus = Versus(tuple(map(len, sides)), tuple(args.across), floors)
    sources = [source_of(run_dir) for side in sides for run_dir in side]
    check_across(args.across, [source.record for source in sources])
    if args.trend is not False:
        sources = with_histories(sources, run_store(), always=args.trend is True)
    text = written(
        sources, shape, redact=args.redact or bool(args.hide), words=args.hide, versus=versus
    )
    if target is None:
        sys.stdout.write(text)
        return 0
    save(target, text)
    say(f"wrote {target} ({len(text.encode()) / 1000:.0f} kB)")
    runs = [source.record.run_id for source in sources]
    report(args, {"path": str(target), "format": shape, "bytes": len(text.encode()), "runs": runs})
    return 0


def shape_of(target: Path | None) -> Shape:
    """Return the format for a file name: HTML or Markdown.

    Raises UsageError for any other suffix. Standard output (None) is Markdown.
    """
    if target is None:
        return "md"
    if target.suffix.lower() not in FORMATS:
        raise UsageError(
            Problem("use the extension .html or .md, or give --format", file=str(target))
        )
    return FORMATS[target.suffix.lower()]


def source_of(run_dir: Path) -> ReportedRun:
    """Return a run to report.

    Prints problems in published results. Raises BenchtuiError.
    """
    from tui.view.report.write import source_at

    source, problems = source_at(run_dir, paths().baselines)
    for problem in problems:
        say(f"benchtui: {problem}")
    return source


def save(target: Path, text: str) -> None:
    """Write a file completely, then rename it into place. Raises BenchtuiError."""
    from tui.journal.rundir import write_atomic

    try:
        write_atomic(target, text.encode())
    except OSError as error:
        raise BenchtuiError(
            Problem(f"cannot be written: {error.strerror}", file=str(target))
        ) from error
