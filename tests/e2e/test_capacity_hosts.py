"""Searches over numbers of hosts, on loopback hosts with real fio: each point loads the hosts it
says, and no other.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.e2e.command import benchtui, only_run
from tests.e2e.test_recovery import record_of
from tests.lab.sshd import SshdLab
from tests.samples.records import headline_of

pytestmark = pytest.mark.e2e

PROFILE = """\
profile: my/grown
title: Reads that leave the machine idle
tool: fio
params:
  directory: {default: DIRECTORY, kind: directory}
  runtime: {default: 1s, kind: duration}
fio:
  global: {ioengine: psync, time_based: 1, runtime: "{runtime}", size: 1M, ramp_time: 0, thinktime: 2ms}
  jobs: {r: {rw: randread, bs: 4k, directory: "{directory}/{host}"}}
prepare: {layout: true}
headline: {metric: iops, direction: read}
"""


def searched(
    verb: str, lab: SshdLab, home: Path, tmp_path: Path, hosts: str, *options: str
) -> tuple[int, dict[str, Any]]:
    """Run a search on these hosts and return its exit code and its record."""
    path = tmp_path / "grown.yaml"
    path.write_text(PROFILE.replace("DIRECTORY", str(tmp_path)))
    where = ("--hosts", hosts, "--ssh-config", str(lab.ssh_config), "--no-telemetry")
    done = benchtui(home, verb, path, *where, "--point", "1s", *options)
    assert done.returncode in (5, 6), done.stderr
    return done.returncode, record_of(only_run(home))


def rates_of(record: dict[str, Any]) -> dict[int, tuple[list[str], float]]:
    """The hosts of each step and what fio counted there, by step."""
    steps = [step for step in record["steps"] if step["results"]["per_host"]]
    per_host = {step["index"]: step["results"]["per_host"] for step in steps}
    return {
        at: (sorted(each), sum(dirs["read"]["iops"] for dirs in each.values()))
        for at, each in per_host.items()
    }


def test_scaling_measures_one_two_and_all_hosts_and_fits_the_law(
    lab: SshdLab, home: Path, tmp_path: Path
) -> None:
    code, record = searched("run", lab, home, tmp_path, "h[1-3]", "--scaling", "--points", "3")
    assert code == 6, "three points of six: each number of hosts was to be measured twice"
    search, rates = record["search"], rates_of(record)
    assert [point["knobs"] for point in search["points"]] == [
        {"hosts": 1},
        {"hosts": 2},
        {"hosts": 3},
    ]
    assert [rates[point["step"]][0] for point in search["points"]] == [
        ["h1"],
        ["h1", "h2"],
        ["h1", "h2", "h3"],
    ]
    found = search["scaling"]["points"]
    measured = [point for point in found if not point["extrapolated"]]
    assert [point["iops"]["value"] for point in measured] == pytest.approx(
        [rates[at][1] for at in sorted(rates)], rel=1e-4
    )
    alone = measured[0]["iops"]["value"]
    assert [point["efficiency"] for point in measured] == pytest.approx(
        [point["iops"]["value"] / alone / point["hosts"] for point in measured]
    )
    assert max(point["hosts"] for point in found) == 6, "the law is drawn on to twice as many hosts"
    assert search["scaling"]["contention"]["low"] <= search["scaling"]["contention"]["value"]
    assert record["headline"]["value"] == pytest.approx(rates[max(rates)][1], rel=1e-4)
    assert "of linear at 3 hosts" in headline_of(record)


@pytest.mark.slow
def test_a_search_over_hosts_asks_fewer_where_all_of_them_break_the_limit(
    lab: SshdLab, home: Path, tmp_path: Path
) -> None:
    options = ("--slo", "p99<1us", "--over", "hosts=1,2", "--points", "3", "--most", "1s")
    code, record = searched("capacity", lab, home, tmp_path, "h[1-2]", *options)
    search, rates = record["search"], rates_of(record)
    assert (code, search["answer"]["state"]) == (5, "never-met")
    asked = [point["knobs"]["hosts"] for point in search["points"]]
    assert sorted(asked) == [1, 2] and asked[0] == 2
    assert [len(rates[point["step"]][0]) for point in search["points"]] == asked
    assert headline_of(record).startswith("no load meets p99 < 1 µs")
