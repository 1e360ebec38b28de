"""Compare runs, follow them over time, hold them against published results."""
