"""The tests, and the tools that make reference and pictures: all of them see the entry points of pyproject.toml."""

from tests.installed import refresh

refresh()
