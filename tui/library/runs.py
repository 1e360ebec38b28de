"""Runs on disk: find, list and index them; `last`; directories shared with others."""

from __future__ import annotations

import os
import pwd
import re
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cache
from itertools import islice
from pathlib import Path

import msgspec
from msgspec import Struct, field

from tui.journal.rundir import is_run_dir, is_running, write_atomic
from tui.library.summary import RunSummary, summarize, unreadable
from tui.model.bounded import NO_JSON, read_file, read_text
from tui.model.paths import Paths, from_home, is_folder, is_there
from tui.model.plain import some
from tui.model.problem import Problem, UsageError, did_you_mean
from tui.model.rundir import JOURNAL_FILE, ORIGIN_FILE, PLAN_FILE, RECORD_FILE

INDEX_FILE = ".index.msgpack"
# older files have no or other values of these: setup, whether a record is the sealed one, caveats,
# parameters
FORMAT = 9
SETTLED_S = 2.0  # a later change may be followed by another one with the same time stamp
NOT_JUDGED = -1

Stamp = tuple[int, int, int]
"""Modification times of run directory and record in ns, and the record's size."""


class IndexEntry(Struct, array_like=True, gc=False):
    """Index entry of one run.

    `checks` is an index into a table of check lists, because most runs have the same one.
    """

    stamp: Stamp
    checks: int
    summary: RunSummary


class _Index(Struct, array_like=True):
    format: int
    checks: list[list[str]]
    runs: dict[str, IndexEntry]


_index_decoder = msgspec.msgpack.Decoder(_Index)


