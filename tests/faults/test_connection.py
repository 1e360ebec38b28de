"""Connections that break in the middle of a measurement: the load goes on, and nothing is lost."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from tests.faults.conftest import Begin, Begun
from tests.lab.faults import frozen, kill_sessions, marked
from tests.lab.faults_check import problem_codes, violations
from tests.lab.faults_run import LiveRun
from tests.lab.faults_spool import unzipped
from tests.lab.proxy import FaultProxy, ProxiedLab
from tui.model.event import PhaseEnded
from tui.text.run_texts import run_text

pytestmark = pytest.mark.e2e

INSIDE_A_SAMPLE = 12_345
# what keepalives find; a break is told by TCP at once
SILENT = "connection lost: the host no longer answers"


def by_proxy(act: Callable[[FaultProxy], object]) -> Callable[[ProxiedLab, str], object]:
    return lambda lab, host: act(lab.proxies[host])


BREAKS: dict[str, Callable[[ProxiedLab, str], object]] = {
    "reset": by_proxy(FaultProxy.reset),
    "fin": by_proxy(FaultProxy.fin),
    "fin-from-the-client": by_proxy(lambda proxy: proxy.half_close("to_host")),
    "fin-from-the-host": by_proxy(lambda proxy: proxy.half_close("to_client")),
    "reset-inside-a-sample": by_proxy(lambda proxy: proxy.cut_after(INSIDE_A_SAMPLE)),
    "sshd-session-killed": lambda lab, host: kill_sessions(lab.host(host)),
}
HOST_OF = {name: f"h{number}" for number, name in enumerate(BREAKS, start=1)}
UNTOUCHED = f"h{len(BREAKS) + 1}"


def assert_nothing_was_lost(run: LiveRun) -> None:
    record = run.finished()
    assert record["state"] == "complete", record["reason"]
    assert violations(run, record) == []
    assert all(each.whole for each in run.spool.tasks())
    assert sorted(record["steps"][0]["results"]["per_host"]) == [
        host["name"] for host in record["hosts"]
    ]


@pytest.fixture(scope="module")
def broken(begun: Begun, proxied_lab: ProxiedLab) -> Iterator[LiveRun]:
    """A run, over, in which every host but the last one lost its connection in another way."""
    with begun(f"h[1-{len(BREAKS) + 1}]", runtime="5s") as run:
        run.measuring(len(BREAKS) + 1)
        for name, host in HOST_OF.items():
            BREAKS[name](proxied_lab, host)
        run.finished()
        yield run
    proxied_lab.heal()


@pytest.mark.parametrize("name", list(BREAKS))
def test_broken_connection_is_noticed_at_once_and_shown(broken: LiveRun, name: str) -> None:
    why = broken.why_lost(HOST_OF[name])
    assert why is not None, "the host's row never showed that it was connecting"
    assert why != SILENT, "it was waited for"


@pytest.mark.parametrize("name", list(BREAKS))
def test_broken_connection_costs_not_a_byte(broken: LiveRun, name: str) -> None:
    assert broken.spool.of(HOST_OF[name]).whole
    assert problem_codes(broken.record(), HOST_OF[name]) == set()


def test_broken_connections_of_most_hosts_leave_the_run_complete(broken: LiveRun) -> None:
    assert_nothing_was_lost(broken)


def test_host_with_an_intact_connection_sees_nothing_of_it(broken: LiveRun) -> None:
    assert not lost(broken, UNTOUCHED)


@pytest.fixture(scope="module")
def silent(begun: Begun, proxied_lab: ProxiedLab) -> Iterator[LiveRun]:
    """A run, over, in which h1 was silent for 4 s, h2 and h3 until that was noticed."""
    with begun("h[1-4]", runtime="6s", lease_s=40) as run:
        run.measuring(4)
        proxies, session = proxied_lab.proxies, proxied_lab.host("h3").sessions()[0]
        silent_from = run.now()
        proxies["h1"].blackhole()
        proxies["h2"].blackhole()
        with frozen(session):
            run.wait(lambda: run.now() > silent_from + 4, "four seconds")
            proxies["h1"].heal()
            for host in ("h2", "h3"):
                run.wait(partial(lost, run, host), f"the loss of {host}")
        proxies["h2"].heal()
        run.finished()
        yield run
    proxied_lab.heal()


def lost(run: LiveRun, host: str) -> bool:
    return run.why_lost(host) is not None


def test_short_silence_is_sat_out(silent: LiveRun) -> None:
    assert not lost(silent, "h1")


@pytest.mark.parametrize("host", ["h2", "h3"], ids=["blackhole", "sshd-session-frozen"])
def test_long_silence_is_noticed_by_keepalive(silent: LiveRun, host: str) -> None:
    assert silent.why_lost(host) == SILENT


def test_silence_costs_nothing(silent: LiveRun) -> None:
    assert_nothing_was_lost(silent)


def test_connection_that_breaks_again_and_again(begin: Begin, proxied_lab: ProxiedLab) -> None:
    run = begin(runtime="8s")
    run.measuring()
    proxy = proxied_lab.proxies["h1"]
    for _ in range(4):
        enough = proxy.passed["to_client"] + 20_000
        proxy.reset()
        run.wait(partial(passed_or_over, run, proxy, enough), "data again")
    assert_nothing_was_lost(run)


def passed_or_over(run: LiveRun, proxy: FaultProxy, size: int) -> bool:
    return run.over() or proxy.passed["to_client"] > size


def test_refused_for_less_than_the_lease(begin: Begin, proxied_lab: ProxiedLab) -> None:
    run = begin(runtime="4s", lease_s=20)
    run.measuring()
    proxy = proxied_lab.proxies["h1"]
    proxy.refuse()
    proxy.reset()
    run.wait(
        lambda: any("refused" in run_text(state.detail) for state in run.states("h1")), "a refused attempt"
    )
    proxy.accept()
    assert_nothing_was_lost(run)


def test_sshd_restarted(begin: Begin, proxied_lab: ProxiedLab) -> None:
    run = begin(runtime="4s", lease_s=20)
    run.measuring()
    host = proxied_lab.host("h1")
    sessions = host.sessions()
    host.stop()
    try:
        for pid in sessions:
            os.kill(pid, signal.SIGKILL)
        run.wait(lambda: lost(run, "h1"), "the loss of the connection")
    finally:
        host.start()
    assert_nothing_was_lost(run)


def test_break_between_the_last_byte_and_the_question_how_it_ended(
    begin: Begin, proxied_lab: ProxiedLab
) -> None:
    run = begin(runtime="3s")
    run.measuring()
    done = run.load_on("h1").remote_dir / "done"
    proxy = proxied_lab.proxies["h1"]
    run.wait(done.exists, "the end of the load on h1")
    size = (done.parent / "out").stat().st_size
    raw = run.run_dir / "raw" / "0.measure.h1.out.gz"
    run.wait(lambda: len(unzipped(raw)) >= size, "the last byte")
    proxy.reset()
    assert_nothing_was_lost(run)


def test_break_while_the_host_is_being_left(begin: Begin, proxied_lab: ProxiedLab) -> None:
    run = begin(runtime="2s")
    run.wait(
        lambda: any(e.phase == "collect" for e in run.of_type(PhaseEnded)),
        "the end of the collection",
    )
    proxied_lab.proxies["h1"].reset()
    assert_nothing_was_lost(run)
    assert not list(proxied_lab.host("h1").root.glob("locks*/lock.*")), (
        "the next run would be refused"
    )
    assert not list(Path("/tmp").glob(f".benchtui-*/{run.run_id}"))


def test_stream_that_stands_still_is_opened_again(begin: Begin) -> None:
    run = begin(runtime="60s", lease_s=60)
    run.measuring()
    streamer = int((run.load_on("h1").remote_dir / "streamer").read_text().split()[1])
    with frozen(streamer):  # the connection lives, and so does the load
        run.wait(lambda: lost(run, "h1"), "that the stream stands still")
        run.wait(lambda: run.states("h1")[-1].state == "running", "its data again")
    run.command("stop", run.run_id)
    record = run.finished()
    assert violations(run, record) == []
    assert all(each.whole for each in run.spool.tasks())


def test_slow_link(begin: Begin, proxied_lab: ProxiedLab) -> None:
    for proxy in proxied_lab.proxies.values():
        proxy.slow(0.05)
    assert_nothing_was_lost(begin(runtime="3s", lease_s=30))


def test_host_that_stays_away_longer_than_the_lease_is_lost(
    begin: Begin, proxied_lab: ProxiedLab
) -> None:
    run = begin(runtime="20s", lease_s=10)
    run.measuring()
    proxy = proxied_lab.proxies["h1"]
    proxy.refuse()
    proxy.reset()
    run.wait(lambda: not marked(run.run_id, "h1"), "no load on the lost host")
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
    record = run.finished()
    assert record["state"] == "partial"
    assert violations(run, record) == []
    assert record["steps"][0]["results"]["per_host"]["h2"]["read"]["ios"] > 0
    run.no_process_left()


@pytest.mark.slow
@pytest.mark.parametrize("phase", ["connect", "preflight", "barrier"])
def test_host_at_a_byte_a_second_is_named_before_it_measures(
    begin: Begin, proxied_lab: ProxiedLab, phase: str
) -> None:
    proxied_lab.proxies["h1"].slow(0.02)  # so that the phase lasts long enough to be hit
    run = begin(runtime="2s", lease_s=40)
    run.wait(lambda: run.phase() == phase or run.over(), f"the phase {phase}")
    proxied_lab.proxies["h1"].trickle(1)
    record = run.finished()
    assert record["state"] == "failed"
    assert problem_codes(record, "h1") <= {"timeout", "slow-shell", "lost"} != set()
    assert problem_codes(record, "h2") == set()


@pytest.mark.slow
def test_stop_of_a_host_at_a_byte_a_second_ends(begin: Begin, proxied_lab: ProxiedLab) -> None:
    run = begin(runtime="600s", lease_s=15)
    run.measuring()
    proxied_lab.proxies["h1"].trickle(1)
    code, said, _ = run.command("stop", run.run_id)
    assert code == 0, said
    assert run.finished()["state"] == "partial"
    assert "stop-unconfirmed" in problem_codes(run.record(), "h1")
    run.no_process_left()
