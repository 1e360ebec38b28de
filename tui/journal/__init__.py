"""Journal of a run: its writer, its reader, and the state folded from its events."""

from __future__ import annotations
