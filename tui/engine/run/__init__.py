"""The phases of a run: preflight, layout, steps, search."""

from __future__ import annotations
