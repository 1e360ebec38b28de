"""The profile catalogue: shipped presets and the user's own profiles, which override presets."""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from tui.engine.inputs.profile_texts import SUFFIXES, ProfileFile, Shelf, head
from tui.metrics.registry import meaning
from tui.model.paths import from_home
from tui.model.problem import Problem, UsageError, did_you_mean, user_text
from tui.model.yaml_text import load

if TYPE_CHECKING:
    from tui.model.profile import Profile

# Keys that lists show of a preset; parsing the rest of the YAML would be six times
# slower.
_LISTED = re.compile(
    r"^(?:profile|title|tool|headline|suite|allow_device):.*\n(?:[ \t#-].*\n|\n)*", re.MULTILINE
)

JOB = "job:"  # prefix of the tag of a job without a file


@dataclass(frozen=True, slots=True)
class CatalogueEntry:
    """One profile in a listing.

    A file that cannot be loaded has an `error` and no other details.
    """

    tag: str
    title: str
    path: Path
    preset: bool
    tool: str = ""
    headline: str = ""
    error: str | None = None
    device: bool = False  # may write to a block device


@dataclass(frozen=True, slots=True)
class LoadedProfile:
    """A profile with its source text.

    `bases` are the profiles it extends, as (tag, text), nearest first; `members` are the profiles
    of a suite, by tag.
    """

    profile: Profile
    text: str
    path: Path
    preset: bool
    sha256: str
    bases: tuple[tuple[str, str], ...] = ()
    members: dict[str, LoadedProfile] = field(default_factory=dict)

    @property
    def unreached(self) -> list[Problem]:
        """Hints about options in the profile's file that reach no job, whatever the parameters."""
        from tui.model.profile_model import unreached_hints

        return unreached_hints(self.profile, self.text, str(self.path))

    @property
    def hints(self) -> list[Problem]:
        """Settings without effect, reported as hints rather than errors."""
        from tui.model.profile_model import hints

        own = hints(self.profile, self.text, str(self.path))
        return [*own, *(hint for member in self.members.values() for hint in member.hints)]


class Catalogue:
    """The presets and the profiles under `user_dir`, which need not exist.

    Every call reads the directories again.
    """

    def __init__(self, user_dir: Path) -> None:
        self.user_dir = user_dir
        # texts of jobs without a file, by the name that `load` takes
        self._jobs: dict[str, str] = {}

    def keep_job(self, text: str) -> str:
        """Register the profile text of a job without a file, and return the name that `load`
        accepts.

        The name is valid for the lifetime of this catalogue.
        """
        name = f"{JOB}{head(text)[0]}"
        self._jobs[name] = text
        return name

    def list(self) -> Sequence[CatalogueEntry]:
        """Return all profiles sorted by tag; broken files are listed with their error."""
        shelf = Shelf(self.user_dir)
        found: dict[str, CatalogueEntry] = {}
        for file in shelf.files:
            entry = _entry(file, shelf)
            other = found.get(entry.tag)
            if entry.error is None and other and not other.preset:
                entry = replace(entry, error=_twice(file.path, other.path))
            found[entry.tag if entry.error is None or other is None else str(file.path)] = entry
        return sorted(found.values(), key=lambda entry: (entry.tag, str(entry.path)))

    def names(self) -> Sequence[str]:
        """Return the tags of all profiles that can be loaded."""
        return [entry.tag for entry in self.list() if entry.error is None]

    def load(self, name: str) -> LoadedProfile:
        """Return a profile by its tag or file path. Raises UsageError."""
        if name in self._jobs:
            return self.load_made(self._jobs[name], name.removeprefix(JOB))
        if is_path(name):
            return self.load_file(from_home(name))
        shelf = Shelf(self.user_dir)
        own = shelf.own(name)
        # the user's broken file hides the preset of that tag
        file = own[0] if own else shelf.find(name)
        if file is None:
            raise UsageError(
                f"unknown profile '{name}'{did_you_mean(name, shelf.tags)}; see benchtui profiles"
                " list"
            )
        loaded = _loaded(user_text(file.path), file.path, shelf, preset=file.preset)
        if len(own) > 1:
            raise UsageError(_twice(own[1].path, own[0].path))
        return loaded

    def shipped_text(self, name: str) -> str | None:
        """Return the text of a preset that no user file overrides; None for other profiles."""
        shelf = Shelf(self.user_dir)
        file = None if is_path(name) or shelf.own(name) else shelf.find(name)
        return (
            file.text if file and file.preset and not (file.base and shelf.own(file.base)) else None
        )

    def load_file(self, path: Path, *, preset: bool = False) -> LoadedProfile:
        """Return the profile of a file. Raises UsageError with every problem in it."""
        return self.load_text(user_text(path, pipes=True), path, preset=preset)

    def load_text(self, text: str, path: Path, *, preset: bool = False) -> LoadedProfile:
        """Return the profile in a text, which may be unsaved.

        Raises UsageError with all problems.
        """
        return _loaded(text, path, Shelf(self.user_dir, path.parent), preset=preset)

    def load_made(self, text: str, name: str) -> LoadedProfile:
        """Return the profile in a text that was made from a job.

        Raises UsageError without line numbers, because the user never sees that text.
        """
        try:
            return self.load_text(text, Path(name))
        except UsageError as error:
            bare = [each._replace(file=None, line=None, column=None) for each in error.problems]
            raise UsageError(bare) from None

    def copy_to_user(self, tag: str) -> Path:
        """Return the user's own file of a profile, copied from the preset if there is none.

        Never overwrites. A broken user file is returned too, so that it can be repaired. Raises
        UsageError.
        """
        own = self.own_file(tag)
        if own:
            return own
        from tui.engine.inputs.user_files import write_new

        path = self.user_dir / f"{tag}.yaml"
        write_new(path, self.load(tag).text)
        return path

    def own_file(self, name: str) -> Path | None:
        """Return the user's own file by tag or path, broken or not; None if there is none."""
        if is_path(name):
            path = from_home(name)
            return path if path.exists() else None
        return next((file.path for file in Shelf(self.user_dir).own(name)), None)


