"""What people paste elsewhere: runs and comparisons as short texts."""
