"""Parse a stock fio job file into sections with line numbers, as fio's init.c and parse.c do.
Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from tui.model.problem import Problem, UsageError
from tui.model.quantities import shown

MAX_CHARACTERS = 256 * 1024
MAX_JOBS = 1000


@dataclass(frozen=True, slots=True)
class JobFileOption:
    """One option as written; `value` is None if it has no ``=``."""

    name: str
    value: str | None
    line: int


@dataclass(frozen=True, slots=True)
class JobFileSection:
    """One ``[section]`` with its options in order."""

    name: str
    line: int
    options: tuple[JobFileOption, ...]

    @property
    def shared(self) -> bool:
        """Whether it is a [global] section, whose options apply to later jobs; fio compares only
        six letters.
        """
        return self.name.startswith("global")


def read_sections(text: str, file: str) -> list[JobFileSection]:
    """Return the sections of a job file. Raises UsageError with every unreadable line."""
    if len(text) > MAX_CHARACTERS:
        message = f"the file has {len(text)} characters; at most {MAX_CHARACTERS} are allowed"
        raise UsageError(Problem(message, file, 1))
    problems: list[Problem] = []
    sections: list[JobFileSection] = []
    options: list[JobFileOption] = []
    for number, line in meaningful_lines(text):
        if found := _line_problem(line, bool(sections)):
            problems.append(Problem(found, file, number))
        elif line.startswith("["):
            options = []
            sections.append(JobFileSection(line[1:-1], number, ()))
        else:
            options.append(_option(line, number))
            sections[-1] = JobFileSection(sections[-1].name, sections[-1].line, tuple(options))
    jobs = sum(not section.shared for section in sections)
    if not problems and not 0 < jobs <= MAX_JOBS:
        problems.append(
            Problem(
                f"the file has {jobs or 'no'} jobs; expected 1 to {MAX_JOBS} job sections", file, 1
            )
        )
    if problems:
        raise UsageError(problems)
    return sections


def meaningful_lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield (number, line) without comments and blank lines; fio drops text after ``;`` or ``#``
    anywhere.
    """
    for number, line in enumerate(text.split("\n"), 1):
        if bare := re.split("[;#]", line, maxsplit=1)[0].strip(" \t\r\n\f"):
            yield number, bare


def first_comment(text: str) -> str:
    """Return the first line of the comment at the start of a file; empty if there is none."""
    for line in text.split("\n"):
        bare = line.strip()
        if bare and not bare.startswith((";", "#")):
            return ""
        if words := re.sub(r"\s+", " ", bare.strip(";#!=-* ")):
            return words
    return ""


def _option(line: str, number: int) -> JobFileOption:
    name, equals, value = line.partition("=")
    return JobFileOption(name.strip(), value.strip() if equals else None, number)


def _line_problem(line: str, inside: bool) -> str | None:
    if bad := next((letter for letter in line if not letter.isprintable()), None):
        return f"the character U+{ord(bad):04X} is not allowed in a job file"
    if line.startswith("["):
        inner = line[1:-1]
        whole = line.endswith("]") and inner.strip() and inner.count("]") <= 1
        return None if whole else f"found {shown(line)}; expected a section as [name]"
    if line.startswith("include"):
        return f"'{shown(line)[1:-1]}': include is not supported; insert the lines of that file"
    if not inside:
        return (
            f"found {shown(line)} before the first section; start with [global] or a job"
            " name in brackets"
        )
    name = line.partition("=")[0].strip()
    if not re.fullmatch(r"[^\s${}]+", name) or not name.isprintable():
        return f"found {shown(line)}; expected an option as name=value, or name alone"
    return None
