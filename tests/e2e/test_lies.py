"""A short part of the corpus of lies: what is plain nonsense is called so (all of it: make
lies).
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.long.lies.corpus import CORPUS, LIES
from tests.long.lies.lie import Lie
from tests.long.lies.play import Player

QUICK = ("unwritten file", "file system in memory", "ends early", "rate not reached", "zeros")


@pytest.mark.e2e
@pytest.mark.parametrize(
    "lie", [lie for lie in LIES if lie.name in QUICK], ids=lambda lie: lie.name.replace(" ", "-")
)
def test_a_lie_is_named_by_its_own_finding(lie: Lie, tmp_path: Path) -> None:
    found = Player(tmp_path).play(replace(lie, runtime_s=min(lie.runtime_s, 6)))
    assert not found.failed
    assert found.names(lie.finding), found


def test_the_corpus_has_no_two_rows_of_one_name() -> None:
    assert len({lie.name for lie in CORPUS}) == len(CORPUS)
