"""`ansible:FILE[:GROUP]`: hosts of an Ansible inventory.

INI, YAML, or the JSON that a dynamic inventory prints.
"""

from __future__ import annotations

import ast
import json
import os
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tui.model.address import HostAddress
from tui.model.bounded import MOST_SMALL_BYTES, NO_JSON, read_text
from tui.model.operands import clause
from tui.model.paths import from_home
from tui.model.problem import Problem, UsageError, did_you_mean, unreadable
from tui.model.yaml_text import KeyPath, YamlDocument, load
from tui.sources.ansible.groups import ALL, UNGROUPED, AnsibleGroups
from tui.sources.base import FoundHosts, HostSource, SourceContext
from tui.sources.commands import is_word
from tui.sources.files import existing_file
from tui.sources.run_command import output_or_error, program

TOOL = "ansible-inventory"
BUILT_IN = "the built-in reader of Ansible inventories"
VARIABLES = ("group_vars", "host_vars")  # folders next to an inventory
YAML_ENDINGS = (".yml", ".yaml", ".json")
LEFT_OUT = (
    "~",
    ".orig",
    ".bak",
    ".ini",
    ".cfg",
    ".retry",
    ".pyc",
    ".pyo",
    ".rst",
    ".md",
    ".txt",
)  # per folder
MOST_FILES = 4096  # of variables
SSH = (
    "ssh",
    "smart",
    "paramiko",
    "paramiko_ssh",
    "ansible.builtin.ssh",
    "ansible.builtin.paramiko_ssh",
)
LOCALLY = ("local", "ansible.builtin.local")
IGNORED = ("ansible_ssh_common_args", "ansible_ssh_extra_args")
# Variables with a host's address; the first that is set wins.
MEANT: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("address", ("ansible_host", "ansible_ssh_host")),
    ("port", ("ansible_port", "ansible_ssh_port")),
    ("user", ("ansible_user", "ansible_ssh_user")),
    ("identity", ("ansible_ssh_private_key_file", "ansible_private_key_file")),
)
# -- INI: sections of hosts, `:children` and `:vars`

_SECTION = re.compile(r"\[([^:\]\s]+)(?::(\w+))?\]\s*(?:#.*)?", re.ASCII)
SECTIONS = ("hosts", "children", "vars")  # of a group, in INI and in YAML
MOST_VALUE = 4096  # characters of a value that is a list or dictionary


class AnsibleSource(HostSource):
    """An inventory in INI or YAML, a folder of them, or a program that prints one."""

    form = "ansible:FILE[:GROUP]"
    title = "all hosts in an Ansible inventory (INI, YAML, dynamic), or one group or host"
    takes_files = True

    def find(self, text: str, context: SourceContext) -> FoundHosts:
        """Return a group's hosts, or all hosts if no group is named. Raises UsageError."""
        path, wanted = self._parted(text, context)
        tool = program(TOOL, context)
        inventory = through_tool(tool, path, context) if tool else read_here(path, context)
        try:
            inventory.check()
            names = inventory.members(wanted)
            hosts = tuple(host_of(name, inventory) for name in names)
        except UsageError as error:
            raise UsageError(
                [each._replace(file=each.file or str(path)) for each in error.problems]
            ) from error
        ignored = dict.fromkeys(
            key for name in names for key in inventory.variables_of(name) if key in IGNORED
        )
        notes = [clause("option-not-applied", source=text, option=key) for key in ignored]
        return FoundHosts(hosts=hosts, how=tool or BUILT_IN, notes=tuple(notes))

    def complete(self, text: str, context: SourceContext) -> Iterable[str]:
        """Return the groups of a static inventory, once its path and a colon are typed."""
        path, colon, _ = text.rpartition(":")
        if (
            not colon
            or not (context.directory / path).is_file()
            or os.access(context.directory / path, os.X_OK)
        ):
            return ()
        return [f"{path}:{group}" for group in read_here(context.directory / path, context).groups]

    def state(self, context: SourceContext) -> str:
        """Return the path of ansible-inventory, or a note that only the built-in reader is
        available.
        """
        return (
            program(TOOL, context)
            or "ansible-inventory is not installed: no support for inventory plugins and vaults"
        )

    def _parted(self, text: str, context: SourceContext) -> tuple[Path, str]:
        """Split a text into file and group.

        An existing file wins over a group after a colon.
        """
        file, colon, group = text.rpartition(":")
        whole = context.directory / from_home(text.replace("\0", "?"))
        if colon and not os.path.lexists(whole):
            if not group:
                raise UsageError(f"no group after the colon; allowed: {self.form}")
            return existing_file(file, self.form, context, directories=True), group
        return existing_file(text, self.form, context, directories=True), ALL


