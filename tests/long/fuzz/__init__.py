"""Files that others wrote, damaged in every way: no traceback, no hang, no more memory than the
limit, nothing raw.
"""
