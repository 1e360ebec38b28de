"""Locations of files, from the environment and user input; creates and reads nothing."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from tui.model.problem import UsageError


class Paths(NamedTuple):
    """Directories and files of one user: `config` for files that people edit, `data` for runs."""

    config: Path
    data: Path
    runs_kept: Path | None = None  # runs directory, if set in the user's settings

    @classmethod
    def from_environ(cls, environ: Mapping[str, str]) -> Paths:
        """Return paths below BENCHTUI_HOME if set, else below XDG_CONFIG_HOME and XDG_DATA_HOME."""
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
        """The user's own profiles, which override presets of the same name."""
        return self.config / "profiles"

    @property
    def baselines(self) -> Path:
        """Published results that the user added."""
        return self.config / "baselines"

    @property
    def known_hosts(self) -> Path:
        """Host keys pinned by ``benchtui hosts trust``, in OpenSSH's known_hosts format."""
        return self.config / "known_hosts"

    @property
    def seal_key(self) -> Path:
        """The private key that seals this user's runs, created for the first run.

        The public key is in the same directory, with suffix .pub.
        """
        return self.config / "seal_key"

    @property
    def settings(self) -> Path:
        """The user's settings; see tui.model.settings."""
        return self.config / "config.yaml"

    @property
    def shared_runs(self) -> Path:
        """The list of directories with other people's runs, one per line."""
        return self.config / "shared-runs"

    @property
    def runs(self) -> Path:
        """The directory that contains one directory per run."""
        return self.runs_kept or self.data / "runs"

    @property
    def noise(self) -> Path:
        """Noise floors measured by ``benchtui noise``."""
        return self.data / "noise.json"


def presets_dir() -> Path:
    """Return the directory of the presets, in the installed package or in the checkout."""
    package = Path(__file__).parents[1]
    presets = package / "presets"
    return presets if presets.is_dir() else package.parent / "profiles"


def docs_dir() -> Path:
    """Return the directory of the documentation, in the installed package or in the checkout."""
    package = Path(__file__).parents[1]
    docs = package / "docs"
    return docs if docs.is_dir() else package.parent / "docs"


def user_home(environ: Mapping[str, str]) -> Path:
    """Return the home directory from HOME, or from the password database if HOME is unset or
    relative.
    """
    if found := absolute(environ, "HOME"):
        return found
    import pwd

    try:
        return Path(pwd.getpwuid(os.getuid()).pw_dir)
    except KeyError:
        return Path("/")  # a user without a passwd entry, as in some containers


def absolute(environ: Mapping[str, str], name: str) -> Path | None:
    """Return the directory that a variable names; None if it is not an absolute path.

    A relative path would change with the working directory.
    """
    path = Path(environ.get(name, ""))
    return path if path.is_absolute() else None


def from_home(path: str | Path) -> Path:
    """Expand ~ and ~USER as a shell does; unknown users are left unchanged."""
    return Path(os.path.expanduser(path))  # noqa: PTH111  # Path's own raises


def to_write(path: str | Path) -> Path:
    """Expand ~ in the path of a file to write.

    Raises UsageError for an unknown user instead of creating a directory of that name.
    """
    found = from_home(path)
    if found.parts[:1] and found.parts[0].startswith("~"):
        raise UsageError(f"{path}: unknown user '{found.parts[0][1:]}'")
    return found


def is_there(path: Path) -> bool:
    """Return whether a path exists; False for invalid paths, such as too long ones."""
    return os.path.exists(path)  # noqa: PTH110  # Path's own raises


def is_folder(path: Path) -> bool:
    """Return whether a path is a directory; False for invalid paths, as in `is_there`."""
    return os.path.isdir(path)  # noqa: PTH112  # Path's own raises
