"""Validity checks over what a run left."""
