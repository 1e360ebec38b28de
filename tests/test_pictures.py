"""Pictures of the docs: each is shown by a page and can be taken again.

One of every screen, size and look can be.
"""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.long.pictures import DOCS
from tests.long.pictures.__main__ import IN_DOCS, PICTURES, main
from tests.test_docs import DOCUMENTS

MOST_BYTES = 3_000_000
FRAME = "{http://www.w3.org/2000/svg}text"


def test_every_picture_that_is_kept_is_shown_by_a_page_and_all_of_them_are_small() -> None:
    kept = {path.name: path.stat().st_size for path in DOCS.iterdir()}
    shown = {
        name
        for each in DOCUMENTS
        for name in re.findall(r"images/([\w-]+\.(?:svg|png|cast))", each.read_text())
    }
    assert set(kept) - shown == set(), "nobody sees these"
    assert sum(kept.values()) < MOST_BYTES


def test_pictures_of_the_docs_are_among_those_that_can_be_taken() -> None:
    assert {scene for scene, _, _ in IN_DOCS.values()} <= set(PICTURES)
    assert {f"{name}.svg" for name in IN_DOCS} <= {path.name for path in DOCS.iterdir()}


@pytest.mark.slow
def test_a_screen_is_taken_at_the_size_and_in_the_look_that_are_asked_for(tmp_path: Path) -> None:
    assert main([str(tmp_path), "--all", "--only", "first-start.80x24.ascii"]) == 0
    assert [path.name for path in tmp_path.glob("*.svg")] == ["first-start.80x24.ascii.svg"]
    drawn = ElementTree.parse(tmp_path / "first-start.80x24.ascii.svg").getroot()
    words = " ".join("".join(text.itertext()) for text in drawn.iter(FRAME)).replace("\xa0", " ")
    assert "this machine" in words and words.isascii()
