"""A load generator that is a package of its own: found, checked, planned, run on two hosts, live,
recorded.

The package is tests/generators/ddsync, which docs/load-generators.md shows. Nothing in tui/ knows
of it.
"""

from __future__ import annotations

import gzip
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.command import command, environment
from tests.lab.sshd import SshdLab
from tests.patience import PATIENCE_S
from tests.samples.records import headline_of
from tui.journal.fold import fold_all
from tui.journal.reader import read_events
from tui.journal.state import RunState
from tui.model.event import Sample

pytestmark = pytest.mark.e2e

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "tests" / "generators" / "ddsync"
PROFILE = PACKAGE / "synced-writes.yaml"
COPIED = re.compile(r"copied, ([0-9.e-]+) s")


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory into which the package was installed, without any index."""
    target = tmp_path_factory.mktemp("site")
    source = tmp_path_factory.mktemp("source") / "ddsync"
    subprocess.run(["cp", "-r", str(PACKAGE), str(source)], check=True)
    offline = [
        "--no-index",
        "--no-build-isolation",
        "--no-deps",
        "--disable-pip-version-check",
        "--quiet",
    ]
    words = [sys.executable, "-m", "pip", "install", *offline, "--target", str(target), str(source)]
    subprocess.run(words, check=True, timeout=PATIENCE_S, capture_output=True)
    return target


def benchtui(installed: Path, home: Path, *words: str | Path) -> subprocess.CompletedProcess[str]:
    """Run `benchtui WORDS` where the package is installed."""
    return subprocess.run(
        command(*words),
        env={**environment(home), "PYTHONPATH": os.pathsep.join([str(installed), str(ROOT)])},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )


class Measured:
    """A run on two hosts: its record and its directory."""

    def __init__(self, home: Path, record: dict[str, Any], printed: str) -> None:
        self.home, self.record, self.printed = home, record, printed
        (self.run_dir,) = (home / "runs").iterdir()

    def waits_ns(self, host: str) -> list[int]:
        """What dd printed on a host, read here by another rule than the product's."""
        raw = gzip.decompress(
            (self.run_dir / "raw" / f"0.measure.{host}.out.gz").read_bytes()
        ).decode()
        return sorted(round(float(found) * 1e9) for found in COPIED.findall(raw))


@pytest.fixture(scope="module")
def measured(installed: Path, lab: SshdLab, tmp_path_factory: pytest.TempPathFactory) -> Measured:
    home, target = tmp_path_factory.mktemp("home"), tmp_path_factory.mktemp("target")
    hosts = ["--hosts", "h1,h2", "--ssh-config", str(lab.ssh_config)]
    settings = ["--set", f"directory={target}", "--set", "runtime=4s"]
    done = benchtui(installed, home, "run", PROFILE, *hosts, *settings, "--json")
    assert done.returncode == 0, done.stderr
    return Measured(home, json.loads(done.stdout), done.stderr)


def test_its_profile_is_checked_and_planned(installed: Path, tmp_path: Path) -> None:
    assert benchtui(installed, tmp_path, "profiles", "check", PROFILE).returncode == 0
    planned = benchtui(
        installed, tmp_path, "run", PROFILE, "--hosts", "local", "--dry-run", "--json"
    )
    (step,) = json.loads(planned.stdout)["steps"]
    assert (step["tool"], step["runtime_s"], step["tasks"][0]["argv"]) == (
        "ddsync",
        30.0,
        ["sh", "writes.sh"],
    )


WRONG = {  # what is replaced, by what, and what is said
    "unknown key": (
        "blocks: 16",
        "blokcs: 16",
        "8:48: unknown key 'blokcs' (did you mean 'blocks'?); allowed: directory, bs",
    ),
    "value": ('bs: "{bs}"', "bs: 1000", "8:40: bs: 1000 is no multiple of 512, which devices need"),
    "placeholder": (
        'bs: "{bs}"',
        'bs: "{bz}"',
        "8:40: unknown placeholder {bz} (did you mean 'bs'?); allowed: directory",
    ),
    "tool": (
        "tool: ddsync",
        "tool: ddsink",
        (
            "3:7: tool: found 'ddsink'; allowed: 'ddsync', 'elbencho', 'fio', 'io500',"
            " 'ior', 'mdtest', 'suite'"
        ),
    ),
    "warm-up": ("params:", "warmup: 3s\nparams:", "ddsync has no warm-up"),
}