def _twice(path: Path, other: Path) -> str:
    return f"{path}: has the same tag as {other}"


def _entry(file: ProfileFile, shelf: Shelf) -> CatalogueEntry:
    if file.preset and (entry := _shipped(file, shelf)):
        return entry
    try:
        text = user_text(file.path) if file.text is None else file.text
        profile, _ = _profile(text, file.path, shelf)
        _members(profile, text, file.path, shelf)
    except UsageError as error:
        return CatalogueEntry(file.name, "", file.path, file.preset, error=str(error.problems[0]))
    about, device = headline_text(profile), profile.allow_device
    return CatalogueEntry(
        profile.profile, profile.title, file.path, file.preset, profile.tool, about, device=device
    )


def _shipped(file: ProfileFile, shelf: Shelf) -> CatalogueEntry | None:
    """Return the entry of a preset from its raw data, without validation: tests check presets.

    None if it depends on the user's files.
    """
    try:
        data = load("".join(_LISTED.findall(file.text or "")), str(file.path)).data
        entries = [inner for each in data.get("suite", ()) for inner in _inner(each)]
        members = [each if isinstance(each, str) else each["profile"] for each in entries]
        if file.base or any(shelf.own(tag) for tag in members):
            return None
        about = _meaning(data["headline"]) if "headline" in data else f"{len(members)} profiles"
        device = bool(data.get("allow_device"))
        return CatalogueEntry(
            data["profile"], data["title"], file.path, True, data["tool"], about, device=device
        )
    except (UsageError, LookupError, TypeError):
        return None


def _inner(entry: Any) -> list[Any]:
    """Return the profiles of a suite entry: one, or those under `together`."""
    return entry["together"] if isinstance(entry, dict) and "together" in entry else [entry]


def _meaning(headline: dict[str, Any]) -> str:
    # importing the structs of plans is slow
    bare: Any = SimpleNamespace(**{"percentile": None, **headline})
    return meaning(bare)


def _loaded(text: str, path: Path, shelf: Shelf, *, preset: bool = False) -> LoadedProfile:
    import hashlib

    profile, bases = _profile(text, path, shelf)
    members = _members(profile, text, path, shelf)
    return LoadedProfile(
        profile, text, path, preset, hashlib.sha256(text.encode()).hexdigest(), bases, members
    )


