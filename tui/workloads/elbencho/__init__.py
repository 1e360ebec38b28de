"""elbencho as a load generator: files, directories and block devices, one process on each host."""
