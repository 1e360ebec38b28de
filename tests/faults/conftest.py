"""A lab behind proxies, and runs on it that leave nothing behind."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Protocol

import pytest

from tests.lab.faults_run import LiveRun
from tests.lab.proxy import ProxiedLab
from tests.lab.sshd import SSHD

HOSTS = 7
Begin = Callable[..., LiveRun]


class Begun(Protocol):
    """Starts a run on some hosts, in a home of its own; the caller closes it."""

    def __call__(self, hosts: str, *, lease_s: int = 15, **params: str | int) -> LiveRun: ...


@pytest.fixture(scope="session")
def proxied_lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ProxiedLab]:
    """h1 to h7, each behind a proxy."""
    if not Path(SSHD).exists():
        pytest.skip("no sshd on this machine")
    with ProxiedLab(tmp_path_factory.mktemp("proxied"), HOSTS) as started:
        yield started


@pytest.fixture(scope="session")
def target(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the test files are; shared by all tests, so that they are laid out only once."""
    path = tmp_path_factory.getbasetemp() / "fault-target"
    path.mkdir(exist_ok=True)
    return path


@pytest.fixture(scope="module")
def begun(proxied_lab: ProxiedLab, target: Path, tmp_path_factory: pytest.TempPathFactory) -> Begun:
    """Starts runs that several tests look at."""

    def start(hosts: str, *, lease_s: int = 15, **params: str | int) -> LiveRun:
        proxied_lab.forget_locks()
        home = tmp_path_factory.mktemp("home")
        return LiveRun.begin(home, proxied_lab, target, params, hosts=hosts, lease_s=lease_s)

    return start


@pytest.fixture
def begin(proxied_lab: ProxiedLab, home: Path, target: Path) -> Iterator[Begin]:
    """Starts a run on h1 and h2.

    Afterwards all faults are healed, nothing runs and no host is locked.
    """
    with ExitStack() as stack:
        stack.callback(proxied_lab.heal)
        # words that were held back come to no host after all was cleaned up
        stack.callback(proxied_lab.drop)
        stack.callback(proxied_lab.forget_locks)

        def start(*more: str, lease_s: int = 15, **params: str | int) -> LiveRun:
            return stack.enter_context(
                LiveRun.begin(home, proxied_lab, target, params, *more, lease_s=lease_s)
            )

        yield start
