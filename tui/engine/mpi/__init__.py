"""MPI programs over many hosts."""
