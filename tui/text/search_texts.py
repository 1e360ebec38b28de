"""Texts about searches, by code."""

from __future__ import annotations

from tui.text.form import Text

SEARCH: dict[str, Text] = {
    "within-a-second": (
        "from completions per second: a stall that is made up within a second is not visible"
    ),
    "closed-loop": "without an offered rate, I/Os have no intended start",
    "no-seconds": "per-second completions are unknown",
}
