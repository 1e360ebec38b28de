"""Where things live, by the environment and by what people type: nothing is created here and no
file is read.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from tui.model.problem import UsageError


class Paths(NamedTuple):
    """Folders and files of one user: `config` for what people edit, `data` for what runs leave."""

    config: Path
    data: Path
    runs_kept: Path | None = None  # where the user's settings want runs

    @classmethod
    def from_environ(cls, environ: Mapping[str, str]) -> Paths:
        """Follow BENCHTUI_HOME when set, else XDG_CONFIG_HOME and XDG_DATA_HOME with their
        defaults.
        """
        if own := environ.get("BENCHTUI_HOME"):
            home = from_home(own).absolute()
            return cls(config=home, data=home)
        user = user_home(environ)
        config = absolute(environ, "XDG_CONFIG_HOME") or user / ".config"
        data = absolute(environ, "XDG_DATA_HOME") or user / ".local" / "share"
        return cls(config=config / "benchtui", data=data / "benchtui")

    @property
    def inventory(self) -> Path:
        """The user's inventory file."""
        return self.config / "inventory.yaml"

    @property
    def profiles(self) -> Path:
        """The user's own profiles; they win over presets of the same name."""
        return self.config / "profiles"

    @property
    def baselines(self) -> Path:
        """Published figures that the user added."""
        return self.config / "baselines"

    @property
    def known_hosts(self) -> Path:
        """Host keys pinned by ``benchtui hosts trust``, in OpenSSH's known_hosts format."""
        return self.config / "known_hosts"

    @property
    def seal_key(self) -> Path:
        """The private key that seals this user's runs; made with the first one.

        Its public half has .pub behind it.
        """
        return self.config / "seal_key"

    @property
    def settings(self) -> Path:
        """What the user wants everywhere; see tui.model.settings."""
        return self.config / "config.yaml"

    @property
    def shared_runs(self) -> Path:
        """The list of directories with runs of other people, a line each."""
        return self.config / "shared-runs"

    @property
    def runs(self) -> Path:
        """One directory a run."""
        return self.runs_kept or self.data / "runs"

    @property
    def noise(self) -> Path:
        """The noise floors that ``benchtui noise`` measured."""
        return self.data / "noise.json"


def presets_dir() -> Path:
    """Return where the presets are: inside the installed package, or in the checkout beside it."""
    package = Path(__file__).parents[1]
    presets = package / "presets"
    return presets if presets.is_dir() else package.parent / "profiles"


def docs_dir() -> Path:
    """Return where the documentation is: inside the installed package, or in the checkout beside
    it.
    """
    package = Path(__file__).parents[1]
    docs = package / "docs"
    return docs if docs.is_dir() else package.parent / "docs"


def user_home(environ: Mapping[str, str]) -> Path:
    """Return the home directory by HOME, or by the list of users where HOME is unset, empty or
    relative.
    """
    if found := absolute(environ, "HOME"):
        return found
    import pwd

    try:
        return Path(pwd.getpwuid(os.getuid()).pw_dir)
    except KeyError:
        return Path("/")  # a user that no list has, as in some containers


def absolute(environ: Mapping[str, str], name: str) -> Path | None:
    """Return the directory that a variable names.

    A relative one would be another in each directory.
    """
    path = Path(environ.get(name, ""))
    return path if path.is_absolute() else None


def from_home(path: str | Path) -> Path:
    """Return a path with ~ and ~USER as a shell has them: what is of no user that is known stays as
    it is.
    """
    return Path(os.path.expanduser(path))  # noqa: PTH111  # Path's own raises


def to_write(path: str | Path) -> Path:
    """Return the same of a path to write to.

    Raises UsageError for ~ of nobody: no directory is made of that name.
    """
    found = from_home(path)
    if found.parts[:1] and found.parts[0].startswith("~"):
        raise UsageError(f"{path}: no user is called '{found.parts[0][1:]}'")
    return found


def is_there(path: Path) -> bool:
    """Tell whether there is something of this name.

    What is no name for the system, such as a long one, is not.
    """
    return os.path.exists(path)  # noqa: PTH110  # Path's own raises


def is_folder(path: Path) -> bool:
    """Tell whether there is a directory of this name, as `is_there` does."""
    return os.path.isdir(path)  # noqa: PTH112  # Path's own raises
