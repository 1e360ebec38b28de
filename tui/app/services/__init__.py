"""What screens do outside of themselves: work with hosts, engines, files and editors."""
