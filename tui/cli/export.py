"""`benchtui export`: write a saved run in a format of other tools."""

from __future__ import annotations

import argparse
import sys

from tui.cli.shared.common import (
    RUN_HELP,
    add_flag,
    add_json,
    add_redaction,
    report,
    run_store,
    say,
)
from tui.model.exporter import installed, load
from tui.model.problem import UsageError


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    parser.description = (
        "Writes a saved run in a format that other tools read. A single text"
        " file goes to stdout unless -o is given; several files go to the directory given"
        " with -o, by default RUN.FORMAT. Prints the paths of the files written."
    )
    parser.add_argument("run", metavar="RUN", nargs="?", help=RUN_HELP)
    parser.add_argument(
        "format", metavar="FORMAT", nargs="?", help="one of: " + ", ".join(installed())
    )
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE|DIR",
        help="output file; a directory if it exists, if the name ends in /, or if the format writes"
        " several files",
    )
    add_flag(
        parser, "--stream", "follow a run until it ends; -o is a file, or an HTTP URL to push to"
    )
    add_redaction(parser)
    add_json(parser)
    add_flag(parser, "--formats", "list the formats and the tools that read them")


def main(args: argparse.Namespace) -> int:
    """Export a run and return the exit code."""
    if args.formats:
        report(args, {name: _title(name) for name in installed()}, formats_text().rstrip("\n"))
        return 0
    if args.run is None or args.format is None:
        raise UsageError("name a run and a format; benchtui export --formats lists them")
    if args.json and (args.output is None or args.stream):
        raise UsageError("--json lists the files written: use it with -o and without --stream")
    exporter = load(args.format)
    from tui.export.save import caveat_of, export, single_text_file, source_of, without_names

    run_dir = run_store().resolve(args.run)
    redact = args.redact or bool(args.hide)
    if redact and args.stream:
        raise UsageError(
            "--redact cannot be used with --stream, whose events contain names; export the"
            " finished run"
        )
    if args.stream:
        from tui.export.stream import follow

        return int(not follow(run_dir, args.format, args.output or "-", say))
    source = source_of(run_dir)
    if caveat := caveat_of(source):
        say(f"benchtui: {caveat}")
    if redact:
        source = without_names(source, args.format, args.hide)
    if args.output is None and (file := single_text_file(source, exporter)) is not None:
        for part in file.parts:
            sys.stdout.buffer.write(part)
        return 0
    paths = [str(path) for path in export(source, args.format, args.output)]
    report(args, {"run_id": run_dir.name, "format": args.format, "paths": paths}, "\n".join(paths))
    return 0


def formats_text() -> str:
    """Return the formats, one per line, with the reason if one cannot be loaded."""
    width = max(map(len, installed()), default=0)
    return "".join(f"{name:<{width}}  {_title(name)}\n" for name in installed())


def _title(name: str) -> str:
    try:
        return load(name).line
    except UsageError as error:
        return str(error)
