"""A result as something to defend: each attack on its figures, and the recorded evidence for and against it."""
