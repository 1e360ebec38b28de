"""Step 2: what to run."""
