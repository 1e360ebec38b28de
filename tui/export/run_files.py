"""Text files of a run for `ls` and `less`: command.txt and summary.txt.

If the settings ask for it, there is report.html as well.
"""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from tui.analysis.criteria import criteria_of, judge
from tui.journal.rundir import write_atomic
from tui.model.rundir import COMMAND_FILE, RECORD_FILE, REPORT_FILE, TEXT_FILE
from tui.view.published import published, published_text
from tui.view.run_summary import summary_text

if TYPE_CHECKING:
    from tui.model.record import RunRecord

WIDTH = 100


def write_run_files(
    run_dir: Path, record: RunRecord, baselines: Path | None, *, report: bool = False
) -> None:
    """Write the text files next to run.json, each atomically.

    Raises BenchtuiError, OSError.
    """
    write_atomic(run_dir / COMMAND_FILE, command_text(record).encode())
    view, _ = published(record, baselines)
    beside = published_text(view) if view is not None else ""
    write_atomic(run_dir / TEXT_FILE, shown_text(record, run_dir / RECORD_FILE, beside).encode())
    if report:
        from tui.view.report.write import source_at, written

        write_atomic(
            run_dir / REPORT_FILE, written([source_at(run_dir, baselines)[0]], "html").encode()
        )


def command_text(record: RunRecord) -> str:
    """Return a shell script that repeats a run; for an imported run, comments only.

    The comments say where the exact plan is, or which commands were found in the output.
    """
    from tui.export.copies import command_line

    lines = [
        f"# repeats {record.run_id}, benchtui {record.provenance.benchtui_version or 'unknown'}"
    ]
    if record.state == "imported":
        how = record.provenance.imported
        files = ", ".join(how.names) if how is not None else "output of a load generator"
        lines[0] = f"# {record.run_id} was imported from {files}; commands found in the output:"
        commands = dict.fromkeys(shlex.join(command.argv) for command in record.provenance.commands)
        lines += [f"# {each}" for each in commands]
        return "\n".join(lines) + "\n"
    if record.profile.sha256:
        lines.append(
            f"# profile {record.profile.tag}, sha256 {record.profile.sha256[:12]}; for its"
            " text see plan.json"
        )
    return (
        "\n".join(
            [*lines, command_line(record), "# for the exact commands of each host see plan.json"]
        )
        + "\n"
    )


def shown_text(
    record: RunRecord,
    path: Path | None,
    published: str,
    *,
    running: bool = False,
    steps: bool = False,
    width: int = WIDTH,
) -> str:
    """Return what `runs show` prints: summary, thresholds of the profile, published results.

    While a run is `running`, only the summary. `width`: width of matrix tables in characters.
    """
    text = summary_text(record, path, running=running, steps=steps, width=width)
    if running:
        return text
    criteria = [f"fails if  {each.text}" for each in judge([], [record], criteria_of([record]))]
    blocks = [
        "\n".join(criteria) + "\n" if criteria else "",
        published,
    ]
    return "\n".join([text, *filter(None, blocks)])
