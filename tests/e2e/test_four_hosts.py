"""Four real sshd hosts, real fio: what is recorded is what fio counted, and the cluster is the
merge of its hosts.

The expectations are computed here from fio's raw output with nothing of the product but the file
layout.
"""

from __future__ import annotations

import gzip
import json
from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from tests.e2e.command import benchtui
from tests.lab.sshd import SshdLab

pytestmark = pytest.mark.e2e

DATA = Path(__file__).parents[1] / "data" / "profiles"
PERCENTILES = ["1", "5", "10", "25", "50", "75", "90", "95", "99", "99.5", "99.9", "99.95", "99.99"]
SETTINGS = ["--set", "numjobs=2", "--set", "size=16m", "--set", "runtime=5s"]


@pytest.fixture(
    scope="module",
    params=[pytest.param("weka/read-iops", marks=pytest.mark.slow), str(DATA / "mix-70-30.yaml")],
    ids=["read", "mix"],
)
def measured(
    request: pytest.FixtureRequest, lab: SshdLab, tmp_path_factory: pytest.TempPathFactory
) -> Measured:
    home = tmp_path_factory.mktemp("home")
    target = tmp_path_factory.mktemp("target")
    hosts = ["--hosts", "h[1-4]", "--ssh-config", str(lab.ssh_config)]
    done = benchtui(
        home, "run", request.param, *hosts, "--set", f"directory={target}", *SETTINGS, "--json"
    )
    assert done.returncode == 0, done.stderr
    return Measured(json.loads(done.stdout), next((home / "runs").iterdir()))


class Measured:
    """A record, and fio's own last words on each host."""

    def __init__(self, record: dict[str, Any], run_dir: Path) -> None:
        self.record = record
        self.run_dir = run_dir
        self.results = record["steps"][0]["results"]
        raw = run_dir / "raw"
        self.fio = {
            host: last_object(raw / f"0.measure.{host}.out.gz") for host in self.results["per_host"]
        }
        self.directions = [name for name in ("read", "write") if name in self.results["aggregate"]]


def last_object(path: Path) -> dict[str, Any]:
    """The last JSON object that fio printed."""
    lines = gzip.decompress(path.read_bytes()).decode().split("\n")
    start = max(number for number, line in enumerate(lines) if line == "{")
    end = max(number for number, line in enumerate(lines) if line == "}")
    found: dict[str, Any] = json.loads("\n".join(lines[start : end + 1]))
    return found


def independent_percentile(bins: dict[int, int], percent: str) -> int:
    """The value of the first bucket at which at least `percent` of all samples are reached.

    fio reads 99.9 as a double, which is a little more: of 1000 samples it wants all.
    """
    wanted = Fraction(float(percent)) / 100 * sum(bins.values())
    reached = 0
    for value in sorted(bins):
        reached += bins[value]
        if reached >= wanted:
            return value
    raise AssertionError("no samples")


def test_every_host_has_its_result(measured: Measured) -> None:
    assert sorted(measured.results["per_host"]) == ["h1", "h2", "h3", "h4"]
    assert measured.record["state"] == "complete"


def test_ios_of_each_host_equal_what_fio_counted(measured: Measured) -> None:
    for host, printed in measured.fio.items():
        for direction in measured.directions:
            ours = measured.results["per_host"][host][direction]
            assert ours["ios"] == printed["jobs"][0][direction]["total_ios"]
            assert ours["bytes"] == printed["jobs"][0][direction]["io_bytes"]


@pytest.mark.parametrize("kind", ["clat", "lat"])
def test_percentiles_of_each_host_equal_what_fio_printed(measured: Measured, kind: str) -> None:
    for host, printed in measured.fio.items():
        for direction in measured.directions:
            theirs = printed["jobs"][0][direction][f"{kind}_ns"]
            ours = measured.results["per_host"][host][direction][kind]
            expected = {
                p: min(theirs["percentile"][f"{float(p):.6f}"], theirs["max"]) for p in PERCENTILES
            }
            assert ours["percentiles_ns"] == expected
            assert (ours["n"], ours["min_ns"], ours["max_ns"]) == (
                theirs["N"],
                theirs["min"],
                theirs["max"],
            )


def test_cluster_is_the_bucketwise_merge_of_its_hosts(measured: Measured) -> None:
    for direction in measured.directions:
        merged: Counter[int] = Counter()
        for printed in measured.fio.values():
            bins = printed["jobs"][0][direction]["clat_ns"]["bins"]
            merged.update({int(value): count for value, count in bins.items()})
        ours = measured.results["aggregate"][direction]["clat"]
        assert ours["n"] == sum(merged.values())
        assert ours["percentiles_ns"] == {
            p: min(independent_percentile(dict(merged), p), ours["max_ns"]) for p in PERCENTILES
        }
        assert ours["max_ns"] == max(
            f["jobs"][0][direction]["clat_ns"]["max"] for f in measured.fio.values()
        )


def test_cluster_ios_are_the_sum_of_its_hosts(measured: Measured) -> None:
    for direction in measured.directions:
        total = sum(printed["jobs"][0][direction]["total_ios"] for printed in measured.fio.values())
        assert measured.results["aggregate"][direction]["ios"] == total


def test_every_host_reads_offsets_of_its_own(measured: Measured) -> None:
    seeds = {printed["global options"]["randseed"] for printed in measured.fio.values()}
    assert len(seeds) == 4
    assert seeds == {str(host["randseed"]) for host in measured.record["hosts"]}


def test_record_says_what_ran_where(measured: Measured) -> None:
    step = measured.record["steps"][0]
    assert {phase["name"] for phase in step["phases"]} >= {
        "layout",
        "barrier",
        "measure",
        "collect",
    }
    assert all(
        host["facts"]["fio_version"].startswith("fio-3.") for host in measured.record["hosts"]
    )
    assert len(measured.record["provenance"]["artefacts"]) >= 8


def test_record_is_valid_by_its_schema(measured: Measured, tmp_path: Path) -> None:
    schema = json.loads(benchtui(tmp_path, "schema", "run").stdout)
    jsonschema.validate(measured.record, schema)


def test_record_holds_a_series_of_the_measurement(measured: Measured) -> None:
    series = measured.record["steps"][0]["series"]
    columns = [column for column in series["columns"] if column["host"] is None]
    seconds = [value for column in columns for value in column["iops"] if value]
    assert len(seconds) >= 3 * len(measured.directions)


def test_nothing_of_the_agent_stays_on_the_host(measured: Measured) -> None:
    run_id = measured.record["run_id"]
    assert not list(Path("/tmp").glob(f".benchtui-*/{run_id}"))
