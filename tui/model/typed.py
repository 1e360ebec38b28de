"""Check values from other packages against type hints, including nested values.

A `Rule` checks a value and returns the error with its place: "dirs['write'].lat: found dict,
allowed: Buckets". Rules are built once per hint and cached; a sample with full histograms takes a
few dozen microseconds.
"""

from __future__ import annotations

import collections.abc
import re
import sys
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from math import isfinite
from typing import Annotated, Any, Literal, TypeAlias, Union, get_args, get_origin

import msgspec
from msgspec import Meta, Struct

Rule: TypeAlias = Callable[[Any], str]
Further: TypeAlias = Mapping[type, Rule]  # conditions of a struct beyond its field types
SEQUENCES = (list, tuple)
OF_SEQUENCE = (collections.abc.Sequence, collections.abc.Iterable, list)
OF_MAPPING = (dict, collections.abc.Mapping)
SHOWN = 60


class Types:
    """Builder of rules for type hints; names in hints are resolved in `names`.

    `further`: additional rules for structs.
    """

    def __init__(self, names: Mapping[str, Any], further: Further) -> None:
        self._names, self._further = dict(names), further
        self._rules: dict[Any, Rule] = {}

    def returned_by(self, function: Callable[..., Any]) -> Rule:
        """Return the rule for a function's result.

        Raises NameError for an unknown hint.
        """
        hint = function.__annotations__.get("return", Any)
        return self.rule(
            self._evaluated(hint, sys.modules[function.__module__].__dict__), returned=True
        )

    def methods_of(self, *kinds: type) -> dict[str, Rule]:
        """Return the rules for results of all public methods of these interfaces, by name."""
        every = [
            each
            for kind in kinds
            for each in vars(kind).items()
            if isinstance(each[1], types.FunctionType)
        ]
        return {
            name: self.returned_by(function) for name, function in every if not name.startswith("_")
        }

    def attributes_of(self, kind: type) -> dict[str, Rule]:
        """Return the rules for the attributes and properties that a class declares, by name."""
        made = {name: self.rule(hint) for name, hint in self._hints(kind).items()}
        properties = {
            name: each.fget for name, each in vars(kind).items() if isinstance(each, property)
        }
        return made | {
            name: self.returned_by(function) for name, function in properties.items() if function
        }

    def _evaluated(self, hint: Any, names: Mapping[str, Any]) -> Any:
        """Evaluate a hint that may be given as text."""
        # benchtui's own source
        return eval(hint, {**names, **self._names}) if isinstance(hint, str) else hint

    def _hints(self, of: Any) -> dict[str, Any]:
        return typing.get_type_hints(of, localns=self._names, include_extras=True)

    def rule(self, hint: Any, *, returned: bool = False) -> Rule:
        """Return the rule for a hint.

        With `returned`, a list may also be a tuple; a list inside a struct may not.
        """
        try:
            return self._rules[hint, returned]
        except (KeyError, TypeError):
            pass
        made = self._make(hint, returned)
        try:
            self._rules[hint, returned] = made
        except TypeError:  # an unhashable hint
            return made
        return made

    def _make(self, hint: Any, returned: bool) -> Rule:
        hint = self._evaluated(hint, {})
        origin, args = get_origin(hint), get_args(hint)
        if hint is None or hint is type(None):
            return lambda value: "" if value is None else _found(value, "None")
        if origin is Annotated:
            bounds = [each for each in args[1:] if isinstance(each, Meta)]
            if bounds and args[0] is str:
                return _text(bounds)
            return _number(args[0], bounds) if bounds else self.rule(args[0], returned=returned)
        if origin in (Union, types.UnionType):
            return self._any_of(args)
        if origin is Literal:
            return lambda value: (
                "" if _is_hashable(value) and value in args else _found(value, _names_of(args))
            )
        if origin in OF_MAPPING:
            return self._mapping(*args)
        if origin is frozenset or origin in OF_SEQUENCE:
            return self._sequence(origin, args[0], returned)
        if origin is tuple:
            return self._tuple(args)
        return self._plain(hint, origin)

    def _plain(self, hint: Any, origin: Any) -> Rule:
        if hint in (int, float):
            return _number(hint, [])
        if origin is type:
            return lambda value: "" if isinstance(value, type) else _found(value, "a class")
        if (
            not isinstance(hint, type)
            or hint in (object, Any)
            or getattr(hint, "_is_protocol", False)
        ):
            return _anything  # checked against its protocol when used
        if issubclass(hint, Struct):
            return self._struct(hint)
        if typing.is_typeddict(hint):
            return self._typed_dict(hint)
        return lambda value: "" if isinstance(value, hint) else _found(value, hint.__name__)

    def _typed_dict(self, kind: type) -> Rule:
        fields = {name: self.rule(hint) for name, hint in self._hints(kind).items()}

        def check(value: Any) -> str:
            if not isinstance(value, dict) or value.keys() != fields.keys():
                return _found(value, f"a dict of {', '.join(fields)}")
            errors = (_under(f"['{name}']", rule(value[name])) for name, rule in fields.items())
            return next(filter(None, errors), "")

        return check

    def _any_of(self, hints: Sequence[Any]) -> Rule:
        rules: list[Rule] | None = None
        structs = {
            hint: self.rule(hint)
            for hint in hints
            if isinstance(hint, type) and issubclass(hint, Struct)
        }

        def check(value: Any) -> str:
            nonlocal rules
            if (own := structs.get(type(value))) is not None:
                return own(value)
            if rules is None:
                rules = [self.rule(hint) for hint in hints if hint not in structs]
            errors = [rule(value) for rule in rules]
            if "" in errors:
                return ""
            return (
                errors[0] if len(errors) == 1 and not structs else _found(value, _names_of(hints))
            )

        return check

    def _sequence(self, origin: Any, hint: Any, returned: bool) -> Rule:
        of = self.rule(hint)
        allowed: Any = (list,) if origin is list and not returned else SEQUENCES
        allowed = (frozenset, set) if origin is frozenset else allowed
        numbers = list[hint] if get_origin(hint) is Annotated else None

        def check(value: Any) -> str:
            if not isinstance(value, allowed):
                return _found(value, allowed[0].__name__)
            if numbers is not None and _all_right(value, numbers):
                return ""
            for at, each in enumerate(value):
                if error := of(each):
                    return _under(f"[{at}]", error)
            return ""

        return check

    def _mapping(self, key: Any, hint: Any) -> Rule:
        of_key, of = self.rule(key), self.rule(hint)

        def check(value: Any) -> str:
            if not isinstance(value, collections.abc.Mapping):
                return _found(value, "dict")
            for name, each in value.items():
                if error := of_key(name):
                    return _under(" has an invalid key", error)
                if error := of(each):
                    return _under(f"[{_short(name)}]", error)
            return ""

        return check

    def _tuple(self, hints: Sequence[Any]) -> Rule:
        if len(hints) == 2 and hints[1] is Ellipsis:
            of = self._sequence(collections.abc.Sequence, hints[0], True)
            return lambda value: of(value) if isinstance(value, tuple) else _found(value, "tuple")
        rules = [self.rule(hint) for hint in hints]

        def check(value: Any) -> str:
            if not isinstance(value, tuple) or len(value) != len(rules):
                return _found(value, f"a tuple of {len(rules)}")
            errors = (
                _under(f"[{at}]", rule(each))
                for at, (rule, each) in enumerate(zip(rules, value, strict=True))
            )
            return next(filter(None, errors), "")

        return check

    def _struct(self, kind: type[Struct]) -> Rule:
        fields: list[tuple[str, Rule]] = []

        def check(value: Any) -> str:
            if type(value) is not kind:
                return _found(value, kind.__name__)
            if not fields:  # registered first: a struct may contain itself
                hints = self._hints(kind)
                fields.extend((name, self.rule(hints[name])) for name in kind.__struct_fields__)
            for name, rule in fields:
                if error := rule(getattr(value, name)):
                    return _under(f".{name}", error)
            return further(value) if further is not None else ""

        further = self._further.get(kind)
        return check


