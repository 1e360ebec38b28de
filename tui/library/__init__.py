"""Saved runs: find, load, index, verify, pack and import them."""
