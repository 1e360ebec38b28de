"""Editing a profile."""
