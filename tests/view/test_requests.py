"""Requests of an object store have their own names in tables, comparisons and exports."""

from __future__ import annotations

from tests.samples.records import quiet, run, step
from tui.analysis.compare import compare
from tui.export.tables import per_host, summary
from tui.metrics.registry import headline_text, meaning
from tui.model.plan import Headline
from tui.model.record import RunRecord
from tui.view.report.tables import percentiles_table
from tui.view.run_summary import summary_text


def gets(run_id: str = "20260101T000000Z-a") -> RunRecord:
    """Return a run that read objects of a store."""
    return run(step().model_copy(update={"requests": {"read": "GET"}}), run_id=run_id)


def test_a_request_is_what_a_headline_names() -> None:
    headline = Headline("iops", "read")
    assert meaning(headline, {"read": "GET"}) == "GET IOPS"
    assert headline_text(headline, 390e3, {"read": "GET"}) == "GET 390k IOPS"


def test_tables_name_the_request_and_say_once_what_findings_call_it() -> None:
    lines = summary_text(gets()).splitlines()
    assert any(line.startswith("GET (") for line in lines)
    (told,) = (line for line in lines if "GET counts as read" in line)
    assert "findings" in told and not any(line.startswith("read (") for line in lines)
    table = percentiles_table(gets().steps[0])
    assert table is not None and [column.title for column in table.columns][1] == "GET clat"


def test_a_comparison_names_the_request_if_both_runs_have_it() -> None:
    def titles(a: RunRecord, b: RunRecord) -> set[str]:
        return {each.title for each in compare([a], [b], quiet(a, b)).changes}

    other = gets("20260102T000000Z-b")
    assert "GET IOPS" in titles(gets(), other) and "read IOPS" not in titles(gets(), other)
    assert "read IOPS" in titles(run(), run(run_id="20260102T000000Z-b"))


def test_exports_have_the_request_beside_the_direction_if_there_are_objects() -> None:
    for table in (summary, per_host):
        assert "request" not in [column.name for column in table(run()).columns]
    found = summary(gets())
    (row,) = (dict(zip((c.name for c in found.columns), row, strict=True)) for row in found.rows)
    assert (row["direction"], row["request"]) == ("read", "GET")
