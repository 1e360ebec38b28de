"""A load generator with one histogram for reads and writes, that prints percentiles itself: real,
on two hosts.
"""

from __future__ import annotations

import csv
import gzip
import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.command import command, environment
from tests.lab.sshd import SshdLab
from tests.patience import PATIENCE_S
from tui.app.screens.live_details import printed
from tui.journal.fold import fold_all
from tui.journal.reader import read_events
from tui.journal.state import RunState
from tui.model.event import Sample

pytestmark = pytest.mark.e2e

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "tests" / "generators" / "rwping"
METADATA = "Metadata-Version: 2.1\nName: benchtui-rwping\nVersion: 0.3\n"
ENTRY = "[benchtui.workloads]\nrwping = benchtui_rwping.workload:RwPing\n"


class Measured:
    """A run on two hosts, and the package that it needs."""

    def __init__(self, site: Path, home: Path) -> None:
        self.site, self.home = site, home

    def benchtui(self, *words: str | Path) -> subprocess.CompletedProcess[str]:
        """Run `benchtui WORDS` where the package is installed."""
        env = {**environment(self.home), "PYTHONPATH": os.pathsep.join([str(self.site), str(ROOT)])}
        return subprocess.run(
            command(*words), env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True,
            timeout=PATIENCE_S,
            check=False,
        )  # fmt: skip

    @property
    def run_dir(self) -> Path:
        """The directory of the run."""
        (found,) = (self.home / "runs").iterdir()
        return found

    @property
    def record(self) -> dict[str, Any]:
        """The record of the run."""
        found: dict[str, Any] = json.loads((self.run_dir / "run.json").read_text())
        return found

    def lines(self, host: str) -> list[list[str]]:
        """What the tool printed each second, in words."""
        text = gzip.decompress(
            (self.run_dir / "raw" / f"0.measure.{host}.out.gz").read_bytes()
        ).decode()
        return [line.split() for line in text.splitlines() if line.startswith(("second", "last"))]


@pytest.fixture(scope="module")
def measured(lab: SshdLab, tmp_path_factory: pytest.TempPathFactory) -> Measured:
    site = tmp_path_factory.mktemp("site")
    shutil.copytree(PACKAGE / "benchtui_rwping", site / "benchtui_rwping")
    (info := site / "benchtui_rwping-0.3.dist-info").mkdir()
    (info / "METADATA").write_text(METADATA)
    (info / "entry_points.txt").write_text(ENTRY)
    found = Measured(site, tmp_path_factory.mktemp("home"))
    settings = ["--set", f"directory={tmp_path_factory.mktemp('target')}", "--set", "runtime=4s"]
    hosts = ["--hosts", "h1,h2", "--ssh-config", str(lab.ssh_config)]
    done = found.benchtui("run", PACKAGE / "mixed.yaml", *hosts, *settings)
    assert done.returncode == 0, done.stderr
    return found


def test_one_histogram_holds_every_read_and_write_once(measured: Measured) -> None:
    aggregate = measured.record["steps"][0]["results"]["aggregate"]
    waits = [
        int(word) for host in ("h1", "h2") for line in measured.lines(host) for word in line[6:]
    ]
    assert set(aggregate) == {"read", "write", "both"}
    assert aggregate["both"]["clat"]["n"] == len(waits) == aggregate["both"]["ios"]
    assert aggregate["both"]["clat"]["max_ns"] == max(waits)
    assert aggregate["read"]["clat"] is None and aggregate["write"]["clat"] is None
    assert aggregate["read"]["ios"] + aggregate["write"]["ios"] == len(waits)


def test_live_counts_each_io_once_and_shows_latencies_of_all(measured: Measured) -> None:
    events = list(read_events(measured.run_dir / "journal.jsonl"))
    samples = [event for event in events if isinstance(event, Sample)]
    both_hosts = next(at for at, each in enumerate(samples) if each.host != samples[0].host)
    halfway = fold_all(RunState(), events[: events.index(samples[both_hosts]) + 1])
    both = halfway.cluster["both"]
    assert halfway.current.total.ios == both.ios > 0
    assert halfway.current.total.so_far_percentiles == both.so_far_percentiles
    assert (
        halfway.hosts["h1"].total.interval_percentiles
        == halfway.hosts["h1"].dirs["both"].interval_percentiles
    )
    assert halfway.current.total.lat_mean_ns == both.lat_mean_ns


def test_percentiles_that_the_tool_printed_are_kept_for_each_host_and_never_merged(
    measured: Measured,
) -> None:
    columns = measured.record["steps"][0]["series"]["columns"]
    for column in columns:
        if column["host"] is None or column["direction"] != "both":
            assert not column["printed_ns"]
            continue
        told = {
            int(line[2].removeprefix("p99="))
            for line in measured.lines(column["host"])
            if line[2] != "p99=-"
        }
        kept = [value for value in column["printed_ns"]["99"] if value is not None]
        assert kept and set(kept) <= told


def test_percentiles_that_the_tool_printed_are_shown_with_their_host(measured: Measured) -> None:
    events = list(read_events(measured.run_dir / "journal.jsonl"))
    first = next(
        at for at, event in enumerate(events) if isinstance(event, Sample) and event.host == "h1"
    )
    (line,) = printed(fold_all(RunState(), events[: first + 1]), "h1", 120)
    assert "not mergeable" in line.plain and re.search(r"both +p50 .*p99 ", line.plain)
    shown = measured.benchtui("runs", "show", measured.run_dir.name).stdout
    assert "cannot be merged" in shown and re.search(
        r"h2 both: p50 median .*; p99 median ", " ".join(shown.split())
    )


def test_exports_have_them_in_columns_of_their_own(measured: Measured, tmp_path: Path) -> None:
    done = measured.benchtui("export", measured.run_dir.name, "csv", "-o", f"{tmp_path}/")
    assert done.returncode == 0, done.stderr
    (path,) = tmp_path.rglob("*series*.csv")
    rows = list(csv.DictReader(path.open()))
    told = {row["host"] for row in rows if row["printed_p99_ns"]}
    assert told == {"h1", "h2"}


def test_its_headline_is_of_both_and_the_run_is_verified(measured: Measured) -> None:
    headline = measured.record["headline"]
    assert (headline["direction"], headline["percentile"]) == ("both", 99)
    assert headline["value"] is not None
    done = measured.benchtui("runs", "verify", measured.run_dir.name)
    assert done.returncode == 0, done.stdout
