"""Hosts: SSH connections, this machine, the remote agent and its client, probes."""
