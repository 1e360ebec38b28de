"""etcd's recipe for the disk of its log, over two sshd hosts: our p99 of fdatasync is fio's own,
merged exactly.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.command import benchtui
from tests.e2e.test_four_hosts import DATA, PERCENTILES, independent_percentile, last_object
from tests.lab.sshd import SshdLab

pytestmark = pytest.mark.e2e


@pytest.fixture(scope="module")
def done(lab: SshdLab, tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], Path]:
    home, target = tmp_path_factory.mktemp("home"), tmp_path_factory.mktemp("target")
    hosts = ["--hosts", "h[1-2]", "--ssh-config", str(lab.ssh_config)]
    size = ["--set", f"directory={target}", "--set", "size=4m"]
    ended = benchtui(home, "run", DATA / "etcd.yaml", *hosts, *size, "--json")
    assert ended.returncode == 0, ended.stderr
    return json.loads(ended.stdout), next((home / "runs").iterdir())


def printed(done: tuple[dict[str, Any], Path]) -> dict[str, dict[str, Any]]:
    """What fio printed of syncs on each host."""
    raw = done[1] / "raw"
    return {
        host: last_object(raw / f"0.measure.{host}.out.gz")["jobs"][0]["sync"]["lat_ns"]
        for host in ("h1", "h2")
    }


def test_percentiles_of_each_host_are_fios(done: tuple[dict[str, Any], Path]) -> None:
    for host, theirs in printed(done).items():
        ours = done[0]["steps"][0]["results"]["per_host"][host]["sync"]["lat"]
        expected = {
            p: min(theirs["percentile"][f"{float(p):.6f}"], theirs["max"]) for p in PERCENTILES
        }
        assert ours["percentiles_ns"] == expected
        assert (ours["n"], ours["max_ns"]) == (theirs["N"], theirs["max"])


def test_over_both_hosts_they_are_those_of_the_merged_histogram(
    done: tuple[dict[str, Any], Path],
) -> None:
    merged: Counter[int] = Counter()
    for theirs in printed(done).values():
        merged.update({int(value): count for value, count in theirs["bins"].items()})
    most = max(theirs["max"] for theirs in printed(done).values())
    expected = {p: min(independent_percentile(dict(merged), p), most) for p in PERCENTILES}
    assert done[0]["steps"][0]["results"]["aggregate"]["sync"]["lat"]["percentiles_ns"] == expected
    assert done[0]["headline"]["value"] == expected["99"]
    assert done[0]["headline"]["text"].startswith("sync p99 ")


def test_what_was_written_is_not_counted_twice(done: tuple[dict[str, Any], Path]) -> None:
    aggregate = done[0]["steps"][0]["results"]["aggregate"]
    assert set(aggregate) == {"sync", "write"}
    assert aggregate["write"]["ios"] == 2 * (4 * 2**20 // 2300)


def test_the_summary_shows_the_waits_for_the_disk_first(done: tuple[dict[str, Any], Path]) -> None:
    shown = benchtui(done[1].parents[1], "runs", "show", done[1].name).stdout
    assert shown.index("sync (lat)") < shown.index("write (")
    assert "syncs/s" in shown
