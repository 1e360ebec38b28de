"""Check hosts before a load starts, and clean up after runs."""

from __future__ import annotations
