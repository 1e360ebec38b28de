"""Parse YAML into plain data, with line and column of every key and value; write scalars.

libyaml parses the text into a node graph, which is converted here by the rules of YAML 1.2 (yes and
no are words, 010 is ten). Tags never construct Python objects, aliases and nesting are limited,
duplicate keys are errors.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from tui.model.plain import printable
from tui.model.problem import Problem, UsageError

if TYPE_CHECKING:
    from yaml import MappingNode, Mark, Node, ScalarNode

KeyPath = tuple[str | int, ...]
Place = tuple[int, int]

MAX_CHARACTERS = 256 * 1024
MAX_NODES = 50_000
MAX_DEPTH = 40
_PLAIN_TAGS = ("str", "int", "float", "bool", "null", "timestamp", "map", "seq")
_PREFIX = "tag:yaml.org,2002:"
# Types of plain scalars by spelling (YAML 1.2.2, 10.3, as ruamel.yaml, which edits the files, reads
# it: _ between digits, no .5e3), and their first characters.
_PLAIN_SCALARS = (
    ("bool", r"(?:true|True|TRUE|false|False|FALSE)$", "tTfF"),
    ("null", r"(?:~|null|Null|NULL|)$", ("~", "n", "N", "")),
    ("int", r"[-+]?(?:0b[01_]+|0x[0-9a-fA-F_]+|0o[0-7_]+|[0-9_]+)$", "-+0123456789"),
    ("float", r"[-+]?[0-9][0-9_]*(?:\.[0-9_]*)?(?:[eE][-+]?[0-9]+)?$", "-+0123456789"),
    ("float", r"[-+]?\.[0-9_]+(?:[eE][-+][0-9]+)?$", "-+."),
    ("float", r"(?:[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$", "-+."),
)
# YAML 1.1 and 1.2 differ on whether U+0085, U+2028 and U+2029 break lines: they must be written
# as escapes.
_UNPRINTABLE = re.compile(
    r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufffe\uffff]"
)
# Also refused as escapes: bidirectional controls, and line breaks that YAML does not treat as
# such.
_CONTROLS = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)


@dataclass(frozen=True, slots=True)
class YamlDocument:
    """Plain data of one file (a mapping), with the positions of all keys and values.

    Lines and columns count from 1.
    """

    data: dict[str, Any]
    file: str
    values: dict[KeyPath, Place] = field(repr=False)
    keys: dict[KeyPath, Place] = field(repr=False)
    # character offsets of scalar values, end exclusive
    spans: dict[KeyPath, tuple[int, int]] = field(repr=False)

    def position(self, path: KeyPath, key: bool = False) -> Place:
        """Return (line, column) of a value, or of its key if `key` is set.

        For a path that does not exist, return the position of the nearest parent's key.
        """
        places = self.keys if key else self.values
        for end in range(len(path), -1, -1):
            if path[:end] in places:
                return places[path[:end]]
            places = self.keys
        return (1, 1)

    def problem(self, path: KeyPath, message: str, key: bool = False, code: str = "") -> Problem:
        """Return a problem at `path`, always on one line."""
        line, column = self.position(path, key)
        line_text = message if message.isprintable() else printable(" ".join(message.split()))
        return Problem(line_text, self.file, line, column, code=code)


_PLAIN = re.compile(
    r"[A-Za-z/$][A-Za-z0-9_./$+-]*(?:[:,][A-Za-z0-9_./$+-]+)*|\d{1,15}[a-zA-Z]{1,3}"
)
_WORDS = ("true", "false", "yes", "no", "on", "off", "y", "n", "null")


def scalar(text: str) -> str:
    """Return a text as a YAML scalar, quoted if necessary."""
    words = re.fullmatch(r"[A-Za-z/][\w./$+-]*(?: [\w./$+()%-]+)*", text, re.ASCII)
    plain = (words or _PLAIN.fullmatch(text)) and text.lower() not in _WORDS and len(text) < 200
    return text if plain else json.dumps(text, ensure_ascii=False)


def number_or_scalar(text: str) -> str:
    """Return a value as a YAML scalar, unquoted if it is a whole number."""
    return text if re.fullmatch(r"0|[1-9]\d{0,14}", text) else scalar(text)


def load(text: str, file: str) -> YamlDocument:
    """Parse a YAML text whose root is a mapping.

    Raises UsageError with the position of the error.
    """
    if len(text) > MAX_CHARACTERS:
        message = f"the file has {len(text)} characters; at most {MAX_CHARACTERS} are allowed"
        raise UsageError(Problem(message, file, 1, 1))
    if bad := _UNPRINTABLE.search(text):
        before = text[: bad.start()]
        place = (before.count("\n") + 1, bad.start() - before.rfind("\n"))
        raise UsageError(
            Problem(f"the character U+{ord(bad[0]):04X} is not allowed in YAML", file, *place)
        )
    root = _compose(text, file)
    return _Builder(file).document(root)


MEANT = {  # libyaml's messages, and their usual cause
    "exceeded maximum nesting depth": f"values are nested deeper than {MAX_DEPTH} levels",
    "did not find expected key": ("wrong indentation, or an unclosed bracket or quote"),
    "mapping values are not allowed": "a second ': ' in the line; quote the value",
    "cannot start any token": "quote the value, and do not indent with tabs",
    "could not find expected ':'": "a key must be followed by ': '",
    "did not find expected ',' or": "unclosed bracket, or missing comma",
    "did not find expected '-' indicator": "the indentation differs from that of the entries above",
}


def _compose(text: str, file: str) -> Node | None:
    from yaml import MarkedYAMLError, YAMLError

    try:
        root: Node | None = _composer()(text).get_single_node()
        return root
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        message = (
            ": ".join(part for part in (error.context, error.problem) if part) or "this is not YAML"
        )
        alias = re.match(r"\*([^\s,\[\]{}]+)", text[mark.index :]) if mark else None
        named = f"{_one_line(message)} '{alias[1]}'" if alias else _one_line(message)
        named += next((f"; {means}" for words, means in MEANT.items() if words in named), "")
        raise UsageError(
            Problem(f"broken YAML: {named}", file, *(_place(mark) if mark else (1, 1)))
        ) from None
    except YAMLError as error:
        raise UsageError(Problem(f"broken YAML: {_one_line(str(error))}", file, 1, 1)) from None


@functools.cache
def _composer() -> Any:
    """Return the composer class: libyaml's, or PyYAML's own if PyYAML was built without libyaml."""
    import yaml

    base: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

    class Composer(base):  # type: ignore[misc]
        yaml_implicit_resolvers: ClassVar[dict[str, Any]] = {}
        depth = 0

        def descend_resolver(self, parent: Node | None, _index: object) -> None:
            """Raise an error if nesting is too deep.

            Called while descending; libyaml's recursion is unlimited and would crash.
            """
            self.depth += 1
            if self.depth > MAX_DEPTH + 1:
                mark = parent.start_mark if parent else None
                raise yaml.composer.ComposerError(
                    problem=f"nested deeper than {MAX_DEPTH} levels", problem_mark=mark
                )

        def ascend_resolver(self) -> None:
            """Decrease the nesting depth while ascending."""
            self.depth -= 1

    for kind, pattern, first in _PLAIN_SCALARS:
        Composer.add_implicit_resolver(_PREFIX + kind, re.compile(pattern), list(first))
    return Composer


def _one_line(text: str) -> str:
    return printable(" ".join(text.split())[:200]) or "this is not YAML"


def _place(mark: Mark) -> Place:
    return (mark.line + 1, mark.column + 1)


class _Builder:
    """Converts a YAML node graph to data in one pass; aliases count each time they are used."""

    def __init__(self, file: str) -> None:
        from yaml import MappingNode, ScalarNode

        # importing for each node would be slow
        self.mapping_node, self.scalar_node = MappingNode, ScalarNode
        self.file = file
        self.nodes = 0
        self.found = YamlDocument({}, file, {}, {}, {})
        self.problems: list[Problem] = []

    def document(self, root: Node | None) -> YamlDocument:
        if root is None:
            raise UsageError(
                Problem("the file is empty; expected a mapping of keys to values", self.file, 1, 1)
            )
        if not isinstance(root, self.mapping_node):
            raise UsageError(
                Problem(
                    "the file must contain a mapping of keys to values",
                    self.file,
                    *_place(root.start_mark),
                )
            )
        self.check_tag(root)
        self.found.data.update(self.mapping(root, ()))
        self.found.values[()] = _place(root.start_mark)
        if self.problems:
            raise UsageError(self.problems)
        return self.found

    def fail(self, node: Node, message: str) -> None:
        raise UsageError([*self.problems, Problem(message, self.file, *_place(node.start_mark))])

    def value(self, node: Node, path: KeyPath) -> Any:
        self.nodes += 1
        if self.nodes > MAX_NODES:
            self.fail(
                node,
                f"the file contains more than {MAX_NODES} values, counting each use of an alias",
            )
        if len(path) > MAX_DEPTH:
            self.fail(node, f"nested deeper than {MAX_DEPTH} levels")
        self.found.values.setdefault(path, _place(node.start_mark))
        self.check_tag(node)
        if isinstance(node, self.scalar_node):
            self.found.spans[path] = (node.start_mark.index, node.end_mark.index)
            self.check_text(node)
            return self.scalar(node)
        if isinstance(node, self.mapping_node):
            return self.mapping(node, path)
        return [self.value(child, (*path, index)) for index, child in enumerate(node.value)]

    def check_tag(self, node: Node) -> None:
        tag = str(node.tag)
        if tag.removeprefix(_PREFIX) not in _PLAIN_TAGS:
            self.note(
                node, f"the tag '{_one_line(tag)}' is not allowed; write plain values without tags"
            )

    def check_text(self, node: ScalarNode) -> None:
        r"""Note a problem for terminal and bidirectional controls, also those from escapes such as
        "\e".
        """
        if not node.value.isprintable() and (bad := _CONTROLS.search(node.value)):
            self.note(node, f"the character U+{ord(bad[0]):04X} is not allowed in text")

    def note(self, node: Node, message: str) -> None:
        self.problems.append(Problem(message, self.file, *_place(node.start_mark)))

    def mapping(self, node: MappingNode, path: KeyPath) -> dict[str, Any]:
        data: dict[str, Any] = {}
        for key_node, value_node in self.pairs(node):
            self.check_text(key_node)
            key = key_node.value
            if key in data:
                first = self.found.keys[(*path, key)]
                self.note(
                    key_node,
                    f"duplicate key '{_one_line(key)}', first on line {first[0]}",
                )
                continue
            self.found.keys[(*path, key)] = _place(key_node.start_mark)
            data[key] = self.value(value_node, (*path, key))
        return data

    def pairs(self, node: MappingNode) -> Iterator[tuple[ScalarNode, Node]]:
        for key_node, value_node in node.value:
            if not isinstance(key_node, self.scalar_node):
                self.note(key_node, "a key must be plain text")
            elif key_node.value == "<<" and not key_node.style:
                self.note(key_node, "merge keys (<<) are not supported; write the keys out")
            else:
                yield key_node, value_node

    def scalar(self, node: ScalarNode) -> str | int | float | bool | None:
        text: str = node.value
        kind = str(node.tag).removeprefix(_PREFIX)
        if kind == "null":
            return None
        if kind == "bool":
            return text.lower() in ("true", "yes", "on", "y")
        if kind in ("int", "float"):
            return self.number(node, text)
        return text

    def number(self, node: ScalarNode, text: str) -> int | float | str:
        digits = text.replace("_", "")
        try:
            if len(digits) > 40:
                raise ValueError
            if re.fullmatch(r"[-+]?\d+", digits):
                return int(digits)
            if re.fullmatch(r"[-+]?0[xob][0-9a-fA-F]+", digits):
                return int(digits, 0)
            return float(digits)
        except ValueError:
            if re.fullmatch(r"[-+]?\.(inf|nan)", digits, re.IGNORECASE) or len(digits) > 40:
                self.note(node, f"'{_one_line(text)[:40]}' is not a valid number here")
            return text
