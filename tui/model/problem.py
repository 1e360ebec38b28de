"""Problems that users can act on, and the exceptions that report them with an exit code."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from tui.model.bounded import read_text
from tui.model.plain import printable

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any, Self

LONGEST_NAME = 100  # longest name to search a suggestion for
MOST_ALIKE = 2000  # most names to search: each takes time
# code of a problem that may be due to a wrong or missing option itself
NEEDS_OPTION = "needs-option"


class _Fields(NamedTuple):
    message: str
    file: str | None = None
    line: int | None = None
    column: int | None = None
    host: str | None = None
    code: str = ""


class Problem(_Fields):
    """One problem with its place and the allowed values, as one printable line.

    ``line`` and ``column`` count from 1. ``host`` is the host with the problem. ``code`` identifies
    problems that code depends on; no code depends on the wording. ``file`` is the real path; the
    text contains it in printable form.
    """

    __slots__ = ()

    def __new__(
        cls,
        message: str,
        file: str | None = None,
        line: int | None = None,
        column: int | None = None,
        host: str | None = None,
        code: str = "",
    ) -> Self:
        """Make all texts printable, because they repeat user input, files, or output of hosts."""
        return super().__new__(
            cls, printable(message), file, line, column, host and printable(host), code
        )

    @classmethod
    def _make(cls, iterable: Iterable[Any]) -> Self:  # type: ignore[override]  # _replace uses it
        return cls(*iterable)

    def __str__(self) -> str:
        place = ":".join(
            str(part) for part in (self.file, self.line, self.column) if part is not None
        )
        return ": ".join(part for part in (printable(place), self.host, self.message) if part)


class BenchtuiError(Exception):
    """An error with a text for the user. ``exit_code`` is the exit code of the command."""

    exit_code = 1

    def __init__(self, problems: str | Problem | Sequence[Problem]) -> None:
        if isinstance(problems, str):
            problems = Problem(problems)
        self.problems: list[Problem] = (
            [problems] if isinstance(problems, Problem) else list(problems)
        )
        super().__init__("\n".join(map(str, self.problems)))


class UsageError(BenchtuiError):
    """Error in usage, profile or inventory, found before anything ran: exit code 2."""

    exit_code = 2


class NotComparableError(BenchtuiError):
    """Runs are not comparable: exit code 3."""

    exit_code = 3


class PreflightError(BenchtuiError):
    """A host cannot run the load, found before any load started: exit code 3."""

    exit_code = 3


def unreadable(path: Path, error: OSError | UnicodeDecodeError) -> UsageError:
    """Return the error for a text file that cannot be read."""
    why = (
        f"cannot be read: {error.strerror}"
        if isinstance(error, OSError)
        else f"not UTF-8 text: invalid byte at offset {error.start}"
    )
    return UsageError(Problem(why, file=str(path)))


MOST_MEANT = 3  # names per suggestion


def nearest(name: str, known: Iterable[str]) -> list[str]:
    """Return at most three known names close to `name`; empty if none is close.

    All names one edit away (one character more, less, different, or two swapped), else the most
    similar one. Case is ignored.
    """
    names = {each.casefold(): each for each in known}
    wanted = name.casefold()
    import difflib

    def unlike(each: str) -> float:
        return -difflib.SequenceMatcher(None, wanted, each).ratio()

    if close := sorted((each for each in names if one_edit_apart(wanted, each)), key=unlike):
        return [names[each] for each in close[:MOST_MEANT]]
    if len(name) > LONGEST_NAME:
        return []
    alike = [each for each in names if abs(len(each) - len(name)) <= len(name)][:MOST_ALIKE]
    return [names[each] for each in difflib.get_close_matches(wanted, alike, n=1, cutoff=0.6)]


def one_edit_apart(one: str, other: str) -> bool:
    """Return whether two names differ by at most one character added, removed, replaced, or swapped
    with its neighbour.
    """
    if abs(len(one) - len(other)) > 1:
        return False
    short, long = sorted((one, other), key=len)
    at = next(
        (place for place, (a, b) in enumerate(zip(short, long, strict=False)) if a != b), len(short)
    )
    if len(short) < len(long):
        return short[at:] == long[at + 1 :]
    swapped = short[at : at + 2] == long[at : at + 2][::-1] and short[at + 2 :] == long[at + 2 :]
    return swapped or short[at + 1 :] == long[at + 1 :]


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return `` (did you mean 'x'?)``, `` (did you mean 'x' or 'y'?)`` or an empty text."""
    return suggestion(nearest(name, known))


def suggestion(names: Iterable[str]) -> str:
    """Return the text of `did_you_mean` for names already found to be close."""
    meant = " or ".join(f"'{match}'" for match in names)
    return f" (did you mean {meant}?)" if meant else ""


def user_text(path: Path, *, pipes: bool = False) -> str:
    """Return the text of a file that users write. Raises UsageError.

    `pipes`: allow a pipe, because the user named the file.
    """
    try:
        return read_text(path, encoding="utf-8-sig", pipes=pipes)
    except (OSError, UnicodeDecodeError) as error:
        raise unreadable(path, error) from error
