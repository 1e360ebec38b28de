"""One change of a key, a name or a reference in plain data: names of nothing, numbers of nothing,
codes nobody has.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

WORDS = (
    "",
    "abc",
    "p99",
    "nan",
    "1e999",
    "-1",
    "0",
    "99.99",
    "no-such",
    "mixed",
    "both",
    "h9",
    "\u0663",
    "a b",
    "cpu.",
)
NUMBERS = (-1, 0, 3, 99, 10**6, 1855, 1856, -(1 << 40), 1 << 61)
# what holds a value, under which key or index, and what such places are called
Place = tuple[Any, Any, str]


def places(value: Any, called: str = "") -> Iterator[Place]:
    """Yield every value of plain data.

    Elements of lists, and of dicts whose keys are data, are called alike.
    """
    if isinstance(value, dict):
        for key, each in value.items():
            name = f"{called}.{key}" if key.isidentifier() else f"{called}.*"
            yield value, key, name
            yield from places(each, name)
    elif isinstance(value, list):
        for at, each in enumerate(value):
            yield value, at, f"{called}[]"
            yield from places(each, f"{called}[]")


def mutated(document: Any, chance: random.Random) -> str:
    """Change one thing in plain data, each kind of place as likely as another.

    Return what was changed.
    """
    by_name: dict[str, list[Place]] = {}
    for each in places(document):
        by_name.setdefault(each[2], []).append(each)
    name = chance.choice(sorted(by_name))
    holder, key, _ = chance.choice(by_name[name])
    if isinstance(holder, dict) and chance.random() < 0.4:
        other = chance.choice([*WORDS, *(each for each in holder if each != key)])
        holder[other] = holder.pop(key)
        return f"{name} is called {other!r}"
    holder[key] = _other(holder[key], chance)
    return f"{name} is {str(holder[key])[:80]}"


def _other(value: Any, chance: random.Random) -> Any:
    """Return another value of the same type."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, str):
        return chance.choice(WORDS)
    if isinstance(value, int | float):
        return chance.choice(NUMBERS)
    if isinstance(value, list):
        return chance.choice(([], value * 2, value[1:], value[::-1]))
    if isinstance(value, dict):
        return chance.choice(({}, {name: value[name] for name in list(value)[1:]}))
    return chance.choice((0, "", [], {}))
