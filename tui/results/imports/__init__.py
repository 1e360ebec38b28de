"""Runs that somebody else made: files that were kept, what reads them, which of them are one run, how it is saved."""
