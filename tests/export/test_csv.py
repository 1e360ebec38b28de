"""Tidy CSV, read by pandas and by the csv module."""

from __future__ import annotations

import csv
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tui.cli.main import main
from tui.export.save import export
from tui.export.table_files import guarded
from tui.export.tables import tables_of
from tui.metrics.buckets import TOP_BUCKET, bucket_edges, value_to_index
from tui.model.exporter import ExportSource
from tui.model.record import RunRecord

if TYPE_CHECKING:
    import pandas as pd

UNITS = ("_s", "_ns", "_bytes", "_bytes_per_s", "_per_s", "_utc")


def read(source: ExportSource, folder: Path) -> dict[str, pd.DataFrame]:
    import pandas as pd  # a second of CPU to load, which those who only collect tests need not pay

    return {path.stem: pd.read_csv(path) for path in export(source, "csv", str(folder))}


def test_pandas_reads_the_figures_of_the_record(sweep: ExportSource, tmp_path: Path) -> None:
    tables = read(sweep, tmp_path)
    assert set(tables) == {"summary", "hosts", "series", "histogram"}
    for row in tables["summary"].itertuples():
        part = sweep.record.steps[row.step].results.aggregate[row.direction]
        assert part.clat is not None
        assert (row.ios, row.iops, row.clat_p99_5_ns) == (
            part.ios,
            part.iops,
            part.clat.percentiles_ns["99.5"],
        )
        assert str(row.point_bs) == str(sweep.record.steps[row.step].point["bs"])


def test_hosts_add_up_to_the_summary(plain: ExportSource, tmp_path: Path) -> None:
    tables = read(plain, tmp_path)
    whole = tables["summary"].set_index("direction")["ios"]
    sums = tables["hosts"].groupby("direction")["ios"].sum()
    assert sums["mixed"] == sums["read"] + sums["write"] and (sums == whole[sums.index]).all()


def test_seconds_of_hosts_add_up_to_those_of_all(plain: ExportSource, tmp_path: Path) -> None:
    import pandas as pd

    series = read(plain, tmp_path)["series"]
    sums = (
        series[series.scope == "host"].groupby(["t_s", "direction"])["iops"].agg(["sum", "count"])
    )
    whole = series[series.scope == "all"].set_index(["t_s", "direction"])["iops"]
    both = sums[sums["count"] == 2]
    assert len(both) >= 4
    assert both["sum"].tolist() == pytest.approx(whole[both.index].tolist(), rel=0.01)
    assert (pd.to_datetime(series["utc"]) >= pd.Timestamp(plain.record.created_utc)).all()


def test_buckets_follow_each_other_and_hold_every_io(plain: ExportSource, tmp_path: Path) -> None:
    tables = read(plain, tmp_path)
    for (_, _, direction), rows in tables["histogram"][tables["histogram"].scope == "all"].groupby(
        ["step", "latency", "direction"]
    ):
        assert (rows["from_ns"].iloc[1:].to_numpy() >= rows["below_ns"].iloc[:-1].to_numpy()).all()
        ios = tables["summary"].set_index("direction").loc[direction, "ios"]
        assert rows["count"].sum() == rows["cumulative"].iloc[-1] == ios


@pytest.mark.parametrize("index", [0, 127, 128, 191, 192, 1000, 1855])
def test_a_bucket_begins_where_its_values_do(index: int) -> None:
    low, high = bucket_edges(index)
    assert value_to_index(low) == index
    assert index == 0 or value_to_index(low - 1) == index - 1
    assert index == TOP_BUCKET or value_to_index(high + 1) == index + 1


def test_a_percentile_beyond_our_own_has_a_column(plain: ExportSource, tmp_path: Path) -> None:
    record = RunRecord.model_validate(plain.record.model_dump(by_alias=True))
    clat = record.steps[0].results.aggregate["read"].clat
    assert clat is not None
    clat.percentiles_ns["99.999"] = 77
    summary = read(ExportSource(record, plain.run_dir), tmp_path)["summary"].set_index("direction")
    assert summary.loc["read", "clat_p99_999_ns"] == 77
    assert list(summary.columns).index("clat_p99_99_ns") + 1 == list(summary.columns).index(
        "clat_p99_999_ns"
    )


def test_every_number_with_a_unit_says_it_in_its_column(plain: ExportSource) -> None:
    counts = re.compile("ios|bytes|count|cumulative|hosts|in_flight|step|repetition|iops.*|.*_n")
    for table in tables_of(plain.record):
        for column in table.columns:
            assert (
                column.kind in ("text", "bool")
                or f"_{column.name}".endswith(UNITS)
                or counts.fullmatch(column.name)
            )


def test_no_text_is_a_formula(plain: ExportSource, tmp_path: Path) -> None:
    record = RunRecord.model_validate(plain.record.model_dump(by_alias=True))
    record.target, record.steps[0].name = "=HYPERLINK(1)", '@SUM(1), "x"\nnext'
    (path, *_) = export(ExportSource(record, plain.run_dir), "csv", str(tmp_path))
    with path.open(newline="") as file:
        row = next(csv.DictReader(file))
    assert (row["target"], row["step_name"]) == ("'=HYPERLINK(1)", '\'@SUM(1), "x"\nnext')


