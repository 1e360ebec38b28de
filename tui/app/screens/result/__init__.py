"""Step 5: what a run measured."""
