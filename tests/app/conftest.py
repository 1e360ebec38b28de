"""What tests of the app share: engines that they launch are forked from a process that has their modules."""

from __future__ import annotations

import pytest

from tests.e2e import forked
from tui.engine.process import launch


@pytest.fixture(autouse=True)
def forked_engines(monkeypatch: pytest.MonkeyPatch) -> None:
    """Engines are processes of their own, as always, but need not load what others have loaded."""
    monkeypatch.setattr(launch, "start_program", forked.start_program)
