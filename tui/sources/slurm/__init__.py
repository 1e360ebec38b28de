"""Slurm nodes, of a job or of an allocation made for a run."""
