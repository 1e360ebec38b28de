"""Entry point of the engine, started by `tui.engine.launch`; not meant for users."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tui.model.record import RunRecord


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    parser.add_argument("run_dir", type=Path)
    parser.add_argument(
        "--mode", choices=("start", "recover", "resume", "resume-failed"), default="start"
    )
    parser.add_argument("--ask", action="store_true")


def main(args: argparse.Namespace) -> int:
    """Execute the plan in a run directory, then write the record from the journal, seal the run and
    write its summary files.

    A counter-experiment also adds its result to the run that it tested.
    """
    from tui.engine.main import run_engine

    try:
        end = run_engine(args.run_dir, args.mode, ask=args.ask)
    finally:
        # even after a failure: the journal has what was measured
        _write_record(args.run_dir)
    return end.exit_code


def _write_record(run_dir: Path) -> None:
    from tui.cli.shared.common import write_texts
    from tui.library.build import write_record
    from tui.model.problem import BenchtuiError

    try:
        record = write_record(run_dir)
    except OSError as error:  # it can be derived from the journal at any time
        print(
            f"benchtui: {run_dir}: cannot write the run record: {error.strerror}", file=sys.stderr
        )
        return
    _seal(run_dir, record)
    write_texts(run_dir, record)
    if record.proves is None:
        return
    from tui.library.additions import add_proof

    try:
        add_proof(run_dir, record)
    except (BenchtuiError, OSError) as error:  # its own record has it
        print(
            f"benchtui: cannot add the result to {record.proves.run_id}: {error}",
            file=sys.stderr,
        )


def _seal(run_dir: Path, record: RunRecord) -> None:
    from tui.library.seal import seal
    from tui.library.summary import renew_summary
    from tui.model.paths import Paths

    try:
        seal(run_dir, Paths.from_environ(os.environ).seal_key)
        record.not_as_sealed = False  # a resumed run had another seal
        renew_summary(run_dir)
    except OSError as error:
        print(
            f"benchtui: {run_dir}: cannot seal the run: {error.filename}: {error.strerror}",
            file=sys.stderr,
        )
