"""A command on each host of a step, released together."""
