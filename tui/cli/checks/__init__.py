"""What `benchtui doctor` looks at, one file a subject; each check is a function of the surroundings."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from tui.cli.shared.common import paths, paths_without_settings, user_settings
from tui.engine.safety.logout import output_of
from tui.model.paths import Paths, user_home
from tui.model.problem import UsageError
from tui.model.settings import Settings

Status = Literal["ok", "warn", "fail"]
DEFAULTS = Settings()


@dataclass(frozen=True, slots=True)
class Check:
    """What one check found. `advice` says what to do about it; empty when there is nothing to do.

    ``fail``: benchtui cannot keep a run here. ``warn``: something works less well, or not at all for some uses.
    """

    name: str
    status: Status
    message: str
    advice: str = ""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What the checks look at: the environment, benchtui's own folders, the user's home, the settings."""

    environ: Mapping[str, str]
    paths: Paths
    home: Path
    settings: Settings = DEFAULTS

    @classmethod
    def here(cls) -> Surroundings:
        """Return the surroundings of this process."""
        try:
            found, settings = paths(), user_settings()
        except UsageError:  # one of the checks says what is wrong with the settings
            found, settings = paths_without_settings(), DEFAULTS
        return cls(os.environ, found, user_home(os.environ), settings)

    @property
    def ssh_config(self) -> Path:
        """The user's SSH configuration: that of the settings, else ~/.ssh/config."""
        return self.settings.ssh_config or self.home / ".ssh" / "config"

    def which(self, command: str) -> str | None:
        """Return the path of a command, or None."""
        return shutil.which(command, path=self.environ.get("PATH", os.defpath))

    def output_of(self, *command: str) -> str | None:
        """Return what a command prints, stripped; None when it is missing, fails, or takes too long."""
        return output_of(command, self.environ)

    def short(self, path: Path) -> str:
        """Return a path with the user's home as ~."""
        if path == self.home:
            return "~"
        return f"~/{path.relative_to(self.home)}" if path.is_relative_to(self.home) else str(path)
