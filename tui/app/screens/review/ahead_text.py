"""What the hosts of a plan answered before the launch, as lines. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from tui.app.screens.review.plan_text import INDENT
from tui.app.terminal.theme import Symbols
from tui.metrics import units
from tui.metrics.fact_groups import compare
from tui.model.hostfacts import Fact
from tui.model.plain import some
from tui.text.facts import differing_lines, machine_lines
from tui.text.line import BAD, BRIGHT, GOOD, LABEL, TEXT, Line, Run, heading, indented, labelled

if TYPE_CHECKING:
    from tui.engine.preflight.ahead import Answer


AGES_S = 5.0  # the step in which an age is told


def age_text(age_s: float) -> str:
    """Return how old a preflight is."""
    steps = int(age_s // AGES_S)
    return f"{units.duration(steps * AGES_S)} ago" if steps else "just now"


def ahead_lines(answers: Sequence[Answer], age_s: float, symbols: Symbols, width: int) -> list[Line]:
    """Return the answers and how old they are, refusals first; hosts that say the same share a line."""
    bad = [each for each in answers if each.problems]
    ready = f": {len(answers) - len(bad)} of {len(answers)} hosts ready" if len(answers) > 1 else ""
    lines = [heading(f"preflight {age_text(age_s)}{ready}")]
    for problems in dict.fromkeys(each.problems for each in bad):
        hosts = some(each.host for each in bad if each.problems == problems)
        mark: Run = (f"{symbols.bad} ", BAD)
        for problem in problems:
            lines += indented([mark, (hosts, BRIGHT), (f"  {problem}", BAD)], width)
    for said in dict.fromkeys(each.said for each in answers if not each.problems):
        hosts = some(each.host for each in answers if each.said == said and not each.problems)
        lines += indented([(f"{symbols.ok} ", GOOD), (hosts, TEXT), (f"  {said}", LABEL)], width)
    return [*lines, Line()]


def difference_lines(facts: Mapping[str, Mapping[str, Fact]], width: int) -> list[Line]:
    """Return which hosts are one machine and what they differ in, as far as they were looked at."""
    found = (*machine_lines(facts), *differing_lines(compare(facts)))
    lines = [line for label, runs in found for line in labelled([(label, LABEL)], runs, width, INDENT)]
    return [*lines, Line()] if lines else []


def unready(answers: Sequence[Answer]) -> str:
    """Return how many hosts are not ready, as what stands before "Enter"; empty when all are, or none was asked."""
    bad = [each for each in answers if each.problems]
    held = sum(each.in_use for each in bad)
    if not bad:
        return ""
    if len(answers) == 1:
        return f"{bad[0].host} is {'in use by another run' if held else 'not ready'}"
    if held == len(bad):
        return f"{held} of {len(answers)} hosts in use by another run"
    return f"{len(bad)} of {len(answers)} hosts not ready" + (f", {held} in use by another run" if held else "")


def refusal(answers: Sequence[Answer]) -> str:
    """Return how many hosts would refuse the run, empty when none would."""
    bad = [each.host for each in answers if each.problems]
    return f"{some(bad)} would refuse this run: see the preflight" if bad else ""
