"""Code that several verbs share: arguments, questions, launching, following, printing."""
