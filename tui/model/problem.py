"""Problems people can act on, and the errors that carry them to an exit code."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple  # dataclasses take as long as half of all that `--help` does

if TYPE_CHECKING:
    from pathlib import Path  # half as much again as all else that `--help` needs

NEEDS_OPTION = "needs-option"  # code of a problem that may come from an option which is wrong or left out itself


class Problem(NamedTuple):
    """One thing that is wrong, where it is, and what would be right.

    ``line`` and ``column`` count from 1. ``host`` names the host a problem was seen on. ``code`` says what sort of
    problem it is, where something depends on that: nothing is decided by the words of a message.
    """

    message: str
    file: str | None = None
    line: int | None = None
    column: int | None = None
    host: str | None = None
    code: str = ""

    def __str__(self) -> str:
        place = ":".join(str(part) for part in (self.file, self.line, self.column) if part is not None)
        return ": ".join(part for part in (place, self.host, self.message) if part)


class BenchtuiError(Exception):
    """An error whose text is all the user needs. ``exit_code`` as in the command's contract."""

    exit_code = 1

    def __init__(self, problems: str | Problem | Sequence[Problem]) -> None:
        if isinstance(problems, str):
            problems = Problem(problems)
        self.problems: list[Problem] = [problems] if isinstance(problems, Problem) else list(problems)
        super().__init__("\n".join(map(str, self.problems)))


class UsageError(BenchtuiError):
    """Usage, profile or inventory error: the command ends with 2 before anything has run."""

    exit_code = 2


class NotComparableError(BenchtuiError):
    """Runs cannot be held against each other: the command ends with 3."""

    exit_code = 3


class PreflightError(BenchtuiError):
    """A host cannot run what was asked: the command ends with 3 before any load has started."""

    exit_code = 3


def unreadable(path: Path, error: OSError | UnicodeDecodeError) -> UsageError:
    """Return what to say of a text file that cannot be read."""
    why = f"cannot be read: {error.strerror}" if isinstance(error, OSError) else f"not UTF-8 text: byte {error.start}"
    return UsageError(Problem(why, file=str(path)))


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Return the known name most like `name`, or None when none is close."""
    import difflib

    matches = difflib.get_close_matches(name, list(known), n=1, cutoff=0.6)
    return matches[0] if matches else None


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return `` (did you mean 'x'?)`` or an empty text."""
    match = nearest(name, known)
    return f" (did you mean '{match}'?)" if match else ""
