"""The course of a run on its hosts."""
