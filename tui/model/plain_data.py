"""Decode data from untrusted files: printable text, percentile names, timestamps."""

from __future__ import annotations

import functools
import re
import types
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import (
    Annotated,
    Any,
    Generic,
    Literal,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

import msgspec
from msgspec import Meta

from tui.model.plain import printable, printable_lines


class _OfLines:
    """Marker of multi-line text in annotations."""


MultiLine = Annotated[str, _OfLines()]
"""Multi-line text: line breaks and tabs are kept."""

Cleaner = Callable[[Any], Any]
T = TypeVar("T")


def is_plain_json(data: bytes) -> bool:
    """Return whether JSON consists of printable text; line breaks and tabs in strings are
    allowed.
    """
    escaped = any(each in data for each in (b"\\u", b"\\b", b"\\f", b"\\r"))
    rest = data.translate(None, _ASCII)
    try:
        return not escaped and rest.decode().isprintable()
    except UnicodeDecodeError:
        return False


# outside of strings; within strings JSON escapes them
_ASCII = bytes(range(0x20, 0x7F)) + b"\n\r\t"


class PlainDecoder(Generic[T]):
    """JSON decoder for one type that makes all text printable.

    Create it at import time, like msgspec's decoders.
    """

    def __init__(self, kind: type[T]) -> None:
        self._kind: Any = kind
        self._decode: Callable[[bytes], T] = msgspec.json.Decoder(kind).decode

    def decode(self, data: bytes) -> T:
        """Return the decoded value. Raises the exceptions in `NO_JSON`."""
        found = self._decode(data)
        if data.isascii() and b"\\" not in data and b"\x7f" not in data:
            return found  # the common case: nearly every journal line
        return plain(found, self._kind)


def plain(value: T, kind: Any = None) -> T:
    """Make all text in a value printable, in place; the value is a Struct or a pydantic model."""
    of_kind: Any = type(value) if kind is None else kind
    clean = _cleaner(of_kind)
    return value if clean is None else clean(value)


def plain_any(value: Any, text: Callable[[str], str] = printable) -> Any:
    """Make keys and text in plain dicts and lists printable.

    `text` is the function that cleans values.
    """
    if isinstance(value, str):
        return text(value)
    if isinstance(value, dict):
        return {plain_any(key): plain_any(each, text) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return type(value)([plain_any(each, text) for each in value])
    return value


# -- cleaners by type; None: the type contains no text


@functools.cache
def _cleaner(kind: Any) -> Cleaner | None:
    origin, args = get_origin(kind), get_args(kind)
    if kind is str:
        return printable
    if kind in (Any, object) or is_typeddict(kind):
        return plain_any
    if origin is Annotated:
        of_lines = any(isinstance(each, _OfLines) for each in args[1:])
        return printable_lines if of_lines else _cleaner(args[0])
    if origin in (Union, types.UnionType):
        return _of_union(args)
    if isinstance(origin, type):
        return _of_many(origin, args)
    if origin is Literal or kind in _WITHOUT_TEXT:
        return None
    if hasattr(kind, "__struct_fields__") or hasattr(kind, "__pydantic_fields__"):
        return _of_fields(kind)
    raise TypeError(f"{kind}: no text form for this type")


_WITHOUT_TEXT = (int, float, bool, bytes, types.NoneType, None)


def _of_union(members: tuple[Any, ...]) -> Cleaner | None:
    """Return a cleaner for a union, which uses the member that matches the value's type.

    msgspec allows only distinct types in a union. None if no member contains text.
    """
    known = {_class_of(each): own for each in members if (own := _cleaner(each)) is not None}
    if not known:
        return None

    def clean(value: Any) -> Any:
        own = known.get(type(value))
        return value if own is None else own(value)

    return clean


def _class_of(kind: Any) -> Any:
    if get_origin(kind) is Annotated:
        return _class_of(get_args(kind)[0])
    return dict if is_typeddict(kind) else get_origin(kind) or kind


def _of_many(origin: type, args: tuple[Any, ...]) -> Cleaner | None:
    return _of_mapping(*args) if issubclass(origin, Mapping) else _of_sequence(origin, args)


def _of_mapping(key: Any, value: Any) -> Cleaner | None:
    key_of, value_of = _cleaner(key), _cleaner(value)
    if key_of is None and value_of is None:
        return None
    of_key, of_value = key_of or _as_it_is, value_of or _as_it_is
    return lambda found: {of_key(name): of_value(each) for name, each in found.items()}


def _as_it_is(value: Any) -> Any:
    return value


def _of_sequence(origin: type, args: tuple[Any, ...]) -> Cleaner | None:
    cleaners = [_cleaner(each) for each in args if each is not Ellipsis]
    if not any(cleaners):
        return None
    if len(cleaners) == 1:
        one: Any = cleaners[0]
        return lambda found: origin(map(one, found))

    def clean(found: Any) -> Any:
        return origin(
            each if own is None else own(each) for own, each in zip(cleaners, found, strict=True)
        )

    return clean


def _of_fields(kind: type) -> Cleaner:
    """Return a cleaner for the fields of a Struct or model.

    Fields are looked up at first use, because a type may contain itself.
    """

    @functools.cache
    def cleaners() -> list[tuple[str, Cleaner]]:
        hints = get_type_hints(kind, include_extras=True)
        names = getattr(kind, "__struct_fields__", None) or kind.__pydantic_fields__  # type: ignore[attr-defined]
        return [(name, own) for name in names if (own := _cleaner(hints[name])) is not None]

    set_field = msgspec.structs.force_setattr if hasattr(kind, "__struct_fields__") else _set_field

    def clean(found: Any) -> Any:
        for name, own in cleaners():
            value = getattr(found, name)
            if value and (cleaned := own(value)) is not value:
                set_field(found, name, cleaned)
        return found

    return clean


def _set_field(model: Any, name: str, value: Any) -> None:
    model.__dict__[name] = value  # neither validated again nor counted as set


_FORM = r"(100|(0|[1-9][0-9]?)(\.[0-9]{0,5}[1-9])?)"
PATTERN = rf"^{_FORM}$"
"""Pattern for JSON Schema and pydantic, in which $ matches only the end of the text; Python's $
also matches before a final newline.
"""
MEAN = "mean"
MEAN_PATTERN = rf"^({MEAN}|{_FORM})$"
PercentileName = Annotated[
    str, Meta(pattern=rf"^{_FORM}\Z", description="a percentile from 0 to 100 such as '99.9'")
]
MeanOrPercentile = Annotated[
    str, Meta(pattern=rf"^({MEAN}|{_FORM})\Z", description="'mean' or a percentile such as '99.9'")
]
_PRINTED = r"(100(\.0{1,30})?|[0-9]{1,2}(\.[0-9]{1,30})?)"
PrintedPercentile = Annotated[str, Meta(pattern=rf"^{_PRINTED}\Z")]
"""A percentile as tools print it, such as "99.900000"."""


def is_percentile(name: str) -> bool:
    """Return whether a text is a percentile name, such as "99.9"."""
    return re.fullmatch(_FORM, name) is not None


def percentile_name(printed: str) -> str | None:
    """Return the name of a percentile printed by a tool: "99.9" for ``99.900000``; None if it is
    not a percentile.
    """
    if re.fullmatch(_PRINTED, printed) is None:
        return None
    whole, _, part = printed.partition(".")
    name = f"{int(whole)}.{part.rstrip('0')}".rstrip(".")
    return name if is_percentile(name) else None


def parse_utc(text: str) -> datetime | None:
    """Parse an RFC 3339 time, as UTC if it has no offset; None if the text is not one."""
    try:
        when = datetime.fromisoformat(text)
    except ValueError:
        return None
    return when.astimezone(UTC) if when.tzinfo is not None else when.replace(tzinfo=UTC)


def format_utc(when: datetime) -> str:
    """Format a time in RFC 3339, with milliseconds and Z."""
    return when.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