def through_tool(tool: str, path: Path, context: SourceContext) -> AnsibleGroups:
    """Read an inventory with ansible-inventory. Raises UsageError with its last message."""
    environ = {
        **context.environ,
        "ANSIBLE_INVENTORY_ANY_UNPARSED_IS_FAILED": "true",
        "ANSIBLE_NOCOLOR": "1",
        "ANSIBLE_LOCALHOST_WARNING": "false",
        "ANSIBLE_INVENTORY_UNPARSED_WARNING": "false",
    }
    printed = output_or_error([tool, "-i", str(path), "--list"], context._replace(environ=environ))
    try:
        return read_listing(printed)
    except UsageError as error:
        raise UsageError(f"{tool} {error.problems[0].message}") from error


def read_here(path: Path, context: SourceContext) -> AnsibleGroups:
    """Read an inventory without Ansible; an executable file is run with --list.

    Raises UsageError for features that need Ansible.
    """
    if path.is_dir():
        found = AnsibleGroups()
        for file in sorted(path.iterdir()):
            if (
                not file.name.startswith(".")
                and not file.name.endswith(LEFT_OUT)
                and file.name not in VARIABLES
            ):
                _add_file(file, found)
        _add_variables(path, found)
        return found
    if os.access(path, os.X_OK):
        try:
            return read_listing(output_or_error([str(path.absolute()), "--list"], context))
        except UsageError as error:
            raise UsageError(Problem(error.problems[0].message, file=str(path))) from error
    found = AnsibleGroups()
    _add_file(path, found)
    _add_variables(path.parent, found)
    return found


def _add_file(path: Path, found: AnsibleGroups) -> None:
    if os.access(path, os.X_OK) or path.is_dir():
        kind = "folder" if path.is_dir() else "program"
        raise UsageError(
            f"a folder that contains a {kind}, '{path.name}', requires ansible-inventory (pip"
            " install ansible-core)"
        )
    text = _text(path)
    if path.name.endswith(YAML_ENDINGS):
        if text.strip().removeprefix("---").strip():
            read_yaml(text, str(path), found)
        return
    if _looks_like_yaml(text):
        read_yaml(text, str(path), found)
    else:
        read_ini(text, str(path), found)


def _looks_like_yaml(text: str) -> bool:
    """Return whether a file without a suffix is YAML: its first line is ``---`` or ``NAME:``."""
    lines = (line.rstrip() for line in text.splitlines())
    first = next((line for line in lines if line.strip() and line.lstrip()[0] not in "#;"), "")
    return first == "---" or (first.endswith(":") and not first.startswith("["))


def _add_variables(folder: Path, found: AnsibleGroups) -> None:
    """Read group_vars and host_vars for the groups and hosts of the inventory."""
    _read_variables(folder / "group_vars", set(found.groups), found.group_files)
    _read_variables(folder / "host_vars", set(found.hosts), found.host_files)


def _read_variables(folder: Path, known: set[str], into: dict[str, Mapping[str, Any]]) -> None:
    for of_whom, file in _variable_files(folder) if folder.is_dir() else ():
        if of_whom in known:
            into[of_whom] = {**into.get(of_whom, {}), **_variables(file)}


def _variable_files(folder: Path) -> Iterator[tuple[str, Path]]:
    """Yield each variable file's name and path.

    Files are NAME, NAME.yml, or any file in a directory NAME.
    """
    count = 0
    for entry in sorted(folder.iterdir()):
        inner = sorted(entry.rglob("*")) if entry.is_dir() else [entry]
        name = (
            entry.name
            if entry.is_dir()
            else entry.name.removesuffix(entry.suffix * (entry.suffix in YAML_ENDINGS))
        )
        for file in inner:
            if (
                file.is_file()
                and not file.name.startswith(".")
                and file.suffix in ("", *YAML_ENDINGS)
            ):
                count += 1
                if count > MOST_FILES:
                    raise UsageError(
                        Problem(f"more than {MOST_FILES} variable files", file=str(folder))
                    )
                yield name, file


def _variables(path: Path) -> Mapping[str, Any]:
    text = _text(path)
    if text.startswith("$ANSIBLE_VAULT"):
        raise UsageError(
            Problem(
                "is encrypted: requires ansible-inventory and the vault password", file=str(path)
            )
        )
    return load(text, str(path)).data if text.strip().removeprefix("---").strip() else {}


def _text(path: Path) -> str:
    try:
        return read_text(path, MOST_SMALL_BYTES)
    except (OSError, UnicodeDecodeError) as error:
        raise unreadable(path, error) from error


