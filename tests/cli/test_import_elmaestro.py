"""ElMaestro's directories: figures from what fio printed, and a caveat where its own result has
those of one host.
"""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.test_import import Captured, imported
from tui.cli.main import main
from tui.library.load import load_record
from tui.library.verify import verify_run
from tui.text.run_texts import run_text

CLIENT = Path(__file__).parents[1] / "data" / "fio" / "cs" / "two-json+-master.stdout.gz"


def stats() -> list[dict[str, Any]]:
    text = gzip.decompress(CLIENT.read_bytes()).decode()
    return list(json.loads(text[text.index("\n{") :])["client_stats"])


def result_dir(folder: Path, iops: float, depth: int = 1) -> Path:
    """Make a directory as ElMaestro 1.11.1 leaves it, with fio's real output of two servers."""
    point = folder / "run-1" / "4k-randread"
    (point / "raw").mkdir(parents=True)
    (point / "raw" / "run.json").write_bytes(gzip.decompress(CLIENT.read_bytes()))
    read = {"operation": "read", "iops_first": iops, "iops_last": iops, "io_lat_us": {}, "raw": {}}
    result = {
        "schema_version": "1.0", "run_id": "run-1", "spec_hash": "ab12", "engine": "fio",
        "primary_phase": "read",
        "workload": {"name": "4k randread", "io_depth": depth},
        "clients": [{"host": "a"}, {"host": "b"}],
        "phases": {"read": read},
    }  # fmt: skip
    (point / "result.json").write_text(json.dumps(result))
    return folder


def warnings(record: dict[str, Any]) -> list[str]:
    return [each["text"] for each in record["messages"] if each["severity"] == "warning"]


def test_an_aggregate_of_one_host_is_pointed_out(
    home: Path, tmp_path: Path, capsys: Captured
) -> None:
    first = stats()[0]["read"]["iops"]
    record = imported(capsys, result_dir(tmp_path / "r", first))
    (step,) = record["steps"]
    every = next(each for each in stats() if each["jobname"] == "All clients")["read"]["iops"]
    assert step["results"]["aggregate"]["read"]["iops"] == pytest.approx(every, rel=0.01)
    (said,) = [each for each in warnings(record) if "ElMaestro printed" in each]
    assert f"{round(first):,} read IOPS" in said and " alone; the 2 hosts did " in said


def test_a_right_aggregate_is_not(home: Path, tmp_path: Path, capsys: Captured) -> None:
    every = next(each for each in stats() if each["jobname"] == "All clients")["read"]["iops"]
    record = imported(capsys, result_dir(tmp_path / "r", every))
    assert not [each for each in warnings(record) if "ElMaestro" in each]


def test_a_queue_depth_that_psync_ignores_is_pointed_out(
    home: Path, tmp_path: Path, capsys: Captured
) -> None:
    record = imported(capsys, result_dir(tmp_path / "r", 1.0, depth=16))
    assert any("requested queue depth 16, but" in each for each in warnings(record))


CAVEATS = [
    "4k randread: ElMaestro printed 1,000 read IOPS, the figure of /tmp/fiotest/srv/s1 alone; the 2"
    " hosts did 1,998",
    "4k randread: requested queue depth 8, but ElMaestro runs fio with psync: 1 I/O in flight per"
    " job",
]  # as versions before 2026-11-30 stored them


def test_caveats_are_codes_and_records_with_texts_say_the_same(
    home: Path, tmp_path: Path, capsys: Captured
) -> None:
    first = stats()[0]["read"]["iops"]
    record = imported(capsys, result_dir(tmp_path / "r", first, depth=8))
    assert warnings(record) == CAVEATS
    assert main(["import", str(tmp_path / "r")]) == 0
    (file,) = home.glob("runs/*/run.json")
    kept = json.loads(file.read_text())
    codes = [each["text"] for each in kept["messages"] if each["severity"] == "warning"]
    assert [each["code"] for each in codes] == ["other-total", "other-depth"]
    for each in kept["messages"]:
        if each["severity"] == "warning":
            each["text"] = CAVEATS[codes.index(each["text"])]
    file.write_text(json.dumps(kept))
    assert [run_text(each.text) for each in load_record(file.parent).messages[1:]] == CAVEATS
    # without its own result.json, which is not kept, the title differs
    assert not [each for each in verify_run(file.parent).differs if each.startswith("messages")]
