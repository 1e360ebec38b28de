"""benchtui: storage benchmarks on many hosts from one terminal."""

__version__ = "0.1.0"
