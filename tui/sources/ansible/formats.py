"""The formats of Ansible inventories: INI, YAML, and the JSON that programs print."""

from __future__ import annotations

import ast
import json
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tui.model.bounded import NO_JSON
from tui.model.problem import Problem, UsageError, did_you_mean
from tui.model.yaml_text import KeyPath, YamlDocument, load
from tui.sources.ansible.groups import ALL, UNGROUPED, AnsibleGroups

# -- INI: sections of hosts, `:children` and `:vars`

_SECTION = re.compile(r"\[([^:\]\s]+)(?::(\w+))?\]\s*(?:#.*)?", re.ASCII)
KINDS = ("children", "hosts", "vars")
MOST_VALUE = 4096  # characters of a value that is a list or dictionary


def read_ini(text: str, file: str, into: AnsibleGroups) -> None:
    """Add the hosts and groups of an INI text to an inventory. Raises UsageError with the line."""
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
    # child groups mentioned before their section, with the line
    children: dict[str, int] = field(default_factory=dict)
    # a group's variables may come before its hosts
    variables: dict[str, dict[str, Any]] = field(default_factory=dict)
    places: dict[str, int] = field(default_factory=dict)  # from :vars sections

    def line(self, number: int, text: str) -> None:
        """Read one line that is not empty or a comment."""
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
        """Add a host or a range with the variables after it."""
        pattern, *rest = shlex.split(text, comments=True) or [""]
        if not pattern:
            return
        variables = {}
        for word in rest:
            name, equals, value = word.partition("=")
            if not equals:
                raise UsageError(f"'{word[:60]}' after a host: expected NAME=VALUE")
            variables[name] = value_of(value)
        self.into.add_hosts(self.group, pattern, variables)

    def child(self, number: int, text: str) -> None:
        """Add a child group to the current group."""
        name = text.split("#", maxsplit=1)[0].strip()
        if not name or any(map(str.isspace, name)):
            raise UsageError(f"'{text[:60]}': expected the name of one group")
        self.into.group(self.group).children[name] = None
        if name not in self.into.groups:
            self.children.setdefault(name, number)

    def variable(self, text: str) -> None:
        """Set a variable of a group."""
        name, equals, value = text.partition("=")
        if not equals:
            raise UsageError(f"'{text[:60]}': expected NAME=VALUE")
        self.variables.setdefault(self.group, {})[name.strip()] = value_of(value.strip())

    def finish(self) -> None:
        """Assign variables to groups.

        Raises UsageError for groups that are mentioned but have no section.
        """
        for name, line in {**self.children, **self.places}.items():
            if name not in self.into.groups:
                message = f"unknown group '{name}'{did_you_mean(name, self.into.groups)}"
                raise UsageError(Problem(message, file=self.file, line=line))
        for name, given in self.variables.items():
            self.into.group(name).variables.update(given)


def value_of(text: str) -> Any:
    """Return a value as Ansible reads it: a Python literal, else the text."""
    if len(text) > MOST_VALUE:
        return text
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
        return text


# -- YAML: groups with `hosts`, `children` and `vars`


SECTIONS = ("hosts", "children", "vars")


def read_yaml(text: str, file: str, into: AnsibleGroups) -> None:
    """Add the hosts and groups of a YAML text to an inventory. Raises UsageError with its place."""
    document = load(text, file)
    if "plugin" in document.data:
        message = "uses an inventory plugin: needs ansible-inventory (pip install ansible-core)"
        raise UsageError(document.problem(("plugin",), message, key=True))
    for name, data in document.data.items():
        _YamlReading(document, into).group(str(name), data, (name,))


class _YamlReading:
    def __init__(self, document: YamlDocument, into: AnsibleGroups) -> None:
        self.document = document
        self.into = into

    def group(self, name: str, data: Any, path: KeyPath) -> None:
        """Add a group with everything below it."""
        group = self.into.group(name)
        for key, value in self.mapping(data, path).items():
            here = (*path, key)
            if key not in SECTIONS:
                message = (
                    f"unknown key '{key}'{did_you_mean(str(key), SECTIONS)}; allowed are"
                    f" {', '.join(SECTIONS)}"
                )
                raise UsageError(self.document.problem(here, message, key=True))
            for inner, of_it in self.mapping(value, here).items():
                if key == "vars":
                    group.variables[str(inner)] = of_it
                elif key == "hosts":
                    self.hosts(name, str(inner), of_it, (*here, inner))
                else:
                    group.children |= {} if name == ALL else {str(inner): None}
                    self.group(str(inner), of_it, (*here, inner))

    def hosts(self, group: str, pattern: str, data: Any, path: KeyPath) -> None:
        """Add a host, or a range of hosts."""
        try:
            self.into.add_hosts(group, pattern, self.mapping(data, path))
        except UsageError as error:
            raise UsageError(
                self.document.problem(path, error.problems[0].message, key=True)
            ) from error

    def mapping(self, data: Any, path: KeyPath) -> Mapping[Any, Any]:
        """Return the mapping below a key.

        A single word is a key without a value, as in Ansible.
        """
        if data is None:
            return {}
        if isinstance(data, str):
            return {data: None}
        if not isinstance(data, dict):
            raise UsageError(self.document.problem(path, "expected a mapping, NAME: VALUE"))
        return data


# -- JSON of `ansible-inventory --list` and dynamic inventories, variables under `_meta`


META = "_meta"


def read_listing(text: str) -> AnsibleGroups:
    """Return the inventory of a JSON text. Raises UsageError."""
    try:
        data = json.loads(text)
    except NO_JSON as error:
        raise UsageError(f"does not print JSON: {error}") from error
    if not isinstance(data, dict):
        raise UsageError("does not print a JSON object with groups")
    found = AnsibleGroups()
    variables = _mapping(_mapping(data.get(META)).get("hostvars"))
    for name, group in data.items():
        if name != META:
            _add(found, name, {"hosts": group} if isinstance(group, list) else _mapping(group))
    for name, own in variables.items():
        found.add_host(ALL, name, _mapping(own))
    if META not in data and found.hosts:
        raise UsageError(
            "prints no _meta with hostvars: needs ansible-inventory (pip install ansible-core)"
        )
    return found


def _add(found: AnsibleGroups, name: str, group: Mapping[str, Any]) -> None:
    found.group(name).variables.update(_mapping(group.get("vars")))
    for host in _words(group.get("hosts")):
        found.add_host(name, host, {})
    for child in _words(group.get("children")):
        found.group(child)
        if name != ALL:
            found.groups[name].children[child] = None


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _words(value: Any) -> list[str]:
    return [each for each in value if isinstance(each, str)] if isinstance(value, list) else []
