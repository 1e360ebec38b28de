"""Whether a run is what its record says: sums of files, and every figure derived again from the raw output."""
