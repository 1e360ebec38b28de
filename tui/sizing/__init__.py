"""How much load a system sustains: which point to measure next, and what the points measured tell. Pure."""
