"""Slurm nodes, from an existing job or an allocation made for a run."""
