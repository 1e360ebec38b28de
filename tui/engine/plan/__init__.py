"""Turn a profile, hosts and choices into a plan. Pure."""

from __future__ import annotations
