"""Operations on files are told as such, though the tool reports them as reads."""

from __future__ import annotations

from tests.samples.events import DATA
from tui.library.build import build_record
from tui.model.record import HeadlineRecord
from tui.view.run_summary import summary_text


def test_the_table_of_creates_has_operations_and_no_bytes() -> None:
    record = build_record(DATA / "mix")
    record.matrix = None
    record.headline = HeadlineRecord(metric="ops", direction="create", unit="ops_per_s")
    lines = summary_text(record).splitlines()
    (heading, *_) = [number for number, line in enumerate(lines) if line.startswith("creates")]
    assert lines[heading].split() == [
        "creates",
        "ops/s",
        "mean",
        "p50",
        "p95",
        "p99",
        "p99.5",
        "p99.9",
        "max",
    ]
    assert lines[heading + 1].split()[:5] == ["all", "2", "hosts", "8.00k", "88.7µs"]
    assert not any("MiB/s" in line for line in lines)
