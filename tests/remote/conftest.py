"""Agents on this machine, under every shell, and over real SSH."""

from __future__ import annotations

import os
import shutil
import uuid
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from tests.lab.sshd import SshdLab
from tests.leftovers import MARK
from tui.model.address import HostAddress
from tui.model.hostfacts import Fact
from tui.remote.agent import Agent
from tui.remote.answers import HostProbe
from tui.remote.connections import Connections
from tui.remote.local import LocalTransport

SHELLS = {
    "dash": ("dash",),
    "bash": ("bash",),
    "bash-posix": ("bash", "--posix"),
    "busybox": ("busybox", "ash"),
    "mksh": ("mksh",),
}
PRESENT = [name for name, argv in SHELLS.items() if shutil.which(argv[0])]
# as /bin/sh, which the agent asks for, bash is always in its POSIX mode
AS_SH = [name for name in PRESENT if name != "bash"]
UNDER_EACH = [
    name if name in AS_SH else pytest.param(name, marks=pytest.mark.slow) for name in PRESENT
]


def new_run_id() -> str:
    return f"test-{os.environ[MARK][:8]}-{uuid.uuid4().hex[:12]}"


def agent_under(shell: str, *, setsid: bool = True, name: str = "local") -> Agent:
    """An agent on this machine whose scripts and supervisors run under `shell`."""
    argv = SHELLS[shell]
    environ = {
        **os.environ,
        "BENCHTUI_SH": " ".join(argv),
        "BENCHTUI_SETSID": "yes" if setsid else "no",
    }
    return Agent(
        LocalTransport(HostAddress(name=name, transport="local"), argv, environ), new_run_id()
    )


NOTHING = HostProbe({}, {})


def machine_agent(root: Path, shell: str = "dash", path: str = "") -> Agent:
    """An agent that takes a directory for the root of its machine."""
    environ = {
        **os.environ,
        "BT_ROOT": str(root),
        "PATH": f"{path}:{os.environ['PATH']}" if path else os.environ["PATH"],
    }
    transport = LocalTransport(HostAddress(name="m", transport="local"), SHELLS[shell], environ)
    return Agent(transport, new_run_id())


async def facts_of(root: Path, shell: str, *targets: str, path: str = "") -> dict[str, Fact]:
    return await machine_agent(root, shell, path).facts(NOTHING, targets, ["no-such/fio"])


async def put_away(agent: Agent) -> None:
    """End what a test left of its run, and check that nothing of it stays."""
    await agent.sweep(kill=True)
    await agent.clean()
    assert await agent.sweep(kill=False) == []


@pytest.fixture(params=UNDER_EACH)
def shell(request: pytest.FixtureRequest) -> str:
    """The name of a shell, each in turn."""
    return str(request.param)


@pytest_asyncio.fixture
async def agent() -> AsyncIterator[Agent]:
    """An agent on this machine under /bin/sh."""
    made = Agent(LocalTransport(HostAddress(name="local", transport="local")), new_run_id())
    yield made
    await put_away(made)


@pytest_asyncio.fixture(params=UNDER_EACH)
async def shell_agent(request: pytest.FixtureRequest) -> AsyncIterator[Agent]:
    """An agent on this machine under each shell."""
    made = agent_under(request.param)
    yield made
    await put_away(made)


@pytest_asyncio.fixture(params=[False, True], ids=["without-setsid", "with-setsid"])
async def setsid_agent(request: pytest.FixtureRequest) -> AsyncIterator[Agent]:
    """An agent on this machine with and without setsid."""
    made = agent_under("dash" if "dash" in PRESENT else PRESENT[0], setsid=request.param)
    yield made
    await put_away(made)


@pytest_asyncio.fixture
async def connections(lab: SshdLab) -> AsyncIterator[Connections]:
    async with Connections(ssh_config=lab.ssh_config) as opened:
        yield opened


@pytest_asyncio.fixture
async def ssh_agent(lab: SshdLab, connections: Connections) -> AsyncIterator[Agent]:
    """An agent on h1, over SSH."""
    made = Agent(await connections.connect(lab.address("h1")), new_run_id())
    yield made
    await put_away(Agent(await connections.connect(lab.address("h1")), made.run_id))


@pytest.fixture
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home without keys, configuration or SSH agent."""
    home = tmp_path / "own-home"
    (home / ".ssh").mkdir(parents=True)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)
    return home
