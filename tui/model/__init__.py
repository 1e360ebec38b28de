"""What is written in files and passed between rooms. No I/O."""

from __future__ import annotations
