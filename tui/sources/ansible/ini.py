"""The INI format of Ansible's inventories: sections of hosts, `:children` and `:vars`."""

from __future__ import annotations

import ast
import re
import shlex
from dataclasses import dataclass, field
from typing import Any

from tui.model.problem import Problem, UsageError, did_you_mean
from tui.sources.ansible.groups import UNGROUPED, AnsibleGroups

_SECTION = re.compile(r"\[([^:\]\s]+)(?::(\w+))?\]\s*(?:#.*)?", re.ASCII)
KINDS = ("children", "hosts", "vars")
MOST_VALUE = 4096  # characters of a value that is more than a text


def read_ini(text: str, file: str, into: AnsibleGroups) -> None:
    """Add what a text in INI format says to an inventory. Raises UsageError with the line."""
    reading = _IniReading(file, into)
    for number, line in enumerate(text.splitlines(), 1):
        stripped = line.strip()
        if not stripped or stripped[0] in "#;":
            continue
        try:
            reading.line(number, stripped)
        except UsageError as error:
            raise UsageError(Problem(error.problems[0].message, file=file, line=number)) from error
        except ValueError as error:  # shlex
            message = f"{str(error).lower()}: close the quote, or quote the whole value"
            raise UsageError(Problem(message, file=file, line=number)) from error
    reading.finish()


@dataclass
class _IniReading:
    file: str
    into: AnsibleGroups
    group: str = UNGROUPED
    kind: str = "hosts"
    # named before they are there, and the line
    children: dict[str, int] = field(default_factory=dict)
    # a group may begin behind its variables
    variables: dict[str, dict[str, Any]] = field(default_factory=dict)
    places: dict[str, int] = field(default_factory=dict)  # of sections of variables

    def line(self, number: int, text: str) -> None:
        """Take one line that says something."""
        if text.startswith("[") and (match := _SECTION.fullmatch(text)):
            self.section(number, match[1], match[2] or "hosts")
        elif self.kind == "hosts":
            self.host(text)
        elif self.kind == "children":
            self.child(number, text)
        else:
            self.variable(text)

    def section(self, number: int, group: str, kind: str) -> None:
        """Begin a section."""
        if kind not in KINDS:
            allowed = ", ".join(f":{each}" for each in KINDS)
            raise UsageError(
                f"section [{group}:{kind}]{did_you_mean(kind, KINDS)}; allowed are {allowed}"
            )
        self.group, self.kind = group, kind
        if kind == "vars":
            self.places.setdefault(group, number)
        else:
            self.into.group(group)

    def host(self, text: str) -> None:
        """Take a host or a range with variables behind it."""
        pattern, *rest = shlex.split(text, comments=True) or [""]
        if not pattern:
            return
        variables = {}
        for word in rest:
            name, equals, value = word.partition("=")
            if not equals:
                raise UsageError(f"'{word[:60]}' behind a host: expected NAME=VALUE")
            variables[name] = value_of(value)
        self.into.add_hosts(self.group, pattern, variables)

    def child(self, number: int, text: str) -> None:
        """Take the name of a group in this group."""
        name = text.split("#", maxsplit=1)[0].strip()
        if not name or any(map(str.isspace, name)):
            raise UsageError(f"'{text[:60]}': expected the name of one group")
        self.into.group(self.group).children[name] = None
        if name not in self.into.groups:
            self.children.setdefault(name, number)

    def variable(self, text: str) -> None:
        """Take a variable of a group."""
        name, equals, value = text.partition("=")
        if not equals:
            raise UsageError(f"'{text[:60]}': expected NAME=VALUE")
        self.variables.setdefault(self.group, {})[name.strip()] = value_of(value.strip())

    def finish(self) -> None:
        """Give groups their variables.

        Raises UsageError for groups that were named and never begun.
        """
        for name, line in {**self.children, **self.places}.items():
            if name not in self.into.groups:
                message = f"unknown group '{name}'{did_you_mean(name, self.into.groups)}"
                raise UsageError(Problem(message, file=self.file, line=line))
        for name, given in self.variables.items():
            self.into.group(name).variables.update(given)


def value_of(text: str) -> Any:
    """Return a value as Ansible reads it: a literal of Python, else the text."""
    if len(text) > MOST_VALUE:
        return text
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
        return text
