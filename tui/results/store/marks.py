"""What people say of a run beside its figures: a star, a title, tags.

They are in a file of their own in the run directory, so that they travel with the run and its record stays as it is.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from tui.journal.rundir import write_atomic
from tui.model.bounded import MOST_SMALL_BYTES, read_file
from tui.model.no_json import NO_JSON
from tui.model.plain_data import PlainDecoder
from tui.model.problem import BenchtuiError, Problem, UsageError
from tui.model.rundir import MARKS_FILE

if TYPE_CHECKING:
    from tui.model.record import RunRecord

LONGEST_TITLE = 200
LONGEST_TAG = 100


class Marks(Struct, omit_defaults=True):
    """The file. `tags` are all tags of the run, None: those given at launch."""

    starred: bool = False
    title: str = ""
    tags: dict[str, str] | None = None


_decoder = PlainDecoder(Marks)


def read_marks(run_dir: Path) -> Marks:
    """Return what was said of a run; of a file that cannot be read, nothing."""
    try:
        return _decoder.decode(read_file(f"{run_dir}/{MARKS_FILE}", MOST_SMALL_BYTES))  # a Path costs a list time
    except (OSError, *NO_JSON):
        return Marks()


def with_tags(record: RunRecord, marks: Marks) -> RunRecord:
    """Return a record with the tags that its run has by now."""
    return record if marks.tags is None else record.model_copy(update={"tags": marks.tags})


def change_marks(run_dir: Path, change: Callable[[Marks], object]) -> None:
    """Change what is said of a run. Raises BenchtuiError when that cannot be read or written."""
    path = run_dir / MARKS_FILE
    try:
        with _in_turn(run_dir):
            marks = _kept_marks(path)
            change(marks)
            write_atomic(path, msgspec.json.encode(marks) + b"\n")
    except OSError as error:
        raise BenchtuiError(Problem(f"cannot be written: {error.strerror}", file=str(path))) from error


def _kept_marks(path: Path) -> Marks:
    """Return what was said of a run. Raises OSError, BenchtuiError for a file that would be lost when it is changed."""
    try:
        return _decoder.decode(read_file(path, MOST_SMALL_BYTES))
    except FileNotFoundError:
        return Marks()
    except NO_JSON as error:
        told = f"holds no marks ({error}): mend it, or remove it to begin anew"
        raise BenchtuiError(Problem(told, file=str(path))) from error


@contextmanager
def _in_turn(run_dir: Path) -> Iterator[None]:
    """Let two who change the same run have their turns, where the file system has locks for directories."""
    descriptor = os.open(run_dir, os.O_RDONLY | os.O_DIRECTORY)
    try:
        with suppress(OSError):  # NFS has none
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def star(run_dir: Path, *, starred: bool) -> None:
    """Give a run a star, or take it away."""

    def change(marks: Marks) -> None:
        marks.starred = starred

    change_marks(run_dir, change)


def rename(run_dir: Path, title: str) -> None:
    """Give a run a title; an empty one takes it away. Raises UsageError."""
    clean = " ".join(title.split())
    if len(clean) > LONGEST_TITLE or not clean.isprintable():
        raise UsageError(f"a title is a line of at most {LONGEST_TITLE} characters")

    def change(marks: Marks) -> None:
        marks.title = clean

    change_marks(run_dir, change)


def retag(run_dir: Path, tags: Mapping[str, str]) -> None:
    """Have these be all tags of a run."""

    def change(marks: Marks) -> None:
        marks.tags = dict(tags)

    change_marks(run_dir, change)


def parse_tags(words: Sequence[str]) -> dict[str, str]:
    """Return ``NAME`` and ``NAME=VALUE`` as tags. Raises UsageError."""
    tags = {}
    for word in words:
        name, _, value = word.partition("=")
        if not name or any(each in name for each in " ,\"':") or not word.isprintable() or len(word) > LONGEST_TAG:
            raise UsageError(f"{word!r} is no tag: NAME or NAME=VALUE, the name without blanks, commas, quotes, colons")
        tags[name] = value
    return tags


def tags_text(tags: Mapping[str, str]) -> str:
    """Return tags as they are typed: ``lab=a nightly``."""
    return " ".join(f"{name}={value}" if value else name for name, value in tags.items())
