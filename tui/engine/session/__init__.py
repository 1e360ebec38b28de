"""Shared by all phases of a run: hosts, tasks, telemetry, context."""

from __future__ import annotations
