"""Compare runs, follow them over time, compare them with published results."""
