"""A load generator around dd: one block written and synced at a time."""
