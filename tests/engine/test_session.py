"""One host of a run: what it is asked is asked again when its connection breaks, for as long as one
has patience.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.lab.proxy import ProxiedLab
from tests.lab.sshd import SSHD
from tui.engine.session.host_session import HostSession
from tui.journal.writer import Journal
from tui.remote.connections import Connections
from tui.remote.transport import HostError
from tui.text.run_texts import run_text


@pytest.fixture(scope="module")
def proxied(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ProxiedLab]:
    """h1 behind a proxy."""
    if not Path(SSHD).exists():
        pytest.skip("no sshd on this machine")
    with ProxiedLab(tmp_path_factory.mktemp("proxied"), 1) as started:
        yield started


@pytest.fixture
def session(proxied: ProxiedLab, tmp_path: Path) -> Iterator[HostSession]:
    """h1 as an engine holds it, not yet connected."""
    journal = Journal(tmp_path)
    yield HostSession(proxied.address("h1"), Connections(), "check", journal)
    journal.close()
    proxied.heal()


async def test_question_to_a_host_that_stays_away_ends_with_why(
    session: HostSession, proxied: ProxiedLab
) -> None:
    await session.connect()
    proxied.proxies["h1"].refuse()
    proxied.proxies["h1"].reset()
    begin = time.monotonic()
    with pytest.raises(HostError) as caught:
        await session.ask(lambda agent: agent.probe(), patience_s=1.5)
    assert time.monotonic() - begin > 1.0
    assert caught.value.code == "lost"
    assert "not back in 1.5 s: connection refused" in caught.value.message
    assert session.state == "connecting"


async def test_refusal_is_reported_though_the_last_attempt_timed_out(
    session: HostSession, proxied: ProxiedLab
) -> None:
    await session.connect()
    proxy = proxied.proxies["h1"]
    proxy.refuse()
    proxy.reset()
    asked = asyncio.create_task(session.ask(lambda agent: agent.probe(), patience_s=4.0))
    while "refused" not in run_text(session.refusal):
        await asyncio.sleep(0.01)
    proxy.blackhole()
    proxy.accept()
    with pytest.raises(HostError, match="not back in 4 s: connection refused"):
        await asked


async def test_answer_comes_over_another_connection(
    session: HostSession, proxied: ProxiedLab
) -> None:
    await session.connect()
    session.enter("checking")
    proxied.proxies["h1"].reset()
    probe = await session.ask(lambda agent: agent.probe())
    assert str(probe.values["kernel"]).startswith("Linux")
    assert session.state == "checking"
    await session.disconnect()


async def test_refusal_of_the_agent_is_not_asked_again(session: HostSession) -> None:
    await session.connect()
    with pytest.raises(HostError) as caught:
        await asyncio.wait_for(session.ask(lambda agent: agent.status("none")), 10)
    assert caught.value.code == "agent-failed"
    await session.disconnect()
