"""fio's job files and saved output: its interface to imports."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tui.workloads.base import BesideLogs, Imported, ImportedOutput, KeptFile, KeptLog, Workload


class FioImports(Workload):
    """Files that fio wrote, or is to run, outside benchtui."""

    def import_job(
        self, text: str, file: str, tag: str | None, environ: Mapping[str, str]
    ) -> Imported:
        """Return the profiles of a fio job file, one per step."""
        from tui.workloads.fio.jobimport import import_job

        return import_job(text, file, tag, environ)

    def import_output(self, text: str, file: str) -> Sequence[ImportedOutput]:
        """Return the fio outputs in a text: JSON, JSON+, terse or human-readable."""
        from tui.workloads.fio.outputs import import_output

        return import_output(text, file)

    def import_logs(self, files: Sequence[KeptFile]) -> Sequence[KeptLog]:
        """Return the results computed from fio's logs."""
        from tui.workloads.fio.logs import kept_logs

        return kept_logs(files)

    def beside_logs(self, file: KeptFile, logs: Sequence[KeptFile]) -> BesideLogs:
        """Return the result of comparing fio's JSON with its logs."""
        from tui.workloads.fio.outputs import beside_logs

        return beside_logs(file, logs)
