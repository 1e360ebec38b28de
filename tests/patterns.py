"""Every regular expression of the product as it is used, and strings that it is slow with if it is
slow with any.
"""

from __future__ import annotations

import ast
import importlib
import re
import re._constants as codes  # type: ignore[import-not-found]
import re._parser as parser  # type: ignore[import-not-found]
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[1] / "tui"
METHODS = ("match", "search", "fullmatch", "sub", "findall", "finditer", "split")
ONCE_AND_MANY = {"match": "match", "fullmatch": "fullmatch"}  # the others look everywhere
MANY = 20  # a repetition of more is taken for one without end
WRONG = "\x01"  # what no expression wants behind all that it has taken
OTHERS = 6  # pumps that are tried together with others
Asked = dict[tuple[str, str], set[str]]  # the methods, by file and name


class Used(NamedTuple):
    """An expression and how it is asked: match, fullmatch or search."""

    where: str
    pattern: re.Pattern[Any]
    method: str


@cache
def used() -> list[Used]:
    """Return every expression of a module of ours by the methods that any module asks it with."""
    asked: Asked = {}
    inline: list[Used] = []
    for path in sorted(ROOT.rglob("*.py")):
        where = path.relative_to(ROOT).as_posix()
        for call in (
            node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call)
        ):
            if isinstance(call.func, ast.Attribute) and call.func.attr in METHODS:
                _note(call, call.func, where, asked, inline)
    found = {(each.pattern, each.method): each for each in inline}
    for where, name, pattern in _constants():
        for method in _methods(where, name, asked):
            found.setdefault((pattern, method), Used(f"{where}:{name}", pattern, method))
    return list(found.values())


def _methods(where: str, name: str, asked: Asked) -> set[str]:
    """Return how a constant is asked: by its name where it is known, else by what loops over a
    table of its module.
    """
    module = ".".join(("tui", *Path(where).with_suffix("").parts)).removesuffix(".__init__")
    by_name = (
        found
        for (file, each), found in asked.items()
        if each == name and _knows(file, where, module)
    )
    by_loop = (found for (file, each), found in asked.items() if file == where and each.islower())
    return set().union(*by_name) or set().union(*by_loop) or {"search"}


def _knows(file: str, where: str, module: str) -> bool:
    """Tell whether a file is that of a module, or imports from it or from its package."""
    text = (ROOT / file).read_text()
    return (
        file == where
        or f"from {module} import" in text
        or f"from {module.rpartition('.')[0]} import" in text
    )


def _note(
    call: ast.Call, asks: ast.Attribute, where: str, asked: Asked, inline: list[Used]
) -> None:
    method = ONCE_AND_MANY.get(asks.attr, "search")
    owner = asks.value
    first = call.args[0] if call.args else None
    if isinstance(owner, ast.Name) and owner.id == "re":
        if isinstance(first, ast.Constant) and isinstance(first.value, str | bytes):
            flags = re.MULTILINE if "MULTILINE" in ast.dump(call) else re.NOFLAG
            inline.append(Used(f"{where}:{call.lineno}", re.compile(first.value, flags), method))
        elif isinstance(first, ast.Name):
            asked.setdefault((where, first.id), set()).add(method)
    elif isinstance(owner, ast.Name | ast.Attribute):
        asked.setdefault(
            (where, owner.id if isinstance(owner, ast.Name) else owner.attr), set()
        ).add(method)


def _constants() -> Iterator[tuple[str, str, re.Pattern[Any]]]:
    for path in sorted(ROOT.rglob("*.py")):
        if "re.compile(" not in path.read_text() and "_PATTERN" not in path.read_text():
            continue
        name = ".".join(("tui", *path.relative_to(ROOT).with_suffix("").parts)).removesuffix(
            ".__init__"
        )
        if name.endswith("__main__"):
            continue
        for constant, value in vars(importlib.import_module(name)).items():
            if isinstance(value, re.Pattern):
                yield path.relative_to(ROOT).as_posix(), constant, value
            elif constant.endswith("_PATTERN") and isinstance(value, str):
                yield path.relative_to(ROOT).as_posix(), constant, re.compile(value)


