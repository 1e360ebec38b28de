"""Check a run, give a verdict, and find the bottleneck."""
