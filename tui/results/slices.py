"""Long work in slices: whoever has more to do meanwhile does it between two of them."""

from __future__ import annotations

from collections.abc import Generator
from typing import TypeVar

T = TypeVar("T")
Sliced = Generator[None, None, T]
"""Work that goes on with each `next`, and returns what it came to."""


def at_once(work: Sliced[T]) -> T:
    """Do the work at once."""
    while True:
        try:
            next(work)
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]  # what the generator returned
