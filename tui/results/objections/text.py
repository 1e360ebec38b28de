"""Objections with their answers as lines: a mark, the claim, and the evidence below. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from tui.metrics.units import plural
from tui.model.plain import printable
from tui.results.objections.answers import ObjectionAnswer, ObjectionEvidence, Standing, Weight, counts
from tui.text.line import BAD, BRIGHT, GOOD, LABEL, TEXT, WARN, Line, Run, labelled, spread

MARKS: dict[Standing, Run] = {
    "stands": ("✗", BAD),
    "partly-stands": ("!", WARN),
    "unknown": ("?", LABEL),
    "refuted": ("✓", GOOD),
    "n/a": ("·", LABEL),
}
WORDS: dict[Standing, str] = {
    "stands": "stands",
    "partly-stands": "partly stands",
    "unknown": "unknown",
    "refuted": "refuted",
    "n/a": "n/a",
}
COUNTED: dict[Standing, str] = {**WORDS, "stands": "stand", "partly-stands": "partly stand"}
SIGNS: dict[Weight, Run] = {
    "refutes": ("✓", GOOD),
    "confirms": ("✗", BAD),
    "partly": ("!", WARN),
    "unknown": ("?", LABEL),
    "fact": (" ", TEXT),
    "n/a": (" ", TEXT),
}
ORDER: tuple[Weight, ...] = ("confirms", "partly", "refutes", "fact", "unknown")
OLD = "The record lists no checks: an older version wrote it. The answers below use its figures alone."


def counts_runs(answers: Sequence[ObjectionAnswer]) -> list[Run]:
    """Count the answers: ``20 objections: 1 stands, 3 unknown, 12 refuted``."""
    found = counts(answers)
    runs: list[Run] = [(f"{plural(len(answers), 'objection')}: ", TEXT)]
    for place, (standing, count) in enumerate(found.items()):
        word = (WORDS if count == 1 else COUNTED)[standing]
        runs += [(", " if place else "", TEXT), (f"{count} {word}", MARKS[standing][1])]
    return runs


def objection_lines(answers: Sequence[ObjectionAnswer], width: int, *, judged: bool = True) -> list[Line]:
    """Return all objections with their evidence, worst first; those that do not apply are listed at the end.

    `judged`: the record says which checks ran.
    """
    if not answers:
        return [Line.of(("nothing was measured: no figure to object to", LABEL))]
    lines = labelled([], counts_runs(answers), width)
    lines += [] if judged else labelled([], [(OLD, WARN)], width)
    lines.append(Line())
    silent = [answer for answer in answers if answer.standing == "unknown" and not _has_evidence(answer)]
    for answer in answers:
        lines += answer_lines(answer, width) if answer.standing != "n/a" and answer not in silent else []
    if silent:
        mark, role = MARKS["unknown"]
        claims = ", ".join(f'"{answer.objection.claim}"' for answer in silent)
        lines += labelled([(f"{mark} ", role)], [(f"no data about {claims}", LABEL)], width)
    return [*lines, *not_applicable_lines([answer for answer in answers if answer.standing == "n/a"], width)]


def _has_evidence(answer: ObjectionAnswer) -> bool:
    return any(each.weight != "n/a" for each in answer.evidence)


def not_applicable_lines(answers: Sequence[ObjectionAnswer], width: int) -> list[Line]:
    """Return the objections that do not apply, grouped by reason."""
    reasons: dict[str, list[str]] = {}
    for answer in answers:
        why = "; ".join(each.text for each in answer.evidence if each.weight in ("fact", "n/a"))
        reasons.setdefault(why, []).append(f'"{answer.objection.claim}"')
    mark, role = MARKS["n/a"]
    lines = []
    for why, claims in reasons.items():
        lines += labelled([(f"{mark} ", role)], [(f"{WORDS['n/a']}, {why}: {', '.join(claims)}", LABEL)], width)
    return lines


def answer_lines(answer: ObjectionAnswer, width: int) -> list[Line]:
    """Return one objection: the claim, its answer, and the evidence."""
    mark, role = MARKS[answer.standing]
    claim: list[Run] = [(f"{mark} ", role), (f'"{answer.objection.claim}"', BRIGHT)]
    lines = [Line.of(*spread(claim, [(WORDS[answer.standing], role)], width))]
    for weight in ORDER:
        for each in answer.evidence:
            lines += evidence_lines(each, width) if each.weight == weight else []
    moot = ", ".join(f"{each.check} ({each.text})" for each in answer.evidence if each.weight == "n/a")
    return [*lines, *(labelled([("    ", TEXT)], [(f"n/a: {moot}", LABEL)], width) if moot else []), Line()]


def evidence_lines(evidence: ObjectionEvidence, width: int) -> list[Line]:
    """Return one piece of evidence with its sign and the check it comes from."""
    sign, role = SIGNS[evidence.weight]
    text = " ".join(printable(evidence.text).split())
    weak = evidence.weight in ("fact", "unknown")
    runs: list[Run] = [(f"{evidence.check}  " if evidence.check else "", LABEL), (text, LABEL if weak else TEXT)]
    return labelled([(f"  {sign} ", role)], [run for run in runs if run[0]], width)
