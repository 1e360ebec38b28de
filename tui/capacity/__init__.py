"""Find the capacity: next point, verdict of a point, knee, scaling law. Pure."""
