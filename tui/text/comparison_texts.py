"""Texts about comparisons, by code: why a figure has its verdict, and what differs in the setup."""

from __future__ import annotations

from collections.abc import Sequence

from tui.metrics import units
from tui.model.operands import Clause
from tui.text.form import Text, text_by_code

# for a run whose verdict or findings are not those sealed at its end
NOT_AS_SEALED = "seal missing, or it does not match verdict, findings and figures; see runs verify"


def comparison_text(told: Clause | None) -> str:
    """Return the text for a code; empty for None."""
    return "" if told is None else text_by_code(COMPARISON, told["code"], told["operands"])


def few_repetitions(a: int, b: int, needed: int, apart: bool) -> str:
    """Return why repetitions are too few to say whether the sides differ."""
    ranges = "do not overlap" if apart else "overlap"
    return f"the sides have {a} and {b}, and need {needed} each; ranges {ranges}"


def never_met(searches: Sequence[tuple[str, tuple[int, int]]]) -> str:
    """Return how many searches of each side found that no load meets the limits."""
    counts = [f"{count} of {every} searches of {side}" for side, (count, every) in searches]
    return f"no load meets the limits in {' and '.join(counts)}"


def different_limits(a: Sequence[str], b: Sequence[str]) -> str:
    """Return the limits of two searches, as people write them."""
    return f"different limits: {'; '.join(' and '.join(each) or 'none' for each in (a, b))}"


def different_shares(a: Sequence[tuple[str, float]], b: Sequence[tuple[str, float]]) -> str:
    """Return the shares of the load that jobs have on each side."""
    sides = (", ".join(f"{name} {units.percent(part)}" for name, part in side) for side in (a, b))
    return f"jobs have different shares of the load: {'; '.join(sides)}"


COMPARISON: dict[str, Text] = {
    "several": "{texts:lines}",
    # one figure
    "zero-repetition": "a repetition measured 0",
    "both-zero": "both are 0",
    "zero": "{side} is 0",
    "run-noise-unknown": "within-run only; run-to-run noise is unknown",
    "below-threshold": lambda threshold: f"less than {threshold * 100:.2g} %",
    "within-noise-floor": lambda threshold: f"within the noise floor of {threshold * 100:.2g} %",
    "around-threshold": lambda threshold: f"may be less or more than {threshold * 100:.2g} %",
    "not-significant": lambda level: f"not significant at {level * 100:g} %",
    "figures-tested-together": (
        "{figures} figures tested together require {needed} repetitions, not {repetitions}"
    ),
    "wide-interval": "wide interval",
    "short-runs": "one run each, with data of {seconds} whole seconds ({least_s:g} needed)",
    "no-spread-within-runs": "one run each, without data within the runs to estimate noise from",
    "few-repetitions": few_repetitions,
    # searches
    "search-noise-unknown": "within-search only; the noise between searches is unknown",
    "no-common-host-count": "no host count measured by all searches",
    "no-figure": "no {figure} in any search of {side}",
    "never-met": never_met,
    "different-kinds": "different kinds of search: {a} and {b}",
    "different-limits": different_limits,
    "different-shares": different_shares,
    "different-objective": "different objective",
    # setup
    "run-not-complete": "{side} {run_id} is {state}",
    "run-invalid": "{side} {run_id} is invalid ({checks:all})",
    "not-as-sealed": f"{{side}} {{run_id}}: {NOT_AS_SEALED}",
    "same-measurement": "{side} {run_id} and {other_id} hold the same measurement",
    "options-missing": "some options are missing from the output",
}
