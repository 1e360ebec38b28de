"""Entry point of `python -m tui`, which runs `benchtui`."""

from __future__ import annotations

from tui.cli.main import entry

entry()
