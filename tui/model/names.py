"""How names in profiles are spelt."""

from __future__ import annotations

TAG_PATTERN = r"^[a-z0-9][a-z0-9_-]*/[a-z0-9][a-z0-9._-]*$"  # of a profile: family/name
NAME_PATTERN = r"^[a-z][a-z0-9_]*$"  # of a parameter
SECRET_PATTERN = r"\$\{[A-Za-z_][A-Za-z0-9_]*\}"  # what a secret is written as: the environment variable that holds it
