"""One screen a file, its styles beside it."""
