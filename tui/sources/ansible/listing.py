"""What `ansible-inventory --list` and dynamic inventories print: groups as JSON, variables under
`_meta`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from tui.model.bounded import NO_JSON
from tui.model.problem import UsageError
from tui.sources.ansible.groups import ALL, AnsibleGroups

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
            "prints no _meta with hostvars: that needs ansible-inventory (pip install ansible-core)"
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
