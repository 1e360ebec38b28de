"""The profiles on disk: presets that ship with benchtui, and the user's own, which win over presets of the same tag."""

from __future__ import annotations

import functools
import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from importlib import resources
from pathlib import Path

from tui.metrics.registry import meaning
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
    """A profile with the text that it was read from.

    `bases` are the profiles that it extends, (tag, text), nearest first; `members` those of a suite, by tag.
    """

    profile: Profile
    text: str
    path: Path
    preset: bool
    sha256: str
    bases: tuple[tuple[str, str], ...] = ()
    members: dict[str, LoadedProfile] = field(default_factory=dict)


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
        if path := self._preset_path(name):
            return self.load_file(path, preset=True)
        found = self.list()
        if broken := next((entry for entry in found if entry.tag == name and entry.error), None):
            # the preset of that tag is not what its owner wants to run
            self.load_file(broken.path)
            raise UsageError(broken.error or "")
        entries = {entry.tag: entry for entry in found if entry.error is None}
        if name in entries:
            return self.load_file(entries[name].path, preset=entries[name].preset)
        raise UsageError(f"unknown profile '{name}'{did_you_mean(name, entries)}; see benchtui profiles list")

    def _preset_path(self, name: str) -> Path | None:
        """Return the file of a preset, which lies where its tag says, unless a file of the user's may be meant."""
        path = presets_dir() / f"{name}.yaml"
        if not re.fullmatch(TAG_PATTERN, name) or not path.is_file() or tag_of(_text_or_none(path) or "") != name:
            return None
        own = (each for each, preset in self._files() if not preset)
        meant = (name in (tag_of(_text_or_none(each) or ""), self._tag_by_path(each, False)) for each in own)
        return None if any(meant) else path

    def load_file(self, path: Path, *, preset: bool = False) -> LoadedProfile:
        """Return the profile of a file. Raises UsageError with every problem in it."""
        return self.load_text(read_text(path), path, preset=preset)

    def load_text(self, text: str, path: Path, *, preset: bool = False) -> LoadedProfile:
        """Return the profile of a text that may not be saved yet. Raises UsageError with every problem in it."""
        profile, bases = self._profile(text, path)
        members = self._members(profile, text, path)
        return LoadedProfile(profile, text, path, preset, hashlib.sha256(text.encode()).hexdigest(), bases, members)

    def parse(self, text: str, path: Path) -> Profile:
        """Return the profile of a text that may not be saved yet. Raises UsageError with every problem in it."""
        profile, _ = self._profile(text, path)
        self._members(profile, text, path)
        return profile

    def _profile(self, text: str, path: Path) -> tuple[Profile, tuple[tuple[str, str], ...]]:
        """Return a profile and what it extends. Raises UsageError."""
        bases: list[tuple[str, str]] = []
        files: list[str] = []
        above, tag = path, base_of(text)
        while tag is not None and tag not in [known for known, _ in bases]:
            found = self._file_of(tag, above)
            if found is None:
                break  # the loader says so, at its place
            above, base_text = found
            bases.append((tag, base_text))
            files.append(str(above))
            tag = base_of(base_text)
        known = tuple((tag, text, file) for (tag, text), file in zip(bases, files, strict=True))
        return _cached_profile(text, str(path), known, self._known(known, text)), tuple(bases)

    def _known(self, bases: Sequence[tuple[str, str, str]], text: str) -> tuple[str, ...]:
        """Return the tags to choose from, when one that is extended is not there."""
        tags = [tag for tag, _, _ in bases]
        wanted = [base_of(each) for each in (text, *(text for _, text, _ in bases))]
        missing = any(tag is not None and tag not in tags for tag in wanted)
        return self._tags() if missing else ()

    def _tags(self) -> tuple[str, ...]:
        """Return the tags of all files that can be read, members and bases not looked at."""
        texts = (_text_or_none(path) for path, _ in self._files())
        return tuple(tag for text in texts if text is not None and (tag := tag_of(text)))

    def _file_of(self, tag: str, above: Path) -> tuple[Path, str] | None:
        """Return the file of a tag and its text; the user's own wins, but no file extends itself."""
        preset_path = self._preset_path(tag)
        if preset_path is not None and preset_path != above:
            return preset_path, read_text(preset_path)
        found: tuple[Path, str] | None = None
        for path, preset in self._files():
            if path != above and (text := _text_or_none(path)) is not None and tag_of(text) == tag:
                if not preset:
                    return path, text
                found = path, text
        return found

    def _members(self, profile: Profile, text: str, path: Path) -> dict[str, LoadedProfile]:
        """Return the profiles of a suite. Raises UsageError that points at the one which is not there."""
        members: dict[str, LoadedProfile] = {}
        for index, member in enumerate(profile.members):
            place = ("suite", index)
            try:
                found = self._file_of(member.profile, path)
                if found is None:
                    like = did_you_mean(member.profile, self._tags())
                    raise UsageError(f"unknown profile '{member.profile}'{like}; see benchtui profiles list")
                loaded = self.load_file(found[0], preset=presets_dir() in found[0].parents)
            except UsageError as error:
                told = load(text, str(path)).problem(place, f"{member.profile}: {error.problems[0].message}")
                raise UsageError([told, *error.problems[1:]]) from None
            if loaded.profile.tool == "suite":
                raise UsageError(load(text, str(path)).problem(place, f"{member.profile}: a suite holds no suites"))
            if unknown := [name for name in member.set if name not in loaded.profile.params]:
                hint = did_you_mean(unknown[0], loaded.profile.params)
                message = f"{member.profile} has no parameter '{unknown[0]}'{hint}"
                raise UsageError(load(text, str(path)).problem((*place, "set", unknown[0]), message, key=True))
            members[member.profile] = loaded
        return members

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
        text = ""
        try:
            text = read_text(path)
            profile, _ = self._profile(text, path)
            self._members(profile, text, path)
        except UsageError as error:
            tag = tag_of(text) or self._tag_by_path(path, preset)
            return CatalogueEntry(tag, "", path, preset, error=str(error.problems[0]))
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


