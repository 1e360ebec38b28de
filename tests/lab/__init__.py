"""Real sshd instances on loopback, for every test that needs hosts."""
