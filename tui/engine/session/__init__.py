"""Parts that all phases of a run share: hosts, tasks, telemetry, context."""

from __future__ import annotations
