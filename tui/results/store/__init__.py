"""The runs on disk."""
