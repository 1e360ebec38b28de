"""A comparison as JUnit XML: what is worse is a failure, what cannot be said of a headline an error, else skipped."""

from __future__ import annotations

from collections.abc import Sequence

from tui.results.compare.compare import Change, Comparison
from tui.results.compare.criteria import Judged
from tui.results.compare.searches import SearchChange
from tui.results.compare.searches_beside import signed as ratio_text
from tui.results.compare.text import figure_text, interval_text, signed
from tui.results.text.junit import Case, Outcome, Suite, junit_xml

SAID = ("better", "no difference detected")
Judgement = tuple[Comparison, Sequence[Judged]]


def as_junit(found: Sequence[Judgement], *, allow_undecided: bool = False) -> str:
    """Return one test suite a comparison, as a document; `allow_undecided`: what nobody can tell is no error."""
    return junit_xml([_suite(*each, "skipped" if allow_undecided else "error") for each in found])


def _suite(found: Comparison, judged: Sequence[Judged], undecided: Outcome) -> Suite:
    sides = ["+".join(record.run_id for record in side) for side in (found.a, found.b)]
    profile = found.b[0].profile.tag
    obstacles = "; ".join(each.text for each in found.obstacles)
    cases = [
        Case("comparable", "error" if obstacles else "passed", obstacles, profile),
        *([_search(profile, found.search, undecided)] if found.search is not None and not obstacles else []),
        *(_figure(profile, point.name, change, undecided) for point in found.points for change in point.changes),
        *(each.case for each in judged),
    ]
    return Suite(f"{sides[1]} against {sides[0]}", cases, found.b[0].created_utc)


def _search(profile: str, found: SearchChange, undecided: Outcome) -> Case:
    """Return what is said of two searches, as the exit code says it."""
    why = f" ({found.why})" if found.why else ""
    outcome: Outcome = "failed" if found.word == "worse" else "passed" if found.word in SAID else undecided
    outcome = "error" if found.word == "not comparable" else outcome
    return Case(found.figure, outcome, f"{found.word}: {ratio_text(found.ratio)}{why}", profile)


def _figure(profile: str, point: str, change: Change, undecided: Outcome) -> Case:
    said = (f"{change.word}: {figure_text(change, change.a)} to {figure_text(change, change.b)}, "
            f"{signed(change.change)} ({interval_text(change)}) {change.why}").strip()  # fmt: skip
    outcome: Outcome = "failed" if change.word == "worse" else "passed" if change.word in SAID else "skipped"
    if outcome == "failed" and not change.counts:  # as the exit code has it
        outcome, said = "skipped", f"{said}; of single runs builds go by the headline alone"
    if outcome == "skipped" and change.headline and change.undecided:
        outcome = undecided
    return Case(f"{point} {change.title}".strip(), outcome, said, profile)
