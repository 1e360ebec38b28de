"""Fill every text field of a record, its marks, its plan and its journal with what would control a
terminal.

The schema says where text is, so a field that is added is poisoned too. Numbers and enumerations
stay as a real run had them; what a real run left empty is made up.
"""

from __future__ import annotations

import re
import types
from collections.abc import Iterator, Mapping
from typing import (
    Annotated,
    Any,
    Literal,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

from tui.model.figure_record import CodedText
from tui.model.operands import Clause
from tui.model.plain_data import MultiLine

FORGED = "FORGED"  # begins the second line of what must be one line
NOT_TEXT = (int, float, bool, types.NoneType, None)
# Keys and values that decide what is read, by the end of their place: an unknown one is another
# case, tested elsewhere.
KEPT = re.compile(
    r"(\.dirs|\.aggregate|\.per_host\.[^.]*|\.percentiles_ns(\.[^.]*)?|\.percentiles_behind|\.intended(_ns)?|"
    r"\.operations|\.direction|\.directions|\.run_id|schema|\.tool|\.columns\.name|\.columns|\.latency_kind|\.sha256|\.utc|_utc|"
    r"\.by_utc|artefacts\.path|journal\.hosts|\.transport|\.role|findings\.id|checks|checks_not_made|steps_not_checked|"
    r"hosts_not_checked|"
    r"\.phase|criteria|\.printed_ns)$"
)

MADE = ("bottleneck", "proof", "problems", "errors", "notes", "messages", "files_left",
    "files_removed", "left_out",
        "cache_drops", "attested", "members", "differing", "groups", "findings",
        "steady", "caveats")  # fmt: skip
"""Records that are made up where a run has none.

Others would contradict its figures: other runs have them.
"""


class Poison:
    """Makes texts, each with a number of its own.

    Equal texts stay equal, so that names still refer to each other.
    """

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self.fields: set[str] = set()

    def text(self, text: str, place: str, *, lines: bool = False) -> str:
        """Return a text with each kind of control in it."""
        if KEPT.search(place):
            return text
        self.fields.add(place)
        number = self._numbers.setdefault(text or place, len(self._numbers))
        more = "\n\tlater" if lines else f"\n{FORGED}{number}"
        return f"{text}\x1b]0;P{number}\x07\x1b[31m[/b]\x9b1m\x7f\x85\u2028\u202e\u2066\u200f\u061c\r{more}"

    def value(self, value: Any, kind: Any, place: str = "") -> Any:
        """Return plain data of a type with every text poisoned; what is missing is made."""
        lines, kind = kind == MultiLine, _without_notes(kind)
        origin, args = get_origin(kind), get_args(kind)
        if kind is str:
            return self.text(value or "", place, lines=lines)
        if origin in (Union, types.UnionType):
            return self.value(value, _member(value, args), place)
        if origin is Literal:
            return value if value in args else args[0]
        if origin is tuple and Ellipsis not in args:
            return [
                self.value(each, own, place)
                for each, own in zip(value or [None] * len(args), args, strict=True)
            ]
        if origin in (list, tuple):
            return [self.value(each, args[0], place) for each in value or [None]]
        if origin is dict:
            return self._mapping(value or {}, args, place)
        if kind in NOT_TEXT:
            return value if value is not None or kind in (None, types.NoneType) else kind(0)
        if kind in (Any, object):
            return self._free(value, place)
        return self._record(value or {}, kind, place)

    def _mapping(
        self, value: Mapping[str, Any], args: tuple[Any, ...], place: str
    ) -> dict[Any, Any]:
        if not value and KEPT.search(place):
            return {}
        given = value or {"made": "" if args[1] in (Any, object) else None}
        return {
            self.text(key, place): self.value(each, args[1], f"{place}.{key}")
            for key, each in given.items()
        }

    def _free(self, value: Any, place: str) -> Any:
        if isinstance(value, str):
            return self.text(value, place)
        if isinstance(value, dict):
            return {
                self.text(key, place): self._free(each, f"{place}.{key}")
                for key, each in value.items()
            }
        return [self._free(each, place) for each in value] if isinstance(value, list) else value

    def _record(self, value: Mapping[str, Any], kind: Any, place: str) -> dict[str, Any]:
        found = {}
        for name, alias, hint in _fields(kind):
            given = value.get(alias, value.get(name))
            if _is_left_out(given, hint, name):
                given = _empty(hint) if given is None else given
            else:
                given = self.value(given, hint, f"{place}.{name}")
            found[alias] = given
        return {**found, "type": tag} if (tag := _tag(kind)) else found


def _tag(kind: Any) -> Any:
    config = getattr(kind, "__struct_config__", None)
    return config.tag if config is not None else None


def _fields(kind: Any) -> Iterator[tuple[str, str, Any]]:
    hints = get_type_hints(kind, include_extras=True)
    if is_typeddict(kind):
        yield from ((name, name, hint) for name, hint in hints.items())
        return
    if hasattr(kind, "__struct_fields__"):
        yield from ((name, name, hints[name]) for name in kind.__struct_fields__)
        return
    for name, field in kind.__pydantic_fields__.items():
        yield name, field.alias or name, hints[name]


def _is_left_out(value: Any, hint: Any, name: str) -> bool:
    """Tell whether something stays away: a record that is made up would say what contradicts the
    others.
    """
    if value not in (None, [], {}):
        return False
    kind = _without_notes(hint)
    can_be_empty = get_origin(kind) in (list, dict, tuple) or type(None) in get_args(kind)
    made = name in MADE if _holds_record(hint) else _holds_text(hint)
    return can_be_empty and (not made or KEPT.search(f".{name}") is not None)


def _empty(hint: Any) -> Any:
    origin = get_origin(_without_notes(hint))
    return origin() if origin in (list, dict, tuple) else None


def _holds_record(hint: Any) -> bool:
    kind = _without_notes(hint)
    if get_args(kind):
        return any(map(_holds_record, get_args(kind)))
    fields = ("__struct_fields__", "__pydantic_fields__")
    return is_typeddict(kind) or any(hasattr(kind, each) for each in fields)


def _holds_text(hint: Any) -> bool:
    kind = _without_notes(hint)
    return kind is str or any(map(_holds_text, get_args(kind)))


def _without_notes(kind: Any) -> Any:
    return _without_notes(get_args(kind)[0]) if get_origin(kind) is Annotated else kind


def _member(value: Any, members: tuple[Any, ...]) -> Any:
    """Return the member of a union that a value is of; of nothing, a code with operands, or the
    one with text.
    """
    if value is None:
        made = (each for each in members if each in (Clause, CodedText) or _holds_text(each))
        return next(made, members[0])
    by_value = {
        str: (str,),
        bool: (bool,),
        int: (int, float),
        float: (float,),
        list: (list, tuple),
        dict: (dict,),
    }
    for each in members:
        bare = _without_notes(each)
        if (get_origin(bare) or bare) in by_value[type(value)]:
            return each
    if isinstance(value, dict):
        records = [each for each in members if _holds_record(each)]
        return next((each for each in records if value.get("type") == _tag(each)), records[0])
    return next(each for each in members if get_origin(_without_notes(each)) is Literal)
