"""Sources of hosts: files, inventories of other tools, schedulers, commands.

Each is found by entry point.
"""
