"""A search on Profiles that reads as a job: when it is offered, its row and its details. No I/O."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tui.app.screens.profiles_text import family_of, name_of, score
from tui.app.terminal.theme import Symbols
from tui.app.widgets.picklist import Heading
from tui.text.line import (
    ACCENT,
    BRIGHT,
    LABEL,
    TEXT,
    TITLE,
    WARN,
    Line,
    cut,
    indented,
    labelled,
    width_of,
)

if TYPE_CHECKING:
    from tui.engine.inputs.job_words import JobInWords
    from tui.engine.inputs.profiles import CatalogueEntry

NEW_JOB = "+"  # key of the row
TITLE_OF_ROW = "New job:"
BY_WORDS = 2  # score of a profile that a search finds by words
INDENT = 15


def offered(entries: Sequence[CatalogueEntry], search: str) -> JobInWords | None:
    """Return the job that a search describes, if it is about a job rather than a profile.

    Most words must be about a job. A single word that matches a profile is a filter.
    """
    from tui.engine.inputs.job_words import job_in

    text = search.strip().lower()
    tags = {entry.tag for entry in entries}
    if text in tags | set(map(name_of, tags)) | set(map(family_of, tags)):
        return None
    if (job := job_in(search)) is None:
        return None
    about = job.understood + sum(len(each.split()) for each in job.contrary)
    if about > 1:
        return job if about > len(job.unknown) else None
    return (
        job
        if job.is_whole and not any(score(each, search) >= BY_WORDS for each in entries)
        else None
    )


def row(job: JobInWords, width: int) -> Heading:
    """Return the row of a job, in at most `width` cells."""
    from tui.engine.inputs.job_words import words_for

    words = words_for(job.tool, job.terms)
    room = max(width - len(TITLE_OF_ROW) - 2, 1)
    shown = words if width_of(words) <= room else f"{cut(words, room - 1)}…"
    return Heading(NEW_JOB, TITLE_OF_ROW, (shown, BRIGHT))


def not_understood(job: JobInWords) -> str:
    """Return in one line which words of the search are ignored; empty if none are."""
    parts = (("not understood", job.unknown), ("contradict each other", job.contrary))
    return "; ".join(f"{what}: {', '.join(words)}" for what, words in parts if words)


def details(job: JobInWords, symbols: Symbols, width: int) -> list[Line]:
    """Return the words that were ignored, the fields that were typed, and the defaults."""
    from tui import workloads
    from tui.engine.inputs.job_words import ANYWHERE
    from tui.model.problem import UsageError
    from tui.workloads.terms import split_values

    from_terms = workloads.get(job.tool).from_terms()
    lines = indented([(f"{job.tool} job without a profile", TITLE)], width, 0)
    if left := not_understood(job):
        lines += indented([(f"{symbols.warn} {left}", WARN)], width, 0)
    given = {name: split_values(text) for name, text in job.terms.items()}
    has_target = "directory" in given or "filename" in given
    held: dict[str, str] = {}
    problem = ""
    try:
        made = from_terms.job_of_terms({**({} if has_target else ANYWHERE), **given})
        held = {name: param.values[0] for name, param in made.params.items()} | dict(made.fixed)
    except UsageError as error:
        problem = error.problems[0].message
    shown = [
        *(
            (term, job.terms[term.name], BRIGHT)
            for term in from_terms.job_terms()
            if term.name in given
        ),
        *(
            (term, held[term.name], LABEL)
            for term in from_terms.job_terms()
            if term.name in held and term.name not in {*given, *({} if has_target else ANYWHERE)}
        ),
    ]
    for group in (BRIGHT, LABEL):
        lines.append(Line())
        if group == LABEL and any(role == LABEL for *_, role in shown):
            lines.append(Line.of(("defaults", LABEL)))
        for term, value, role in shown:
            if role == group:
                lines += labelled(
                    [(term.label or term.name, LABEL)], [(value, role)], width, INDENT
                )
    if problem:
        lines += [Line(), *indented([(f"{symbols.warn} {problem}", WARN)], width, 0)]
    return [*lines, Line(), Line.of(("Enter", ACCENT), (" opens the form with these values", TEXT))]
