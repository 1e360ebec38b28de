"""The text files in a run's directory; errors in writing them do not affect the run."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from tui.cli.shared.common import paths, user_settings
from tui.model.problem import BenchtuiError

if TYPE_CHECKING:
    from tui.model.record import RunRecord


def write_texts(run_dir: Path, record: RunRecord) -> None:
    """Write command.txt, summary.txt, and report.html if the settings ask for it."""
    from tui.export.run_files import write_run_files

    try:
        write_run_files(run_dir, record, paths().baselines, report=user_settings().report)
    except (BenchtuiError, OSError) as error:
        print(f"benchtui: {run_dir}: its texts were not written: {error}", file=sys.stderr)