def host_of(name: str, inventory: AnsibleGroups) -> HostAddress:
    """Return the address of a host, from its variables.

    Raises UsageError for a connection type that benchtui cannot use.
    """
    variables = inventory.variables_of(name)
    connection = variables.get("ansible_connection", "ssh")
    if connection not in (*SSH, *LOCALLY):
        why = f"host '{name}': ansible_connection {str(connection)[:40]!r} is not supported"
        raise UsageError(f"{why}; allowed: {', '.join((*SSH[:3], LOCALLY[0]))}")
    found = {key: _first_of(variables, names) for key, names in MEANT}
    given = {key: _checked(name, key, value) for key, value in found.items() if value is not None}
    groups = tuple(sorted(inventory.groups_of[name] - {UNGROUPED}))
    if connection in LOCALLY:
        return HostAddress(name, transport="local", groups=groups)
    return HostAddress(name, groups=groups, **given)


def _first_of(variables: Mapping[str, Any], names: Iterable[str]) -> Any:
    return next((variables[name] for name in names if variables.get(name) is not None), None)


def _checked(host: str, key: str, value: Any) -> Any:
    if isinstance(value, str) and "{{" in value:
        raise UsageError(
            f"host '{host}': {key} is a template, {value[:60]}: only a playbook can evaluate it"
        )
    if key == "port":
        text = str(value)
        if isinstance(value, bool) or not (
            text.isascii() and text.isdigit() and 0 < int(text[:6]) < 65536
        ):
            raise UsageError(f"host '{host}': port {text[:40]!r} is not a number from 1 to 65535")
        return int(text)
    if not is_word(str(value)):
        raise UsageError(
            f"host '{host}': {key} {str(value)[:60]!r} is not allowed; expected text without"
            " spaces or a leading dash"
        )
    return str(value)


def read_ini(text: str, file: str, into: AnsibleGroups) -> None:
    """Add the hosts and groups of an INI text to an inventory.

    Raises UsageError with the line number.
    """
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
        """Read one line that is neither empty nor a comment."""
        if text.startswith("[") and (match := _SECTION.fullmatch(text)):
            self.section(number, match[1], match[2] or "hosts")
        elif self.kind == "hosts":
            self.host(text)
        elif self.kind == "children":
            self.child(number, text)
        else:
            self.variable(text)

    def section(self, number: int, group: str, kind: str) -> None:
        """Begin a section: hosts, children or variables of a group. Raises UsageError."""
        if kind not in SECTIONS:
            allowed = ", ".join(f":{each}" for each in SECTIONS)
            raise UsageError(
                f"unknown section [{group}:{kind}]{did_you_mean(kind, SECTIONS)}; allowed:"
                f" {allowed}"
            )
        self.group, self.kind = group, kind
        if kind == "vars":
            self.places.setdefault(group, number)
        else:
            self.into.group(group)

    def host(self, text: str) -> None:
        """Add a host, or a range of hosts, with the variables after it. Raises UsageError."""
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
        """Add a child group to the current group. Raises UsageError."""
        name = text.split("#", maxsplit=1)[0].strip()
        if not name or any(map(str.isspace, name)):
            raise UsageError(f"'{text[:60]}': expected a single group name")
        self.into.group(self.group).children[name] = None
        if name not in self.into.groups:
            self.children.setdefault(name, number)

    def variable(self, text: str) -> None:
        """Set a variable of the current group. Raises UsageError."""
        name, equals, value = text.partition("=")
        if not equals:
            raise UsageError(f"'{text[:60]}': expected NAME=VALUE")
        self.variables.setdefault(self.group, {})[name.strip()] = value_of(value.strip())

    def finish(self) -> None:
        """Assign variables to groups after the last line.

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


def read_yaml(text: str, file: str, into: AnsibleGroups) -> None:
    """Add the hosts and groups of a YAML text to an inventory.

    Raises UsageError with the place in the file.
    """
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
        """Add a group with its hosts, variables and child groups. Raises UsageError."""
        group = self.into.group(name)
        for key, value in self.mapping(data, path).items():
            here = (*path, key)
            if key not in SECTIONS:
                message = (
                    f"unknown key '{key}'{did_you_mean(str(key), SECTIONS)}; allowed:"
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
        """Add a host, or a range of hosts, with its variables. Raises UsageError."""
        try:
            self.into.add_hosts(group, pattern, self.mapping(data, path))
        except UsageError as error:
            raise UsageError(
                self.document.problem(path, error.problems[0].message, key=True)
            ) from error

    def mapping(self, data: Any, path: KeyPath) -> Mapping[Any, Any]:
        """Return the mapping below a key.

        A single word is a key without a value, as in Ansible. Raises UsageError.
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
    """Return the inventory that ``ansible-inventory --list`` prints as JSON. Raises UsageError."""
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
