"""Check a run, name its bottleneck."""
