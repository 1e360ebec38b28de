"""Connections that break before anything is measured: what was asked is asked again, and the run
goes on.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults.conftest import Begin, Begun
from tests.lab.faults_check import problem_codes, violations
from tests.lab.faults_run import LiveRun
from tests.lab.proxy import ProxiedLab
from tui.model.event import PhaseStarted

pytestmark = pytest.mark.e2e

# bytes to the client, then RST
CUTS = {"h1": 300, "h2": 1_300, "h3": 2_600, "h4": 3_200, "h5": 3_600, "h6": 5_000}
UNTOUCHED = "h7"


@pytest.fixture(scope="module")
def cut(
    begun: Begun, proxied_lab: ProxiedLab, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[LiveRun]:
    """A run, over, in which each host but the last one was cut at another place between greeting
    and GO.
    """
    accepted = {name: proxy.accepted for name, proxy in proxied_lab.proxies.items()}
    for host, size in CUTS.items():
        proxied_lab.proxies[host].cut_after(size)
    fresh = str(tmp_path_factory.mktemp("fresh"))
    with begun("h[1-7]", runtime="2s", directory=fresh, lease_s=40) as run:
        run.finished()
        assert all(proxied_lab.proxies[host].accepted > accepted[host] + 1 for host in CUTS), (
            "nothing broke"
        )
        yield run
    proxied_lab.heal()


def test_run_whose_connections_break_on_the_way_to_the_measurement_is_complete(
    cut: LiveRun,
) -> None:
    record = cut.record()
    assert record["state"] == "complete", record["reason"]
    assert violations(cut, record) == []


@pytest.mark.parametrize("host", [*CUTS, UNTOUCHED])
def test_host_that_was_cut_early_measures_like_the_others(cut: LiveRun, host: str) -> None:
    assert problem_codes(cut.record(), host) == set()
    assert cut.spool.of(host).whole


@pytest.mark.parametrize("phase", ["preflight", "layout", "barrier"])
def test_all_connections_break_at_once_in_a_phase(
    begin: Begin, proxied_lab: ProxiedLab, phase: str, tmp_path: Path
) -> None:
    for host in ("h1", "h2"):
        proxied_lab.proxies[host].slow(0.02)  # so that the phase lasts long enough to be hit
    run = begin("--set", f"directory={tmp_path}", runtime="2s", lease_s=40)
    run.wait(
        lambda: any(event.phase == phase for event in run.of_type(PhaseStarted)),
        f"the phase {phase}",
    )
    for host in ("h1", "h2"):
        proxied_lab.proxies[host].reset()
    record = run.finished()
    assert record["state"] == "complete", record["reason"]
    assert violations(run, record) == []


def test_go_that_is_lost_with_its_connection_is_reported_again(
    begin: Begin, proxied_lab: ProxiedLab
) -> None:
    proxy = proxied_lab.proxies["h1"]
    proxied_lab.proxies["h2"].slow(0.1)  # h1 is armed long before GO
    run = begin(runtime="3s", lease_s=60)
    run.wait(lambda: any(state.state == "armed" for state in run.states("h1")), "h1 armed")
    proxy.blackhole()
    run.wait(lambda: run.why_lost("h1") is not None, "the loss of h1")
    proxy.reset()  # what was on its way is gone
    proxy.heal()
    record = run.finished()
    assert violations(run, record) == []
    assert run.spool.of("h1").whole
    assert record["steps"][0]["results"]["per_host"]["h1"]["read"]["ios"] > 0
