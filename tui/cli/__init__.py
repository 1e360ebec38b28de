"""The benchtui command, one file a verb group."""
