"""What people paste of a run elsewhere: the headline, the table as Markdown, CSV, the command that repeats it."""

from __future__ import annotations

import csv
import io
import shlex
from dataclasses import dataclass
from pathlib import Path

from tui.model.record import RunRecord
from tui.model.rundir import RECORD_FILE
from tui.model.step_record import StepRecord
from tui.results.export.tables import summary
from tui.results.export.tidy_csv import guarded
from tui.results.report.document import Table
from tui.results.report.markdown import markdown_table
from tui.results.report.overview import headline_parts, judged
from tui.results.report.tables import figures_table, matrix_table, matrix_tables, operations_table


@dataclass(frozen=True, slots=True)
class Copy:
    """One text to paste; its key chooses it in a menu."""

    key: str
    label: str
    text: str


def copies_of(record: RunRecord, run_dir: Path) -> list[Copy]:
    """Return what a run has to paste; a run without figures has no table."""
    found = [Copy("h", "headline", headline(record))]
    if table := markdown(record):
        found.append(Copy("t", "table, Markdown", table))
    found += [Copy("c", "table, CSV", summary_csv(record)), Copy("l", "command line", command_line(record))]
    return [*found, Copy("p", "path", str(run_dir / RECORD_FILE))]


def headline(record: RunRecord) -> str:
    """Return a line: what was measured, of what, by whom it can be looked up, and whether it is valid."""
    text = record.headline.text if record.headline is not None else ""
    hosts = f"{len(record.hosts)} host{'' if len(record.hosts) == 1 else 's'}"
    verdict = _in_line(judged(record)[0])
    said = [text or headline_parts(record)[0], f"{record.profile.tag} on {hosts}", verdict, record.run_id]
    return ", ".join(part for part in said if part)


def _in_line(said: str) -> str:
    """Return words that begin a line as they stand within one; what is in capitals stays."""
    return said if said[:2].isupper() else said[:1].lower() + said[1:]


def markdown(record: RunRecord) -> str:
    """Return the matrix, or the figures of each step, as tables of Markdown."""
    matrices = matrix_tables(record) if record.matrix is not None else []
    tables = [matrix_table(each, named=len(matrices) > 1) for each in matrices]
    if not tables:
        tables = [found for step in record.steps if (found := step_table(record, step)) is not None]
    return "\n\n".join(map(markdown_table, tables))


def step_table(record: RunRecord, step: StepRecord) -> Table | None:
    """Return what a step did: its operations where it counts these, else its directions."""
    return operations_table(step.metadata) if step.metadata is not None else figures_table(record, step, step.name)


def summary_csv(record: RunRecord) -> str:
    """Return the summary table as `export csv` writes it."""
    table, out = summary(record), io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([column.name for column in table.columns])
    writer.writerows([guarded(value) for value in row] for row in table.rows)
    return out.getvalue()


def command_line(record: RunRecord) -> str:
    """Return the command that runs the same again: profile, hosts, changed parameters, sweeps, tags."""
    words = ["benchtui", "run", record.profile.tag, "--hosts", ",".join(host.name for host in record.hosts)]
    for server in record.servers or ():
        words += ["--servers", server.name]
    swept = sweeps(record)
    for name, value in record.profile.changed.items():
        words += [] if name in swept else ["--set", f"{name}={value}"]
    for name, values in swept.items():
        words += ["--sweep", f"{name}={','.join(values)}"]
    for name, value in record.tags.items():
        words += ["--tag", f"{name}={value}" if value else name]
    return shlex.join(words)


def sweeps(record: RunRecord) -> dict[str, list[str]]:
    """Return the values of each swept parameter, in the order of the plan; a suite's are its profiles' own."""
    if record.matrix is None or any(cell.profile for cell in record.matrix.cells):
        return {}
    found: dict[str, list[str]] = {}
    for cell in record.matrix.cells:
        for name, value in cell.point.items():
            if name != "hosts" and str(value) not in found.setdefault(name, []):
                found[name].append(str(value))
    return found
