"""The screens: a Textual application."""
