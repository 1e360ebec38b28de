"""Run ids, run directories, plans on disk."""

from __future__ import annotations

import datetime
import os
import re
import time
from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.patience import PATIENCE_S
from tui.engine.launch import create_run, launch
from tui.journal.rundir import is_running, load_plan
from tui.model.address import HostAddress
from tui.model.plan import Headline, Plan, ProfileRef
from tui.model.problem import BenchtuiError
from tui.model.rundir import new_run_id
from tui.remote.fan_out import connections_of

PLAN = Plan(
    profile=ProfileRef(tag="weka/read-iops", version=1, title="t", text="y", sha256="0"),
    params={"size": 4096},
    hosts=[HostAddress(name="h1", groups=("clients",))],
    steps=[],
    headline=Headline(metric="iops", direction="read"),
)


def test_run_id_sorts_by_time_and_names_the_profile() -> None:
    first = new_run_id(
        "weka/read-iops", datetime.datetime(2026, 11, 20, 10, 15, 30, tzinfo=datetime.UTC)
    )
    later = new_run_id(
        "aerodisk/x", datetime.datetime(2026, 11, 20, 10, 15, 31, tzinfo=datetime.UTC)
    )
    assert first.startswith("20261120T101530Z-weka-read-iops-")
    assert first < later


@pytest.mark.parametrize(
    ("tag", "slug"), [("My Profile: №2!", "my-profile-2-"), ("№", ""), ("x" * 500, "x" * 60 + "-")]
)
def test_run_id_is_a_plain_file_name(tag: str, slug: str) -> None:
    now = datetime.datetime(2026, 11, 20, 10, 15, 30, tzinfo=datetime.UTC)
    assert re.fullmatch(rf"20261120T101530Z-{slug}[0-9a-f]{{4}}", new_run_id(tag, now))


def test_run_ids_of_one_second_differ() -> None:
    now = datetime.datetime(2026, 11, 20, tzinfo=datetime.UTC)
    assert len({new_run_id("a/b", now) for _ in range(20)}) > 15


def test_run_directory_is_private_and_holds_the_plan(tmp_path: Path) -> None:
    run_dir = create_run(PLAN, tmp_path / "data" / "runs")
    assert run_dir.stat().st_mode & 0o777 == 0o700
    assert (run_dir / "plan.json").stat().st_mode & 0o777 == 0o600
    assert load_plan(run_dir) == replace(PLAN, launched_in=str(Path.cwd()))


def test_relative_keys_are_looked_for_where_the_run_was_launched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The engine stands in the directory of the run, `clean` and `recover` anywhere."""
    config = tmp_path / "config"
    config.write_text("IdentityFile ./key\n")
    plan = replace(PLAN, hosts=[HostAddress(name="h1", ssh_config=str(config))])
    monkeypatch.chdir(tmp_path)
    made = load_plan(create_run(plan, tmp_path / "runs"))
    monkeypatch.chdir("/")
    connections = connections_of(made, tmp_path / "pins")
    assert connections.resolve(made.hosts[0]).identities == (str(tmp_path / "key"),)


def test_place_where_no_run_can_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "runs").write_text("in the way")
    with pytest.raises(BenchtuiError, match=r"cannot create a run under .*runs"):
        create_run(PLAN, tmp_path / "runs")


def test_damaged_plan_is_named(tmp_path: Path) -> None:
    (tmp_path / "plan.json").write_text('{"profile": ')
    with pytest.raises(BenchtuiError, match=r"plan\.json: is not a plan"):
        load_plan(tmp_path)


def test_an_engine_is_known_to_live_before_it_is_up(tmp_path: Path) -> None:
    run_dir = launch(PLAN, tmp_path / "runs")
    assert is_running(run_dir)  # a busy machine takes seconds to start it
    pid = int((run_dir / "engine.pid").read_text().split()[0])
    deadline = time.monotonic() + PATIENCE_S
    while os.waitpid(pid, os.WNOHANG) == (0, 0):
        assert time.monotonic() < deadline, "the run does not end"
        time.sleep(0.02)
    assert not is_running(run_dir)