def attacks(pattern: re.Pattern[Any]) -> list[tuple[str, str]]:
    """Return (begin, pump): what an expression takes before a repetition, and what that takes again
    and again.
    """
    found = list(dict.fromkeys(_pumps(parser.parse(pattern.pattern, pattern.flags), "")))
    pumps = list(dict.fromkeys(pump for _, pump in found))
    found += [("", pump) for pump in pumps]
    found += [(begin, pump + other) for begin, pump in found[:OTHERS] for other in pumps[:OTHERS]]
    return [each for each in dict.fromkeys(found) if each[1]]


def attack(begin: str, pump: str, length: int) -> str:
    """Return a text of about this length."""
    return begin + pump * (length // len(pump)) + WRONG


def _pumps(tree: Any, begin: str) -> Iterator[tuple[str, str]]:
    for code, value in tree:
        if code in (codes.MAX_REPEAT, codes.MIN_REPEAT, codes.POSSESSIVE_REPEAT):
            _, most, inner = value
            if most > MANY:
                yield begin, _sample(inner)
                yield from ((begin, letter) for letter in _letters(inner))
            yield from _pumps(inner, begin)
        elif code is codes.SUBPATTERN:
            yield from _pumps(value[3], begin)
        elif code is codes.ATOMIC_GROUP:
            yield from _pumps(value, begin)
        elif code is codes.BRANCH:
            for branch in value[1]:
                yield from _pumps(branch, begin)
        begin += _sample([(code, value)])


def _letters(tree: Any) -> list[str]:
    if len(tree) != 1:
        return []
    code, value = tree[0]
    if code is codes.IN:
        return [letter for item in value if (letter := _letter(item))]
    return [" ", "0", ".", "a"] if code in (codes.ANY, codes.NOT_LITERAL) else []


def _sample(tree: Any) -> str:
    return "".join(_of_one(code, value) for code, value in tree)


def _of_one(code: Any, value: Any) -> str:
    if code is codes.IN:
        return str(_of_class(value))
    if code in (codes.MAX_REPEAT, codes.MIN_REPEAT, codes.POSSESSIVE_REPEAT):
        return str(_sample(value[2]) * max(value[0], min(1, value[1])))
    if code is codes.SUBPATTERN:
        return _sample(value[3])
    if code is codes.ATOMIC_GROUP:
        return _sample(value)
    if code is codes.BRANCH:
        return _sample(value[1][0])
    plain: dict[Any, Any] = {codes.LITERAL: lambda: chr(value), codes.ANY: lambda: "a"}
    plain[codes.NOT_LITERAL] = lambda: "b" if value == ord("a") else "a"
    return str(plain[code]()) if code in plain else ""


def _of_class(items: Any) -> str:
    if items[0][0] is codes.NEGATE:
        return next(
            (each for each in 'a0 .:x-_/\n\t"=' if not any(_is(item, each) for item in items[1:])),
            "~",
        )
    return next(filter(None, map(_letter, items)), "a")


CATEGORIES = {
    codes.CATEGORY_DIGIT: (r"\d", "0"),
    codes.CATEGORY_NOT_DIGIT: (r"\D", "a"),
    codes.CATEGORY_SPACE: (r"\s", " "),
    codes.CATEGORY_NOT_SPACE: (r"\S", "a"),
    codes.CATEGORY_WORD: (r"\w", "a"),
    codes.CATEGORY_NOT_WORD: (r"\W", "-"),
}


def _letter(item: Any) -> str:
    code, value = item
    if code is codes.CATEGORY:
        return CATEGORIES[value][1]
    return chr(value) if code is codes.LITERAL else chr(value[0]) if code is codes.RANGE else ""


def _is(item: Any, letter: str) -> bool:
    code, value = item
    if code is codes.CATEGORY:
        return re.match(CATEGORIES[value][0], letter) is not None
    return bool(
        ord(letter) == value if code is codes.LITERAL else value[0] <= ord(letter) <= value[1]
    )
