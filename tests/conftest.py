"""Fixtures that several test folders share."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.lab.sshd import SSHD, SshdLab

FAULTS = Path(__file__).parent / "faults"
QUICK_FAULTS = ("test_soak_short.py", "test_stop.py")  # the others take minutes: `make soak` runs them


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the fault tests that are too slow for every change."""
    for item in items:
        if item.path.parent == FAULTS and item.path.name not in QUICK_FAULTS:
            item.add_marker(pytest.mark.slow)


@pytest.fixture(scope="session")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SshdLab]:
    """Four real sshd instances, h1..h4, with known keys in `lab.ssh_config`."""
    if not Path(SSHD).exists():
        pytest.skip("no sshd on this machine")
    with SshdLab(tmp_path_factory.mktemp("lab")) as started:
        yield started


@pytest.fixture(scope="session", autouse=True)
def own_locks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Locks of this test session alone: this machine may be under somebody's benchmark, or under another session."""
    before = os.environ.get("BENCHTUI_LOCKS")
    os.environ["BENCHTUI_LOCKS"] = str(tmp_path_factory.mktemp("locks"))
    yield
    if before is None:
        del os.environ["BENCHTUI_LOCKS"]
    else:
        os.environ["BENCHTUI_LOCKS"] = before


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A BENCHTUI_HOME of this test alone, empty."""
    path = tmp_path / "home"
    path.mkdir()
    monkeypatch.setenv("BENCHTUI_HOME", str(path))
    return path
