"""A load in a control group whose reads the kernel throttles."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tests.e2e.command import command, environment
from tests.lab.throttle import disk_of, missing, throttled
from tests.patience import PATIENCE_S

pytestmark = [pytest.mark.e2e, pytest.mark.slow]
PROFILE = Path(__file__).parents[1] / "faults" / "throttled.yaml"


def test_a_load_at_the_limit_of_its_control_group_is_reported_and_one_below_is_not(
    home: Path, tmp_path: Path
) -> None:
    if why := missing(tmp_path):
        pytest.skip(why)
    words = ("run", PROFILE, "--hosts", "local", "--set", f"directory={tmp_path}", "--yes")
    with throttled(tmp_path, iops=100) as join:
        done = subprocess.run(
            [*join, *command(*words, "--json")],
            env=environment(home),
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )
    record = json.loads(done.stdout)
    limits = record["hosts"][0]["facts"]["cgroup_io"]
    assert any(disk_of(tmp_path) in line and "100" in line for line in limits)
    scopes = [each["scope"] for each in record["findings"] if each["id"] == "io-limit"]
    assert scopes == [{"step": 1, "hosts": "local"}]
