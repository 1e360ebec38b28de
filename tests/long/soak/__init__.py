"""Random faults against real runs: `python -m tests.long.soak --seed S --trials N --hosts 4`."""
