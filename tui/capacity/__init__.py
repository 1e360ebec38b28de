"""Capacity search: the next point, the verdict of a point, the knee, the scaling law. No I/O."""
