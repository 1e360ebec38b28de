"""Poisoned runs, made once for all tests of a process."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.untrusted.stores import poisoned_stores


@pytest.fixture(scope="session")
def poisoned(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with a home, a shared directory and a pack of poisoned runs; only to be read."""
    path = tmp_path_factory.mktemp("poisoned")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BENCHTUI_HOME", str(path / "home"))
        poisoned_stores(path / "home", path)
    return path


@pytest.fixture
def shared(poisoned: Path, home: Path, tmp_path: Path) -> Path:
    """The shared directory of poisoned runs; those of the home are in the test's own home."""
    shutil.copytree(poisoned / "home", home, dirs_exist_ok=True)
    shutil.copytree(poisoned / "shared", tmp_path / "shared")
    shutil.copy(poisoned / "packed.benchtui", tmp_path)
    return tmp_path / "shared"
