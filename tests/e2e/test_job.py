"""A job without a profile, measured with real fio and kept so that it can be repeated."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from tests.e2e.command import benchtui, only_run
from tui.app.services.resuming import read_choice
from tui.engine.inputs.hosts import Fleet
from tui.engine.inputs.profiles import Catalogue
from tui.export.copies import command_line
from tui.library.load import load_record

pytestmark = pytest.mark.e2e


def test_terms_are_measured_compared_and_repeated(tmp_path: Path) -> None:
    home, target = tmp_path / "home", tmp_path / "target"
    target.mkdir()
    words = [
        "rw=randread",
        "bs=4k,64k",
        f"directory={target}",
        "size=1m",
        "runtime=1s",
        "ramp_time=0",
    ]
    words += ["iodepth=1", "numjobs=1", "rate_iops=300"]
    done = benchtui(home, "run", "fio", *words[:2], "--hosts", "local", *words[2:], "--json")
    assert done.returncode in (0, 1), done.stderr
    record = json.loads(done.stdout)
    assert [step["point"]["bs"] for step in record["steps"]] == [4096, 65536]
    assert record["profile"]["tag"] == "fio/randread-4k-64k"
    assert not any(path.is_file() for path in target.rglob("*")), "its files are removed"

    run_dir, catalogue = only_run(home), Catalogue(home / "profiles")
    chosen = read_choice(run_dir, Fleet(None, None), catalogue)
    assert catalogue.load(chosen.profile).sha256 == record["profile"]["sha256"], "r on Runs"
    assert (chosen.again.overrides, chosen.again.sweep, chosen.caveats) == ({}, {}, [])
    again = shlex.split(command_line(load_record(run_dir)))
    planned = benchtui(home, *again[1:], "--dry-run", "--json")
    assert json.loads(planned.stdout)["profile"]["sha256"] == record["profile"]["sha256"]


def test_a_saved_job_is_a_profile_that_runs_by_its_name(tmp_path: Path) -> None:
    home = tmp_path / "home"
    job = [
        "run",
        "fio",
        "rw=read",
        f"directory={tmp_path}",
        "--hosts",
        "local",
        "--save",
        "my/first",
        "--dry-run",
    ]
    assert benchtui(home, *job).returncode == 0
    assert (
        benchtui(home, "profiles", "check", home / "profiles" / "my" / "first.yaml").returncode == 0
    )
    assert benchtui(home, "run", "my/first", "--hosts", "local", "--dry-run").returncode == 0
    twice = benchtui(home, *job)
    assert (twice.returncode, "my/first" in twice.stderr) == (2, True)


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["fioo", "rw=read"], "'fio'"),
        (["demo/quick", "bs=4k"], "--set bs=4k"),
        (["demo/quick", "--save", "my/x"], "profiles new"),
        (["fio", "rw=reed", "directory=/x"], "'read'"),
    ],
)
def test_what_cannot_be_a_job_is_refused_in_one_line(
    tmp_path: Path, words: list[str], named: str
) -> None:
    done = benchtui(tmp_path, "run", *words, "--hosts", "local", "--dry-run")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert named in done.stderr


@pytest.mark.parametrize("words", [["rw=randread", "size=2g"], ["write", "4g", "files"]])
def test_a_job_that_writes_gigabytes_is_not_started_without_consent(
    words: list[str], tmp_path: Path
) -> None:
    target, home = tmp_path / "target", tmp_path / "home"
    target.mkdir()
    done = benchtui(home, "run", "fio", *words, target, "--hosts", "local")
    assert (done.returncode, done.stdout) == (3, "")
    assert "--yes" in done.stderr
    assert "GiB" in done.stderr
    assert not list(target.iterdir())
    assert not (home / "runs").exists() or not list((home / "runs").iterdir())
