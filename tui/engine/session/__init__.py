"""What all phases of a run share: its hosts, its tasks, its context."""
