"""The runs on disk: one directory each, listed quickly, found by what people type.

Beside the user's own there can be directories of others, which are read and never written to.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from msgspec import Struct, field

from tui.journal.rundir import is_run_dir
from tui.model.paths import from_home, is_folder, is_there
from tui.model.plain import some
from tui.model.problem import Problem, UsageError, did_you_mean
from tui.model.rundir import JOURNAL_FILE, ORIGIN_FILE, PLAN_FILE, RECORD_FILE
from tui.results.store.index import INDEX_FILE, list_directory
from tui.results.store.last import LAST, WORDS, last_run
from tui.results.store.shared import index_name, owner_of
from tui.results.store.summary import RunSummary

TAG = "tag:"


class Listing(Struct, frozen=True):
    """All runs, newest first, and why some directory of others cannot be listed."""

    runs: list[RunSummary]
    problems: list[Problem] = field(default_factory=list)


class RunStore:
    """All runs of a user, and those of `shared` directories.

    Nothing is kept in memory: every call looks at the disk.
    """

    def __init__(self, runs_dir: Path, shared: Sequence[Path] = ()) -> None:
        self.runs_dir = runs_dir
        self.shared = [each for each in dict.fromkeys(shared) if each != runs_dir]

    def ids(self) -> list[str]:
        """Return the ids of all own runs, newest first. Raises UsageError when the directory cannot be read."""
        try:
            return names_in(self.runs_dir)
        except OSError as error:
            raise UsageError(Problem(f"cannot be read: {error.strerror}", file=str(self.runs_dir))) from error

    def list(self, limit: int | None = None) -> list[RunSummary]:
        """Return the summaries of all own runs, or of the `limit` newest, newest first. Raises UsageError."""
        return list_directory(self.runs_dir, self.ids(), self.runs_dir / INDEX_FILE, limit=limit)

    def everything(self) -> Listing:
        """Return the summaries of own and shared runs, one of each id: the own one, or that of the first directory.

        Raises UsageError when the own ones cannot be read.
        """
        runs, problems = self.list(), []
        seen = {run.run_id for run in runs}
        for directory in self.shared:
            try:
                theirs = [run for run in self._of_others(directory) if run.run_id not in seen]
            except OSError as error:
                problems.append(Problem(f"cannot be read: {error.strerror}", file=str(directory)))
                continue
            runs += theirs
            seen.update(run.run_id for run in theirs)
        return Listing(sorted(runs, key=lambda run: run.run_id, reverse=True) if self.shared else runs, problems)

    def _of_others(self, directory: Path) -> Sequence[RunSummary]:
        names = names_in(directory, must_exist=True)
        runs = list_directory(directory, names, self.runs_dir / index_name(directory), keep=False)
        for run in runs:
            run.directory = str(directory / run.run_id)
            run.owner = owner_of(run.directory)
        return runs

    def directory_of(self, run: RunSummary) -> Path:
        """Return where a listed run is."""
        return Path(run.directory) if run.directory else self.runs_dir / run.run_id

    def resolve(self, ref: str, *, last_of_all: bool = False) -> Path:
        """Return the directory of a run: by id, unique prefix, path, ``last``, ``last~1`` (the one before it), title.

        ``last`` has measured something, ``last:any`` is the newest of all; with `last_of_all` both are, as for verbs
        that act on what a run left behind. ``tag:NAME`` and ``tag:NAME=VALUE`` are the newest run with that tag. Own
        runs come first. Raises UsageError.
        """
        if back := LAST.fullmatch(ref):
            of_all = last_of_all or bool(back["any"])
            return last_run(self.runs_dir, self.ids(), int(back["back"] or 0), of_all=of_all)
        path = from_home(ref)
        places = {} if ref in (".", "..") or ("/" in ref and is_there(path)) else self._places()
        matches = [ref] if ref in places else [run_id for run_id in places if run_id.startswith(ref)]
        if len(matches) == 1 and ref:
            return places[matches[0]]
        if not matches and ref and places and (called := self._called(ref)) is not None:
            return called
        if not matches and ("/" in ref or is_there(path)):
            return _run_at(path)
        raise UsageError(_no_single_match(ref, matches, places, self.list() if ref.startswith(TAG) else ()))

    def _called(self, ref: str) -> Path | None:
        """Return the run that has a title or a tag. Raises UsageError for the title of several."""
        tag, equals, value = ref.removeprefix(TAG).partition("=")
        for runs in (self.list(), self.everything().runs if self.shared else []):
            if ref.startswith(TAG):
                found = [run for run in runs if tag in run.tags and (not equals or run.tags[tag] == value)]
            else:
                found = [run for run in runs if run.title == ref]
                if len(found) > 1:
                    raise UsageError(f"{len(found)} runs are called '{ref}': {some((run.run_id for run in found), 5)}")
            if found:
                return self.directory_of(found[0])
        return None

    def _places(self) -> dict[str, Path]:
        """Return the directories of all runs by id, own ones first; an own run hides another one of its name."""
        places = {run_id: self.runs_dir / run_id for run_id in self.ids()}
        for directory in self.shared:
            try:
                places = {run_id: directory / run_id for run_id in names_in(directory)} | places
            except OSError:
                continue  # what is asked for may be somewhere else
        return places

    def check_ours(self, run_dir: Path) -> None:
        """Raise UsageError for a run of somebody else: it is read, and never changed."""
        if self.is_of_others(run_dir):
            whose = owner_of(str(run_dir)) or "somebody else"
            raise UsageError(f"{run_dir.name} is a run of {whose}, in {run_dir.parent}: it can be read, not changed")

    def check_hosts_ours(self, run_dir: Path) -> None:
        """Raise UsageError for a run whose plan is not ours to carry out on hosts: somebody else's, or unpacked."""
        self.check_ours(run_dir)
        if (run_dir / ORIGIN_FILE).exists():
            raise UsageError(f"{run_dir.name} was unpacked from a file: nothing is done to hosts by the plan in it")

    def is_of_others(self, run_dir: Path) -> bool:
        """Tell whether a run is in a shared directory, or elsewhere and somebody else's."""
        place = run_dir.resolve()
        if place.parent == self.runs_dir.resolve():
            return False
        if any(place.is_relative_to(directory.resolve()) for directory in self.shared):
            return True
        try:
            return place.stat().st_uid != os.geteuid()
        except OSError:
            return False  # what is tried with it will say why


