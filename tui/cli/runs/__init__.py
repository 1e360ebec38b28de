"""`benchtui runs`: one module a group of actions."""
