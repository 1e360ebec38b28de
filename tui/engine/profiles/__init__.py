"""Profiles on disk: presets and the user's own."""
