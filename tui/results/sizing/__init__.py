"""What a search found: its record, its answer in words, its curve, and two of them beside each other."""
