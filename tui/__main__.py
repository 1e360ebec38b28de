"""`python -m tui` is `benchtui`."""

from __future__ import annotations

from tui.cli.main import entry

entry()