def test_numbers_below_zero_are_no_formulas() -> None:
    assert (guarded(-1.5), guarded("-1.5"), guarded("+x"), guarded("a=b")) == (
        -1.5,
        "'-1.5",
        "'+x",
        "a=b",
    )


def test_operations_of_mdtest_are_a_table(metadata: ExportSource, tmp_path: Path) -> None:
    found = read(metadata, tmp_path)["operations"]
    assert metadata.record.steps[0].metadata is not None
    create = metadata.record.steps[0].metadata.operations["create"]
    rows = found[found.operation == "create"]
    assert rows[rows.iteration.isna()]["ops_per_s"].tolist() == [create.mean]
    assert rows[rows.iteration.notna()]["ops_per_s"].tolist() == create.iterations


def test_the_summary_has_what_mdtest_measured(metadata: ExportSource, tmp_path: Path) -> None:
    found = read(metadata, tmp_path)["summary"].set_index("direction")
    assert metadata.record.steps[0].metadata is not None
    known = metadata.record.steps[0].metadata.operations
    assert list(found.index) == list(known)
    for name, each in known.items():
        row = found.loc[name]
        rates = (row.ops_per_s, row.ops_per_s_min, row.ops_per_s_max, row.ops_per_s_stddev)
        assert rates == (each.mean, each.min, each.max, each.stddev)
    assert set(found.hosts) == {2} and "iops" not in found.columns


def test_operations_that_move_bytes_have_a_bandwidth(
    metadata: ExportSource, tmp_path: Path
) -> None:
    record = RunRecord.model_validate(metadata.record.model_dump(by_alias=True))
    assert record.steps[0].metadata is not None
    create = record.steps[0].metadata.operations["create"]
    create.bytes_per_op = 4096
    tables = read(ExportSource(record, metadata.run_dir), tmp_path)
    summary = tables["summary"].set_index("direction")
    assert (
        create.mean is not None and summary.loc["create", "op_bw_bytes_per_s"] == create.mean * 4096
    )
    assert summary["op_bytes"].count() == 1, "the others move none"
    found = tables["operations"][tables["operations"].operation == "create"].dropna(
        subset=["iteration"]
    )
    assert found["op_bw_bytes_per_s"].tolist() == [rate * 4096 for rate in create.iterations]


def test_a_suite_with_both_has_the_columns_of_both(
    metadata: ExportSource, plain: ExportSource, tmp_path: Path
) -> None:
    record = RunRecord.model_validate(plain.record.model_dump(by_alias=True))
    record.steps.append(metadata.record.steps[0])
    found = read(ExportSource(record, plain.run_dir), tmp_path)["summary"].set_index("direction")
    assert found.loc["write"].notna()[["iops", "ops_per_s"]].tolist() == [True, False]
    assert found.loc["create"].notna()[["iops", "ops_per_s"]].tolist() == [False, True]


def test_the_verb_prints_the_paths_that_it_wrote(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], home: Path, plain: ExportSource
) -> None:
    assert main(["export", str(plain.run_dir), "csv", "-o", str(tmp_path / "out")]) == 0
    printed = capsys.readouterr().out.split()
    assert printed == [
        str(tmp_path / "out" / f"{name}.csv")
        for name in ("summary", "hosts", "series", "histogram")
    ]


def test_several_files_go_to_no_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], home: Path, plain: ExportSource
) -> None:
    (tmp_path / "taken").write_text("mine")
    assert main(["export", str(plain.run_dir), "csv", "-o", str(tmp_path / "taken")]) == 2
    assert "name a directory" in capsys.readouterr().err
    assert (tmp_path / "taken").read_text() == "mine"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["last", "cvs"], "did you mean 'csv'"),
        (["last"], "name a run and a format"),
        (["nothing-like-it", "csv"], "no run 'nothing-like-it'"),
    ],
)
def test_what_is_wrong_is_one_line(
    arguments: list[str], said: str, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["export", *arguments]) == 2
    err = capsys.readouterr().err
    assert said in err and err.count("\n") == 1


def test_a_directory_that_cannot_be_written_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], home: Path, plain: ExportSource
) -> None:
    (tmp_path / "file").touch()
    assert (
        main(["export", str(plain.run_dir), "fio-json", "-o", str(tmp_path / "file" / "x.json")])
        == 1
    )
    assert f"{tmp_path}/file/x.json: cannot be written" in capsys.readouterr().err


def test_no_directory_is_made_for_the_home_of_nobody(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    home: Path,
    plain: ExportSource,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    before = sorted(tmp_path.iterdir())
    assert main(["export", str(plain.run_dir), "csv", "-o", "~no-such-user/out/"]) == 2
    assert capsys.readouterr().err == "benchtui: ~no-such-user/out/: unknown user 'no-such-user'\n"
    assert sorted(tmp_path.iterdir()) == before


def test_the_formats_are_listed_with_their_readers(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", "--formats"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert any(line.startswith("csv ") and "pandas" in line for line in lines)
