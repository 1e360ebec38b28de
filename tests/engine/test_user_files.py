"""Files that people keep are replaced whole."""

from __future__ import annotations

from pathlib import Path

import pytest

from tui.cli.shared.settings import change
from tui.engine.inputs.hosts import add_hosts
from tui.engine.inputs.user_files import add_lines, save
from tui.model.problem import UsageError


def test_a_link_stays_where_somebody_keeps_the_file_elsewhere(tmp_path: Path) -> None:
    kept = tmp_path / "dotfiles"
    kept.mkdir()
    for name in ("inventory.yaml", "config.yaml"):
        (kept / name).touch(0o640)
        (tmp_path / name).symlink_to(kept / name)
    add_hosts(tmp_path / "inventory.yaml", ["h1"], {"user": "bench"})
    change(tmp_path / "config.yaml", "theme", "light")
    assert (tmp_path / "inventory.yaml").is_symlink() and (tmp_path / "config.yaml").is_symlink()
    assert (
        "h1:" in (kept / "inventory.yaml").read_text()
        and "theme: light" in (kept / "config.yaml").read_text()
    )
    assert (kept / "inventory.yaml").stat().st_mode & 0o777 == 0o640


def test_a_new_file_is_for_its_user_alone(tmp_path: Path) -> None:
    save(tmp_path / "new" / "config.yaml", "theme: light\n")
    assert (tmp_path / "new" / "config.yaml").stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "new").stat().st_mode & 0o777 == 0o700


def test_what_cannot_be_written_is_reported_and_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").mkdir()
    with pytest.raises(UsageError, match=r"config\.yaml: cannot be written: Is a directory"):
        save(tmp_path / "config.yaml", "x")
    assert [path.name for path in tmp_path.iterdir()] == ["config.yaml"]


def test_lines_are_added_behind_those_of_a_file_that_ends_without_a_newline(tmp_path: Path) -> None:
    pins = tmp_path / "known_hosts"
    pins.write_text("h1 ssh-ed25519 AAAA")
    add_lines(pins, ["h2 ssh-ed25519 BBBB"])
    assert pins.read_text() == "h1 ssh-ed25519 AAAA\nh2 ssh-ed25519 BBBB\n"


def test_lines_are_not_added_to_what_is_no_text(tmp_path: Path) -> None:
    pins = tmp_path / "known_hosts"
    pins.write_bytes(b"h\xe9 ssh-ed25519 AAAA\n")
    with pytest.raises(UsageError, match="not UTF-8 text"):
        add_lines(pins, ["h2 ssh-ed25519 BBBB"])
    assert pins.read_bytes() == b"h\xe9 ssh-ed25519 AAAA\n"
