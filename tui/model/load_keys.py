"""Keys of a profile that affect its load. Titles, comments and spaces do not count."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from hashlib import sha256
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import msgspec

from tui.model.problem import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

LoadKeys = MappingProxyType[str, str]
WHOLE_TEXT = ""
"""The key of a text that cannot be parsed; its value is a digest."""
OF_PEOPLE = frozenset(
    ("profile", "version", "title", "description", "source", "extends", "attest", "findings",
     "thresholds", "allow_device", "hosts", "deviations")
)  # fmt: skip
"""Keys that name or judge a load, but do not affect it."""
OF_STEPS = frozenset(("sweep", "repeat"))
"""Keys that a record contains as its steps."""


@lru_cache(maxsize=1024)
def load_keys(text: str, bases: tuple[tuple[str, str], ...] = ()) -> LoadKeys:
    """Return the values that affect the load by their path, such as ``fio.global.direct``.

    `bases` are tag and text of the profiles that it extends; their paths begin with the tag. Values
    of parameters are left out, because a record has those that were used.
    """
    found = _of_text(text)
    for tag, base in bases:
        found |= {f"{tag}: {path}": value for path, value in _of_text(base).items()}
    return MappingProxyType(found)


def differing(one: Mapping[str, str], other: Mapping[str, str]) -> list[str]:
    """Return the paths at which two profiles differ, sorted."""
    paths = sorted({**one, **other})
    return [path for path in paths if one.get(path) != other.get(path)]


def digest_of(keys: Mapping[str, str]) -> str:
    """Return a short digest of values by path; empty without any."""
    text = msgspec.json.encode(dict(keys), order="sorted")
    return sha256(text).hexdigest()[:12] if keys else ""


def _of_text(text: str) -> dict[str, str]:
    from tui.model.yaml_text import load  # a list of known summaries parses none

    try:
        data = load(text, "").data
    except UsageError:
        return {WHOLE_TEXT: sha256(text.encode()).hexdigest()[:12]}
    left_out = OF_PEOPLE | OF_STEPS
    return {
        path: value
        for name, part in data.items()
        if name not in left_out
        for path, value in (_shared(part) if name == "params" else _values(name, part))
    }


def _shared(params: Any) -> Iterator[tuple[str, str]]:
    """Yield the parameters whose value is the total over all hosts."""
    for name, param in params.items() if isinstance(params, dict) else ():
        if isinstance(param, dict) and param.get("spread"):
            yield f"params.{name}.spread", "yes"


def _values(path: str, value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict) and value:
        for name, part in value.items():
            yield from _values(f"{path}.{name}", part)
    elif isinstance(value, Sequence) and not isinstance(value, str):
        yield path, msgspec.json.encode(value).decode()
    else:
        yield path, {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)
