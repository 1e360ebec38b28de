"""Data types of files, and of values passed between packages. No I/O."""

from __future__ import annotations
