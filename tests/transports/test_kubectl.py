"""Pods by the real `kubectl exec`, through a stand-in for the API server; containers of namespaces
are the pods.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.command import benchtui, comm, environ_of, measures, pids, start
from tests.lab import containers, kubernetes
from tests.lab.containers import Container
from tests.lab.kubernetes import TOOL, Cluster, Pod
from tests.patience import PATIENCE_S, wait_until
from tests.transports.slurm_runs import kill, measured
from tui.model.address import HostAddress
from tui.remote.way_command import ByCommand
from tui.testing.transports import check_transport

WHY = kubernetes.missing() or containers.missing()
pytestmark = pytest.mark.skipif(bool(WHY), reason=WHY)

SPEC = "k8s:storage/app=bench"
LOAD = Path(__file__).parents[1] / "faults" / "load.yaml"


class Pods:
    """Two pods, their cluster, and how kubectl enters them."""

    def __init__(self, root: Path, inside: list[Container]) -> None:
        self.inside = inside
        pods = [Pod(each.name, enter=shlex.split(each.shell)[:-1]) for each in inside]
        self.cluster = Cluster(root, pods)

    def address(self, name: str) -> HostAddress:
        words = f"{TOOL} exec --stdin --quiet --namespace=storage {name} -- /bin/sh"
        return HostAddress(name, transport="exec", through=words)

    def are_clean(self) -> bool:
        return all(
            each.processes() == [] and not list(each.tmp.glob(".benchtui-*/*"))
            for each in self.inside
        )


@pytest.fixture
def pods(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Pods]:
    with Container(tmp_path, "p1") as first, Container(tmp_path, "p2") as second:
        pods = Pods(tmp_path, [first, second])
        monkeypatch.setenv("KUBECONFIG", pods.cluster.environ["KUBECONFIG"])
        with pods.cluster:
            yield pods


async def test_kubectl_exec_keeps_the_contract_of_transports(pods: Pods) -> None:
    await check_transport(ByCommand(), pods.address("p1"), pods.address("p3"))


@pytest.mark.e2e
def test_no_second_of_a_run_is_lost_when_the_api_server_drops_its_connections(
    pods: Pods, home: Path
) -> None:
    process = start(home, *run("5"), "--json")
    wait_until(lambda: measuring(home), "nothing is measured")
    assert pods.cluster.drop() > 0
    printed, told = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0, told
    record = json.loads(printed)
    assert record["state"] == "complete"
    (run_dir,) = (home / "runs").iterdir()
    results = record["steps"][0]["results"]["per_host"]
    ios = {host: dirs["read"]["ios"] for host, dirs in results.items()}
    assert {host: sum(each) for host, each in measured(run_dir / "journal.jsonl").items()} == ios
    assert set(ios) == {"p1", "p2"}
    assert pods.are_clean()


@pytest.mark.slow
def test_a_killed_engine_leaves_no_load_in_pods(pods: Pods, home: Path) -> None:
    started = start(home, *run("300"), "--lease", "10s", "--detach")
    run_id = started.communicate(timeout=PATIENCE_S)[0].strip()
    run_dir = home / "runs" / run_id
    wait_until(lambda: measuring(home), "nothing is measured")
    kill([int((run_dir / "engine.pid").read_text().split()[0])])
    wait_until(
        lambda: all(each.processes() == [] for each in pods.inside), "the load is still running"
    )
    assert benchtui(home, "runs", "recover", run_id).returncode in (0, 4)
    assert pods.are_clean()
    assert not kubectls(pods)


def run(runtime: str) -> tuple[str | Path, ...]:
    """The words of a run on both pods."""
    load = ("--set", "directory=/tmp", "--set", f"runtime={runtime}", "--yes")
    return ("run", LOAD, "--hosts", SPEC, *load)


def measuring(home: Path) -> bool:
    """Whether the one run has measured for a while."""
    return any(measures(run_dir) for run_dir in (home / "runs").glob("*"))


def kubectls(pods: Pods) -> list[int]:
    """Pids of every kubectl that speaks to this cluster."""
    mine = f"KUBECONFIG={pods.cluster.environ['KUBECONFIG']}".encode()
    return [pid for pid in pids() if comm(pid) == TOOL and mine in environ_of(pid)]
