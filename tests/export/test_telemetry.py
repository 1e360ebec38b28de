"""What hosts did while they measured, in tables and for databases: each read by its own reader."""

from __future__ import annotations

from pathlib import Path

import openpyxl
import pandas as pd
import pytest
from line_protocol_parser import parse_line
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from tests.app.journal_maker import RunMaker, host_names
from tui.cli.main import main
from tui.export.save import export
from tui.library.build import build_record
from tui.model.exporter import ExportSource, load

SEEN = {"cpu.busy": 61.5, "nic.eth0.rx": 1.25e9, "dev.nvme0n1.rlat": 0.25, "psi.io.some": None}
STORAGE = {"cpu.busy": 12.0, "nic.ib0.rx": 2e9}


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> ExportSource:
    """A client and a storage node that say what they do, for ten seconds."""
    run_dir = tmp_path_factory.mktemp("telemetry") / "20260101T000000Z-a"
    maker = RunMaker(run_dir, host_names(1)).begin()
    maker.look_at(maker.hosts[0], SEEN).look_at("store-1", STORAGE, server=True)
    maker.measure(10).finish()
    return ExportSource(build_record(run_dir), run_dir)


def test_it_is_a_table_that_pandas_parquet_and_spreadsheets_read(
    source: ExportSource, tmp_path: Path
) -> None:
    export(source, "csv", f"{tmp_path}/csv/")
    export(source, "parquet", f"{tmp_path}/parquet/")
    (book,) = export(source, "xlsx", str(tmp_path / "run.xlsx"))
    found = pd.read_csv(tmp_path / "csv" / "telemetry.csv")
    ours, theirs = (found[found.role == role] for role in ("client", "server"))
    (client,), (server,) = (source.record.steps[0].telemetry[place : place + 1] for place in (0, 1))
    assert ours["t_s"].tolist() == client.t_s and theirs["host"].unique().tolist() == [server.host]
    assert (ours["cpu_busy_percent"] == 61.5).all() and (theirs["cpu_busy_percent"] == 12).all()
    assert (ours["nic_eth0_rx_bytes_per_s"] == 1.25e9).all() and theirs[
        "nic_eth0_rx_bytes_per_s"
    ].isna().all()
    assert (ours["dev_nvme0n1_rlat_ms"] == 0.25).all() and ours["psi_io_some_percent"].isna().all()
    typed = pd.read_parquet(tmp_path / "parquet" / "telemetry.parquet")
    assert typed["cpu_busy_percent"].tolist() == found["cpu_busy_percent"].tolist()
    heading, *rows = openpyxl.load_workbook(book)["telemetry"].iter_rows(values_only=True)
    assert list(heading) == list(found.columns) and len(rows) == len(found) >= 20


def test_databases_get_a_point_a_subject_in_base_units(source: ExportSource) -> None:
    (lines,), (metrics,) = (load(name).files(source) for name in ("influx", "openmetrics-series"))
    points = [parse_line(line) for line in b"".join(lines.parts).decode().splitlines()]
    disk = [each for each in points if each["tags"].get("subject") == "nvme0n1"]
    client = source.record.steps[0].telemetry[0]
    assert [each["fields"] for each in disk] == [{"dev_rlat_seconds": 0.00025}] * len(client.t_s)
    assert disk[0]["measurement"] == "benchtui_telemetry" and disk[0]["tags"]["role"] == "client"
    text = b"".join(metrics.parts).decode()
    families = {each.name: each for each in text_string_to_metric_families(text)}  # type: ignore[no-untyped-call]
    samples = families["benchtui_telemetry_nic_rx_bytes_per_second"].samples
    assert {(each.labels["subject"], each.value) for each in samples} == {
        ("eth0", 1.25e9),
        ("ib0", 2e9),
    }
    assert float(samples[1].timestamp) - float(samples[0].timestamp) == pytest.approx(1.0, abs=0.01)


@pytest.mark.parametrize("words", [["jsonl"], ["influx", "--stream"]])
def test_events_are_not_redacted_but_refused(
    source: ExportSource, words: list[str], home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["export", str(source.run_dir), *words, "--redact"]) == 2
    assert "names" in capsys.readouterr().err