class Index:
    """Index of the runs in one directory, stored in `file`."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.changed = False
        self.runs: dict[str, IndexEntry] = {}
        self._checks: dict[tuple[str, ...], int] = {}
        self._table: list[list[str]] = []

    @classmethod
    def read(cls, file: Path) -> Index:
        """Read an index; empty if the file cannot be read."""
        index = cls(file)
        with suppress(OSError, *NO_JSON):
            found = _index_decoder.decode(read_file(file))
            if found.format == FORMAT and all(
                each.checks < len(found.checks) for each in found.runs.values()
            ):
                index.runs, index._table = found.runs, found.checks
                index._checks = {tuple(checks): place for place, checks in enumerate(found.checks)}
        return index

    def find(self, name: str, stamp: Stamp) -> RunSummary | None:
        """Return the summary of a run, if the run has not changed since it was indexed; else
        None.
        """
        entry = self.runs.get(name)
        if entry is None or entry.stamp != stamp:
            return None
        if entry.checks != NOT_JUDGED:
            entry.summary.checks = self._table[entry.checks]
        return entry.summary

    def keep(self, name: str, stamp: Stamp, summary: RunSummary) -> None:
        """Add the summary of a run."""
        place = NOT_JUDGED if summary.checks is None else self._place_of(summary.checks)
        self.runs[name] = IndexEntry(stamp, place, summary)
        self.changed = True

    def _place_of(self, checks: list[str]) -> int:
        place = self._checks.setdefault(tuple(checks), len(self._table))
        if place == len(self._table):
            self._table.append(checks)
        return place

    def forget_others(self, names: Iterable[str]) -> None:
        """Drop runs that no longer exist."""
        gone = self.runs.keys() - set(names)
        for name in gone:
            del self.runs[name]
        self.changed = self.changed or bool(gone)

    def write(self) -> None:
        """Write the file if anything changed.

        Ignores errors: without it, the next listing is only slower.
        """
        if self.changed:
            for entry in self.runs.values():
                entry.summary.checks = None
            with suppress(OSError):
                write_atomic(
                    self.file,
                    msgspec.msgpack.encode(_Index(FORMAT, self._table, self.runs)),
                    durable=False,
                )
            for name, entry in self.runs.items():
                self.find(name, entry.stamp)
            self.changed = False


def list_directory(
    runs_dir: Path, names: Sequence[str], file: Path, *, keep: bool = True, limit: int | None = None
) -> list[RunSummary]:
    """Return the summaries of these runs in a directory, or of the first `limit`.

    `file`: the directory's index, which is updated. `keep`: save a newly computed summary next to
    its record.
    """
    index, base = Index.read(file), str(runs_dir)
    found: list[RunSummary] = []
    settled_ns = time.time_ns() - int(SETTLED_S * 1e9)
    for name in names:
        if limit is not None and len(found) >= limit:
            break
        place = f"{base}/{name}"
        stamp = stamp_of(place)
        summary = index.find(name, stamp) if stamp is not None else None
        if summary is None:
            summary = _summary(Path(place), keep=keep)
            if (
                summary is not None
                and stamp is not None
                and _can_be_kept(summary, stamp, settled_ns)
            ):
                index.keep(name, stamp, summary)
        if summary is not None:
            found.append(summary)
    else:
        index.forget_others(names)
    index.write()
    return found


def _summary(run_dir: Path, *, keep: bool) -> RunSummary | None:
    try:
        return summarize(run_dir, keep=keep)
    except OSError as error:
        return unreadable(run_dir, error.strerror or str(error))


def stamp_of(run_dir: str) -> Stamp | None:
    """Return a value that changes whenever the run does; None if there is no record."""
    try:
        record = os.stat(f"{run_dir}/{RECORD_FILE}")  # noqa: PTH116  (a Path costs as much as the call)
        return os.stat(run_dir).st_mtime_ns, record.st_mtime_ns, record.st_size  # noqa: PTH116
    except OSError:
        return None


def _can_be_kept(summary: RunSummary, stamp: Stamp, settled_ns: int) -> bool:
    return summary.state not in ("running", "unreadable") and max(stamp[:2]) < settled_ns


LAST = re.compile(r"last(?P<any>:any)?(?:~(?P<back>\d{1,6}))?")
WORDS = ("last", "last:any")


class _StepFigures(Struct):
    measured_s: float | None = None
    headline: float | None = None
    metadata: msgspec.Raw | None = None


class _RecordSteps(Struct):
    steps: list[_StepFigures] = field(default_factory=list)


_steps_decoder = msgspec.json.Decoder(_RecordSteps)


def last_run(runs_dir: Path, ids: Sequence[str], back: int, *, of_all: bool) -> Path:
    """Return the latest run of `ids` (sorted latest first), or the one `back` positions earlier.

    `of_all`: include runs that were refused or stopped before they measured anything. Raises
    UsageError.
    """
    every = (runs_dir / run_id for run_id in ids if is_run_dir(runs_dir / run_id))
    found = every if of_all else (run_dir for run_dir in every if may_have_measured(run_dir))
    if (run_dir := next(islice(found, back, None), None)) is not None:
        return run_dir
    if of_all or not any(is_run_dir(runs_dir / run_id) for run_id in ids):
        raise UsageError(f"{f'fewer than {back + 1}' if back else 'no'} runs in {runs_dir}")
    few = f"fewer than {back + 1} runs" if back else "no run"
    raise UsageError(
        f"{few} in {runs_dir} {'have' if back else 'has'} measured anything; last:any includes"
        " refused and stopped runs"
    )


def may_have_measured(run_dir: Path) -> bool:
    """Return whether a run has figures; True for running, interrupted and unreadable ones."""
    if is_running(run_dir):
        return True
    try:
        steps = _steps_decoder.decode(read_file(run_dir / RECORD_FILE)).steps
    except (OSError, *NO_JSON):
        return True
    return any(
        each.measured_s is not None or each.headline is not None or _holds(each.metadata)
        for each in steps
    )


def _holds(raw: msgspec.Raw | None) -> bool:
    return raw is not None and bytes(raw) != b"null"


VARIABLE = "BENCHTUI_SHARED_RUNS"


def shared_directories(
    paths: Paths,
    environ: Mapping[str, str],
    named: Sequence[Path] = (),
    settings: Sequence[Path] = (),
) -> list[Path]:
    """Return shared directories from option, environment (colon-separated), settings and the user's
    list.

    Raises UsageError for an unreadable file.
    """
    from_environ = [Path(part) for part in environ.get(VARIABLE, "").split(os.pathsep) if part]
    found = (*named, *from_environ, *settings, *_in_file(paths.shared_runs))
    return list(dict.fromkeys(Path(os.path.abspath(from_home(each))) for each in found))  # noqa: PTH100


def _in_file(path: Path) -> list[Path]:
    try:
        lines = read_text(path).splitlines()
    except FileNotFoundError:
        return []
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "is not UTF-8 text"
        raise UsageError(Problem(f"cannot be read: {why}", file=str(path))) from error
    if any("\0" in line for line in lines):
        raise UsageError(Problem("contains NUL bytes; not a list of directories", file=str(path)))
    return [Path(line) for text in lines if (line := text.strip()) and not line.startswith("#")]


def index_name(directory: Path) -> str:
    """Return the name, in the user's own runs directory, of the index of a shared directory."""
    import hashlib

    return f".index-{hashlib.sha256(os.fsencode(directory)).hexdigest()[:12]}.msgpack"


