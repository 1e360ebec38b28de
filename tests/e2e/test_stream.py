"""A run that is streamed while it goes on: to standard output, and to an address."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.e2e.command import benchtui, only_run
from tests.export.endpoint import serving

LOAD = Path(__file__).parents[1] / "faults" / "load.yaml"


@pytest.mark.e2e
def test_a_run_is_streamed_while_it_is_running(home: Path, tmp_path: Path) -> None:
    words: list[str | Path] = [
        "run",
        LOAD,
        "--hosts",
        "local",
        "--set",
        f"directory={tmp_path}",
        "--set",
        "runtime=4s",
        "--cleanup",
    ]
    with serving() as endpoint:
        streams = [
            "--stream",
            "jsonl",
            "--stream",
            f"influx={endpoint.url}",
            "--stream",
            "influx=http://127.0.0.1:9/write",
        ]
        done = benchtui(home, *words, *streams)
    assert done.returncode in (0, 1), done.stderr
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert [lines[0]["type"], lines[-1]["type"]] == ["run_started", "record"]
    seconds = [line for line in lines if line["type"] == "second"]
    assert {line["host"] for line in seconds} == {None, "local"}
    assert len(endpoint.taken) > 1, "it came in pieces, while the run went on"
    pushed = [point for point in endpoint.points if point["measurement"] == "benchtui"]
    assert [point["fields"]["iops"] for point in pushed] == [line["iops"] for line in seconds]
    assert done.stderr.count("retrying") == 1, "an address that is down is said once"
    assert json.loads((only_run(home) / "run.json").read_text())["state"] == "complete"