def _profile(text: str, path: Path, shelf: Shelf) -> tuple[Profile, tuple[tuple[str, str], ...]]:
    """Return the profile in a text, and its bases as (tag, text), nearest first. Raises
    UsageError.
    """
    bases: list[tuple[str, str, str]] = []
    above, tag = path, head(text)[1]
    while tag is not None and tag not in [known for known, _, _ in bases]:
        file = shelf.find(tag, above)
        if file is None or file.text is None:
            break  # the loader reports it with its place
        bases.append((tag, file.text, str(file.path)))
        above, tag = file.path, file.base
    missing = tag is not None and tag not in [known for known, _, _ in bases]
    profile = _cached_profile(text, str(path), tuple(bases), shelf.tags if missing else ())
    return profile, tuple((tag, text) for tag, text, _ in bases)


def _members(profile: Profile, text: str, path: Path, shelf: Shelf) -> dict[str, LoadedProfile]:
    """Return the profiles of a suite by tag.

    Raises UsageError with the line of a missing profile.
    """
    from tui.model.profile_check import placed_members

    members: dict[str, LoadedProfile] = {}
    for place, member in placed_members(profile):
        try:
            file = shelf.find(member.profile, path)
            if file is None or file.text is None:
                like = did_you_mean(member.profile, shelf.tags)
                raise UsageError(
                    f"unknown profile '{member.profile}'{like}; see benchtui profiles list"
                )
            loaded = _loaded(file.text, file.path, shelf, preset=file.preset)
        except UsageError as error:
            first = load(text, str(path)).problem(
                place, f"{member.profile}: {error.problems[0].message}"
            )
            raise UsageError([first, *error.problems[1:]]) from None
        if loaded.profile.tool == "suite":
            raise UsageError(
                load(text, str(path)).problem(
                    place, f"{member.profile}: a suite cannot contain a suite"
                )
            )
        if unknown := [name for name in member.set if name not in loaded.profile.params]:
            hint = did_you_mean(unknown[0], loaded.profile.params)
            message = f"{member.profile} has no parameter '{unknown[0]}'{hint}"
            raise UsageError(
                load(text, str(path)).problem((*place, "set", unknown[0]), message, key=True)
            )
        if "together" in place and (key := measured_often(loaded.profile)):
            message = (
                f"{member.profile} has '{key}': concurrent profiles are measured once;"
                " repeat the suite instead"
            )
            raise UsageError(load(text, str(path)).problem(place, message))
        members[member.profile] = loaded
    return members


def measured_often(profile: Profile) -> str:
    """Return the key that makes a profile measure several times (`sweep` or `repeat`); empty if it
    measures once.
    """
    if profile.sweep is not None:
        return "sweep"
    return "repeat" if profile.repeat != 1 else ""


def is_path(name: str) -> bool:
    """Return whether a profile is given by its file path rather than its tag."""
    return name.endswith(SUFFIXES) or name.startswith((".", "/", "~"))


@functools.lru_cache(maxsize=512)
def _cached_profile(
    text: str, file: str, bases: tuple[tuple[str, str, str], ...] = (), known: tuple[str, ...] = ()
) -> Profile:
    from tui.model.profile_load import load_profile

    def base(tag: str) -> tuple[str, str]:
        for name, text, file in bases:
            if name == tag:
                return text, file
        raise UsageError(
            f"unknown profile '{tag}'{did_you_mean(tag, known)}; see benchtui profiles list"
        )

    return load_profile(text, file, base)


def headline_text(profile: Profile) -> str:
    """Return a profile's headline metric as text, such as 'read p99.5 latency'; of a suite, '3
    profiles'.
    """
    return (
        meaning(profile.headline_spec)
        if profile.headline_spec
        else f"{len(profile.members)} profiles"
    )


def retagged(text: str, tag: str) -> str:
    """Return the text of a profile with another tag, otherwise unchanged."""
    start, end = load(text, "").spans[("profile",)]
    return text[:start] + tag + text[end:]
