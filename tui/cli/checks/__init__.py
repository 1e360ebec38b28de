"""TODO tui/cli/checks"""
