"""IO500: IOR, mdtest and find, in the order and under the rules of the IO500 list, with its
score.
"""

from __future__ import annotations
