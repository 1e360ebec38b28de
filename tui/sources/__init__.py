"""Where hosts come from: files, inventories of other programs, schedulers, commands.

Each found by entry point.
"""
