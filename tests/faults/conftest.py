"""A small lab behind proxies, and runs on it that leave nothing behind."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.lab.faults_run import LiveRun
from tests.lab.proxy import ProxiedLab
from tests.lab.sshd import SSHD

Begin = Callable[..., LiveRun]


@pytest.fixture(scope="session")
def proxied_lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ProxiedLab]:
    if not Path(SSHD).exists():
        pytest.skip("no sshd on this machine")
    with ProxiedLab(tmp_path_factory.mktemp("proxied"), hosts=2) as started:
        yield started


@pytest.fixture
def target(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the test files are; shared by all tests, so that they are laid out only once."""
    path = tmp_path_factory.getbasetemp() / "fault-target"
    path.mkdir(exist_ok=True)
    return path


@pytest.fixture
def begin(proxied_lab: ProxiedLab, home: Path, target: Path) -> Iterator[Begin]:
    """Starts a run on h1 and h2 through their proxies; afterwards all faults are healed and nothing runs."""
    with ExitStack() as stack:
        stack.callback(proxied_lab.heal)
        stack.callback(proxied_lab.forget_locks)

        def start(*more: str, lease_s: int = 15, **params: str | int) -> LiveRun:
            return stack.enter_context(LiveRun.begin(home, proxied_lab, target, params, *more, lease_s=lease_s))

        yield start
