"""The journal of a run: its writer, its reader, and what is folded from its events."""

from __future__ import annotations
