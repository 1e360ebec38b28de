"""Text for screens and plain text alike: lines of runs with roles, columns, tables, charts as
cells. No drawing.
"""
