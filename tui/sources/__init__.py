"""Where hosts come from: files, inventories of other programs, schedulers, commands; each found by entry point."""
