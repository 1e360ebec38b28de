"""Texts of findings, by check and code. Nothing here computes, and no check imports it."""
