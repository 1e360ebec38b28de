"""What becomes of a run that goes on when the app is left."""

from __future__ import annotations

from tui.app.dialogs.confirm import Answer, Confirm

ANSWERS = (
    Answer("detach", "d", "Detach"),
    Answer("stop", "s", "Stop the run", harmful=True),
    Answer("cancel", "c", "Cancel"),
)


def question(name: str) -> Confirm:
    """Return the question what becomes of the run of this name."""
    body = "Detach leaves it running; it needs neither this program nor this terminal."
    return Confirm(f"Run {name} goes on", body, ANSWERS, warns=True)