def _anything(_: Any) -> str:
    return ""


def _number(kind: type, limits: Sequence[Meta]) -> Rule:
    allowed = (int, float) if kind is float else (int,)
    least = next((each.ge for each in limits if each.ge is not None), None)
    below = next((each.lt for each in limits if each.lt is not None), None)
    name = kind.__name__
    if least is not None or below is not None:
        name = f"{name} >= {least} and < {below}"

    def check(value: Any) -> str:
        # neither bool nor number-like objects: JSON would not keep them
        if type(value) not in allowed:
            return _found(value, name)
        if (
            (least is not None and value < least)
            or (below is not None and value >= below)
            or not isfinite(value)
        ):
            return _found(value, name if least is not None else "a finite number")
        return ""

    return check


def _text(limits: Sequence[Meta]) -> Rule:
    patterns = [
        (re.compile(each.pattern), each.description) for each in limits if each.pattern is not None
    ]

    def check(value: Any) -> str:
        if not isinstance(value, str):
            return _found(value, "str")
        wrong = (
            what or f"text like {form.pattern}"
            for form, what in patterns
            if form.search(value) is None
        )
        return next((_found(value, what) for what in wrong), "")

    return check


def _all_right(values: Any, hint: Any) -> bool:
    """Return whether all numbers are within their limits; checks all counts of a histogram at once,
    in C.
    """
    try:
        return bool(msgspec.convert(values, hint))
    except (msgspec.ValidationError, OverflowError):
        return False


def _under(place: str, error: str) -> str:
    """Prefix an error of a part with its place in the whole."""
    if not error:
        return ""
    return f"{place}{error}" if error[0] in ".[" else f"{place}: {error}"


def _found(value: Any, allowed: str) -> str:
    kind = type(value).__name__
    shown = (
        "None"
        if value is None
        else kind
        if isinstance(value, Struct)
        else f"{_short(value)} ({kind})"
    )
    return f"found {shown}, allowed: {allowed}"


def _short(value: Any) -> str:
    try:
        text = repr(value)
    except Exception:  # of an object from another package
        text = "?"
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}..."


def _is_hashable(value: Any) -> bool:
    return isinstance(value, collections.abc.Hashable)


def _names_of(hints: Sequence[Any]) -> str:
    return " or ".join(
        "None" if each is type(None) else getattr(each, "__name__", repr(each)) for each in hints
    )
