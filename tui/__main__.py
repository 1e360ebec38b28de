"""`python -m tui` is `benchtui`."""

from tui.cli.main import entry

entry()
