"""Secrets of a load: in its environment, and in no file on the host, not even in what it printed."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from tests.remote.conftest import AS_SH, SHELLS, new_run_id, put_away
from tests.remote.helpers import collect, ended, sh, until
from tui.model.address import HostAddress
from tui.remote.agent import Agent, Lease
from tui.remote.local import LocalTransport

SECRET = 'wJalr-"XUtn\\FEMI/*K'
AS_JSON = json.dumps(SECRET)[1:-1]
AWKS = [awk for awk in ("mawk", "gawk", "busybox awk") if shutil.which(awk.split()[0])]
LOAD = (
    'printf "first %s\\n" "$KEY"; printf "trouble: %s\\n" "$KEY" >&2; until [ -e go-on ]; do sleep 0.05;'
    ' done; printf "json %s and %s twice\\nno newline $SHORT" "$JSON" "$JSON"; exit 7'
)


@pytest_asyncio.fixture(
    params=[(shell, AWKS[0]) for shell in AS_SH] + [("dash", awk) for awk in AWKS[1:]]
)
async def hiding(request: pytest.FixtureRequest) -> AsyncIterator[Agent]:
    """An agent under each shell, and with each awk."""
    shell, awk = request.param
    environ = {**os.environ, "BENCHTUI_SH": " ".join(SHELLS[shell]), "BENCHTUI_AWK": awk}
    address = HostAddress("local", transport="local")
    agent = Agent(LocalTransport(address, SHELLS[shell], environ), new_run_id())
    yield agent
    await put_away(agent)


async def begin(agent: Agent, load: str, **environ: str) -> Path:
    lease = Lease(60, 5)
    return Path(await agent.start("t", sh(load), {}, lease=lease, armed=False, environ=environ))


def on_disk(spool: Path) -> bytes:
    """All that regular files of a task hold."""
    return b"".join(path.read_bytes() for path in spool.iterdir() if path.is_file())


async def test_what_a_load_prints_reaches_the_spool_with_stars_at_once(hiding: Agent) -> None:
    spool = await begin(hiding, LOAD, KEY=SECRET, JSON=AS_JSON, SHORT="12")
    stars = b"first " + b"*" * len(SECRET) + b"\n"

    async def arrived() -> bool:
        return (spool / "out").read_bytes() == stars and (spool / "err").stat().st_size > 0

    await until(arrived, "the first lines, while the load runs")
    assert SECRET.encode() not in on_disk(spool)
    (spool / "go-on").touch()
    status = await ended(hiding)
    assert status.exit_code == 7
    out, err = await collect(await hiding.stream("t", 0, 0))
    masked = b"*" * len(AS_JSON)
    assert out == stars + b"json " + masked + b" and " + masked + b" twice\nno newline 12\n"
    assert err == b"trouble: " + b"*" * len(SECRET) + b"\n"
    assert not any(each.encode() in on_disk(spool) for each in (SECRET, AS_JSON))


async def test_a_load_that_is_stopped_leaves_all_that_it_printed(agent: Agent) -> None:
    load = 'trap "printf \\"last %s\\\\n\\" \\"\\$KEY\\"; exit 3" TERM; echo up; while :; do sleep 0.1; done'
    spool = await begin(agent, load, KEY=SECRET)

    async def up() -> bool:
        return (spool / "out").read_bytes() == b"up\n"

    await until(up, "the load")
    await agent.stop("t")
    status = await ended(agent)
    assert (status.exit_code, status.left) == (3, 0)
    assert (spool / "out").read_bytes() == b"up\nlast " + b"*" * len(SECRET) + b"\n"
