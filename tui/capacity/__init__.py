"""Find the most load within limits: the next point, what a point says, the knee, the scaling law.

Pure.
"""
