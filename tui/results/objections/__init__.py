"""Objections to the figures of a result, answered from recorded evidence."""
