"""Storage nodes that are looked at while others generate load: real processes on loopback hosts."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.command import benchtui
from tests.lab.sshd import SshdLab
from tests.remote.conftest import SHELLS

pytestmark = pytest.mark.e2e

DATA = Path(__file__).parents[1] / "data" / "profiles"
INVENTORY = """
hosts:
  h[1-2]: {}
  h3: {role: server, processes: {OSD: "ceph-osd|NAME", monitor: "ceph-mon"}}
  gone: {role: server, address: 127.0.0.1, port: 9}
groups: {osds: [h3, gone]}
"""
# another worker of the tests has processes of its own; the kernel keeps 15 characters
NAME = f"osd-{os.getpid()}"
SETTINGS = ["--set", "numjobs=2", "--set", "size=8m", "--set", "runtime=8s"]


@pytest.fixture(scope="module")
def osds(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[int]]:
    """Two processes of this name, one of which spins; their pids."""
    program = tmp_path_factory.mktemp("bin") / NAME
    shutil.copy(shutil.which(SHELLS["dash"][0]) or "/bin/sh", program)
    # a shell that waits by `sleep` is two of its name for a moment, before it becomes sleep
    loads = [
        "while read -r turn; do n=0; while [ $((n += 1)) -lt 6000 ]; do :; done; done",
        "read wait",
    ]
    made = [
        subprocess.Popen([program, "-c", load], stdin=subprocess.PIPE, bufsize=0) for load in loads
    ]
    over = threading.Event()

    def turns() -> None:
        while not over.wait(0.02) and made[0].stdin is not None:
            made[0].stdin.write(b"\n")

    feeder = threading.Thread(target=turns)
    feeder.start()
    yield [each.pid for each in made]
    over.set()
    feeder.join()
    for each in made:
        each.kill()
        each.communicate()


def cpu_s(pids: list[int]) -> float:
    """CPU seconds that processes have used."""
    fields = [Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split() for pid in pids]
    return sum(int(each[11]) + int(each[12]) for each in fields) / os.sysconf("SC_CLK_TCK")


@pytest.fixture(scope="module")
def used(osds: list[int]) -> Callable[[], float]:
    """The CPU that the processes got from this machine since the fixture was made, % of a core."""
    begun, before = time.monotonic(), cpu_s(osds)
    return lambda: 100 * (cpu_s(osds) - before) / (time.monotonic() - begun)


@pytest.fixture(scope="module")
def shown(
    lab: SshdLab, osds: list[int], tmp_path_factory: pytest.TempPathFactory
) -> tuple[dict[str, Any], str]:
    """The record of a run, and its summary."""
    home, target = tmp_path_factory.mktemp("home"), tmp_path_factory.mktemp("target")
    inventory = home / "hosts.yaml"
    inventory.write_text(INVENTORY.replace("NAME", NAME))
    places: list[str | Path] = ["--hosts", "h[1-2]", "--servers", "@osds"]
    places += ["--inventory", inventory, "--ssh-config", lab.ssh_config]
    profile = str(DATA / "mix-70-30.yaml")
    done = benchtui(
        home, "run", profile, *places, "--set", f"directory={target}", *SETTINGS, "--json"
    )
    assert done.returncode == 0, done.stderr
    record: dict[str, Any] = json.loads(done.stdout)
    return record, benchtui(home, "runs", "show", record["run_id"]).stdout


def server(record: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = next(
        each for each in record["steps"][0]["telemetry"] if each["role"] == "server"
    )
    return found


def test_processes_by_a_pattern_are_counted_and_their_cpu_summed(
    used: Callable[[], float], shown: tuple[dict[str, Any], str]
) -> None:
    columns = {column["name"]: column for column in server(shown[0])["columns"]}
    assert columns["group.OSD.procs"]["max"] == 2
    assert used() / 4 < columns["group.OSD.cpu"]["mean"] < 4 * used(), (
        "less than it had before and after the load"
    )
    assert columns["group.monitor.procs"]["max"] == 0


def test_a_server_generates_no_load_and_is_no_host_of_the_run(
    shown: tuple[dict[str, Any], str],
) -> None:
    record = shown[0]
    assert [host["name"] for host in record["hosts"]] == ["h1", "h2"]
    assert server(record)["host"] == "h3"
    assert not [column for column in server(record)["columns"] if column["name"].startswith("gen.")]


def test_facts_of_servers_are_in_the_record_and_the_summary(
    shown: tuple[dict[str, Any], str],
) -> None:
    reached, gone = sorted(shown[0]["servers"], key=lambda each: not each["facts"])
    assert (reached["name"], reached["role"], gone["name"]) == ("h3", "server", "gone")
    assert str(reached["facts"]["kernel"]).endswith(os.uname().release)
    assert "\n1 server:\n" in shown[1]


def test_a_server_that_is_not_reached_is_a_warning(shown: tuple[dict[str, Any], str]) -> None:
    record = shown[0]
    assert (record["state"], record["exit_code"]) == ("complete", 0)
    said = [message for message in record["messages"] if message["host"] == "gone"]
    assert [message["severity"] for message in said] == ["warning"]


def test_the_summary_has_the_load_of_hosts_and_servers(shown: tuple[dict[str, Any], str]) -> None:
    text = shown[1]
    assert "load on hosts" in text and "\nservers " in text
    assert "OSD CPU: " in text and " 2 processes on 1 host" in text
    assert "for each of 4 processes" in text


def test_nothing_stays_on_a_server(shown: tuple[dict[str, Any], str]) -> None:
    assert not list(Path("/tmp").glob(f".benchtui-*/{shown[0]['run_id']}"))
