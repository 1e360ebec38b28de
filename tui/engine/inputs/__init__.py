"""Inputs of a run: profiles, the inventory, hosts of the SSH configuration."""

from __future__ import annotations
