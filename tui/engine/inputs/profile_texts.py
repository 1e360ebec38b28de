"""Profile files as text: find them, read tags, titles and groups without loading models."""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from tui.model.bounded import read_text
from tui.model.paths import presets_dir
from tui.model.plain import TAG_PATTERN
from tui.model.problem import UsageError, user_text
from tui.model.yaml_text import load

SUFFIXES = (".yaml", ".yml")
OWN, OTHER = "user-defined", "other presets"


@dataclass(frozen=True, slots=True)
class ProfileFile:
    """A profile file.

    `text` is None if the file is unreadable; `tag` and `base` (the profile it extends) are None if
    they are missing or cannot be read.
    """

    path: Path
    preset: bool
    text: str | None
    tag: str | None
    base: str | None
    by_path: str  # the tag implied by its path

    @property
    def name(self) -> str:
        """Display name: the tag, or the path if the file has no readable tag."""
        return self.tag or self.by_path


class Shelf:
    """All files of presets and of `user_dir`, which need not exist; each is read once.

    `beside` is the folder of a profile given by path; its files can be extended.
    """

    def __init__(self, user_dir: Path, beside: Path | None = None) -> None:
        self.user_dir, self.beside = user_dir, beside

    @functools.cached_property
    def files(self) -> list[ProfileFile]:
        """The presets, then the user's own files, each sorted by path."""
        return [*_files_in(presets_dir(), True), *self.users]

    @functools.cached_property
    def users(self) -> list[ProfileFile]:
        """The user's own files, sorted by path."""
        return list(_files_in(self.user_dir, False))

    @functools.cached_property
    def neighbours(self) -> list[ProfileFile]:
        """Files in the folder of a profile given by path, without subfolders."""
        return [*_files_in(self.beside, False, deep=False)] if self.beside is not None else []

    @functools.cached_property
    def tags(self) -> tuple[str, ...]:
        """Tags of all readable files, without checking members and bases."""
        return tuple(file.tag for file in self.files if file.tag)

    def own(self, name: str) -> list[ProfileFile]:
        """Return the user's own files with this name, including broken ones."""
        return [file for file in self.users if file.name == name]

    def find(self, tag: str, above: Path | None = None) -> ProfileFile | None:
        """Return the file with this tag: the user's own, a preset, or a neighbour; None if there is
        none.

        Skips the file `above`: a file does not extend itself.
        """
        return next(
            (file for file in self._sought(tag) if file.tag == tag and file.path != above), None
        )

    def _sought(self, tag: str) -> Iterator[ProfileFile]:
        """Yield candidate files by precedence; a folder is read only if earlier ones have no
        match.
        """
        yield from self.users
        yield from self._preset_at(tag)
        yield from self.files
        yield from self.neighbours

    def _preset_at(self, tag: str) -> list[ProfileFile]:
        """Return the preset at the path implied by its tag, which avoids reading all presets."""
        folder = presets_dir()
        path = folder / f"{tag}.yaml"
        return (
            [_file(path, folder, True)] if re.fullmatch(TAG_PATTERN, tag) and path.is_file() else []
        )


def _files_in(folder: Path, preset: bool, *, deep: bool = True) -> Iterator[ProfileFile]:
    found = []
    for where, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if deep and name != "baselines"]
        found += [
            os.path.join(where, name)  # noqa: PTH118 - in hundreds
            for name in (*names, *folders)  # a folder of that name is reported, not skipped
            if name.endswith(SUFFIXES)
        ]
    for path in sorted(found):
        yield _file(Path(path), folder, preset)


def _file(path: Path, folder: Path, preset: bool) -> ProfileFile:
    text = _text_or_none(path)
    tag, base = head(text) if text is not None else (None, None)
    return ProfileFile(
        path, preset, text, tag, base, os.path.relpath(path, folder).rpartition(".")[0]
    )


def _text_or_none(path: Path) -> str | None:
    try:
        return user_text(path)
    except UsageError:
        return None


_HEAD_KEY = re.compile(r"^(?:profile|extends)\b", re.MULTILINE)
_PLAIN_HEAD = re.compile(
    rf"^(profile|extends): +({TAG_PATTERN.strip('^$')})[ \t]*(?:[ \t]#.*)?$", re.MULTILINE
)


@functools.lru_cache(maxsize=512)
def head(text: str) -> tuple[str | None, str | None]:
    """Return the tag of a profile's text and the tag that it extends; None for an unreadable
    value.
    """
    keys = _HEAD_KEY.findall(text)
    plain = dict(_PLAIN_HEAD.findall(text))
    # parsing the whole YAML is thirty times slower
    if "profile" in plain and len(keys) == len(plain):
        return plain["profile"], plain.get("extends")
    try:
        data = load(text, "").data
    except UsageError:
        return None, None
    tag, base = data.get("profile"), data.get("extends")
    known = tag if isinstance(tag, str) and re.fullmatch(TAG_PATTERN, tag) else None
    return known, base if isinstance(base, str) else None


@functools.cache
def groups() -> dict[str, tuple[str, ...]]:
    """Return the tag patterns of each profile group, in listing order."""
    found: dict[str, tuple[str, ...]] = {}
    for line in read_text(presets_dir() / "groups.txt").splitlines():
        if not line.startswith("#"):
            name, _, patterns = line.partition(":")
            found[name] = (*found.get(name, ()), *patterns.split())
    return found


def group_names() -> list[str]:
    """Return the names of all profile groups, with the user's own profiles last."""
    return [*groups(), OTHER, OWN]


def group_of(tag: str, *, preset: bool) -> str:
    """Return the profile group that a tag belongs to."""
    if not preset:
        return OWN
    fitting = (
        name
        for name, patterns in groups().items()
        if any(fnmatchcase(tag, pattern) for pattern in patterns)
    )
    return next(fitting, OTHER)
