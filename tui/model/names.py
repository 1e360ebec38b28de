"""How names in profiles are spelt, and names that mean something."""

from __future__ import annotations

TAG_PATTERN = r"^[a-z0-9][a-z0-9_-]*/[a-z0-9][a-z0-9._-]*$"  # of a profile: family/name
NAME_PATTERN = r"^[a-z][a-z0-9_]*$"  # of a parameter
SECRET_PATTERN = r"\$\{[A-Za-z_][A-Za-z0-9_]*\}"  # what a secret is written as: the environment variable that holds it
AB_TAG, AB_SIDE_TAG = "ab", "ab.side"  # tags that `benchtui ab` gives its runs: the experiment, its side
