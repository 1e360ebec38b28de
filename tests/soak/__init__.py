"""Random faults against real runs: `python -m tests.soak --seed S --trials N --hosts 4`."""
