"""Where things live, whatever the environment says."""

from __future__ import annotations

import os
import pwd
from pathlib import Path

import pytest

from tui.model.paths import Paths

HOME = Path(pwd.getpwuid(os.getuid()).pw_dir)


@pytest.mark.parametrize(
    "environ", [{}, {"HOME": ""}, {"HOME": "here"}, {"XDG_CONFIG_HOME": "c", "XDG_DATA_HOME": ""}]
)
def test_what_names_no_absolute_directory_does_not_count(environ: dict[str, str]) -> None:
    found = Paths.from_environ(environ)
    assert (found.config, found.data) == (HOME / ".config/benchtui", HOME / ".local/share/benchtui")


def test_absolute_directories_count() -> None:
    found = Paths.from_environ({"HOME": "/h", "XDG_CONFIG_HOME": "/c"})
    assert (found.config, found.data) == (Path("/c/benchtui"), Path("/h/.local/share/benchtui"))
