"""Hosts that differ are told so: two real hosts that are this machine, one that reads a tree of
another machine.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.command import benchtui
from tests.lab.sshd import SshdLab, set_env
from tests.remote import machines

pytestmark = pytest.mark.e2e
LOAD = Path(__file__).parents[1] / "faults" / "load.yaml"
SHORT = ("--set", "runtime=2s")


@pytest.fixture(scope="module")
def mixed_lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SshdLab]:
    root = tmp_path_factory.mktemp("mixed")
    other = machines.plant(root / "other", machines.BIG_BOX, machines.BOND)
    lab = SshdLab(root / "lab", hosts=3)
    odd = lab.host("h3")
    odd.options = (set_env(odd.root, f"BT_ROOT={other}"),)
    with lab:
        yield lab


@pytest.fixture(scope="module")
def made(
    mixed_lab: SshdLab, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, dict[str, Any]]:
    """The home and the record of a run on these hosts."""
    home, target = tmp_path_factory.mktemp("home"), tmp_path_factory.mktemp("target")
    words = [
        "--hosts",
        "h[1-3]",
        "--ssh-config",
        str(mixed_lab.ssh_config),
        "--set",
        f"directory={target}",
    ]
    done = benchtui(
        home,
        "run",
        LOAD,
        *words,
        "--set",
        "size=8m",
        "--set",
        "numjobs=1",
        *SHORT,
        "--json",
    )
    assert done.returncode == 0, done.stderr
    return home, json.loads(done.stdout)


def test_the_record_has_the_facts_of_each_host_and_what_they_differ_in(
    made: tuple[Path, dict[str, Any]],
) -> None:
    _, record = made
    facts = {host["name"]: host["facts"] for host in record["hosts"]}
    assert facts["h3"]["sockets"] == 8
    assert (
        facts["h1"]["sysctls"]["vm.dirty_ratio"]
        == Path("/proc/sys/vm/dirty_ratio").read_text().strip()
    )
    assert len(facts["h2"]["fio_sha256"]) == 64
    together = record["facts"]
    assert together["hosts"] == ["h1", "h2", "h3"]
    assert together["common"]["fio_sha256"] == facts["h1"]["fio_sha256"]
    differing = {each["name"]: each for each in together["differing"]}
    sockets = differing["sockets"]
    assert sockets["matters"]
    assert sockets["groups"] == [
        {"value": facts["h1"]["sockets"], "hosts": ["h1", "h2"]},
        {"value": 8, "hosts": ["h3"]},
    ]
    assert not {"hostname", "boot_id", "load1", "mem_available_bytes"} & {
        *differing,
        *together["common"],
    }


def test_the_journal_alone_gives_the_same(made: tuple[Path, dict[str, Any]]) -> None:
    home, record = made
    (run_dir,) = (home / "runs").iterdir()
    (run_dir / "run.json").unlink()
    again = json.loads(benchtui(home, "runs", "show", "last", "--json").stdout)
    assert again["facts"] == record["facts"]


def test_runs_show_names_the_difference_once(made: tuple[Path, dict[str, Any]]) -> None:
    shown = benchtui(made[0], "runs", "show", "last").stdout
    assert "3 hosts:\n" in shown
    assert "machine: h1, h2, h3 " in shown, "they are this machine"
    assert "differs: h3: " in shown and "clock source hpet, not " in " ".join(shown.split())
    told = [line for line in shown.splitlines() if "hpet" in line]
    warned = [line for line in told if "warning cpu-frequency: " in line]
    assert len(told) - len(warned) == 1
    assert len(warned) == 1, "a slow clock is a finding as well"


def test_hosts_check_names_it_before_a_run(mixed_lab: SshdLab, home: Path) -> None:
    words = ["h[1-3]", "--ssh-config", str(mixed_lab.ssh_config), "--facts"]
    shown = benchtui(home, "hosts", "check", *words).stdout
    assert "\nmachine: h1, h2, h3 " in shown
    common, differing, unknown = (
        shown.split(title)[1] for title in ("h1, h2, h3:", "hosts differ:", "unknown:")
    )
    assert "SHA-256 of fio" in common.split("hosts differ:")[0]
    assert "hpet on h3" in differing.split("unknown:")[0]
    assert "(h3)" in unknown
