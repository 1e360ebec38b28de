"""Slurm nodes: of an existing job, or of an allocation made for a run."""
