"""Runs beside runs: whether they may be compared, what differs, and how surely."""