def names_in(directory: Path, *, must_exist: bool = False) -> list[str]:
    """Return the names of the runs in a directory, newest first. Raises OSError."""
    try:
        with os.scandir(directory) as entries:
            names = [entry.name for entry in entries if _may_be_run(entry.name) and entry.is_dir()]
    except (FileNotFoundError, NotADirectoryError):
        if must_exist:
            raise
        return []
    return sorted(names, reverse=True)


def _may_be_run(name: str) -> bool:
    """Tell whether a directory may be listed: what is not printable was named by none of us, and cannot be typed."""
    return not name.startswith(".") and name.isprintable()


def _run_at(path: Path) -> Path:
    if path.name == RECORD_FILE and path.is_file():
        path = path.parent
    if not is_folder(path):
        raise UsageError(f"{path}: no such directory")
    if not is_run_dir(path):
        raise UsageError(f"{path}: not a run: neither {PLAN_FILE} nor {RECORD_FILE} nor {JOURNAL_FILE} in it")
    return path.absolute()


def _no_single_match(ref: str, matches: list[str], ids: Iterable[str], tagged: Iterable[RunSummary]) -> str:
    if not matches:
        if ref.startswith(TAG):
            tags = (each for run in tagged for each in run.tags.items())
            known = {f"{name}={value}" if "=" in ref else name for name, value in tags}
            what = f"run with {ref}{did_you_mean(ref.removeprefix(TAG), known)}"
        else:
            what = f"run '{ref}'{did_you_mean(ref, (*WORDS, *ids))}"
        return f"no {what}; see benchtui runs list"
    return f"'{ref}' is the beginning of {len(matches)} runs: {some(matches, 5)}"
