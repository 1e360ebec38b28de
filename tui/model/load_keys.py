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

    `bases`: tag and text of the profiles that the text extends; their paths begin with the tag.
    Values of parameters are left out, because a record contains the values that were used.
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
    """Return a short digest of values by path; empty if there are none."""
    text = msgspec.json.encode(dict(keys), order="sorted")
    return sha256(text).hexdigest()[:12] if keys else ""


@lru_cache(maxsize=1024)
def kinds_of_params(text: str) -> MappingProxyType[str, str]:
    """Return the kind of each parameter that a profile declares; empty if it cannot be parsed."""
    params = (_data(text) or {}).get("params")
    declared = params.items() if isinstance(params, dict) else ()
    return MappingProxyType(
        {
            name: str(param["kind"])
            for name, param in declared
            if isinstance(param, dict) and "kind" in param
        }
    )


def edited_names(then: str, now: str) -> list[str]:
    """Return the names of parameters, options and sections that differ between two texts of a
    profile, sorted. Keys for people only, such as the title, do not count.
    """
    one, other = (_every_value(text) for text in (then, now))
    paths = (path.removesuffix(".default").removesuffix(".kind") for path in differing(one, other))
    return sorted({path.rpartition(".")[2] for path in paths})


def _every_value(text: str) -> dict[str, str]:
    """Return the values by path, with defaults of parameters, sweep and repetitions."""
    data = _data(text)
    if data is None:
        return {"text": text}
    return {
        path: value
        for name, part in data.items()
        if name not in OF_PEOPLE or name == "extends"
        for path, value in _values(name, part)
        if not (name == "params" and path.endswith(".help"))
    }


def _data(text: str) -> dict[str, Any] | None:
    from tui.model.yaml_text import load  # a list of known summaries parses none

    try:
        return load(text, "").data
    except UsageError:
        return None


def _of_text(text: str) -> dict[str, str]:
    data = _data(text)
    if data is None:
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
