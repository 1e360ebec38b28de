"""The single file: benchtui with every library for Python 3.11 to 3.14, for a jump host without a
network.
"""
