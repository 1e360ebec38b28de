"""Connections that break in the middle of a measurement: the load goes on, and nothing is lost."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from tests.faults.conftest import Begin
from tests.lab.faults import frozen, kill_sessions, marked
from tests.lab.faults_check import problem_codes, violations
from tests.lab.faults_run import LiveRun
from tests.lab.faults_spool import unzipped
from tests.lab.proxy import FaultProxy, ProxiedLab
from tui.model.event import PhaseEnded

pytestmark = pytest.mark.e2e

NOTICED_S = 10.0 + 3.0  # keepalive 2.5 s x 4, and a busy machine
DATA_OF_ONE_SAMPLE = 12_345

Break = Callable[[FaultProxy], object]
BREAKS: dict[str, Break] = {
    "reset": FaultProxy.reset,
    "fin": FaultProxy.fin,
    "fin-from-the-client": lambda proxy: proxy.half_close("to_host"),
    "fin-from-the-host": lambda proxy: proxy.half_close("to_client"),
    "reset-inside-a-sample": lambda proxy: proxy.cut_after(DATA_OF_ONE_SAMPLE),
}


def assert_nothing_was_lost(run: LiveRun) -> None:
    record = run.finished()
    assert record["state"] == "complete", record["reason"]
    assert violations(run, record) == []
    assert all(each.whole for each in run.spool.tasks())
    assert sorted(record["steps"][0]["results"]["per_host"]) == ["h1", "h2"]


@pytest.mark.parametrize("name", list(BREAKS))
def test_broken_connection_is_noticed_and_costs_nothing(begin: Begin, proxied_lab: ProxiedLab, name: str) -> None:
    run = begin(runtime="5s")
    run.measuring()
    broken_at = run.now()
    BREAKS[name](proxied_lab.proxies["h1"])
    assert_nothing_was_lost(run)
    noticed_at = run.saw_lost_connection("h1")
    assert noticed_at is not None, "the host's row never showed that it was connecting"
    assert noticed_at - broken_at < NOTICED_S
    assert run.saw_lost_connection("h2") is None


def test_all_connections_at_once(begin: Begin, proxied_lab: ProxiedLab) -> None:
    run = begin(runtime="5s")
    run.measuring()
    for proxy in proxied_lab.proxies.values():
        proxy.reset()
    assert_nothing_was_lost(run)
    assert run.saw_lost_connection("h1") and run.saw_lost_connection("h2")


def test_connection_that_breaks_again_and_again(begin: Begin, proxied_lab: ProxiedLab) -> None:
    run = begin(runtime="8s")
    run.measuring()
    proxy = proxied_lab.proxies["h1"]
    for _ in range(4):
        enough = proxy.passed["to_client"] + 20_000
        proxy.reset()
        run.wait(partial(passed_or_over, run, proxy, enough), "data again")
    assert_nothing_was_lost(run)


def test_short_silence_is_sat_out(begin: Begin, proxied_lab: ProxiedLab) -> None:
    run = begin(runtime="7s")
    run.measuring()
    proxy = proxied_lab.proxies["h1"]
    proxy.blackhole()
    silent_from = run.now()
    run.wait(lambda: run.now() > silent_from + 4, "four seconds")
    proxy.heal()
    assert_nothing_was_lost(run)
    assert run.saw_lost_connection("h1") is None


def test_long_silence_is_noticed_by_keepalive(begin: Begin, proxied_lab: ProxiedLab) -> None:
    run = begin(runtime="6s", lease_s=30)
    run.measuring()
    proxy = proxied_lab.proxies["h1"]
    silent_from = run.now()
    proxy.blackhole()
    run.wait(lambda: run.saw_lost_connection("h1") is not None, "the loss of the connection", NOTICED_S + 5)
    proxy.heal()
    assert (run.saw_lost_connection("h1") or 0) - silent_from < NOTICED_S
    assert_nothing_was_lost(run)


def test_refused_for_less_than_the_lease(begin: Begin, proxied_lab: ProxiedLab) -> None:
    run = begin(runtime="5s", lease_s=20)
    run.measuring()
    proxy = proxied_lab.proxies["h1"]
    proxy.refuse()
    proxy.reset()
    run.wait(lambda: any("refused" in state.detail for state in run.states("h1")), "a refused attempt")
    proxy.accept()
    assert_nothing_was_lost(run)


def test_break_between_the_last_byte_and_the_question_how_it_ended(begin: Begin, proxied_lab: ProxiedLab) -> None:
    run = begin(runtime="3s")
    run.measuring()
    done = run.load_on("h1").remote_dir / "done"
    proxy = proxied_lab.proxies["h1"]
    run.wait(done.exists, "the end of the load on h1")
    size = (done.parent / "out").stat().st_size
    raw = run.run_dir / "raw" / "0.measure.h1.out.gz"
    run.wait(lambda: len(unzipped(raw)) >= size, "the last byte", 5)
    proxy.reset()
    assert_nothing_was_lost(run)


def test_break_while_the_host_is_being_left(begin: Begin, proxied_lab: ProxiedLab) -> None:
    run = begin(runtime="2s")
    run.wait(lambda: any(e.phase == "collect" for e in run.of_type(PhaseEnded)), "the end of the collection")
    proxied_lab.proxies["h1"].reset()
    assert_nothing_was_lost(run)
    assert not list((proxied_lab.host("h1").root / "locks").glob("lock.*")), "the next run would be refused"
    assert not list(Path("/tmp").glob(f".benchtui-*/{run.run_id}"))


def test_slow_link(begin: Begin, proxied_lab: ProxiedLab) -> None:
    for proxy in proxied_lab.proxies.values():
        proxy.slow(0.05)
    run = begin(runtime="4s", lease_s=30)
    assert_nothing_was_lost(run)


def test_sshd_session_killed(begin: Begin, proxied_lab: ProxiedLab) -> None:
    run = begin(runtime="5s")
    run.measuring()
    assert kill_sessions(proxied_lab.host("h1")) > 0
    assert_nothing_was_lost(run)
    assert run.saw_lost_connection("h1") is not None


def test_sshd_session_frozen(begin: Begin, proxied_lab: ProxiedLab) -> None:
    run = begin(runtime="5s", lease_s=30)
    run.measuring()
    session = proxied_lab.host("h1").sessions()[0]
    since = run.now()
    with frozen(session):
        run.wait(lambda: run.saw_lost_connection("h1") is not None, "the loss of the connection", NOTICED_S + 5)
    assert (run.saw_lost_connection("h1") or 0) - since < NOTICED_S
    assert_nothing_was_lost(run)


def test_sshd_restarted(begin: Begin, proxied_lab: ProxiedLab) -> None:
    run = begin(runtime="6s", lease_s=20)
    run.measuring()
    host = proxied_lab.host("h1")
    sessions = host.sessions()
    host.stop()
    try:
        for pid in sessions:
            os.kill(pid, signal.SIGKILL)
        run.wait(lambda: run.saw_lost_connection("h1") is not None, "the loss of the connection")
    finally:
        host.start()
    assert_nothing_was_lost(run)


def test_host_that_stays_away_longer_than_the_lease_is_lost(begin: Begin, proxied_lab: ProxiedLab) -> None:
    run = begin(runtime="20s", lease_s=10)
    run.measuring()
    proxy = proxied_lab.proxies["h1"]
    proxy.refuse()
    proxy.reset()
    lost_at = run.now()
    run.wait(lambda: not any_load_on(run, "h1"), "no load on the lost host", 10 + 10)
    assert run.now() - lost_at < 10 + 10
    record = run.finished()
    assert record["state"] == "partial"
    assert "host-lost" in problem_codes(record, "h1")
    assert problem_codes(record, "h2") == set()
    assert next(host["state"] for host in record["hosts"] if host["name"] == "h1") == "lost"
    assert violations(run, record) == []
    assert run.spool.of("h2").whole
    assert not run.spool.of("h1").whole


def test_lost_host_stops_the_run_when_asked(begin: Begin, proxied_lab: ProxiedLab) -> None:
    run = begin("--on-host-loss", "stop", runtime="60s", lease_s=10)
    run.measuring()
    proxy = proxied_lab.proxies["h1"]
    proxy.refuse()
    proxy.reset()
    record = run.finished(10 + 20)
    assert record["state"] == "partial"
    assert violations(run, record) == []
    assert record["steps"][0]["results"]["per_host"]["h2"]["read"]["ios"] > 0
    run.no_process_left(10 + 10)


def passed_or_over(run: LiveRun, proxy: FaultProxy, size: int) -> bool:
    return run.over() or proxy.passed["to_client"] > size


def any_load_on(run: LiveRun, host: str) -> bool:
    return bool(marked(run.run_id, host))
