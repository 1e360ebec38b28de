"""Two profiles at the same time on different hosts, with a real fio over sshd: launched, watched,
recovered.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.command import benchtui, measures
from tests.e2e.test_recovery import kill_engine, last_total, record_of
from tests.lab.sshd import SshdLab
from tests.patience import wait_until

pytestmark = pytest.mark.e2e

LOAD = """\
profile: my/{direction}
title: A load
tool: fio
params:
  directory: {{default: /nowhere, kind: directory}}
  runtime: {{default: 3s, kind: duration}}
prepare: {{layout: true}}
fio:
  global: {{ioengine: psync, bs: 4k, size: 1M, time_based: 1, runtime: "{{runtime}}", directory: "{{directory}}"}}
  jobs: {{j: {{rw: rand{direction}, rate_iops: 40, filename: "{direction}-{{host}}"}}}}
headline: {{metric: iops, direction: {direction}}}
"""
SUITE = """\
profile: my/both
title: Reads beside writes
tool: suite
params:
  directory: {default: /nowhere, kind: directory}
  runtime: {default: 3s, kind: duration}
prepare: {cleanup: true}
roles: {writers: 1, readers: rest}
suite:
  - together:
      - {profile: my/write, role: writers, set: &both {directory: "{directory}", runtime: "{runtime}"}}
      - {profile: my/read, role: readers, set: *both}
"""


@pytest.fixture
def target(tmp_path: Path) -> Path:
    (path := tmp_path / "target").mkdir()
    return path


@pytest.fixture
def home(home: Path) -> Path:
    (own := home / "profiles").mkdir(parents=True, exist_ok=True)
    for direction in ("read", "write"):
        (own / f"{direction}.yaml").write_text(LOAD.format(direction=direction))
    (own / "both.yaml").write_text(SUITE)
    return home


def command(lab: SshdLab, target: Path, *more: str) -> list[str]:
    hosts = ["--hosts", "h[1-3]", "--ssh-config", str(lab.ssh_config)]
    return ["run", "my/both", *hosts, "--set", f"directory={target}", "--yes", *more]


def totals(record: dict[str, Any]) -> dict[str, dict[str, int]]:
    """I/Os by role and host."""
    return {
        step["role"]: {
            host: sum(each["ios"] for each in dirs.values())
            for host, dirs in step["results"]["per_host"].items()
        }
        for step in record["steps"]
    }


def test_each_role_has_its_own_result_over_the_same_time(
    lab: SshdLab, home: Path, target: Path
) -> None:
    # so long that a role which a busy machine starts late is beside the others all the same
    done = benchtui(home, *command(lab, target, "--set", "runtime=8s", "--json"))
    assert done.returncode == 0, done.stderr
    record = json.loads(done.stdout)
    run_dir = next((home / "runs").iterdir())
    hosts = {role: sorted(found) for role, found in totals(record).items()}
    assert hosts == {"writers": ["h1"], "readers": ["h2", "h3"]}
    assert [step["headline"] for step in record["steps"]] == pytest.approx([40, 80], rel=0.1)
    assert "roles-overlap" not in [finding["id"] for finding in record["findings"]]
    assert benchtui(home, "runs", "verify", run_dir.name).returncode == 0
    assert "--role writers=1 --role readers=rest" in (run_dir / "command.txt").read_text()
    assert list(target.iterdir()) == []  # each role cleaned up its own files


def test_roles_are_taken_over_together_when_the_engine_dies(
    lab: SshdLab, home: Path, target: Path
) -> None:
    started = benchtui(home, *command(lab, target, "--set", "runtime=12s", "--detach"))
    run_dir = home / "runs" / started.stdout.strip()
    wait_until(lambda: measures(run_dir, 0) and measures(run_dir, 1), "samples of both roles")
    kill_engine(run_dir)
    recovered = benchtui(home, "runs", "recover")
    assert recovered.returncode == 0, recovered.stdout + recovered.stderr
    record = record_of(run_dir)
    assert (record["state"], [step["state"] for step in record["steps"]]) == (
        "complete",
        ["done", "done"],
    )
    assert totals(record)["readers"] == {
        host: last_total(run_dir, host, step=1) for host in ("h2", "h3")
    }


def test_a_stop_ends_every_role(lab: SshdLab, home: Path, target: Path) -> None:
    started = benchtui(home, *command(lab, target, "--set", "runtime=60s", "--detach"))
    run_dir = home / "runs" / started.stdout.strip()
    wait_until(lambda: measures(run_dir, 0) and measures(run_dir, 1), "samples of both roles")
    assert benchtui(home, "stop", run_dir.name).returncode == 0
    benchtui(home, "attach", run_dir.name, "--plain")
    record = record_of(run_dir)
    assert (record["state"], [step["state"] for step in record["steps"]]) == (
        "partial",
        ["cut", "cut"],
    )
    assert all(count for hosts in totals(record).values() for count in hosts.values())


def test_no_role_starts_when_one_cannot(lab: SshdLab, home: Path, target: Path) -> None:
    (target / "write-h1").mkdir()  # where the writer wants its file
    done = benchtui(home, *command(lab, target, "--json"))
    record = json.loads(done.stdout)
    assert done.returncode != 0
    assert totals(record) == {"writers": {}, "readers": {}}
