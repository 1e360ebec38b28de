"""Inputs of a run: profiles, inventory, hosts of the SSH configuration."""

from __future__ import annotations
