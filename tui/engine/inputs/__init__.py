"""What a user picks a run from: profiles, the inventory, hosts of the SSH configuration."""

from __future__ import annotations
