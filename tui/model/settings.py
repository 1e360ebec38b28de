"""User settings: keys of `config.yaml` and their values. No I/O."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from tui.model.hostspec import check_part, split
from tui.model.paths import from_home
from tui.model.problem import Problem, UsageError, did_you_mean

if TYPE_CHECKING:
    from tui.model.yaml_text import YamlDocument

THEMES = ("dark", "light", "ansi")
SYMBOLS = ("braille", "block", "ascii")
RATES_HZ = (1, 2, 4)
DEFAULT_LEASE = "60s"


class Settings(NamedTuple):
    """Values of the settings file; None or empty if not set. `given`: the keys that are set."""

    theme: str | None = None
    symbols: str | None = None
    mouse: bool = True
    refresh: int = RATES_HZ[0]  # per second
    hosts: tuple[str, ...] = ()  # SPECs
    tags: Mapping[str, str] = MappingProxyType({})
    runs: Path | None = None
    inventory: Path | None = None
    ssh_config: Path | None = None
    lease: str | None = None  # as written
    shared: tuple[Path, ...] = ()
    report: bool = False
    programs: Path | None = None
    given: frozenset[str] = frozenset()

    @property
    def lease_s(self) -> float:
        """Seconds without contact after which hosts stop their load."""
        from tui.model.quantities import parse_duration

        return parse_duration(self.lease or DEFAULT_LEASE)


class Key(NamedTuple):
    """One key of the settings file.

    `parse` converts a value, and raises ValueError with the allowed values.
    """

    name: str
    help: str
    allowed: str
    example: str  # example in a new file, commented out
    parse: Callable[[Any], Any]
    variable: str = ""  # environment variable that overrides it


def one_of(words: tuple[Any, ...]) -> Callable[[Any], Any]:
    """Return a converter that accepts only these values, and raises ValueError for others."""

    def parse(value: Any) -> Any:
        if isinstance(value, bool) or value not in words:
            raise ValueError
        return value

    return parse


def parse_flag(value: Any) -> bool:
    """Return true or false unchanged. Raises ValueError for any other value."""
    if not isinstance(value, bool):
        raise ValueError
    return value


def parse_hosts(value: Any) -> tuple[str, ...]:
    """Convert one SPEC or a list of them. Raises ValueError for a SPEC that cannot name a host."""
    specs = [value] if isinstance(value, str) else value
    if not isinstance(specs, list) or not all(
        isinstance(spec, str) and spec.strip() for spec in specs
    ):
        raise ValueError
    try:
        for part in (part for spec in specs for part in split(spec)):
            check_part(part.removeprefix("!"))
    except UsageError as error:
        raise ValueError(str(error)) from error
    return tuple(specs)


def parse_tags(value: Any) -> dict[str, str]:
    """Convert tags to text. Raises ValueError unless names map to scalars."""
    if not isinstance(value, dict) or any(
        isinstance(each, dict | list) or each is None for each in value.values()
    ):
        raise ValueError
    return {
        name: str(each).lower() if isinstance(each, bool) else str(each)
        for name, each in value.items()
    }


def parse_lease(value: Any) -> str:
    """Return a duration as text. Raises ValueError unless it is above 0."""
    from tui.model.quantities import parse_duration

    text = str(value)
    if isinstance(value, bool) or not isinstance(value, str | int) or not parse_duration(text):
        raise ValueError
    return text


def parse_paths(value: Any) -> tuple[Path, ...]:
    """Convert one path or a list of them."""
    return tuple(map(parse_path, value if isinstance(value, list) else [value]))


def parse_path(value: Any) -> Path:
    """Convert an absolute path, or one that begins with ~. Raises ValueError for any other."""
    path = from_home(value) if isinstance(value, str) else Path()
    if not path.is_absolute():
        raise ValueError
    return path


PATHS = "an absolute path, or one that begins with ~"
KEYS = (
    Key(
        "theme",
        "screen colours",
        "dark, light, ansi",
        "dark",
        one_of(THEMES),
        "BENCHTUI_THEME",
    ),
    Key(
        "symbols",
        "graph characters",
        "braille, block, ascii",
        "braille",
        one_of(SYMBOLS),
        "BENCHTUI_SYMBOLS",
    ),
    Key(
        "mouse",
        "false: the terminal handles the mouse, to select text",
        "true, false",
        "true",
        parse_flag,
    ),
    Key("refresh", "Live screen updates per second", "1, 2, 4", "1", one_of(RATES_HZ)),
    Key(
        "hosts",
        "hosts for `run` without --hosts; preselected on the screens",
        "names, @groups, ranges like h[1-4], sources, local, as a list",
        '["@clients"]',
        parse_hosts,
    ),
    Key(
        "tags",
        "tags for every run; --tag overrides them",
        "a mapping of names to values",
        "{cluster: lab}",
        parse_tags,
    ),
    Key("runs", "runs directory", PATHS, "~/benchtui-runs", parse_path),
    Key(
        "inventory",
        "inventory of hosts and groups, unless --inventory is given",
        PATHS,
        "~/lab/inventory.yaml",
        parse_path,
    ),
    Key(
        "ssh_config",
        "SSH configuration, unless --ssh-config is given",
        PATHS,
        "~/.ssh/config",
        parse_path,
    ),
    Key(
        "lease",
        "stop the load after this long without contact, unless --lease is given",
        "a time such as 60s, 5m",
        DEFAULT_LEASE,
        parse_lease,
    ),
    Key(
        "shared",
        "directories with other users' runs, read after those in --shared and BENCHTUI_SHARED_RUNS",
        "a list of absolute paths, or paths that begin with ~",
        '["/srv/team/runs"]',
        parse_paths,
    ),
    Key(
        "programs",
        "folder with load generators to copy to hosts, unless --with is given",
        PATHS,
        "~/static",
        parse_path,
    ),
    Key(
        "report",
        "write report.html into the run's directory after each run",
        "true, false",
        "true",
        parse_flag,
    ),
)
NAMES = tuple(key.name for key in KEYS)


def key_named(name: str) -> Key:
    """Return a key by name. Raises UsageError with the nearest name and all known ones."""
    found = next((key for key in KEYS if key.name == name), None)
    if found is None:
        raise UsageError(unknown(name))
    return found


def unknown(name: str) -> str:
    """Return the error for an unknown key."""
    return f"unknown key '{name}'{did_you_mean(name, NAMES)}; allowed: {', '.join(NAMES)}"


def is_blank(text: str) -> bool:
    """Return whether a file sets nothing; parsing is then skipped, which saves time in every
    verb.
    """
    return all(not line.strip() or line.lstrip().startswith("#") for line in text.splitlines())


def parse_settings(text: str, file: str) -> Settings:
    """Parse the settings file.

    Raises UsageError with all problems: file, line, allowed values.
    """
    if is_blank(text):
        return Settings()
    from tui.model.yaml_text import load

    document = load(text, file)
    problems: list[Problem] = []
    found: dict[str, Any] = {}
    for name, value in document.data.items():
        if name not in NAMES:
            problems.append(document.problem((name,), unknown(name), key=True))
        elif value is not None:
            try:
                found[name] = key_named(name).parse(value)
            except ValueError as error:
                problems.append(_refused(document, key_named(name), value, str(error)))
    if problems:
        raise UsageError(problems)
    return Settings(**found, given=frozenset(found))


def _refused(document: YamlDocument, key: Key, value: Any, why: str) -> Problem:
    from tui.model.quantities import shown

    meant = did_you_mean(str(value), key.allowed.split(", "))
    why = why or f"{shown(value)} is not allowed{meant}; expected {key.allowed}"
    return document.problem((key.name,), f"{key.name}: {why}")


def new_file() -> str:
    """Return the text of a new settings file: every key with its meaning, commented out."""
    lines = [
        "# benchtui settings. Remove the # to set a key; options and environment variables "
        "override this file."
    ]
    for key in KEYS:
        also = f" (environment: {key.variable})" if key.variable else ""
        lines += [
            "",
            f"# {key.help}{also}",
            f"# allowed: {key.allowed}",
            f"#{key.name}: {key.example}",
        ]
    return "\n".join([*lines, ""])
