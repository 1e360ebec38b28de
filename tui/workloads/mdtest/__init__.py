"""mdtest: file metadata operations by many MPI ranks."""
