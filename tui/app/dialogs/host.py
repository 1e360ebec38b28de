"""Everything that is known of one host of a run, to scroll through."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import Binding, BindingType

from tui.app.dialogs.findings import FindingsDialog


class HostDialog(FindingsDialog):
    """A host as it is at one moment: telemetry over time, facts, command, messages."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("i", "dismiss", "close", show=False)]
