"""Tests of the load generator IO500."""
