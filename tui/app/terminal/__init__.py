"""The terminal: colours, symbols, driver, crash log; and the registry of actions."""
