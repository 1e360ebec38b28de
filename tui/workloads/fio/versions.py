"""What each fio version can print, and when it appeared."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime

from tui.model.event import Contradiction
from tui.workloads.fio.printed import PrintedDocument, PrintedJob
from tui.workloads.fio.snapshot import number_of

# the day of the tag of some versions; others are later than those before them
TAGGED = {
    (3, 0): date(2017, 8, 16), (3, 5): date(2018, 2, 20), (3, 12): date(2018, 11, 2),
    (3, 16): date(2019, 9, 19), (3, 20): date(2020, 5, 23), (3, 24): date(2020, 11, 12),
    (3, 27): date(2021, 5, 26), (3, 30): date(2022, 4, 6), (3, 33): date(2022, 11, 6),
    (3, 35): date(2023, 5, 23), (3, 36): date(2023, 10, 20), (3, 39): date(2025, 2, 18),
    (3, 40): date(2025, 5, 20), (3, 41): date(2025, 9, 5), (3, 42): date(2026, 4, 6),
}  # fmt: skip
BEFORE_S = 100 * 86_400.0  # the version number is set some time before the tag
EPOCH_S = 10 * 365 * 86_400.0  # a host whose clock was never set


def of_version(document: PrintedDocument) -> Iterator[Contradiction]:
    """Yield a version that is too old for a field of the output, or too new for its date."""
    version = number_of(document.version)
    if version == (0, 0):
        return
    since = max(map(_since, [*document.jobs, *document.clients]), default=(0, 0))
    if version < since:
        yield Contradiction("version", number(*version), number(*since))
    day = max((day for known, day in TAGGED.items() if known <= version), default=None)
    if day is None:
        return
    tagged_s = datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp()
    if EPOCH_S < document.timestamp < tagged_s - BEFORE_S:
        yield Contradiction("too-early", document.timestamp, tagged_s)


def number(major: int, minor: int) -> float:
    """Return a version as one number."""
    return major * 1000.0 + minor


def _since(job: PrintedJob) -> tuple[int, int]:
    """Return the first version that prints the fields of a job."""
    if job.job_start is not None:
        return 3, 36
    counted = [part.clat for part in job.dirs.values() if part.clat is not None]
    if any(latency.n for latency in counted):
        return 3, 18
    return (2, 99) if counted else (0, 0)
