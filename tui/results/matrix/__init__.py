"""Steps of a run as a matrix."""
