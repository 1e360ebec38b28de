"""Step 1: where to run."""
