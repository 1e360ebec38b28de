"""Nodes of Slurm: of a job, or of an allocation made for a run."""
