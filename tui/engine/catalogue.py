"""The profiles on disk: presets that ship with benchtui, and the user's own, which win over presets of the same tag."""

from __future__ import annotations

import functools
import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from importlib import resources
from pathlib import Path

from tui.model.problem import Problem, UsageError, did_you_mean
from tui.model.profile import TAG_PATTERN, Profile
from tui.model.profile_load import load_profile
from tui.model.quantities import shown
from tui.model.yaml_text import load

SUFFIXES = (".yaml", ".yml")


@dataclass(frozen=True, slots=True)
class CatalogueEntry:
    """One profile of a list. A file that cannot be loaded has an `error` and only its path to show."""

    tag: str
    title: str
    path: Path
    preset: bool
    tool: str = ""
    headline: str = ""
    error: str | None = None


@dataclass(frozen=True, slots=True)
class LoadedProfile:
    """A profile with the text that it was read from."""

    profile: Profile
    text: str
    path: Path
    preset: bool
    sha256: str


def presets_dir() -> Path:
    """Return where the presets are: inside the installed package, or in the checkout beside it."""
    installed = Path(str(resources.files("tui"))) / "presets"
    return installed if installed.is_dir() else installed.parents[1] / "profiles"


class Catalogue:
    """The presets and the profiles under `user_dir`, which need not exist."""

    def __init__(self, user_dir: Path) -> None:
        self.user_dir = user_dir

    def list(self) -> Sequence[CatalogueEntry]:
        """Return all profiles by tag; broken files come with their error and hide nothing."""
        found: dict[str, CatalogueEntry] = {}
        for path, preset in self._files():
            entry = self._entry(path, preset)
            other = found.get(entry.tag)
            if entry.error is None and other and not other.preset:
                entry = replace(entry, error=f"{path}: has the same tag as {other.path}")
            found[entry.tag if entry.error is None or other is None else str(path)] = entry
        return sorted(found.values(), key=lambda entry: (entry.tag, str(entry.path)))

    def names(self) -> Sequence[str]:
        """Return the tags of all profiles that can be loaded."""
        return [entry.tag for entry in self.list() if entry.error is None]

    def load(self, name: str) -> LoadedProfile:
        """Return a profile by tag, or by the path of its file. Raises UsageError."""
        if is_path(name):
            return self.load_file(Path(name).expanduser())
        found = self.list()
        if broken := next((entry for entry in found if entry.tag == name and entry.error), None):
            # the preset of that tag is not what its owner wants to run
            self.load_file(broken.path)
            raise UsageError(broken.error or "")
        entries = {entry.tag: entry for entry in found if entry.error is None}
        if name in entries:
            return self.load_file(entries[name].path, preset=entries[name].preset)
        raise UsageError(f"unknown profile '{name}'{did_you_mean(name, entries)}; see benchtui profiles list")

    def load_file(self, path: Path, *, preset: bool = False) -> LoadedProfile:
        """Return the profile of a file. Raises UsageError with every problem in it."""
        text = read_text(path)
        profile = _cached_profile(text, str(path))
        return LoadedProfile(profile, text, path, preset, hashlib.sha256(text.encode()).hexdigest())

    def copy_to_user(self, tag: str, new_tag: str | None = None) -> Path:
        """Return the user's own file of a profile, copied from the preset when there is none yet. Never overwrites.

        With `new_tag` the copy gets that tag, and the user must not have one already. A broken file of the user's
        is returned as well: it wants mending. Raises UsageError.
        """
        own = self._own_file(new_tag or tag)
        if new_tag is None and own:
            return own
        if own:
            raise UsageError(f"profile '{new_tag}' is there already: {own}; choose another name")
        if new_tag and not re.fullmatch(TAG_PATTERN, new_tag):
            raise UsageError(f"profile name {shown(new_tag)}: allowed is family/name in small letters, such as my/read")
        loaded = self.load(tag)
        path = self.user_dir / f"{new_tag or tag}.yaml"
        write_new(path, loaded.text if new_tag is None else retagged(loaded.text, new_tag))
        return path

    def _own_file(self, name: str) -> Path | None:
        """Return the user's own file of a tag, or of a path, broken or not."""
        if is_path(name):
            path = Path(name).expanduser()
            return path if path.exists() else None
        return next((entry.path for entry in self.list() if entry.tag == name and not entry.preset), None)

    def _files(self) -> Iterator[tuple[Path, bool]]:
        for folder, preset in ((presets_dir(), True), (self.user_dir, False)):
            for path in sorted(folder.rglob("*")):
                if path.suffix in SUFFIXES and "baselines" not in path.relative_to(folder).parts:
                    yield path, preset

    def _entry(self, path: Path, preset: bool) -> CatalogueEntry:
        try:
            profile = _cached_profile(read_text(path), str(path))
        except UsageError as error:
            return CatalogueEntry(self._tag_by_path(path, preset), "", path, preset, error=str(error.problems[0]))
        return CatalogueEntry(profile.profile, profile.title, path, preset, profile.tool, headline_text(profile))

    def _tag_by_path(self, path: Path, preset: bool) -> str:
        folder = presets_dir() if preset else self.user_dir
        return path.relative_to(folder).with_suffix("").as_posix()


def is_path(name: str) -> bool:
    """Return whether a profile is named by its file and not by its tag."""
    return name.endswith(SUFFIXES) or name.startswith((".", "/", "~"))


def read_text(path: Path) -> str:
    """Return the text of a profile's file. Raises UsageError."""
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageError(Problem(f"not UTF-8 text: byte {error.start}", file=str(path))) from error
    except OSError as error:
        raise UsageError(Problem(f"cannot be read: {error.strerror}", file=str(path))) from error


def write_new(path: Path, text: str) -> None:
    """Write a file that is not there yet. Raises UsageError."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise UsageError(Problem(f"cannot be written: {error.strerror}", file=str(path))) from error


@functools.lru_cache(maxsize=256)
def _cached_profile(text: str, file: str) -> Profile:
    return load_profile(text, file)


def headline_text(profile: Profile) -> str:
    """Return what a profile is about, such as 'read IOPS' or 'read p99.5 latency'."""
    spec = profile.headline
    metric = {"iops": "IOPS", "bandwidth": "throughput", "latency": "latency"}[spec.metric]
    percentile = f"p{spec.percentile:g} " if spec.percentile is not None else ""
    return f"{spec.direction} {percentile}{metric}"


def retagged(text: str, tag: str) -> str:
    """Return the text of a profile with another tag, everything else untouched."""
    start, end = load(text, "").spans[("profile",)]
    return text[:start] + tag + text[end:]
