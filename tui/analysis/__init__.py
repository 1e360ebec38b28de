"""Analysis of several runs: comparison, A/B tests, history, published results."""
