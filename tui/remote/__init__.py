"""Access to hosts: SSH connections, this machine, the remote agent and its client, probes."""

from __future__ import annotations
