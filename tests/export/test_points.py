"""Line protocol, OpenMetrics and JUnit, each read by its own parser."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from junitparser import JUnitXml
from line_protocol_parser import parse_line
from prometheus_client.openmetrics.parser import text_string_to_metric_families
from prometheus_client.parser import text_string_to_metric_families as text_of_collectors

from tui.export.time_series import Family, SeriesPoint, line_of
from tui.library.build import build_record
from tui.model.exporter import ExportSource, load
from tui.model.plain_data import parse_utc
from tui.model.problem import UsageError
from tui.model.record import Finding, RunRecord

TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=20)


def text_of(source: ExportSource, name: str) -> str:
    (file,) = load(name).files(source)
    return b"".join(file.parts).decode()


def points(source: ExportSource) -> list[Any]:
    return [parse_line(line) for line in text_of(source, "influx").splitlines()]


def families(source: ExportSource, name: str) -> dict[str, Any]:
    return {family.name: family for family in parsed(text_of(source, name))}


def parsed(text: str) -> list[Any]:
    return list(text_string_to_metric_families(text))  # type: ignore[no-untyped-call]  # the library has no types


# -- line protocol


def test_every_second_is_a_point_at_its_time(plain: ExportSource) -> None:
    series = plain.record.steps[0].series
    begun = parse_utc(plain.record.created_utc or "")
    assert series is not None and begun is not None
    column = next(
        each for each in series.columns if each.host == "h2" and each.direction == "write"
    )
    tags = {"scope": "host", "host": "h2", "direction": "write"}
    found = [
        p
        for p in points(plain)
        if p["measurement"] == "benchtui" and tags.items() <= p["tags"].items()
    ]
    assert [point["fields"]["iops"] for point in found] == [
        value for value in column.iops if value is not None
    ]
    first = next(place for place, value in enumerate(column.iops) if value is not None)
    assert found[0]["time"] / 1e9 == pytest.approx(
        begun.timestamp() + series.start_s + first, abs=0.001
    )


def test_what_came_out_is_a_point_with_percentiles_in_seconds(plain: ExportSource) -> None:
    read = plain.record.steps[0].results.aggregate["read"]
    assert read.clat is not None
    tags = {"scope": "all", "direction": "read", "profile": "demo/quick"}
    (found,) = (
        p
        for p in points(plain)
        if p["measurement"] == "benchtui_result" and tags.items() <= p["tags"].items()
    )
    assert found["fields"]["clat_p99_5_seconds"] == pytest.approx(
        read.clat.percentiles_ns["99.5"] / 1e9
    )
    assert (found["fields"]["iops"], found["fields"]["ios"]) == (read.iops, read.ios)


def test_operations_of_mdtest_are_points(metadata: ExportSource) -> None:
    found = {
        point["tags"]["operation"]: point["fields"]["operations_per_second"]
        for point in points(metadata)
    }
    assert metadata.record.steps[0].metadata is not None
    assert found == {
        name: each.mean for name, each in metadata.record.steps[0].metadata.operations.items()
    }


@given(TEXTS, TEXTS, st.integers(-(10**9), 10**9).map(lambda value: value / 1000))
def test_a_line_is_one_line_and_gives_back_its_tags(name: str, value: str, number: float) -> None:
    line = line_of(
        SeriesPoint("benchtui", {"step": f"a{name}z", "host": f"a{value}z"}, {"iops": number}, 5)
    )
    assert line.endswith(" 5\n") and "\n" not in line[:-1]
    kept = parse_line(line)
    flat = [text.replace("\n", " ").replace("\r", " ") for text in (name, value)]
    if "\\" not in name + value:  # parsers differ in what a backslash before a letter is
        assert [kept["tags"]["step"], kept["tags"]["host"]] == [f"a{text}z" for text in flat]
    assert kept["fields"]["iops"] == number


# -- OpenMetrics


def test_prometheus_parses_what_came_out(plain: ExportSource) -> None:
    found = families(plain, "openmetrics")
    read = plain.record.steps[0].results.aggregate["read"]
    assert read.clat is not None
    wanted = {"scope": "all", "direction": "read", "kind": "clat"}
    latency = [
        s
        for s in found["benchtui_result_latency_seconds"].samples
        if wanted.items() <= s.labels.items()
    ]
    values = {sample.labels.get("quantile") or sample.name: sample.value for sample in latency}
    assert values["0.995"] == pytest.approx(read.clat.percentiles_ns["99.5"] / 1e9)
    assert values["benchtui_result_latency_seconds_count"] == read.ios
    assert math.isclose(
        values["benchtui_result_latency_seconds_sum"], (read.clat.mean_ns or 0) * read.ios / 1e9
    )
    assert found["benchtui_run_info"].samples[0].labels["state"] == "complete"


@pytest.mark.parametrize("run", ["plain", "sweep", "metadata"])
def test_collectors_of_files_take_the_same_text(run: str, request: pytest.FixtureRequest) -> None:
    """node_exporter and Pushgateway parse Prometheus' text format 0.0.4, and refuse a file with
    another type in it.
    """
    text = text_of(request.getfixturevalue(run), "openmetrics")
    types = [line.split()[3] for line in text.splitlines() if line.startswith("# TYPE")]
    assert types and set(types) <= {"counter", "gauge", "histogram", "summary", "untyped"}
    older: list[Any] = list(text_of_collectors(text))
    samples = [sample for family in older for sample in family.samples]
    assert samples == [sample for family in parsed(text) for sample in family.samples]


def test_what_a_collector_of_files_reads_has_no_times(sweep: ExportSource) -> None:
    samples = [
        sample for family in families(sweep, "openmetrics").values() for sample in family.samples
    ]
    assert samples and all(sample.timestamp is None for sample in samples)
    assert {sample.labels["step"] for sample in samples if "step" in sample.labels} == {
        step.name for step in sweep.record.steps
    }


def test_seconds_have_their_times_in_order(sweep: ExportSource) -> None:
    found = families(sweep, "openmetrics-series")
    assert set(found) == {
        f"benchtui_{name}"
        for name in ("iops", "bytes_per_second", "latency_mean_seconds", "latency_p99_seconds")
    }
    known = sum(
        value is not None
        for step in sweep.record.steps
        for column in (step.series.columns if step.series is not None else ())
        for value in column.iops
    )
    assert len(found["benchtui_iops"].samples) == known > 0


def test_operations_of_mdtest_are_a_metric(metadata: ExportSource) -> None:
    samples = families(metadata, "openmetrics")["benchtui_result_operations_per_second"].samples
    assert {sample.labels["operation"] for sample in samples} >= {"create", "stat", "remove"}


def test_a_run_without_seconds_says_so(metadata: ExportSource) -> None:
    with pytest.raises(UsageError, match="per-second"):
        text_of(metadata, "openmetrics-series")


@given(TEXTS)
def test_any_text_is_a_label(text: str) -> None:
    lines = [*Family("x", "gauge", "h", [("", {"step": text}, 1.0, None)]).lines(), "# EOF\n"]
    (family,) = parsed("".join(lines))
    assert family.samples[0].labels == {"step": text}


# -- JUnit


def test_checks_are_cases(plain: ExportSource) -> None:
    record = build_record(plain.run_dir)  # the old record did not say which checks were made
    assert record.checks
    record.findings = [Finding(id=record.checks[0], severity="error", message="it lies")]
    record.checks_not_made = {"V99": "nobody looked"}
    (suite,) = JUnitXml.fromstring(text_of(ExportSource(record, plain.run_dir), "junit").encode())
    assert (suite.tests, suite.failures, suite.skipped) == (len(record.checks) + 2, 1, 1)
    assert suite.name == "demo/quick"


def test_the_profiles_thresholds_are_cases_of_the_run(plain: ExportSource) -> None:
    record = plain.record.model_copy(
        update={"criteria": ["read.p99 > 1ns", "read.p99 > 100s", "iops < -5%"]}
    )
    (suite,) = JUnitXml.fromstring(text_of(ExportSource(record, plain.run_dir), "junit").encode())
    cases = [case for case in suite if case.classname == "thresholds"]
    found = {case.name: [type(each).__name__ for each in case.result] for case in cases}
    assert found == {"read.p99 > 1ns": ["Failure"], "read.p99 > 100s": []}


def test_a_run_that_was_cut_off_fails(metadata: ExportSource) -> None:
    record = RunRecord.model_validate(metadata.record.model_dump(by_alias=True))
    record.state, record.reason = "partial", "h2: no result"
    (suite,) = JUnitXml.fromstring(
        text_of(ExportSource(record, metadata.run_dir), "junit").encode()
    )
    assert next(iter(suite)).result[0].message == "h2: no result"


# -- extras


def test_parquet_has_the_types_of_the_tables(plain: ExportSource, tmp_path: Path) -> None:
    from pyarrow import parquet

    from tui.export.save import export

    paths = {path.stem: path for path in export(plain, "parquet", str(tmp_path))}
    assert set(paths) == {"summary", "hosts", "series", "histogram"}
    table = parquet.read_table(paths["hosts"])
    ios = {(row["host"], row["direction"]): row["ios"] for row in table.to_pylist()}
    per_host = plain.record.steps[0].results.per_host
    assert ios == {
        (host, name): part.ios for host, dirs in per_host.items() for name, part in dirs.items()
    }
    assert (str(table.schema.field("ios").type), str(table.schema.field("iops").type)) == (
        "int64",
        "double",
    )
    summary = parquet.read_table(paths["summary"])
    assert str(summary.schema.field("created_utc").type) == "timestamp[ms, tz=UTC]"
    assert summary["created_utc"][0].as_py() == parse_utc(plain.record.created_utc or "")
    assert table.schema.metadata[b"run_id"] == plain.record.run_id.encode()


@pytest.mark.parametrize(("name", "library"), [("xlsx", "xlsxwriter"), ("parquet", "pyarrow")])
def test_an_extra_that_is_not_installed_is_named(
    name: str, library: str, plain: ExportSource, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, library, None)
    with pytest.raises(UsageError, match=rf"pip install 'benchtui\[{name}\]'"):
        list(load(name).files(plain))
