"""Which editor is started, and what is said when that does not work."""

from __future__ import annotations

from pathlib import Path

import pytest

from tui.app.services.outside_editor import EditorError, edit_file, editor_command


def test_visual_wins_over_editor_and_vi_is_the_last_resort() -> None:
    assert editor_command({"VISUAL": "emacs -nw", "EDITOR": "nano"}) == ["emacs", "-nw"]
    assert editor_command({"EDITOR": "nano"}) == ["nano"]
    assert editor_command({}) == ["vi"]


def test_the_editor_gets_the_file(tmp_path: Path) -> None:
    path = tmp_path / "with blank.yaml"
    edit_file(path, {"EDITOR": "touch"})
    assert path.exists()


@pytest.mark.parametrize(
    ("editor", "said"),
    [
        ("no-such-editor", "set EDITOR"),
        ("false", "exited with code 1"),
        ("'unclosed", "No closing quotation"),
        ("  ", "EDITOR is empty"),
    ],
)
def test_an_editor_that_does_not_work_is_one_line(tmp_path: Path, editor: str, said: str) -> None:
    with pytest.raises(EditorError, match=said) as caught:
        edit_file(tmp_path / "x", {"EDITOR": editor})
    assert "\n" not in str(caught.value)