@pytest.fixture(scope="module")
def checked(installed: Path, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """What `profiles check` says of all wrong profiles, by line."""
    folder = tmp_path_factory.mktemp("wrong")
    for name, (right, wrong, _) in WRONG.items():
        (folder / f"{name}.yaml").write_text(PROFILE.read_text().replace(right, wrong))
    done = benchtui(installed, folder / "home", "profiles", "check", *folder.glob("*.yaml"))
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    return done.stderr.splitlines()


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_in_its_profile_is_reported_where_it_stands(
    checked: list[str], name: str
) -> None:
    assert any(f"/{name}.yaml" in line and WRONG[name][2] in line for line in checked), checked


def test_without_the_package_its_tool_is_not_known(tmp_path: Path) -> None:
    done = subprocess.run(
        command("profiles", "check", PROFILE),
        env=environment(tmp_path),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert (
        "tool: found 'ddsync'; allowed: 'elbencho', 'fio', 'io500', 'ior', 'mdtest', 'suite'"
        in done.stderr
    )


def test_its_record_is_what_dd_printed_on_both_hosts(measured: Measured) -> None:
    assert measured.record["state"] == "complete"
    results = measured.record["steps"][0]["results"]
    waits = {host: measured.waits_ns(host) for host in ("h1", "h2")}
    for host, own in waits.items():
        clat = results["per_host"][host]["write"]["clat"]
        assert (clat["n"], clat["min_ns"], clat["max_ns"]) == (len(own), own[0], own[-1])
    both = sorted(waits["h1"] + waits["h2"])
    merged = results["aggregate"]["write"]["clat"]
    assert merged["n"] == len(both)
    rank = -(-len(both) * 99 // 100)
    assert merged["percentiles_ns"]["99"] == pytest.approx(both[rank - 1], rel=1 / 64)


def test_its_headline_and_its_tool_are_in_the_summary(measured: Measured, installed: Path) -> None:
    assert headline_of(measured.record).startswith("write p99 ")
    shown = benchtui(installed, measured.home, "runs", "show", measured.run_dir.name)
    assert shown.returncode == 0, shown.stderr
    assert "write p99" in shown.stdout
    for host in measured.record["hosts"]:
        assert host["facts"]["dd_version"].startswith("dd (coreutils)")


def test_it_is_live_while_it_runs(measured: Measured) -> None:
    events = list(read_events(measured.run_dir / "journal.jsonl"))
    samples = [event for event in events if isinstance(event, Sample)]
    assert {sample.host for sample in samples} == {"h1", "h2"}
    halfway = fold_all(RunState(), events[: events.index(samples[-1])])
    assert not halfway.ended
    assert halfway.total.iops is not None and halfway.total.iops > 0
    assert halfway.cluster["write"].interval_percentiles


def test_a_run_of_a_package_that_is_gone_still_shows(measured: Measured) -> None:
    done = subprocess.run(
        command("runs", "show", measured.run_dir.name),
        env=environment(measured.home),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "write p99" in done.stdout


def without_it(measured: Measured, *words: str) -> subprocess.CompletedProcess[str]:
    """Run `benchtui WORDS` where the package is not installed."""
    return subprocess.run(
        command(*words),
        env=environment(measured.home),
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )


def test_a_run_is_verified_with_its_package_and_without_it_the_package_is_named(
    measured: Measured, installed: Path
) -> None:
    assert (
        benchtui(installed, measured.home, "runs", "verify", measured.run_dir.name).returncode == 0
    )
    done = without_it(measured, "runs", "verify", measured.run_dir.name)
    assert done.returncode != 0 and "Traceback" not in done.stderr
    for name in ("ddsync", "benchtui-ddsync 1.0", "benchtui_ddsync.workload:DdSync"):
        assert name in done.stdout + done.stderr


def test_its_record_names_its_package(measured: Measured) -> None:
    (step,) = measured.record["steps"]
    assert (step["provider"]["package"], step["provider"]["version"]) == ("benchtui-ddsync", "1.0")


@pytest.mark.parametrize(
    ("right", "wrong", "message"),
    [
        (
            "lat=waits.buckets",
            "lat={}",
            "feed[0].dirs['write'].lat: found {} (dict), allowed: Buckets",
        ),
        ("done = sum(", "done = 1 // 0 + sum(", "result failed: ZeroDivisionError"),
    ],
)
def test_what_its_reader_does_wrong_is_a_problem_of_the_run_that_names_the_package(
    installed: Path, tmp_path: Path, right: str, wrong: str, message: str
) -> None:
    broken = tmp_path / "site"
    shutil.copytree(installed, broken)
    reader = broken / "benchtui_ddsync" / "reader.py"
    reader.write_text(reader.read_text().replace(right, wrong))
    settings = ["--set", f"directory={tmp_path}", "--set", "runtime=2s"]
    done = benchtui(
        broken, tmp_path / "home", "run", PROFILE, "--hosts", "local", *settings, "--json"
    )
    assert done.returncode == 4, done.stderr
    assert "Traceback" not in done.stdout + done.stderr
    (problem,) = [
        each
        for each in json.loads(done.stdout)["steps"][0]["errors"]
        if each["code"] == "plugin-failed"
    ]
    assert (
        message in problem["message"]
        and "plug-in ddsync (benchtui-ddsync 1.0" in problem["message"]
    )


def test_nothing_in_the_product_names_it() -> None:
    naming = [
        path
        for path in (ROOT / "tui").rglob("*")
        if path.suffix != ".pyc" and path.is_file() and b"ddsync" in path.read_bytes()
    ]
    assert naming == []
