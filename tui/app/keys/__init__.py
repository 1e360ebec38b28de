"""What can be done and by which key: the registry, its palette and its help."""
