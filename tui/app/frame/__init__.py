"""What all screens share: the app's interface, the selection, the bars, the base classes."""
