"""What preconditioning and conditions to attest must obey beyond their schema."""

from __future__ import annotations

from collections.abc import Iterator

from tui.model.matrix_check import span_problems
from tui.model.problem import Problem
from tui.model.profile import Profile
from tui.model.quantities import parse_size, shown
from tui.model.tool import SUITE
from tui.model.yaml_text import Document, KeyPath

PRECONDITION: KeyPath = ("prepare", "precondition")


def condition_problems(profile: Profile, document: Document) -> Iterator[Problem]:
    """Yield what is wrong with a profile's preconditioning, and with what it has attested."""
    yield from _precondition_problems(profile, document)
    seen: set[str] = set()
    for index, each in enumerate(profile.attest):
        if each.id in seen:
            yield document.problem(("attest", index, "id"), f"the condition '{each.id}' is asked for twice")
        if not each.question.isprintable():
            yield document.problem(("attest", index, "question"), "question: one printable line is allowed")
        seen.add(each.id)


def _precondition_problems(profile: Profile, document: Document) -> Iterator[Problem]:
    wanted = profile.prepare.precondition
    if wanted is None:
        return
    if profile.tool == SUITE:
        yield document.problem(PRECONDITION, "a suite has no 'precondition' of its own; its profiles have", key=True)
    if not wanted.fill and not wanted.rounds:
        yield document.problem(PRECONDITION, "precondition: neither a fill nor rounds: nothing would be done", key=True)
    if 0 < wanted.rounds < wanted.window:
        message = f"rounds: found {wanted.rounds}, too few for a window of {wanted.window}; 0 leaves them out"
        yield document.problem((*PRECONDITION, "rounds"), message)
    try:
        if parse_size(wanted.bs) <= 0:
            raise ValueError(f"{shown(wanted.bs)} is not allowed: it must be more than 0")
    except ValueError as error:
        yield document.problem((*PRECONDITION, "bs"), f"bs: {error}")
    yield from span_problems(profile, document, (*PRECONDITION, "round"), wanted.round)
