"""The run under the cursor in a few lines, below the list."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import zip_longest
from typing import TYPE_CHECKING

from tui.metrics import units
from tui.model.plain import some_in
from tui.results.store.marks import tags_text
from tui.text.line import (
    ACCENT,
    BAD,
    BRIGHT,
    GOOD,
    LABEL,
    TEXT,
    TITLE,
    WARN,
    Line,
    Run,
    indented,
    labelled,
    padded,
    wrap,
)

if TYPE_CHECKING:
    from tui.results.store.summary import RunSummary

FINDINGS_SHOWN, NOTES_SHOWN, HOSTS_SHOWN = 3, 3, 4
GUTTER = 3  # between the two halves
LEAST_FOR_TWO = 90  # cells; in fewer one half stands below the other
ROLES = {"error": BAD, "warning": WARN, "info": LABEL}
VERDICTS: dict[str | None, Run] = {
    "valid": ("valid", GOOD),
    "valid-with-warnings": ("valid with warnings", WARN),
    "invalid": ("INVALID", BAD),
    None: ("not judged", LABEL),
}
LABEL_CELLS = 8


def preview(
    run: RunSummary, changed: Mapping[str, str], width: int, *, whole: bool = False, short: bool = False
) -> list[Line]:
    """Return what is most worth knowing of a run, in lines of `width` cells: what it is, beside what is doubtful.

    `changed` are the parameters that are not as in its profile. `whole`: every finding, note and host. `short`: few
    lines are in sight, so what the list tells has one.
    """
    half = (width - GUTTER) // 2 if width >= LEAST_FOR_TWO else width
    head = _brief_head(run, half) if short and not whole else _head(run, half)
    facts = _facts(run, changed, half, whole)
    doubts, notes = _findings(run, half, whole), _notes(run, half, whole)
    if half == width:
        return [*head, *doubts, *notes, *facts]
    pairs = zip_longest([*head, *facts], [*doubts, *notes], fillvalue=Line())
    return [Line.of(*padded(one.runs, half + GUTTER), *other.runs) for one, other in pairs]


def says_more(run: RunSummary) -> bool:
    """Whether there is something beside the facts of a run: what is doubtful, or remarks."""
    return bool(run.notes) or any(each.severity != "info" for each in run.findings)


def _brief_head(run: RunSummary, width: int) -> Iterator[Line]:
    star: list[Run] = [("* ", ACCENT)] if run.starred else []
    called: Run = (run.title or run.profile or run.run_id, TITLE)
    figure: Run = (run.headline or "no headline", BRIGHT if run.headline else LABEL)
    for part in wrap([*star, called, ("  ", TEXT), figure], width):
        yield Line.of(*part)
    yield from _judgement(run, width)


def _head(run: RunSummary, width: int) -> Iterator[Line]:
    star: list[Run] = [("* ", ACCENT)] if run.starred else []
    for part in wrap([*star, (run.title or run.profile or run.run_id, TITLE)], width):
        yield Line.of(*part)
    for part in wrap([(run.headline or "no headline", BRIGHT if run.headline else LABEL)], width):
        yield Line.of(*part)
    yield from _judgement(run, width)


def _judgement(run: RunSummary, width: int) -> Iterator[Line]:
    yield Line.of(VERDICTS[run.verdict], ("  ", TEXT), (run.state, LABEL))
    if said := run.problem or run.reason:
        yield from indented([(said, WARN)], width, 0)


def _facts(run: RunSummary, changed: Mapping[str, str], width: int, whole: bool) -> Iterator[Line]:
    facts = {
        "profile": run.profile if run.title else "",
        "changed": " ".join(f"{name}={value}" for name, value in changed.items()),
        "target": run.target,
        "hosts": ", ".join(run.hosts) if whole else some_in(run.hosts, width - LABEL_CELLS, HOSTS_SHOWN),
        "took": units.duration(run.duration_s) if run.duration_s is not None else "",
        "tags": tags_text(run.tags),
        "owner": run.owner,
        "id": run.run_id,
    }
    for name, text in facts.items():
        if text:
            yield from labelled([(name.ljust(LABEL_CELLS), LABEL)], [(text, TEXT)], width)


def _findings(run: RunSummary, width: int, whole: bool) -> Iterator[Line]:
    found = [each for each in run.findings if each.severity != "info"]
    found.sort(key=lambda each: each.severity != "error")
    shown = found if whole else found[:FINDINGS_SHOWN]
    for each in shown:
        yield from indented([(each.id, ROLES.get(each.severity, LABEL)), (f" {each.message}", TEXT)], width, 0)
    if len(found) > len(shown):
        yield Line.of((f"and {len(found) - len(shown)} more", LABEL))


def _notes(run: RunSummary, width: int, whole: bool) -> Iterator[Line]:
    for note in run.notes if whole else run.notes[-NOTES_SHOWN:]:
        yield from labelled([("note".ljust(LABEL_CELLS), LABEL)], [(note, TEXT)], width)
