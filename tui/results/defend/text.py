"""The defence of a run as lines: each attack with its mark, and the evidence below it. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from tui.metrics.units import plural
from tui.model.plain import printable
from tui.results.defend.defence import Answer, Said, Standing, Weight, counts
from tui.text.line import BAD, BRIGHT, GOOD, LABEL, TEXT, WARN, Line, Run, labelled, spread

MARKS: dict[Standing, Run] = {
    "holds": ("✗", BAD),
    "in-part": ("!", WARN),
    "unknown": ("?", LABEL),
    "answered": ("✓", GOOD),
    "moot": ("·", LABEL),
}
WORDS: dict[Standing, str] = {
    "holds": "holds",
    "in-part": "holds in part",
    "unknown": "not known",
    "answered": "answered",
    "moot": "does not arise",
}
COUNTED: dict[Standing, str] = {**WORDS, "holds": "hold", "in-part": "hold in part", "moot": "do not arise"}
SIGNS: dict[Weight, Run] = {
    "against": ("✓", GOOD),
    "for": ("✗", BAD),
    "doubt": ("!", WARN),
    "unknown": ("?", LABEL),
    "fact": (" ", TEXT),
    "moot": (" ", TEXT),
}
ORDER: tuple[Weight, ...] = ("for", "doubt", "against", "fact", "unknown")
OLD = "No check is recorded: an older version judged the run, or nobody. What follows is from its figures alone."


def counts_runs(answers: Sequence[Answer]) -> list[Run]:
    """Return how many attacks stand how: ``20 attacks: 1 holds, 3 not known, 12 answered``."""
    found = counts(answers)
    runs: list[Run] = [(f"{plural(len(answers), 'attack')}: ", TEXT)]
    for place, (standing, count) in enumerate(found.items()):
        word = (WORDS if count == 1 else COUNTED)[standing]
        runs += [(", " if place else "", TEXT), (f"{count} {word}", MARKS[standing][1])]
    return runs


def defence_lines(answers: Sequence[Answer], width: int, *, judged: bool = True) -> list[Line]:
    """Return all attacks with their evidence, the worst first; those that do not arise together at the end.

    `judged`: the record says which checks were made.
    """
    if not answers:
        return [Line.of(("nothing was measured: there is nothing to defend", LABEL))]
    lines = labelled([], counts_runs(answers), width)
    lines += [] if judged else labelled([], [(OLD, WARN)], width)
    lines.append(Line())
    silent = [answer for answer in answers if answer.standing == "unknown" and not _speaks(answer)]
    for answer in answers:
        lines += answer_lines(answer, width) if answer.standing != "moot" and answer not in silent else []
    if silent:
        mark, role = MARKS["unknown"]
        claims = ", ".join(f'"{answer.attack.claim}"' for answer in silent)
        lines += labelled([(f"{mark} ", role)], [(f"nothing is recorded about {claims}", LABEL)], width)
    return [*lines, *moot_lines([answer for answer in answers if answer.standing == "moot"], width)]


def _speaks(answer: Answer) -> bool:
    return any(said.weight != "moot" for said in answer.evidence)


def moot_lines(answers: Sequence[Answer], width: int) -> list[Line]:
    """Return the attacks that do not arise, those of one reason together."""
    reasons: dict[str, list[str]] = {}
    for answer in answers:
        why = "; ".join(said.text for said in answer.evidence if said.weight in ("fact", "moot"))
        reasons.setdefault(why, []).append(f'"{answer.attack.claim}"')
    mark, role = MARKS["moot"]
    lines = []
    for why, claims in reasons.items():
        lines += labelled([(f"{mark} ", role)], [(f"{WORDS['moot']}, {why}: {', '.join(claims)}", LABEL)], width)
    return lines


def answer_lines(answer: Answer, width: int) -> list[Line]:
    """Return one attack: what is said, how it stands, and the evidence."""
    mark, role = MARKS[answer.standing]
    claim: list[Run] = [(f"{mark} ", role), (f'"{answer.attack.claim}"', BRIGHT)]
    lines = [Line.of(*spread(claim, [(WORDS[answer.standing], role)], width))]
    for weight in ORDER:
        for said in answer.evidence:
            lines += said_lines(said, width) if said.weight == weight else []
    moot = ", ".join(f"{said.check} ({said.text})" for said in answer.evidence if said.weight == "moot")
    return [*lines, *(labelled([("    ", TEXT)], [(f"no matter here: {moot}", LABEL)], width) if moot else []), Line()]


def said_lines(said: Said, width: int) -> list[Line]:
    """Return one piece of evidence with its sign, and the check that it comes from."""
    sign, role = SIGNS[said.weight]
    text = " ".join(printable(said.text).split())
    weak = said.weight in ("fact", "unknown")
    runs: list[Run] = [(f"{said.check}  " if said.check else "", LABEL), (text, LABEL if weak else TEXT)]
    return labelled([(f"  {sign} ", role)], [run for run in runs if run[0]], width)
