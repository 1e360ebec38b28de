"""The terminal: colours and symbols, its driver, what a crash leaves."""
