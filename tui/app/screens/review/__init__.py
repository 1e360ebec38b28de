"""Step 3: what exactly will happen."""