def owner_of(run_dir: str) -> str:
    """Return the owner of a directory; empty if unknown."""
    try:
        return _name_of(os.stat(run_dir).st_uid)  # noqa: PTH116  (a list asks this of every run)
    except OSError:
        return ""


@cache
def _name_of(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


TAG = "tag:"


class Listing(Struct, frozen=True):
    """All runs, latest first, and why some shared directories could not be listed."""

    runs: list[RunSummary]
    problems: list[Problem] = field(default_factory=list)


class RunStore:
    """All runs of a user, and those in `shared` directories.

    Nothing is cached in memory: every call reads the disk.
    """

    def __init__(self, runs_dir: Path, shared: Sequence[Path] = ()) -> None:
        self.runs_dir = runs_dir
        self.shared = [each for each in dict.fromkeys(shared) if each != runs_dir]

    def ids(self) -> list[str]:
        """Return the ids of all own runs, latest first.

        Raises UsageError for an unreadable directory.
        """
        try:
            return names_in(self.runs_dir)
        except OSError as error:
            raise UsageError(
                Problem(f"cannot be read: {error.strerror}", file=str(self.runs_dir))
            ) from error

    def list(self, limit: int | None = None) -> list[RunSummary]:
        """Return the summaries of all own runs, or the latest `limit`, latest first.

        Raises UsageError.
        """
        return list_directory(self.runs_dir, self.ids(), self.runs_dir / INDEX_FILE, limit=limit)

    def everything(self) -> Listing:
        """Return the summaries of own and shared runs; for equal ids, the own run or the first
        directory's.

        Raises UsageError if the own runs cannot be read.
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
        return Listing(
            sorted(runs, key=lambda run: run.run_id, reverse=True) if self.shared else runs,
            problems,
        )

    def _of_others(self, directory: Path) -> Sequence[RunSummary]:
        names = names_in(directory, must_exist=True)
        runs = list_directory(directory, names, self.runs_dir / index_name(directory), keep=False)
        for run in runs:
            run.directory = str(directory / run.run_id)
            run.owner = owner_of(run.directory)
        return runs

    def directory_of(self, run: RunSummary) -> Path:
        """Return the directory of a listed run."""
        return Path(run.directory) if run.directory else self.runs_dir / run.run_id

    def resolve(self, ref: str, *, last_of_all: bool = False) -> Path:
        """Return the directory of a run: by id, unique prefix, path, ``last``, ``last~1``, title.

        ``last`` is the latest run that measured something, ``last:any`` the latest of all; with
        `last_of_all` both are the latest of all, for verbs about leftovers. ``tag:NAME`` and
        ``tag:NAME=VALUE`` are the latest run with that tag. Own runs come first. Raises UsageError.
        """
        if back := LAST.fullmatch(ref):
            of_all = last_of_all or bool(back["any"])
            return last_run(self.runs_dir, self.ids(), int(back["back"] or 0), of_all=of_all)
        path = from_home(ref)
        places = {} if ref in (".", "..") or ("/" in ref and is_there(path)) else self._places()
        matches = (
            [ref] if ref in places else [run_id for run_id in places if run_id.startswith(ref)]
        )
        if len(matches) == 1 and ref:
            return places[matches[0]]
        if not matches and ref and places and (called := self._called(ref)) is not None:
            return called
        if not matches and ("/" in ref or is_there(path)):
            return _run_at(path)
        raise UsageError(
            _no_single_match(ref, matches, places, self.list() if ref.startswith(TAG) else ())
        )

    def _called(self, ref: str) -> Path | None:
        """Return the run with this title or tag; None if there is none. Raises UsageError if
        several runs have the title.
        """
        tag, equals, value = ref.removeprefix(TAG).partition("=")
        for runs in (self.list(), self.everything().runs if self.shared else []):
            if ref.startswith(TAG):
                found = [
                    run
                    for run in runs
                    if tag in run.tags and (not equals or run.tags[tag] == value)
                ]
            else:
                found = [run for run in runs if run.title == ref]
                if len(found) > 1:
                    raise UsageError(
                        f"{len(found)} runs have the title '{ref}':"
                        f" {some((run.run_id for run in found), 5)}"
                    )
            if found:
                return self.directory_of(found[0])
        return None

    def _places(self) -> dict[str, Path]:
        """Return the directories of all runs by id; own runs hide shared ones with the same id."""
        places = {run_id: self.runs_dir / run_id for run_id in self.ids()}
        for directory in self.shared:
            try:
                places = {run_id: directory / run_id for run_id in names_in(directory)} | places
            except OSError:
                continue  # the requested one may be elsewhere
        return places

    def check_ours(self, run_dir: Path) -> None:
        """Raise UsageError for a run that can be read but not changed: in a shared directory, or
        another user's.
        """
        if self.is_of_others(run_dir):
            whose = owner_of(str(run_dir)) or "another user"
            raise UsageError(
                f"{run_dir.name} belongs to {whose}, in {run_dir.parent}; it is read-only"
            )

    def check_hosts_ours(self, run_dir: Path) -> None:
        """Raise UsageError for a run whose plan must not run on hosts: another user's, or an
        unpacked one.
        """
        self.check_ours(run_dir)
        if (run_dir / ORIGIN_FILE).exists():
            raise UsageError(
                f"{run_dir.name} was unpacked from a file; benchtui does not run its plan on hosts"
            )

    def is_of_others(self, run_dir: Path) -> bool:
        """Return whether a run is in a shared directory or owned by another user."""
        place = run_dir.resolve()
        if place.parent == self.runs_dir.resolve():
            return False
        if any(place.is_relative_to(directory.resolve()) for directory in self.shared):
            return True
        try:
            return place.stat().st_uid != os.geteuid()
        except OSError:
            return False  # using it will give the reason


def names_in(directory: Path, *, must_exist: bool = False) -> list[str]:
    """Return the names of the runs in a directory, latest first. Raises OSError."""
    try:
        with os.scandir(directory) as entries:
            names = [entry.name for entry in entries if _may_be_run(entry.name) and entry.is_dir()]
    except (FileNotFoundError, NotADirectoryError):
        if must_exist:
            raise
        return []
    return sorted(names, reverse=True)


def _may_be_run(name: str) -> bool:
    """Return whether a directory may be listed as a run.

    Excludes unprintable names, which could not be typed.
    """
    return not name.startswith(".") and name.isprintable()


def _run_at(path: Path) -> Path:
    if path.name == RECORD_FILE and path.is_file():
        path = path.parent
    if not is_folder(path):
        raise UsageError(f"{path}: no such directory")
    if not is_run_dir(path):
        raise UsageError(
            f"{path}: not a run: contains neither {PLAN_FILE} nor {RECORD_FILE} nor {JOURNAL_FILE}"
        )
    return path.absolute()


def _no_single_match(
    ref: str, matches: list[str], ids: Iterable[str], tagged: Iterable[RunSummary]
) -> str:
    if not matches:
        if ref.startswith(TAG):
            tags = (each for run in tagged for each in run.tags.items())
            known = {f"{name}={value}" if "=" in ref else name for name, value in tags}
            what = f"run with {ref}{did_you_mean(ref.removeprefix(TAG), known)}"
        else:
            what = f"run '{ref}'{did_you_mean(ref, (*WORDS, *ids))}"
        return f"no {what}; see benchtui runs list"
    return f"'{ref}' is a prefix of {len(matches)} runs: {some(matches, 5)}"
