"""Shared by verbs: arguments, questions, launching, following, printing."""
