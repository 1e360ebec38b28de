"""A run in one file: with everything that it was made of, sums of it all, and a signature when asked."""
