"""What was done to a copy of fio's JSON, and which checks must name it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from tests.long.lies.doctored.documents import Document, Source, parts_of

CONTRADICTIONS = (
    "rate-mismatch", "size-mismatch", "latency-mismatch", "above-depth", "above-offered",
    "concurrency",
    "copied-output", "impossible-time", "own-figures",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Lied:
    """What was done, and who must name it; nobody for a reason."""

    what: str
    aims: tuple[str, ...]
    unseen: str = ""


Lie = Callable[[Random, Document, Source], Lied | None]


def aims(first: str) -> tuple[str, ...]:
    return (first, *(name for name in CONTRADICTIONS if name != first))


def pick(rng: Random, document: Document) -> tuple[Document, str, Document] | None:
    found = list(parts_of(document))
    return rng.choice(found) if found else None
