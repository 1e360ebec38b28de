"""What is written in files and passed between rooms. No I/O."""
