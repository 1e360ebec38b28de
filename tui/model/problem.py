"""Problems people can act on, and the errors that carry them to an exit code."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from tui.model.plain import printable

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any, Self

LONGEST_NAME = 100  # that a nearest one is looked for
MOST_ALIKE = 2000  # that it is looked for among: each takes its time
# code of a problem that may come from an option which is wrong or left out itself
NEEDS_OPTION = "needs-option"


class _Fields(NamedTuple):
    message: str
    file: str | None = None
    line: int | None = None
    column: int | None = None
    host: str | None = None
    code: str = ""


class Problem(_Fields):
    """One thing that is wrong, where it is, and what would be right: one printable line, whatever
    it repeats.

    ``line`` and ``column`` count from 1. ``host`` names the host a problem was seen on. ``code``
    says what sort of problem it is, where something depends on that: nothing is decided by the
    words of a message. ``file`` is the path as it is; the text of a problem has it printable.
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
        """Make the words printable: they repeat what was typed, or what a file or a host said."""
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
    """An error whose text is all the user needs. ``exit_code`` as in the command's contract."""

    exit_code = 1

    def __init__(self, problems: str | Problem | Sequence[Problem]) -> None:
        if isinstance(problems, str):
            problems = Problem(problems)
        self.problems: list[Problem] = (
            [problems] if isinstance(problems, Problem) else list(problems)
        )
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
    why = (
        f"cannot be read: {error.strerror}"
        if isinstance(error, OSError)
        else f"not UTF-8 text: byte {error.start}"
    )
    return UsageError(Problem(why, file=str(path)))


MOST_MEANT = 3  # names in one suggestion


def nearest(name: str, known: Iterable[str]) -> list[str]:
    """Return the known names that `name` was meant to be, at most three: none when nothing is
    close.

    All that are one edit away (a character more, less, another, or two swapped), else the one most
    like it. Upper and lower case count as the same.
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
    """Tell whether at most one character was added, left out, replaced, or swapped with its
    neighbour.
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
    """Return the text of `did_you_mean` for names that were found to be near."""
    meant = " or ".join(f"'{match}'" for match in names)
    return f" (did you mean {meant}?)" if meant else ""