@functools.lru_cache(maxsize=512)
def _cached_profile(
    text: str, file: str, bases: tuple[tuple[str, str, str], ...] = (), known: tuple[str, ...] = ()
) -> Profile:
    def base(tag: str) -> tuple[str, str]:
        for name, text, file in bases:
            if name == tag:
                return text, file
        raise UsageError(f"unknown profile '{tag}'{did_you_mean(tag, known)}; see benchtui profiles list")

    return load_profile(text, file, base)


_HEAD_KEY = re.compile(r"^(?:profile|extends)\b", re.MULTILINE)
_PLAIN_HEAD = re.compile(rf"^(profile|extends): +({TAG_PATTERN.strip('^$')})[ \t]*(?:[ \t]#.*)?$", re.MULTILINE)


@functools.lru_cache(maxsize=512)
def _head(text: str) -> tuple[str | None, str | None]:
    """Return the tag of a profile's text and the tag that it extends, as far as they can be read."""
    keys = _HEAD_KEY.findall(text)
    plain = dict(_PLAIN_HEAD.findall(text))
    if "profile" in plain and len(keys) == len(plain):  # reading all of the YAML takes a hundred times as long
        return plain["profile"], plain.get("extends")
    try:
        data = load(text, "").data
    except UsageError:
        return None, None
    tag, base = data.get("profile"), data.get("extends")
    known = tag if isinstance(tag, str) and re.fullmatch(TAG_PATTERN, tag) else None
    return known, base if isinstance(base, str) else None


def tag_of(text: str) -> str | None:
    """Return the tag of a profile's text; None when it cannot be read."""
    return _head(text)[0]


def base_of(text: str) -> str | None:
    """Return the tag that a profile's text extends; None when it extends none."""
    return _head(text)[1]


def _text_or_none(path: Path) -> str | None:
    try:
        return read_text(path)
    except UsageError:
        return None


def headline_text(profile: Profile) -> str:
    """Return what a profile is about, such as 'read IOPS' or 'read p99.5 latency'."""
    spec = profile.headline_spec
    if spec is None:
        return f"{len(profile.members)} profiles"
    return meaning(spec)


def retagged(text: str, tag: str) -> str:
    """Return the text of a profile with another tag, everything else untouched."""
    start, end = load(text, "").spans[("profile",)]
    return text[:start] + tag + text[end:]
