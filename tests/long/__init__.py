"""What takes minutes to hours: benchmarks, sabotaged runs, soak, fuzzing, pictures.

See README.md.
"""
