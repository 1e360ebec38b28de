"""benchtui: storage benchmarks on many hosts from one terminal."""

from __future__ import annotations

__version__ = "0.1.0"
