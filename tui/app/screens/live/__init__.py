"""Step 4: a run while it goes on, or played again."""
