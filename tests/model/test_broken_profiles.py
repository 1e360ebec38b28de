"""One broken profile for each mistake that people make, with exactly what is said beside it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tui.engine.inputs.profiles import Catalogue
from tui.model.problem import UsageError

FOLDER = Path(__file__).with_name("broken")
FILES = sorted(FOLDER.glob("*.yaml"))


def said(path: Path, home: Path) -> str:
    """Return what the catalogue says about a file, its folder left out."""
    with pytest.raises(UsageError) as caught:
        Catalogue(home).load_file(path)
    return "".join(f"{problem}\n" for problem in caught.value.problems).replace(f"{FOLDER}/", "")


def test_there_are_at_least_25() -> None:
    assert len(FILES) >= 25


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_broken_profile_is_refused_with_exactly_this_message(path: Path, home: Path) -> None:
    assert said(path, home) == path.with_suffix(".expected").read_text(encoding="utf-8")
