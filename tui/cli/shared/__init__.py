"""What several verbs do alike: arguments, questions, launching, following, printing."""
