"""A corpus of lies: real runs that are sabotaged for real, each with the finding it must raise, and
clean ones.
"""
