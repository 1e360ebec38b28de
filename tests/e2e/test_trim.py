"""Trims of a real block device: their latency is the headline, in the record, in the summary and
live.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.command import benchtui
from tests.e2e.test_four_hosts import DATA, PERCENTILES, last_object
from tests.lab.disks import loop_device
from tests.samples.records import headline_of
from tui.app.screens.live_percentiles import percentiles
from tui.app.screens.live_text import subject_of
from tui.journal.fold import fold_all
from tui.journal.reader import read_events
from tui.journal.rundir import load_plan
from tui.journal.state import RunState
from tui.metrics.units import latency

pytestmark = pytest.mark.e2e


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[dict[str, Any], Path]]:
    home = tmp_path_factory.mktemp("home")
    with loop_device(tmp_path_factory.mktemp("disk") / "disk.img") as device:
        what = ["--hosts", "local", "--set", f"device={device}", "--destroy", device]
        ended = benchtui(home, "run", DATA / "trim.yaml", *what, "--json")
        assert ended.returncode == 0, ended.stderr
        yield json.loads(ended.stdout), next((home / "runs").iterdir())


def printed(run_dir: Path) -> dict[str, Any]:
    """What fio printed of trims at last."""
    found: dict[str, Any] = last_object(run_dir / "raw" / "0.measure.local.out.gz")["jobs"][0][
        "trim"
    ]
    return found


def test_the_record_has_fios_trims(done: tuple[dict[str, Any], Path]) -> None:
    theirs, ours = printed(done[1]), done[0]["steps"][0]["results"]["aggregate"]
    assert set(ours) == {"trim"}
    assert (ours["trim"]["ios"], ours["trim"]["bytes"]) == (theirs["total_ios"], theirs["io_bytes"])
    most = theirs["clat_ns"]["max"]
    expected = {
        p: min(theirs["clat_ns"]["percentile"][f"{float(p):.6f}"], most) for p in PERCENTILES
    }
    assert ours["trim"]["clat"]["percentiles_ns"] == expected


def test_the_headline_is_their_latency(done: tuple[dict[str, Any], Path]) -> None:
    headline = done[0]["headline"]
    theirs = printed(done[1])["clat_ns"]
    assert headline["value"] == min(theirs["percentile"]["95.000000"], theirs["max"])
    assert headline_of(done[0]) == f"trim p95 {latency(headline['value'])}"


def test_the_summary_has_a_row_of_them(done: tuple[dict[str, Any], Path]) -> None:
    shown = benchtui(done[1].parents[1], "runs", "show", done[1].name).stdout
    assert "trim (clat)" in shown and f"headline: {done[0]['headline']['text']}" in shown


def test_live_shows_them_as_fio_counted_them(done: tuple[dict[str, Any], Path]) -> None:
    state = fold_all(RunState(), read_events(done[1] / "journal.jsonl"))
    subject = subject_of(state, None, plan=load_plan(done[1]))
    assert subject.directions == subject.waits == ["trim"]
    assert subject.about == "trim"
    theirs = printed(done[1])
    view = subject.dirs["trim"]
    assert (view.ios, view.so_far.total) == (theirs["total_ios"], theirs["clat_ns"]["N"])
    assert view.so_far_percentiles["95"] == done[0]["headline"]["value"]
    assert [row.direction for row in percentiles(subject, "clat")[1]] == ["trim"]
