"""Data in files and between packages. No I/O."""

from __future__ import annotations
