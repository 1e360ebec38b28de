"""Dialogs and notices on top of a screen."""
