"""The YAML format of Ansible's inventories: groups with `hosts`, `children` and `vars`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tui.model.problem import UsageError, did_you_mean
from tui.model.yaml_text import KeyPath, YamlDocument, load
from tui.sources.ansible.groups import ALL, AnsibleGroups

SECTIONS = ("hosts", "children", "vars")


def read_yaml(text: str, file: str, into: AnsibleGroups) -> None:
    """Add what a YAML text says to an inventory. Raises UsageError with its place."""
    document = load(text, file)
    if "plugin" in document.data:
        message = (
            "a plugin makes these hosts: that needs ansible-inventory (pip install ansible-core)"
        )
        raise UsageError(document.problem(("plugin",), message, key=True))
    for name, data in document.data.items():
        _YamlReading(document, into).group(str(name), data, (name,))


class _YamlReading:
    def __init__(self, document: YamlDocument, into: AnsibleGroups) -> None:
        self.document = document
        self.into = into

    def group(self, name: str, data: Any, path: KeyPath) -> None:
        """Take a group with all that is in it."""
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
        """Take a host, or a range of hosts."""
        try:
            self.into.add_hosts(group, pattern, self.mapping(data, path))
        except UsageError as error:
            raise UsageError(
                self.document.problem(path, error.problems[0].message, key=True)
            ) from error

    def mapping(self, data: Any, path: KeyPath) -> Mapping[Any, Any]:
        """Return what a key has below it.

        A single word stands for a key without anything, as Ansible reads it.
        """
        if data is None:
            return {}
        if isinstance(data, str):
            return {data: None}
        if not isinstance(data, dict):
            raise UsageError(
                self.document.problem(
                    path, "a mapping is needed here: NAME: and what belongs to it"
                )
            )
        return data
