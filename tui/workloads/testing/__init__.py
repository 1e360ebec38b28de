"""A test kit for load generators of other packages: recorded output goes through the whole contract."""
