"""What a run may destroy, what it made, what a logout takes away."""
