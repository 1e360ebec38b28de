"""Create, save and watch the user's own profile files; write their JSON Schema."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

from tui.engine.inputs.profile_texts import SUFFIXES
from tui.engine.inputs.user_files import save, write_new
from tui.model.bounded import read_text
from tui.model.plain import TAG_PATTERN, states_figure
from tui.model.problem import UsageError
from tui.model.quantities import shown
from tui.model.schemas import schema_text

if TYPE_CHECKING:
    from tui.engine.inputs.profiles import Catalogue, LoadedProfile

SCHEMA_FILE = ".benchtui-profile.schema.json"
MODELINE = "# yaml-language-server: $schema="
Stamps = frozenset[tuple[str, int, int]]


def write_schema(user_dir: Path) -> Path:
    """Write the JSON Schema next to the user's profiles if it is missing or outdated; return its
    path.

    Skipped in a read-only folder, where editors then offer no completion.
    """
    path = user_dir / SCHEMA_FILE
    text = schema_text("profile")
    with contextlib.suppress(OSError, UsageError):
        if not path.exists() or read_text(path) != text:
            save(path, text)
    return path


def with_modeline(text: str, path: Path, user_dir: Path) -> str:
    """Return a profile's text with the line that points editors to the schema.

    Unchanged outside `user_dir`, or if the text already has that line.
    """
    if MODELINE in text or not path.is_relative_to(user_dir):
        return text
    schema = os.path.relpath(user_dir / SCHEMA_FILE, path.parent)
    return f"{MODELINE}{schema}\n{text}"


def check_tag(tag: str) -> None:
    """Raise UsageError if no profile can have this name."""
    if not re.fullmatch(TAG_PATTERN, tag):
        raise UsageError(
            f"profile name {shown(tag)}: expected family/name in lower case, such as my/read"
        )


def free_tag(catalogue: Catalogue, tag: str) -> str:
    """Return a tag that no profile of the user has: the given one, or with a number appended."""
    numbered = (f"{tag}-{number}" for number in itertools.count(2))
    tags = itertools.chain([tag], numbered)
    return next(each for each in tags if catalogue.own_file(each) is None)


def create(catalogue: Catalogue, tag: str, text: str) -> Path:
    """Write a new profile and return its path. Never overwrites.

    Raises UsageError.
    """
    check_tag(tag)
    own = catalogue.own_file(tag)
    path = own or catalogue.user_dir / f"{tag}.yaml"
    if own or path.exists():
        raise UsageError(f"profile '{tag}' exists: {path}; choose another name")
    write_new(path, with_modeline(text, path, catalogue.user_dir))
    write_schema(catalogue.user_dir)
    return path


def extended_title(base: LoadedProfile, tag: str) -> str:
    """Return the title of a profile that extends another one."""
    title = base.profile.title
    if states_figure(title):  # the values in it may be changed
        title = f"based on {base.profile.profile}"
    return f"{title} ({tag.partition('/')[2]})"


def extending(base: LoadedProfile, tag: str) -> str:
    """Return the text of a profile that extends another one, with its parameters as comments."""
    title = json.dumps(extended_title(base, tag), ensure_ascii=False)
    lines = [f"profile: {tag}", f"extends: {base.profile.profile}", f"title: {title}"]
    if base.profile.params:
        lines += [
            "",
            "# Everything else is as in that profile. Remove the # to change a value:",
            "# params:",
        ]
        width = max(map(len, base.profile.params)) + 1
        for key, param in base.profile.params.items():
            value = (
                str(param.default).lower()
                if isinstance(param.default, bool)
                else str(param.default)
            )
            lines.append(
                f"#   {key + ':':<{width}} {value:<{_widest(base)}}  # {param.help}".rstrip(" #")
            )
    return "\n".join(lines) + "\n"


def _widest(base: LoadedProfile) -> int:
    return min(max(len(str(param.default)) for param in base.profile.params.values()), 24)


def stamps(user_dir: Path) -> Stamps:
    """Return path, size and modification time of all user profile files, to detect changes."""
    found = set()
    for folder, _, names in os.walk(user_dir):
        for name in names:
            if name.endswith(SUFFIXES):
                path = os.path.join(folder, name)  # noqa: PTH118 - called every second
                with contextlib.suppress(OSError):
                    status = os.stat(path)  # noqa: PTH116
                    found.add((path, status.st_size, status.st_mtime_ns))
    return frozenset(found)
