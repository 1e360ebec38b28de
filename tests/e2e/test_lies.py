"""A short part of the corpus of lies: what is plain nonsense is called so (all of it: make lies)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.lies.corpus import LIES, Lie
from tests.lies.play import play

QUICK = ("unwritten file", "ends early", "rate not reached", "zeros")
pytestmark = pytest.mark.e2e


@pytest.mark.parametrize("lie", [lie for lie in LIES if lie.name in QUICK], ids=lambda lie: lie.name.replace(" ", "-"))
def test_a_lie_is_named_by_its_own_finding(lie: Lie, tmp_path: Path) -> None:
    found = play(lie, tmp_path, None)
    assert not found.failed
    assert found.names(lie.finding), found
