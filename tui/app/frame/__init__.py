"""What all screens share: the app as they know it, the selection, the bars, their base classes."""
