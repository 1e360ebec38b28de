"""Find load generators by entry point, and load their profile rules."""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from tui.model.problem import Problem, UsageError, did_you_mean

if TYPE_CHECKING:
    from pydantic import BaseModel

    from tui.model.plan import Provider
    from tui.model.profile import Profile
    from tui.model.yaml_text import KeyPath, YamlDocument


class EntryPoint(NamedTuple):
    """A name under which a package registers an object, with the folder of its metadata.

    Importing importlib.metadata would take longer than reading all entry points.
    """

    name: str
    value: str  # "package.module:attribute"
    folder: str = ""  # empty: of no installed package

    def load(self) -> Any:
        """Import and return the object."""
        module, _, attribute = self.value.partition("[")[0].strip().partition(":")
        names = attribute.split(".") if attribute else ()
        return functools.reduce(getattr, names, import_module(module))


@functools.cache
def installed_in(group: str) -> dict[str, EntryPoint]:
    """Return the entry points of a group, sorted by name, without importing them."""
    found: dict[str, EntryPoint] = {}
    for point in _points_of(group):
        found.setdefault(point.name, point)
    return dict(sorted(found.items()))


def _points_of(group: str) -> Iterator[EntryPoint]:
    """Yield the entry points of a group."""
    seen: set[str] = set()
    for folder in sys.path:
        for path in _metadata_in(folder or "."):
            package = os.path.basename(path).partition("-")[0].lower()  # noqa: PTH119 - at each start
            if package in seen:
                continue  # the first one on the path, as in Python's import
            seen.add(package)
            for name, value in _section(os.path.join(path, "entry_points.txt"), group):  # noqa: PTH118
                yield EntryPoint(name, value, path)


def _metadata_in(folder: str) -> list[str]:
    try:
        with os.scandir(folder) as entries:
            return sorted(
                entry.path for entry in entries if entry.name.endswith((".dist-info", ".egg-info"))
            )
    except OSError:
        return []


def _section(path: str, group: str) -> Iterator[tuple[str, str]]:
    """Yield names and values of a section of a file; nothing if it cannot be read."""
    try:
        with open(path, encoding="utf-8") as file:  # noqa: PTH123
            text = file.read()
    except (OSError, UnicodeDecodeError):
        return
    section = ""
    for line in map(str.strip, text.splitlines()):
        name, is_pair, value = (part.strip() for part in line.partition("="))
        if line.startswith("["):
            section = line.strip("[]").strip()
        elif section == group and is_pair and not line.startswith("#"):
            yield name, value


def is_foreign(point: EntryPoint) -> bool:
    """Return whether an entry point belongs to a package other than benchtui."""
    return not point.value.startswith("tui.")


def provider_of(point: EntryPoint) -> Provider:
    """Return the provider of an entry point."""
    from importlib.metadata import Distribution

    from tui.model.plan import Provider  # msgspec only for those who need it

    if not point.folder:
        return Provider(point.value)
    dist = Distribution.at(point.folder)
    return Provider(point.value, dist.name or "", dist.version or "")


def load_from(
    group: str, name: str, kind: str, unknown: tuple[str, str], *, made: bool = False
) -> Any:
    """Return the object registered under a name in a group; `kind` describes it in errors.

    `unknown` is the start of the error for an unknown name; the nearest and the known names follow.
    `made`: return an instance of the class. Raises UsageError if the name is unknown or the import
    fails.
    """
    points = installed_in(group)
    point = points.get(name)
    if point is None:
        known = ", ".join(points) or "none installed; reinstall benchtui"
        raise UsageError(f"{unknown[0]}{did_you_mean(name, points)}; {unknown[1]}: {known}")
    try:
        found = point.load()
        return found() if made else found
    except (Exception, SystemExit) as error:  # a third-party package
        whence = provider_of(point).text()
        raise UsageError(f"the {kind} '{name}' ({whence}) cannot be loaded: {error!r}") from error


GROUP = "benchtui.workloads"
SUITE = "suite"  # in place of `tool` in a profile that runs others


class InProfile(Protocol):
    """Rules of a load generator for its section of a profile."""

    # minimal valid part, to check the rest of a broken one
    stand_in: Mapping[str, Any] = {}

    def body(self) -> type[BaseModel]:
        """Return the model of the section; scalars in it may refer to parameters: '{size}'."""

    def name_problems(self, document: YamlDocument) -> Iterable[Problem]:
        """Yield problems with names in the section's raw data, which may not match the model."""
        return ()

    def problems(
        self, profile: Profile, document: YamlDocument, texts: Mapping[str, str]
    ) -> Iterable[Problem]:
        """Yield problems beyond the model.

        `texts`: values of placeholders, with default parameters. A parameter with an invalid
        default is missing from it; the placeholders themselves are already checked.
        """
        return ()

    def unreached(self, profile: Profile) -> Mapping[KeyPath, str]:
        """Return the options that no job uses, by position in the profile, with reasons."""
        return {}

    def hints(self, profile: Profile, texts: Mapping[str, str]) -> Iterable[tuple[KeyPath, str]]:
        """Yield (position, hint) for other options without effect, which are not errors.

        `texts`: values of placeholders, as in `problems`.
        """
        return ()

    def describe(self, kinds: dict[str, Any]) -> None:
        """Add descriptions to the JSON Schema, for completion in editors; `kinds` are its $defs."""


def installed() -> dict[str, EntryPoint]:
    """Return the entry points of all load generators by name, without importing them."""
    return installed_in(GROUP)


def foreign() -> list[str]:
    """Return the names of load generators from other packages."""
    return [name for name, point in installed().items() if is_foreign(point)]


def provider(name: str) -> Provider:
    """Return the provider of an installed load generator."""
    return provider_of(installed()[name])


def named(name: str) -> str:
    """Return a load generator of another package as text: ``plug-in other (benchtui-other 1.0,
    ...)``.
    """
    return f"plug-in {name} ({provider(name).text()})"


@functools.cache
def load(name: str) -> Any:
    """Return a load generator.

    Raises UsageError if the name is unknown or loading fails.
    """
    return load_from(
        GROUP, name, "load generator", (f"tool '{name}' is not supported", "supported"), made=True
    )


@functools.cache
def rules(name: str) -> InProfile:
    """Return the profile rules of a load generator.

    Raises UsageError, and PluginError for one from another package.
    """
    found: InProfile = load(name)
    if name not in foreign():
        return found
    from pydantic import BaseModel

    from tui.model.plugin import Contract, Plugin, guarded_model
    from tui.model.typed import Types
    from tui.model.yaml_text import KeyPath

    types = Types({"BaseModel": BaseModel, "KeyPath": KeyPath}, {})
    contract = Contract(
        types.methods_of(InProfile), types.attributes_of(InProfile), {"body": guarded_model}
    )
    return Plugin(found, named(name), contract)
