"""Pictures of the real program, for docs/images and to be looked at: every screen, size, theme and
set of symbols.
"""

from pathlib import Path

DOCS = Path(__file__).parents[3] / "docs" / "images"
WIDE, NARROW = (120, 36), (80, 24)
WAIT_S = 300
