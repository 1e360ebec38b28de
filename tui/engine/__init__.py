"""Plan, check, run and recover benchmarks: the engine process and its control socket."""

from __future__ import annotations
