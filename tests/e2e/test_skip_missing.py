"""A suite on hosts that lack one of its load generators: refused with what to do, or run without
what needs it.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.app.driver import opened, options
from tests.e2e.command import benchtui
from tests.lab.sshd import SshdLab

SUITE = """\
profile: own/both
title: A load of files, then of names
tool: suite
params:
  directory: {{kind: directory, default: {directory}}}
suite:
  - {{profile: demo/quick, set: {{directory: "{{directory}}", runtime: 1s, size: 1M, numjobs: "1"}}}}
  - {{profile: weka/mdtest, set: {{directory: "{{directory}}", program: {program}, ranks: "1", items: "4"}}}}
"""


def suite(home: Path, target: Path, program: str = "/nowhere/mdtest") -> None:
    target.mkdir()
    (home / "profiles").mkdir()
    (home / "profiles" / "both.yaml").write_text(SUITE.format(directory=target, program=program))


@pytest.mark.e2e
def test_what_hosts_lack_is_left_out_said_and_recorded(
    home: Path, lab: SshdLab, tmp_path: Path
) -> None:
    suite(home, tmp_path / "target")
    words = ["run", "own/both", "--hosts", "h1,h2", "--ssh-config", str(lab.ssh_config), "--yes"]
    refused = benchtui(home, *words)
    assert refused.returncode == 3
    assert "to skip the steps that need it, use run --skip-missing" in " ".join(
        (refused.stdout + refused.stderr).split()
    )
    done = benchtui(home, *words, "--skip-missing", "--json")
    assert done.returncode in (0, 1), done.stderr
    said = "left out: weka/mdtest, 1 step: /nowhere/mdtest is missing on h1, h2"
    assert said in done.stderr
    record = json.loads(done.stdout)
    assert record["state"] == "complete"
    assert [step["profile"] for step in record["steps"]] == ["demo/quick"]
    (left,) = record["left_out"]
    assert left["profile"] == "weka/mdtest"
    assert left["hosts"] == ["h1", "h2"]
    assert said in benchtui(home, "runs", "show", "last").stdout


def test_the_plan_that_is_printed_is_the_one_that_would_run(
    home: Path, lab: SshdLab, tmp_path: Path
) -> None:
    suite(home, tmp_path / "target")
    words = ["run", "own/both", "--hosts", "h1", "--ssh-config", str(lab.ssh_config), "--dry-run"]
    plan = json.loads(benchtui(home, *words, "--json").stdout)
    assert len(plan["steps"]) == 2
    left = json.loads(benchtui(home, *words, "--skip-missing", "--json").stdout)
    assert [step["index"] for step in left["steps"]] == [0]
    assert left["left_out"][0]["missing"] == "/nowhere/mdtest"
    assert "left out: weka/mdtest, 1 step" in benchtui(home, *words, "--skip-missing").stdout


def test_when_nothing_would_be_left_nothing_is_left_out(
    home: Path, lab: SshdLab, tmp_path: Path
) -> None:
    (tmp_path / "target").mkdir()
    given = [
        "--set",
        f"directory={tmp_path / 'target'}",
        "--set",
        "program=/nowhere/mdtest",
        "--skip-missing",
    ]
    done = benchtui(
        home, "run", "weka/mdtest", "--hosts", "h1", "--ssh-config", lab.ssh_config, "--yes", *given
    )
    assert done.returncode == 3
    assert "/nowhere/mdtest not found by" in " ".join((done.stdout + done.stderr).split())


@pytest.mark.e2e
async def test_review_offers_to_leave_it_out(home: Path, tmp_path: Path) -> None:
    suite(home, tmp_path / "target")
    async with opened(
        options(home, hosts=("local",), profile="own/both", review=True), size=(120, 36)
    ) as user:
        await user.starts()
        await user.sees("Skip this and run the rest?")
        await user.sees("/nowhere/mdtest is missing on local")
        await user.press("n")
        assert user.scope == "review"
        assert not (home / "runs").exists()
        await user.starts()
        await user.sees("Skip this and run the rest?")
        await user.press("y")
        await user.sees(lambda: user.scope in ("live", "result"))
        await user.sees(
            lambda: (home / "runs").exists() and any((home / "runs").glob("*/run.json"))
        )
    (run,) = (home / "runs").glob("*/run.json")
    assert json.loads(run.read_text())["left_out"][0]["profile"] == "weka/mdtest"


async def test_review_warns_of_what_a_check_of_the_hosts_did_not_find(
    home: Path, tmp_path: Path
) -> None:
    from tui.engine.preflight.host_check import HostCheck

    suite(home, tmp_path / "target", "mdtest")
    async with opened(
        options(home, hosts=("local",), profile="own/both", review=True), size=(120, 36)
    ) as user:
        await user.sees("runs on local")
        assert "mdtest is missing" not in user.text
        user.app.selection.checks = {
            "local": HostCheck("local", ok=True, facts={"fio_path": "/usr/bin/fio"})
        }
        await user.press("2", "3")
        await user.sees(
            "weka/mdtest, 1 step: mdtest is missing on local; the launch offers to skip this"
        )
