"""What decoding raises of a file that was damaged: not each changed byte leaves UTF-8, or numbers that fit."""

NO_JSON = (ValueError, OverflowError, RecursionError)
"""msgspec's DecodeError is a ValueError, as is UnicodeDecodeError, which it is not."""
