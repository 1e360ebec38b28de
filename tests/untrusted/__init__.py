"""Text of other people in everything that is read: none of it controls a terminal or breaks a file
format.
"""
